"""What a part of the check finds, and its tools: a folder and this project's commands."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from pathway_local.cli import main; main()")
"""`pathway-local` of this checkout, if started from ROOT; it need not be on the path."""

QUICK = {"enforce_eager": True, "gpu_memory_utilization": 0.5}
"""Loads a judge in half the time, without compiling and CUDA graphs, and in half the memory, beside other programs.
Loading is most of the time that the check takes."""

Figure = str | int | float | bool | None


@dataclass
class Table:
    """A table of the report."""

    title: str
    columns: list[str]
    rows: list[list[Figure]] = field(default_factory=list)


@dataclass
class Work:
    """A part's tools and findings: `problems` make it fail, `words` are for the reader; the report goes to `out`."""

    folder: Path
    out: Path
    on_gpu: bool
    problems: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)

    def typed(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run a `pathway-local` command to its end."""
        command = self.command(*arguments)
        return subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=False)

    def command(self, *arguments: object) -> list[str]:
        """Return the command for a process; the report shows it as a user would type it."""
        shown = shlex.join(["pathway-local", *(str(each).replace(f"{self.folder}/", "") for each in arguments)])
        if shown not in self.commands:
            self.commands.append(shown)
        return [*COMMAND, *map(str, arguments)]

    def registry(self, name: str, entry: Mapping[str, object]) -> Path:
        """Write a models.yaml with one entry."""
        path = self.folder / "models.yaml"
        path.write_text(yaml.safe_dump({name: dict(entry)}), "utf-8")
        return path


def environment() -> dict[str, str]:
    """Return the environment without the path by which Python finds this check."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path != str(ROOT / "scripts")]
    others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return others | ({"PYTHONPATH": os.pathsep.join(paths)} if any(paths) else {})
