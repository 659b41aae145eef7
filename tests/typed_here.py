"""The command line within the test's own process: what a command said, and how it ended."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pathway_local.cli import divergence, figures, imports, main, panel, show
from pathway_local.cli.terminal import Screen


@dataclass
class Said:
    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        return " ".join(f"{self.out} {self.err}".split())


Run = Callable[..., Said]

TABLES = (divergence, figures, imports, panel, show)


def rows(out: str, table: str) -> list[dict[str, Any]]:
    """The rows of this table in the JSON that a command printed."""
    return [row for each in json.loads(out) if each["table"] == table for row in each["rows"]]


def notes(out: str, key: str) -> list[str]:
    """The notes with this key in the JSON that a command printed."""
    return [note["text"] for each in json.loads(out) for note in each["notes"] if note["key"] == key]


def typing_in(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in this folder, on a wide terminal, with nobody there to ask."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    for module in TABLES:
        monkeypatch.setattr(module, "data", Screen(markup=False, emoji=False, highlight=False, width=300))

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["pathway-local", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
            sys.exit(0)
        said = capsys.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)

    return run
