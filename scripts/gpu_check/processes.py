"""Processes below another one, as /proc lists them: which there are, which of them live, and how to end them."""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
LONGEST_END = 10.0
"""Seconds that a killed process may take to end: a driver may have to free much memory first."""

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Process:
    """One process. Its id and `started` together are never given to another; `memory` is resident, in bytes."""

    pid: int
    started: int
    parent: int
    session: int
    state: str
    memory: int

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from every other process."""
        return self.pid, self.started


def process(pid: int) -> Process | None:
    """The process of that id; None if it has ended, also where nobody has asked for its exit code yet."""
    with suppress(OSError, ValueError, IndexError):
        fields = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        state, parent, session, started, pages = fields[0], fields[1], fields[3], fields[19], fields[21]
        if state not in "ZX":
            return Process(pid, int(started), int(parent), int(session), state, int(pages) * _PAGE)
    return None


def below(pid: int) -> list[Process]:
    """The processes that a process has started, and those that they have started, nearest first."""
    children: dict[int, list[Process]] = {}
    for each in _all():
        children.setdefault(each.parent, []).append(each)
    found: list[Process] = []
    todo = [pid]
    while todo:
        own = children.get(todo.pop(0), [])
        found += own
        todo += [each.pid for each in own]
    return found


def alive(processes: Iterable[Process]) -> list[Process]:
    """Those of them that still run."""
    return [each for each in processes if (now := process(each.pid)) and now.key == each.key]


def kill(processes: Iterable[Process]) -> None:
    """Send signal 9 to these processes, each by its id; returns before they have ended."""
    for each in alive(processes):
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)


def end_all(leader: int, others: Iterable[Process]) -> None:
    """End a process that leads a group of its own, all of its group, all below it, and the others; waits for them."""
    left = [*below(leader), *others]
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
    kill(left)
    until = time.monotonic() + LONGEST_END
    while alive(left) and time.monotonic() < until:
        time.sleep(0.02)


def _all() -> Iterator[Process]:
    for path in PROC.glob("[0-9]*"):
        if found := process(int(path.name)):
            yield found
