"""Part `kills`."""

import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from benchmark.made_cases import write_cases
from benchmark.processes import PATIENCE, below, kill
from gpu_check.processes import COMMAND, ROOT, engine_of, environment
from gpu_check.samples import compare, scored
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.system.machine import this_machine
from pathway_local.verdict import Failure

RUBRIC = "pathway-answer"
CASES, FEW = 1200, 150
"""Cases on a GPU, and without one. An H100 judged 48 a second, and each of the four starts took 12 to 20 s."""

AT_ONCE = 64
"""A small batch, so that cases end one after the other and a kill comes in the middle."""

CORE_APART = {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
"""By default the engine of one GPU has no worker; this gives it one."""

SLACK = 200 << 20
"""Extra bytes of GPU memory that may be in use: other programs take and free some, too."""


@pytest.mark.timeout(240)
def test_kills(tmp_path: Path, on_gpu: bool, registry: Callable[..., Path]) -> None:
    """Kills the engine, the command and a worker, then resumes the run and compares it with an undisturbed one."""
    count, run, whole = CASES if on_gpu else FEW, tmp_path / "killed.run", tmp_path / "whole.run"
    cases = write_cases(tmp_path / "cases.csv", load_rubric(RUBRIC).inputs, count, 5)
    cases.chmod(0o600)
    given = ["judge", cases, "-r", RUBRIC, "-j", "demo", "--models", registry("demo", {"max_num_seqs": AT_ONCE})]
    memory, command = gpu_bytes(), [*COMMAND, *map(str, given), "--run"]
    with started([*command, str(run)]) as first:
        engine = engine_when(first, run, count // 10)
        gone("the engine", [engine, *below(engine.pid)], [engine])
        engine_when(first, run, count // 3)
        gone("the command", [psutil.Process(first.pid), *below(first.pid)], [psutil.Process(first.pid)])
        assert freed(memory), f"{gpu_bytes()} bytes of GPU memory are in use after the command was killed, not {memory}"
    with started([*command, str(run)], CORE_APART) as again:
        engine = engine_when(again, run, count * 6 // 10)
        worker = max(below(engine.pid), key=lambda each: each.memory_info().rss)
        gone("a worker of the engine", [engine, *below(engine.pid)], [worker])
        assert again.wait() == 0, "the resumed command failed"
    assert freed(memory), f"{gpu_bytes()} bytes of GPU memory are in use at the end, not {memory}"
    with started([*command, str(whole)]) as undisturbed:
        assert undisturbed.wait() == 0
    assert not (said := problems(run, whole, count)), "\n".join(said)


@contextmanager
def started(command: Sequence[str], more: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command of this checkout; kill what is left of it at the end."""
    with subprocess.Popen(command, cwd=ROOT, env=environment() | (more or {}), stdin=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def engine_when(command: subprocess.Popen[bytes], run: Path, cases: int) -> psutil.Process:
    """Wait until so many cases are stored and an engine lives; return the engine."""
    while True:
        assert command.poll() is None, f"the command ended with {command.returncode} before {cases} cases were stored"
        if (engine := engine_of(command.pid)) and stored(run) >= cases:
            return engine
        time.sleep(0.2)


def stored(run: Path, table: str = "current") -> int:
    """Return how many outcomes a run holds: the current ones, or all with the table `outcomes`."""
    with closing(sqlite3.connect(f"file:{run}?mode=ro", uri=True)) as db:
        [(count,)] = db.execute(f"SELECT COUNT(*) FROM {table}")
    return int(count)


def gone(name: str, whole: Sequence[psutil.Process], victims: Sequence[psutil.Process]) -> None:
    """Kill the victims; all processes of the whole must end."""
    began = time.monotonic()
    kill(victims)
    left = psutil.wait_procs(whole, PATIENCE)[1]
    print(f"{name} was killed; all {len(whole)} processes were gone after {time.monotonic() - began:.1f} s")
    assert not left, f"{len(left)} processes are left {PATIENCE:.0f} s after {name} was killed"


def gpu_bytes() -> int:
    """Return the bytes in use on all GPUs together; 0 without a GPU, or if a driver does not report it."""
    return sum((gpu.total or 0) - (gpu.free or 0) for gpu in this_machine().gpus)


def freed(before: int) -> bool:
    """Wait until no more GPU memory is in use than before; return False if it still is after PATIENCE seconds."""
    until = time.monotonic() + PATIENCE
    while gpu_bytes() > before + SLACK and time.monotonic() < until:
        time.sleep(0.3)
    return gpu_bytes() <= before + SLACK


def problems(killed: Path, undisturbed: Path, count: int) -> list[str]:
    """Return what a run lost, judged twice or failed, and what it scored unlike an undisturbed run."""
    with RunFile.read(killed) as read:
        outcomes = [record.outcome for record in read.records()]
    failed, twice = sum(isinstance(each, Failure) for each in outcomes), stored(killed, "outcomes") - len(outcomes)
    told = f"{len(outcomes)} of {count} cases were judged, {twice} of them twice, and {failed} failed"
    print(told)
    wrong = [told] if (len(outcomes), twice, failed) != (count, 0, 0) else []
    return [*wrong, *compare(scored(undisturbed), scored(killed))]
