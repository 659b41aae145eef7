"""What a part works with: its findings, a folder for its files, and the commands of this project."""

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
"""`pathway-local`, which need not be on the path: from ROOT, this checkout's own."""

QUICK = {"enforce_eager": True, "gpu_memory_utilization": 0.5}
"""Without compiling and CUDA graphs a judge loads in half of the time, which is most of what the check takes; with
half of the memory it also loads beside another program."""


@dataclass(frozen=True)
class Work:
    """What a part is given; it notes what it sees in `found`, and saves that now and then."""

    found: Findings
    path: Path
    folder: Path
    on_gpu: bool

    def save(self) -> None:
        """Keep the findings so far, in case that the part is killed."""
        self.found.save(self.path)

    def typed(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run a command of `pathway-local` to its end; its errors go to the part's log."""
        command = self.command(*arguments)
        return subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=False)

    def command(self, *arguments: object) -> list[str]:
        """The command as a process takes it; the report shows it as a user would type it."""
        shown = shlex.join(["pathway-local", *(str(each).replace(f"{self.folder}/", "") for each in arguments)])
        if shown not in self.found.commands:
            self.found.commands.append(shown)
        return [*COMMAND, *map(str, arguments)]

    def registry(self, name: str, entry: Mapping[str, object]) -> Path:
        """A models.yaml with one entry."""
        path = self.folder / "models.yaml"
        path.write_text(yaml.safe_dump({name: dict(entry)}), "utf-8")
        return path


def environment() -> dict[str, str]:
    """The environment of a user: without the path by which Python finds this check."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path != str(ROOT / "scripts")]
    others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return others | ({"PYTHONPATH": os.pathsep.join(paths)} if any(paths) else {})
