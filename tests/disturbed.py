"""Runs that are killed at random moments and go on: what they store in the end, and what was shown before a kill."""

import os
import pty
import random
import re
import select
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from typed import COMMAND, Desk

SHOWN = re.compile(r"(\d+)/\d+")
_OUTCOMES = """
    SELECT case_id, scores, fields, marks, failure_kind FROM outcomes JOIN cases ON case_key = key
    WHERE superseded = 0 ORDER BY case_id
"""

Outcomes = list[tuple[str, ...]]


def outcomes(run: Path) -> Outcomes:
    """The current outcomes of a run."""
    return _query(run, _OUTCOMES) if run.exists() else []


def superseded(run: Path) -> int:
    """How many verdicts were put aside for others."""
    return int(_query(run, "SELECT COUNT(*) FROM outcomes WHERE superseded = 1")[0][0])


def _query(run: Path, query: str) -> Outcomes:
    with closing(sqlite3.connect(run)) as db:
        try:
            return db.execute(query).fetchall()
        except sqlite3.OperationalError:
            return []  # killed before the file had its tables' names to itself


@dataclass
class Killed:
    """What became of some kills: how many hit, how many of them while cases were judged, and what was lost."""

    kills: int = 0
    judging: int = 0
    most_shown: int = 0
    lost: list[str] = field(default_factory=list)


def kill_commands(desk: Desk, command: Sequence[str], times: int, seconds: float, rng: random.Random) -> Killed:
    """Start a command again and again and kill it with signal 9, so many times or until nothing is left to be done.

    Every other kill comes within so many seconds of the start, the others within as many of the first case.
    """
    found, run, code = Killed(), desk.work / "may.run", -1
    while found.kills < times and code < 0:
        with Watched(desk, command) as watched:
            if found.kills % 2:
                watched.read_until_shown()
            watched.read_for(rng.uniform(0.0, seconds))
            watched.process.kill()
            code = watched.process.wait()
        if code < 0:
            found.kills += 1
            found.judging += watched.shown > 0
        stored = len(outcomes(run))
        found.most_shown = max(found.most_shown, watched.shown)
        if stored < watched.shown:
            found.lost.append(f"{watched.shown} shown, {stored} stored")
    return found


def kill_engines(desk: Desk, command: Sequence[str], times: int, seconds: float, rng: random.Random) -> Killed:
    """Run a command, killing its engine with signal 9 so many times, or until nothing is left to be done.

    Every other kill comes within so many seconds of the one before, the others as long after the next case.
    """
    found, before = Killed(), -1
    while before < found.kills < times:
        before = found.kills
        with Watched(desk, command) as watched:
            while watched.process.poll() is None and found.kills < times:
                if found.kills % 2:
                    watched.read_until_shown()
                watched.read_for(rng.uniform(0.0, seconds))
                if (engine := engine_of(watched.process.pid)) is not None:
                    os.kill(engine, signal.SIGKILL)
                    found.kills += 1
                    found.judging += watched.shown > 0
            watched.read_for(600.0)
            found.most_shown = max(found.most_shown, watched.shown)
    return found


class Watched:
    """A command whose progress goes to a terminal, and how far that said it had come."""

    def __init__(self, desk: Desk, command: Sequence[str]) -> None:
        self._desk, self._command = desk, command
        self.shown, self.said = 0, ""

    def __enter__(self) -> "Watched":
        self._screen, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *self._command],
            cwd=self._desk.work,
            env=self._desk.environment | {"TERM": "xterm", "COLUMNS": "160"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if self._screen >= 0:
            self.read_for(0.0)
            self.hang_up()

    def hang_up(self) -> None:
        """Take the terminal away."""
        os.close(self._screen)
        self._screen = -1

    def read_until_shown(self) -> None:
        """Read until a case is shown as done, or the command has ended."""
        before = self.shown
        while self.shown == before and self.process.poll() is None:
            self.read_for(0.1)

    def read_for(self, seconds: float) -> None:
        """Read what is shown for so many seconds, or until the command has ended."""
        until = time.monotonic() + seconds
        while True:
            left = max(0.0, until - time.monotonic())
            ready, _, _ = select.select([self._screen], [], [], left)
            if not ready:
                return
            try:
                self.said = self.said[-400:] + os.read(self._screen, 65536).decode("utf-8", "replace")
            except OSError:  # nobody writes to the terminal any more
                return
            self.shown = max([self.shown, *map(int, SHOWN.findall(self.said))])


def engine_of(parent: int) -> int | None:
    """The engine that a command has started, if it lives."""
    return next(_engines(parent), None)


def _engines(parent: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            leads = int(fields[2]) == int(path.name)
            if int(fields[1]) == parent and leads and b"engines.child" in (path / "cmdline").read_bytes():
                yield int(path.name)
