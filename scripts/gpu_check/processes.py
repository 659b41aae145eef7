"""Finds and ends the processes that a process has started, with what they have started in turn."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from pathway_local.cli import main; main()")
"""`pathway-local` of this checkout, if started from ROOT; it need not be on the path."""

PATIENCE = 10.0
"""Seconds after a kill until all processes must have ended and all GPU memory must be free."""


def environment() -> dict[str, str]:
    """Return the environment without the path by which Python finds this check."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path != str(ROOT / "scripts")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def below(pid: int) -> list[psutil.Process]:
    """Return the processes that a process has started, and those that they have started; empty if it has ended."""
    with suppress(psutil.NoSuchProcess):
        return list(psutil.Process(pid).children(recursive=True))
    return []


def engine_of(command: int) -> psutil.Process | None:
    """Return the engine that a command has started, if it lives."""
    for each in below(command):
        with suppress(psutil.Error):
            if each.ppid() == command and "engines.child" in " ".join(each.cmdline()):
                return each
    return None


def kill(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Kill these processes by signal 9; return those that PATIENCE seconds later have not ended."""
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    return list(psutil.wait_procs(processes, PATIENCE)[1])
