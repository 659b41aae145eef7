"""Finds and ends the processes that a process has started, with what they have started in turn."""

from collections.abc import Sequence
from contextlib import suppress

import psutil

PATIENCE = 10.0
"""Seconds after a kill until all processes must have ended and all GPU memory must be free."""


def below(pid: int) -> list[psutil.Process]:
    """Return the processes that a process has started, and those that they have started; empty if it has ended."""
    with suppress(psutil.NoSuchProcess):
        return list(psutil.Process(pid).children(recursive=True))
    return []


def kill(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Kill these processes by signal 9; return those that PATIENCE seconds later have not ended."""
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    return list(psutil.wait_procs(processes, PATIENCE)[1])


def processor_seconds() -> float:
    """Return the processor seconds so far of this process and of all that it has started and that live."""
    whole = [psutil.Process(), *below(psutil.Process().pid)]
    return sum(sum(each.cpu_times()[:2]) for each in whole)
