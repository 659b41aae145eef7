"""Part `kills`."""

import csv
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from benchmark.made_cases import write_cases
from benchmark.stage import gpu_bytes
from gpu_check.findings import QUICK, Figure, Table, Work
from gpu_check.machine import users
from gpu_check.processes import Process, alive, below
from gpu_check.verdicts import SAME, Difference, compare, scored
from gpu_check.watched import Watched
from pathway_local.rubrics.rubric_file import load_rubric

RUBRIC = "pathway-answer"
CASES, FEW = 1200, 150
"""Cases on a GPU, and without one. An H100 judged 48 a second, and each of the four starts took 12 to 20 s."""

AT_ONCE = 64
"""A small batch, so that cases end one after the other and a kill comes in the middle."""

CORE_APART = {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}

PATIENCE = 10.0
"""Seconds after a kill until all processes must have ended and all GPU memory must be free."""

MIB = 1 << 20
SLACK = 200 * MIB
"""Extra bytes of GPU memory that may be in use: other programs take and free some, too."""


@pytest.mark.timeout(240)
def test_kills(work: Work) -> None:
    """Kills the engine, the command and a worker, then resumes the run and compares it with an undisturbed one."""
    count = CASES if work.on_gpu else FEW
    cases = write_cases(work.folder / "cases.csv", load_rubric(RUBRIC).inputs, count, 5)
    cases.chmod(0o600)
    registry = work.registry("demo", {"engine": (QUICK if work.on_gpu else {}) | {"max_num_seqs": AT_ONCE}})
    killed = _Killed(work, count, gpu_bytes(), work.folder / "killed.run")
    given = ["judge", cases, "-r", RUBRIC, "-j", "demo", "--models", registry, "--run"]
    killed.judge(work.command(*given, killed.run))
    began, undisturbed = time.monotonic(), work.folder / "undisturbed.run"
    with Watched(work.command(*given, undisturbed)) as command:
        code = command.read_to_end()
        if code:
            killed.complain(f"the undisturbed command ended with exit code {code}", command)
    work.figures["seconds of the undisturbed run"] = round(time.monotonic() - began, 1)
    compare_runs(work, killed.run, undisturbed, count)


class _Killed:
    """A run whose engine, command and worker are killed in turn."""

    def __init__(self, work: Work, count: int, memory: int | None, run: Path) -> None:
        self.work, self.count, self.memory, self.run = work, count, memory, run
        self.began = time.monotonic()
        self.rows: list[list[Figure]] = []
        columns = ["killed", "at", "shown", "stored", "processes", "gone after", "GPU memory"]
        work.tables.append(Table(f"Kills in a run of {count} cases", columns, self.rows))
        work.figures["cases"] = count

    def judge(self, command: Sequence[str]) -> None:
        """Kill the engine, then the command; start the same command again and kill a worker.

        By default the engine of one GPU has no worker; CORE_APART gives it one.
        """
        with Watched(command) as first:
            if self._middle(first, 0.1, "the engine"):
                self._kill("the engine", first, first.kill_engine)
            if self._middle(first, 0.35, "the command"):
                self._kill("the command", first, first.kill_command, freed=True)
        with Watched(command, **CORE_APART) as again:
            if self._middle(again, 0.6, "a worker"):
                self._kill("a worker of the engine", again, again.kill_worker)
            if code := again.read_to_end():
                self.complain(f"the resumed command ended with exit code {code}", again)
            self._settle("nothing (the end)", again, below(os.getpid()), freed=True)

    def complain(self, problem: str, command: Watched) -> None:
        """Note a problem and the command's last lines."""
        said = command.said.replace("\r", "\n").strip().splitlines()
        self.work.problems.append("\n".join([problem, *said[-4:]]))

    def _middle(self, command: Watched, share: float, name: str) -> bool:
        if command.read_until(int(self.count * share)):
            return True
        self.complain(f"the command ended before {name} could be killed", command)
        return False

    def _kill(self, name: str, command: Watched, kill: Callable[[], list[Process]], *, freed: bool = False) -> None:
        found = kill()
        if not found:
            self.complain(f"{name} was not found", command)
            return
        self._settle(name, command, found, freed=freed)

    def _settle(self, name: str, command: Watched, found: Sequence[Process], *, freed: bool) -> None:
        """Wait until all processes in `found` have ended, and note how long it took.

        `freed` says that no new engine takes their GPU memory, so it must be free as well.
        """
        began, left, memory = time.monotonic(), list(found), self.memory
        while True:
            seconds = time.monotonic() - began
            left = alive(left)
            memory = gpu_bytes() if freed else None
            if (not left and self._is_free(memory)) or seconds >= PATIENCE:
                break
            command.read_for(0.3) if command.process.poll() is None else time.sleep(0.3)
        stored, at = _stored(self.run), f"{began - self.began:.0f} s"
        used = "" if memory is None or self.memory is None else f"{(memory - self.memory) // MIB:+,} MiB"
        self.rows.append([name, at, command.shown, stored, len(found), f"{seconds:.1f} s", used])
        if left:
            self.complain(f"{len(left)} processes are left {PATIENCE:.0f} s after {name} was killed", command)
        if not self._is_free(memory):
            self.complain(f"{used} of GPU memory are left after {name}: {', '.join(users())}", command)
        if stored < command.shown:
            self.complain(f"{command.shown} cases were shown as done, and {stored} are stored", command)

    def _is_free(self, memory: int | None) -> bool:
        return memory is None or self.memory is None or memory <= self.memory + SLACK


def _stored(run: Path, table: str = "current") -> int:
    """Return how many outcomes a run holds: the current ones, or all with the table `outcomes`."""
    if not run.exists():
        return 0
    with closing(sqlite3.connect(f"file:{run}?mode=ro", uri=True)) as db:
        [(count,)] = db.execute(f"SELECT COUNT(*) FROM {table}")
    return int(count)


def compare_runs(work: Work, killed: Path, undisturbed: Path, count: int) -> None:
    """Note cases that are lost, judged twice or failed, and scores that differ from the undisturbed run's."""
    note, out = work, work.folder / "killed.csv"
    work.typed("export", killed, "--out", out)
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    distinct, failures = len({row["case"] for row in rows}), sum(bool(row["failure"]) for row in rows)
    twice = len(rows) - distinct + _stored(killed, "outcomes") - _stored(killed)
    expected, found = (scored(path).get(RUBRIC, {}) for path in (undisturbed, killed))
    difference = compare(expected, found, RUBRIC, Difference())
    note.figures |= {
        "rows of the export": len(rows),
        "distinct cases": distinct,
        "judged twice": twice,
        "failures": failures,
        "scores of the undisturbed run": difference.scores,
        "scores equal to the undisturbed run's": difference.equal,
        "greatest difference of a probability": difference.greatest,
    }
    note.words.append(
        f"{distinct} of {count} cases were judged, {twice} twice, {failures} failed; "
        f"{difference.equal} of {difference.scores} scores equal the undisturbed run's"
    )
    if distinct != count or twice:
        note.problems.append(f"{distinct} of {count} cases were judged, {twice} twice")
    if failures:
        note.problems.append(f"{failures} cases failed")
    if difference.equal < SAME * max(difference.scores, 1):
        note.problems.append(f"only {difference.equal} of {difference.scores} scores equal the undisturbed run's")
