"""A part of the check: a command with its own session and its own time limit."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gpu_check.findings import Findings, Status, load_findings
from gpu_check.processes import Process, below, end_all, end_with_parent

FOUND = "GPU_CHECK_FOUND"
"""The variable that tells a part where to save its findings."""

LAST_LINES = 15
LOOK_SECONDS = 1.0
"""Seconds between two looks at what a part has started."""


@dataclass(frozen=True)
class Part:
    """One part: its name, what it does, the command, and how many seconds it may take."""

    name: str
    title: str
    command: Sequence[str]
    limit: float


@dataclass(frozen=True)
class Outcome:
    """How a part ended."""

    part: Part
    status: Status
    seconds: float
    findings: Findings
    log: Sequence[str] = ()
    """The last lines of output, unless all went well."""


def run_part(part: Part, logs: Path, limit: float | None = None) -> Outcome:
    """Run a part until it ends or its time is over; its output goes to `logs`."""
    limit = part.limit if limit is None else min(limit, part.limit)
    logs.mkdir(parents=True, exist_ok=True)
    log, began = logs / f"{part.name}.log", time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpu-check-", ignore_cleanup_errors=True) as folder:
        found = Path(folder) / "found.json"
        code = _run(part.command, folder, found, log, limit)
        try:
            findings = load_findings(found)
        except (ValueError, msgspec.ValidationError) as error:
            findings = Findings([f"its findings can't be read: {error}"])
    status = _status(findings, code, limit)
    lines = [] if status in ("ok", "not run") else log.read_text("utf-8", "replace").splitlines()[-LAST_LINES:]
    return Outcome(part, status, time.monotonic() - began, findings, lines)


def not_run(part: Part, why: str) -> Outcome:
    """Return the outcome of a part that was not started."""
    return Outcome(part, "not run", 0.0, Findings(not_run=why))


def _run(command: Sequence[str], folder: str, found: Path, log: Path, limit: float) -> int | None:
    """Return the exit code, or None if the limit was reached. Every process that the command started is ended."""
    environment = os.environ | {FOUND: str(found), "TMPDIR": folder}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            preexec_fn=end_with_parent,  # if this process is killed, its `finally` below never runs
        )
        seen: dict[tuple[int, int], Process] = {}
        until = time.monotonic() + limit
        try:
            while (left := until - time.monotonic()) > 0:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(min(left, LOOK_SECONDS))
                seen |= {each.key: each for each in below(process.pid)}
            return None
        finally:
            # A signal to the part's group does not reach engines, which have their own sessions. Once the command that
            # started an engine is dead, the engine is no longer below the part: so `seen` remembers it.
            end_all(process.pid, seen.values())
            process.wait()


def _status(findings: Findings, code: int | None, limit: float) -> Status:
    """Return the status of a part, and add a problem if the part itself could not."""
    if code is None:
        findings.problems.append(f"it took longer than its limit of {limit:.0f} s")
        return "timed out"
    if code != 0 and not findings.problems:
        findings.problems.append(f"it ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}")
    return findings.status


def own_command(name: str) -> list[str]:
    """Return the command that runs one of our own parts."""
    return [sys.executable, "-m", "gpu_check.parts", name]
