"""Finds and ends the processes that a process has started, with what they have started in turn."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Process:
    """One process. No other process ever has its id and `started` together; `memory` is resident, in bytes."""

    pid: int
    started: int
    parent: int
    session: int
    state: str
    memory: int

    @property
    def key(self) -> tuple[int, int]:
        """Distinguishes it from every other process."""
        return self.pid, self.started


def process(pid: int) -> Process | None:
    """Return the process of that id; None if it has ended, even if its parent has not waited for it yet."""
    with suppress(OSError, ValueError, IndexError):
        fields = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        state, parent, session, started, pages = fields[0], fields[1], fields[3], fields[19], fields[21]
        if state not in "ZX":
            return Process(pid, int(started), int(parent), int(session), state, int(pages) * _PAGE)
    return None


def below(pid: int) -> list[Process]:
    """Return the processes that a process has started, and those that they have started, nearest first."""
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


def engine_of(command: int) -> Process | None:
    """Return the engine that a command has started, if it lives: a child that leads a session of its own."""
    for each in below(command):
        if each.parent == command and each.session == each.pid:
            with suppress(OSError):
                if b"engines.child" in (PROC / str(each.pid) / "cmdline").read_bytes():
                    return each
    return None


def alive(processes: Iterable[Process]) -> list[Process]:
    """Return those of the processes that still run."""
    return [each for each in processes if (now := process(each.pid)) and now.key == each.key]


def kill(processes: Iterable[Process]) -> None:
    """Send signal 9 to these processes, each by its id; returns before they have ended."""
    for each in alive(processes):
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)


def _all() -> Iterator[Process]:
    for path in PROC.glob("[0-9]*"):
        if found := process(int(path.name)):
            yield found
