"""The findings of a part; it saves them again and again, so that they survive if the part is killed."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from pathway_local.system.private_file import whole_file

Status = Literal["ok", "failed", "not run", "timed out"]
Figure = str | int | float | bool | None


@dataclass
class Table:
    """A table of the report."""

    title: str
    columns: list[str]
    rows: list[list[Figure]] = field(default_factory=list)


@dataclass
class Findings:
    """A part's findings: `problems` make it fail, `not_run` says why it did nothing, `words` are for the reader."""

    problems: list[str] = field(default_factory=list)
    not_run: str = ""
    words: list[str] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    @property
    def status(self) -> Status:
        """The status of a part that ran to its end."""
        if self.problems:
            return "failed"
        return "not run" if self.not_run else "ok"

    def save(self, path: Path) -> None:
        """Write the findings so far."""
        replace_text(path, json.dumps(asdict(self)))


def load_findings(path: Path) -> Findings:
    """Return the findings that a part has saved; empty if it saved none."""
    # `json` reads the NaN that it wrote; msgspec's decoder refuses it, and all findings would be lost.
    return msgspec.convert(json.loads(path.read_bytes()), Findings) if path.exists() else Findings()


def replace_text(path: Path, text: str) -> None:
    """Replace a file as a whole: a reader finds the old text or the new one."""
    with whole_file(path, replace=True) as file:
        file.write(text.encode())
