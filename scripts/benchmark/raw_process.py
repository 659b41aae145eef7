"""Runs vLLM by itself in its own process, and measures the processor time of processes."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from benchmark.raw import ANSWER
from pathway_local.errors import EngineError
from pathway_local.passes import EngineConfig

LAST_LINES = 30
PATIENCE = 10.0
"""Seconds until the process is killed; it has nothing to save."""


class RawProcess:
    """Loads vLLM and asks it for measurements; `settled` holds the settings that vLLM settled on."""

    def __init__(self, config: EngineConfig, backend: str) -> None:
        told = json.dumps({"config": asdict(config), "backend": backend})
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmark.raw", told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,  # `close` and `processor_seconds` find its processes by it
        )
        try:
            self.settled = self._answer()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The id of the process and of its session."""
        return self._process.pid

    def ask(self, variant: str, file: Path | None) -> dict[str, Any]:
        """Return one measurement. Raises EngineError."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"variant": variant, **({"file": str(file)} if file else {})}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the process and its children, so that the next engine finds the GPU's memory free."""
        assert self._process.stdin
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                return cast("dict[str, Any]", json.loads(line.removeprefix(ANSWER)))
        self._log.seek(0)
        last = self._log.read().decode("utf-8", "replace").strip().splitlines()[-LAST_LINES:]
        # The last line alone often says no more than "see root cause above".
        print(*last, sep="\n", file=sys.stderr, flush=True)
        raise EngineError(f"vLLM by itself ended: {''.join(last[-1:])}")


def processor_seconds(session: int) -> float:
    """Return the processor seconds so far of a session's processes."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                found += int(fields[11]) + int(fields[12])
    return found / os.sysconf("SC_CLK_TCK")
