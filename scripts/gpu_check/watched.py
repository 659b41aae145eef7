"""Runs a command of `pathway-local` on its own terminal and watches its progress and its processes."""

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from gpu_check.processes import Process, below, end_all, kill
from gpu_check.work import ROOT, environment

SHOWN = re.compile(r"(\d+)/\d+")
LEAST_MEMORY = 100 << 20
"""A process of at least this many bytes holds an engine or a part of one; other processes are far smaller."""


class Watched:
    """A context that runs the command in its own session; leaving it ends everything that the command started."""

    def __init__(self, command: Sequence[str], **variables: str) -> None:
        self._command, self._variables = command, variables
        self.shown, self.said = 0, ""
        self.began = time.monotonic()
        self.seen: dict[tuple[int, int], Process] = {}

    def __enter__(self) -> Self:
        self._screen, terminal = pty.openpty()
        self.process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env=environment() | {"TERM": "xterm", "COLUMNS": "160"} | self._variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end_all(self.process.pid, self.seen.values())
        self.process.wait()
        os.close(self._screen)

    def read_until(self, shown: int) -> bool:
        """Read until `shown` cases are shown as done; return False if the command ends before."""
        while self.shown < shown and self.process.poll() is None:
            self._read(0.2)
        return self.process.poll() is None

    def read_to_end(self) -> int:
        """Read until the command has ended; return its exit code."""
        while self.process.poll() is None:
            self._read(0.2)
        self._read(0.2)
        return self.process.returncode

    def read_for(self, seconds: float) -> None:
        """Read for `seconds` seconds."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._read(min(left, 0.2))

    def kill_command(self) -> list[Process]:
        """Kill the command by signal 9; return all processes that it had started."""
        self._look()
        self.process.kill()
        self.process.wait()
        return list(self.seen.values())

    def kill_engine(self) -> list[Process]:
        """Kill the engine by signal 9; return it and all processes that it had started; empty without an engine."""
        engine = self.engine()
        return self._killed(engine) if engine else []

    def kill_worker(self) -> list[Process]:
        """Kill the largest process below the engine; return the engine and all below it, empty without an engine."""
        engine = self.engine()
        large = [each for each in below(engine.pid) if each.memory >= LEAST_MEMORY] if engine else []
        return self._killed(max(large, key=lambda each: each.memory), engine) if large and engine else []

    def engine(self) -> Process | None:
        """Return the engine: the largest child that leads its own session."""
        leaders = [
            each for each in below(self.process.pid) if each.parent == self.process.pid and each.session == each.pid
        ]
        large = [each for each in leaders if each.memory >= LEAST_MEMORY]
        return max(large, key=lambda each: each.memory, default=None)

    def _killed(self, victim: Process, engine: Process | None = None) -> list[Process]:
        whole = [engine or victim, *below((engine or victim).pid)]
        kill([victim])
        return whole

    def _look(self) -> None:
        self.seen |= {each.key: each for each in below(self.process.pid)}

    def _read(self, seconds: float) -> None:
        self._look()
        ready, _, _ = select.select([self._screen], [], [], seconds)
        if not ready:
            return
        try:
            self.said = self.said[-4000:] + os.read(self._screen, 65536).decode("utf-8", "replace")
        except OSError:  # nobody writes to the terminal any more
            time.sleep(seconds)
            return
        self.shown = max([self.shown, *map(int, SHOWN.findall(self.said[-400:]))])
