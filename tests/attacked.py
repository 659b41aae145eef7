"""Commands that are disturbed at random moments, in four ways, and what must hold after each of them."""

import json
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from disturbed import Outcomes, outcomes, superseded
from typed import HERE, Desk

from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.run_file import RunFile

LONGEST = 300.0
"""Seconds that a command may take in all; one that takes longer hangs."""

PATIENCE = 10.0
"""Seconds within which all processes of a command that has ended must be gone."""

CLEAN = {0, 1, 4, 5, 130, -signal.SIGINT, -signal.SIGTERM}
"""Exit codes of a disturbed command. By a signal itself it ends only before it can handle one."""

JUDGING = 3.0
"""Seconds after a command's first outcome within which a signal comes that must hit while cases are judged."""

MOST_FREE = 500_000
"""Bytes: more than a run of a few dozen cases takes at any time."""

GIB = 1 << 20
"""In KiB, the unit of ulimit -v."""


@dataclass
class Trial:
    """A command that judges the same cases again and again, disturbed each time, until every case has an outcome.

    `seconds` is the least time that it took undisturbed, `right` holds the outcomes that it then has, and `same` says
    what of an outcome must be the same. `disk` is a small disk on which the run lies, if any.
    """

    desk: Desk
    command: Sequence[str]
    seconds: float
    right: Outcomes
    rng: random.Random
    same: Callable[[Outcomes], Outcomes] = list
    run: Path = Path("may.run")
    disk: Path | None = None
    tried: Counter[str] = field(default_factory=Counter)
    """Disturbances that hit the command before it had ended by itself, by name."""

    codes: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    judging: int = 0
    """Disturbances that hit a command after it had stored an outcome."""

    finished: int = 0
    """Runs that were brought to their end and were right."""

    gaps: list[float] = field(default_factory=list)
    """For each case whose probabilities were others than undisturbed, by how much at most."""

    def start_over(self) -> None:
        """Forget what was counted."""
        self.tried, self.codes, self.problems, self.gaps = Counter(), Counter(), [], []
        self.judging = self.finished = 0

    def interrupt(self, number: signal.Signals) -> None:
        """Send a signal at a random moment."""
        self._strike(number.name, number, self.rng.uniform(0.0, self.seconds))

    def interrupt_judging(self, number: signal.Signals) -> None:
        """Send a signal at a random moment after the command has stored an outcome."""
        self._strike(number.name, number, self.rng.uniform(0.0, JUDGING), judging=True)

    def jump(self) -> None:
        """Let the clock jump at every look, and interrupt the command."""
        path = f"{self.desk.environment['PYTHONPATH']}:{HERE / 'jumping_clock'}"
        with _changed(self.desk.environment, PYTHONPATH=path):
            self._strike("clock", signal.SIGTERM, self.rng.uniform(0.0, self.seconds))

    def starve(self, least: float = 1.5, most: float = 4.0) -> None:
        """Limit the address space of the command, and of each process that it starts, to so many GiB."""
        limit = int(self.rng.uniform(least, most) * GIB)
        self._strike("memory", before=["sh", "-c", f'ulimit -v {limit}; exec "$@"', "sh"])

    def fill(self) -> None:
        """Leave a random number of bytes free on the disk of the run; in every other trial temporary files share it."""
        assert self.disk
        padding, free = self.disk / "padding", shutil.disk_usage(self.disk).free
        padding.write_bytes(b"x" * max(0, free - self.rng.randrange(1, MOST_FREE)))
        shared = {"TMPDIR": str(self.disk)} if self.rng.random() < 0.5 else {}
        try:
            with _changed(self.desk.environment, **shared):
                self._strike("disk")
        finally:
            padding.unlink()

    def finish(self) -> None:
        """Run the command undisturbed, and compare what it has stored; then begin a new run."""
        code, said = self._run(None, LONGEST)
        run = self.desk.work / self.run
        found = outcomes(run)
        if code != 0:
            self.problems.append(f"undisturbed it ends with {code}: {said[-300:]}")
        elif self.same(found) != self.same(self.right) or superseded(run):
            self.problems.append(f"other outcomes than undisturbed: {len(found)}, {superseded(run)} superseded")
        else:
            with RunFile.read(run) as read:
                AuditTrail(read.database).check()
            self.finished += 1
            self.gaps += [gap for one, other in zip(found, self.right, strict=True) if (gap := _gap(one, other))]
        for path in run.parent.glob(f"{run.name}*"):
            path.unlink()

    @property
    def is_done(self) -> bool:
        """Whether every case has an outcome."""
        with suppress(Exception):
            return self._stored() >= len(self.right)
        return False

    def _stored(self) -> int:
        return len(outcomes(self.desk.work / self.run))

    def _strike(
        self,
        name: str,
        number: signal.Signals | None = None,
        after: float = LONGEST,
        before: Sequence[str] = (),
        *,
        judging: bool = False,
    ) -> None:
        """Disturb the command once, and note whatever is wrong with how it ended."""
        before_it = self._stored()
        began = time.monotonic()
        code, said = self._run(number, after, before, more_than=before_it if judging else None)
        if code in (0, 1) and not before_it:  # whatever came later than this would come too late
            self.seconds = min(self.seconds, time.monotonic() - began)
        stored = self._stored()
        self.tried[name] += (hit := code not in (0, 1))
        self.judging += hit and stored > before_it
        self.codes[code] += 1
        wrong = [] if code in CLEAN else [f"exit code {code}"]
        # Before the command can handle a SIGINT, while nothing is read yet, Python prints where its imports were.
        wrong += ["a traceback"] if "Traceback" in said and code != -signal.SIGINT else []
        wrong += ["the text of a case"] if "What is" in said else []
        wrong += [f"processes are left: {left}"] if (left := _left(self.desk)) else []
        wrong += ["outcomes are lost"] if stored < before_it else []
        if number and (files := sorted(path.name for path in self.desk.tmp.iterdir())):
            wrong.append(f"temporary files are left: {files}")
        if wrong:
            self.problems.append(f"{name} after {after:.2f} s: {'; '.join(wrong)}: {said[-1500:]}")

    def _run(
        self,
        number: signal.Signals | None,
        after: float,
        before: Sequence[str] = (),
        more_than: int | None = None,
    ) -> tuple[int, str]:
        """Run the command; the signal comes so many seconds after its start, or after more outcomes than these."""
        with self.desk.begun(*self.command, before=before, afresh=True) as process:
            try:
                while more_than is not None and process.poll() is None and self._stored() <= more_than:
                    time.sleep(0.05)
                out, err = process.communicate(timeout=after)
            except subprocess.TimeoutExpired:
                process.send_signal(number or signal.SIGABRT)
                try:
                    out, err = process.communicate(timeout=LONGEST)
                except subprocess.TimeoutExpired:
                    process.kill()
                    out, err = process.communicate()
            except KeyboardInterrupt:
                process.kill()
                process.wait()
                raise
        return process.returncode, out + err


def scores_and_texts(found: Outcomes) -> Outcomes:
    """Leave the probabilities out of outcomes: with real vLLM, a batch's composition changes how they are rounded."""
    return [(case, re.sub(r'"probabilities": ?\{[^}]*\}', "", str(scores)), *rest) for case, scores, *rest in found]


def _gap(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Return the largest difference between the probabilities of two outcomes of a case."""
    ours, theirs = (json.loads(outcome[1]) for outcome in (one, other))
    return max(
        abs(share - theirs[name]["probabilities"][value])
        for name, score in ours.items()
        for value, share in score["probabilities"].items()
    )


def _left(desk: Desk) -> list[str]:
    """Wait for the processes of a desk to end; return those that do not."""
    until = time.monotonic() + PATIENCE
    while (left := list(_processes(desk))) and time.monotonic() < until:
        time.sleep(0.02)
    return left


def _processes(desk: Desk) -> Iterator[str]:
    """Yield the command lines of processes that a desk's environment shows."""
    mark = f"\0HOME={desk.home}\0".encode()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in b"\0" + (path / "environ").read_bytes():
                yield (path / "cmdline").read_text().replace("\0", " ")[-80:]


@contextmanager
def small_disk(folder: Path, size: str = "8m") -> Iterator[Path]:
    """Mount a small disk."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def _changed(environment: dict[str, str], **changes: str) -> Iterator[None]:
    before = dict(environment)
    environment.update(changes)
    try:
        yield
    finally:
        environment.clear()
        environment.update(before)
