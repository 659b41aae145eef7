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
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from typed import COMMAND, Desk

from gpu_check.test_kills import engine_of

SHOWN = re.compile(r"(\d+) of \d+ done")
_OUTCOMES = """
    SELECT case_id, scores, fields, marks, failure_kind FROM current ORDER BY case_id
"""

Outcomes = list[tuple[str, ...]]


def outcomes(run: Path) -> Outcomes:
    """The current outcomes of a run."""
    return _query(run, _OUTCOMES) if run.exists() else []


def superseded(run: Path) -> int:
    """How many verdicts were put aside for others."""
    return int(_query(run, "SELECT (SELECT COUNT(*) FROM outcomes) - (SELECT COUNT(*) FROM current)")[0][0])


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
                if engine := engine_of(watched.process.pid):
                    os.kill(engine.pid, signal.SIGKILL)
                    found.kills += 1
                    found.judging += watched.shown > 0
            watched.read_for(600.0)
            found.most_shown = max(found.most_shown, watched.shown)
    return found


class Watched:
    """A context that runs a command at a desk on a terminal of its own; `shown` is how many cases it shows as done."""

    def __init__(self, desk: Desk, command: Sequence[str]) -> None:
        self._command, self._desk = [*COMMAND, *command], desk
        self.shown, self._said = 0, ""

    def __enter__(self) -> Self:
        self._screen, terminal = pty.openpty()
        self.process = subprocess.Popen(
            self._command,
            cwd=self._desk.work,
            env={**self._desk.environment, "TERM": "xterm", "COLUMNS": "160"},
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
        self.read_for(0.0)
        os.close(self._screen)

    def read_until_shown(self) -> None:
        """Read until one more case is shown as done, or the command has ended."""
        before = self.shown
        while self.shown <= before and self.process.poll() is None:
            self.read_for(0.2)

    def read_for(self, seconds: float) -> None:
        """Read for `seconds` seconds, or until nobody writes to the terminal any more."""
        until = time.monotonic() + seconds
        while select.select([self._screen], [], [], max(0.0, until - time.monotonic()))[0]:
            try:
                self._said = self._said[-4000:] + os.read(self._screen, 65536).decode("utf-8", "replace")
            except OSError:  # the command closed its terminal
                return
            self.shown = max([self.shown, *map(int, SHOWN.findall(self._said[-400:]))])
