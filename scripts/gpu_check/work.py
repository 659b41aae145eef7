"""Gives a part its findings, a folder and this project's commands."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from gpu_check.findings import Findings

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from pathway_local.cli import main; main()")
"""`pathway-local` of this checkout, if started from ROOT; it need not be on the path."""

QUICK = {"enforce_eager": True, "gpu_memory_utilization": 0.5}
"""Loads a judge in half the time, without compiling and CUDA graphs, and in half the memory, beside other programs.
Loading is most of the time that the check takes."""


@dataclass(frozen=True)
class Work:
    """A part's tools; the part adds to `found` and saves it now and then."""

    found: Findings
    path: Path
    folder: Path
    on_gpu: bool

    def save(self) -> None:
        """Save the findings so far, in case the part is killed."""
        self.found.save(self.path)

    def typed(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run a `pathway-local` command to its end; its stderr goes to the part's log."""
        command = self.command(*arguments)
        return subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=False)

    def command(self, *arguments: object) -> list[str]:
        """Return the command for a process; the report shows it as a user would type it."""
        shown = shlex.join(["pathway-local", *(str(each).replace(f"{self.folder}/", "") for each in arguments)])
        if shown not in self.found.commands:
            self.found.commands.append(shown)
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
