"""The commands of this checkout as a user types them, and the engine that one of them has started."""

import os
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from benchmark.processes import below

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from pathway_local.cli import main; main()")
"""`pathway-local` of this checkout, if started from ROOT; it need not be on the path."""


def environment() -> dict[str, str]:
    """Return the environment without the path by which Python finds this check."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path != str(ROOT / "scripts")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def engine_of(command: int) -> psutil.Process | None:
    """Return the engine that a command has started, if it lives."""
    for each in below(command):
        with suppress(psutil.Error):
            if each.ppid() == command and "engines.child" in " ".join(each.cmdline()):
                return each
    return None
