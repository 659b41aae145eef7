"""Runs a command of `pathway-local` on its own terminal and watches its progress and its processes."""

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from gpu_check.findings import ROOT, environment
from gpu_check.processes import Process, below, engine_of, kill

SHOWN = re.compile(r"(\d+) of \d+ done")
LEAST_MEMORY = 100 << 20
"""A process of at least this many bytes holds an engine or a part of one; other processes are far smaller."""


class OnTerminal:
    """A context that runs a command in its own session; `said` is the end of what it shows, `shown` the cases done."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._command, self._folder = command, folder
        self._environment = {**environment, "TERM": "xterm", "COLUMNS": "160"}
        self.shown, self.said = 0, ""

    def __enter__(self) -> Self:
        self._screen, terminal = pty.openpty()
        self.process = subprocess.Popen(
            self._command,
            cwd=self._folder,
            env=self._environment,
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

    def read_until(self, shown: int) -> bool:
        """Read until `shown` cases are shown as done; return False if the command ends before."""
        while self.shown < shown and self.process.poll() is None:
            self.read_for(0.2)
        return self.process.poll() is None

    def read_to_end(self) -> int:
        """Read until the command has ended; return its exit code."""
        while self.process.poll() is None:
            self.read_for(0.2)
        self.read_for(0.0)
        return self.process.returncode

    def read_for(self, seconds: float) -> None:
        """Read for `seconds` seconds, or until nobody writes to the terminal any more."""
        until = time.monotonic() + seconds
        while select.select([self._screen], [], [], max(0.0, until - time.monotonic()))[0]:
            try:
                self.said = self.said[-4000:] + os.read(self._screen, 65536).decode("utf-8", "replace")
            except OSError:  # the command closed its terminal; without the pause our callers would spin while it lives
                time.sleep(min(0.05, max(0.0, until - time.monotonic())))
                return
            self.shown = max([self.shown, *map(int, SHOWN.findall(self.said[-400:]))])


class Watched(OnTerminal):
    """A command of this checkout; leaving it ends everything that the command started and that still is below it."""

    def __init__(self, command: Sequence[str], **variables: str) -> None:
        super().__init__(command, ROOT, environment() | variables)

    def __exit__(self, *_: object) -> None:
        kill(below(self.process.pid))
        super().__exit__()

    def kill_command(self) -> list[Process]:
        """Kill the command by signal 9; return all processes that it had started."""
        found = below(self.process.pid)
        self.process.kill()
        self.process.wait()
        return found

    def kill_engine(self) -> list[Process]:
        """Kill the engine by signal 9; return it and all processes that it had started; empty without an engine."""
        engine = engine_of(self.process.pid)
        return self._killed(engine) if engine else []

    def kill_worker(self) -> list[Process]:
        """Kill the largest process below the engine; return the engine and all below it, empty without an engine."""
        engine = engine_of(self.process.pid)
        large = [each for each in below(engine.pid) if each.memory >= LEAST_MEMORY] if engine else []
        return self._killed(max(large, key=lambda each: each.memory), engine) if large and engine else []

    def _killed(self, victim: Process, engine: Process | None = None) -> list[Process]:
        whole = [engine or victim, *below((engine or victim).pid)]
        kill([victim])
        return whole
