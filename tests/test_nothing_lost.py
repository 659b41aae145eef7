"""Whatever happens to a run, one outcome per case in the end, the same as undisturbed, and none lost that was shown."""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from disturbed import Watched, kill_commands, kill_engines, outcomes, superseded
from reply_script import HANGING, LOADING, MARK, POISON
from typed import HERE, Desk

from gpu_check.test_kills import engine_of
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.run_file import RunFile
from pathway_local.system.private_process import members

CASES = 40
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk: sudo ./scripts/test")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> list[tuple[str, ...]]:
    desk = Desk(tmp_path_factory.mktemp("undisturbed") / "d", tiny_judge)
    desk.typed(*desk.judging(desk.cases(CASES)))
    found = outcomes(desk.work / "may.run")
    assert len(found) == CASES
    assert len({scores for _, scores, *_ in found}) > 10
    return found


def _slow(desk: Desk, seconds: float = 0.02) -> list[str]:
    desk.environment["REPLY_SCRIPT_SECONDS"] = str(seconds)
    return desk.judging(desk.cases(CASES))


@contextmanager
def _sealed(desk: Desk, command: Sequence[str], **how: Any) -> Iterator["subprocess.Popen[str]"]:
    """The command, from when its engine is sealed."""
    with desk.begun(*command, **how) as process:
        assert process.stderr
        assert any("sealed:" in line for line in process.stderr)
        yield process


def _last_job(desk: Desk) -> str:
    """How the last job ended."""
    [entry] = json.loads(desk.typed("runs", "audit", "may.run", "--json").stdout)["entries"][-1:]
    assert entry["event"] == "job ends"
    return str(entry["facts"]["status"])


def _whole(desk: Desk, undisturbed: list[tuple[str, ...]]) -> None:
    """Bring the run to its end, and see that it is as if nothing had happened."""
    desk.environment["REPLY_SCRIPT_SECONDS"] = "0"
    desk.typed(*desk.judging(desk.work / "cases.jsonl"))
    assert outcomes(desk.work / "may.run") == undisturbed
    assert superseded(desk.work / "may.run") == 0
    with RunFile.read(desk.work / "may.run") as run:
        AuditTrail(run.database).check()


@pytest.mark.soak
def test_killed_commands_and_engines_lose_nothing(desk: Desk, undisturbed: list[tuple[str, ...]]) -> None:
    rng = random.Random(7)
    command = _slow(desk, 0.03)
    killed = kill_commands(desk, command, 2, 1.0, rng)
    assert killed.lost == []
    assert (killed.kills, killed.judging) == (2, 1)
    assert kill_engines(desk, command, 1, 0.5, rng).kills == 1
    _whole(desk, undisturbed)


@pytest.mark.parametrize(
    "signals",
    [
        [signal.SIGTERM],
        pytest.param([signal.SIGINT, signal.SIGINT], marks=pytest.mark.soak),
        pytest.param([signal.SIGHUP], marks=pytest.mark.soak),
    ],
)
def test_signals_stop_it_and_it_goes_on(
    desk: Desk, undisturbed: list[tuple[str, ...]], signals: list[signal.Signals]
) -> None:
    with _sealed(desk, _slow(desk, 0.04)) as process:
        while not outcomes(desk.work / "may.run"):
            time.sleep(0.05)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.3)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"stopped. To continue: {shlex.join(['pathway-local', *_slow(desk, 0.04)])}" in said
    assert "Traceback" not in said
    assert 0 < len(outcomes(desk.work / "may.run")) < CASES
    assert _last_job(desk) in ("stopped", "failed")  # the latter where the second signal came in time
    _whole(desk, undisturbed)


def _terminate(process: "subprocess.Popen[str]", seconds: float) -> None:
    """As systemd ends a service: every process of it gets the signal; the command itself so many seconds later."""
    while (engine := engine_of(process.pid)) is None:
        time.sleep(0.001)
    for each in members(engine.pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # the seal is tried by processes that end at once
            assert not _hears(each)
            os.kill(int(each.name), signal.SIGTERM)
    time.sleep(seconds)
    process.send_signal(signal.SIGTERM)


def _hears(process: Path) -> bool:
    """Whether SIGTERM is neither blocked nor ignored."""
    said = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    return not (int(said["SigBlk"], 16) | int(said["SigIgn"], 16)) & 1 << (signal.SIGTERM - 1)


def test_a_signal_to_every_process_stops_the_job_and_not_its_engine(
    desk: Desk, undisturbed: list[tuple[str, ...]]
) -> None:
    with _sealed(desk, _slow(desk, 0.1)) as process:
        _terminate(process, 1.0)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "restarting it" not in said
    assert len(outcomes(desk.work / "may.run")) < CASES
    _whole(desk, undisturbed)


@pytest.mark.soak
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="vLLM wants a processor for each of its workers")
def test_a_signal_to_every_process_ends_no_worker_of_vllm(desk: Desk) -> None:
    """Its workers have handlers of their own; where no namespace can be had, they find each other over loopback."""
    desk.environment["VLLM_CPU_OMP_THREADS_BIND"] = "0|1"
    command = desk.judging(desk.cases(2000), engine="vllm", judge="workers")
    with desk.begun(*command, before=[sys.executable, str(HERE / "without_namespaces.py")]) as process:
        assert process.stderr
        assert any("sealed: filter+files" in line for line in process.stderr)
        _terminate(process, 2.0)
        _, said = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "restarting it" not in said


def test_a_signal_while_the_judge_is_loaded_is_heeded_then(desk: Desk) -> None:
    desk.environment[LOADING] = "3600"
    with desk.begun(*_slow(desk)) as process:
        _terminate(process, 0.5)
        _, said = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "stopped. To continue: pathway-local judge" in said
    assert _last_job(desk) == "stopped"


@pytest.mark.soak
def test_a_signal_while_the_engine_hangs_is_heeded_then(tmp_path: Path, tiny_judge: Path, mark: Path) -> None:
    desk = Desk(tmp_path / "d", tiny_judge, "moody", {MARK: str(mark)})
    with desk.begun(*desk.judging(desk.sheet([{"id": "1", "question": "What?", "answer": HANGING}]))) as process:
        while not mark.exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "stopped. To continue: pathway-local judge" in said


@pytest.mark.soak
def test_nohup_is_heeded(desk: Desk) -> None:
    with _sealed(desk, _slow(desk), before=["nohup"]) as process:
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=200)
    assert process.returncode == 0
    assert len(outcomes(desk.work / "may.run")) == CASES


@pytest.mark.soak
def test_a_terminal_that_goes_ends_the_job_cleanly(desk: Desk, undisturbed: list[tuple[str, ...]]) -> None:
    with Watched(desk, _slow(desk, 0.1)) as watched:
        watched.read_until_shown()
        watched.hang_up()
        watched.process.send_signal(signal.SIGHUP)
        assert watched.process.wait(60) == 130
    assert _last_job(desk) == "stopped"
    _whole(desk, undisturbed)


@pytest.mark.soak
def test_a_pipe_that_nobody_reads_any_more_ends_nothing(desk: Desk) -> None:
    with desk.begun(*_slow(desk)) as process:
        assert process.stderr
        process.stderr.close()
        assert process.wait(200) == 0
    assert len(outcomes(desk.work / "may.run")) == CASES


@pytest.fixture
def small_disk(desk: Desk) -> Iterator[Path]:
    """A disk of 3 MB."""
    folder = desk.work / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@NEEDS_ROOT
def test_a_full_disk_is_told_and_nothing_stored_is_lost(
    desk: Desk, small_disk: Path, undisturbed: list[tuple[str, ...]]
) -> None:
    cases, run = desk.cases(CASES), small_disk / "may.run"
    desk.typed(*desk.judging(cases, "--run", run))
    padding = small_disk / "padding"
    padding.write_bytes(b"x" * max(0, shutil.disk_usage(small_disk).free - 200_000))
    more = desk.cases(2000, "more.jsonl")
    full = desk.typed(*desk.judging(more, "--run", run), code=4)
    assert "no space is left" in full.stderr
    assert "Free some space" in full.stderr
    padding.unlink()
    assert set(undisturbed) <= set(outcomes(run))
    desk.typed(*desk.judging(cases, "--run", run))
    assert set(undisturbed) <= set(outcomes(run))


@NEEDS_ROOT
def test_a_disk_that_can_not_be_written_to(desk: Desk, small_disk: Path) -> None:
    cases = desk.cases(3)
    desk.typed(*desk.judging(cases, "--run", small_disk / "may.run"))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for run in ("may.run", "new.run"):
        refused = desk.typed(*desk.judging(cases, "--run", small_disk / run), code=4)
        assert "writ" in refused.stderr
    assert desk.typed("summary", small_disk / "may.run").stdout
    exported = desk.typed("export", small_disk / "may.run", "--out", "out.csv")
    assert "its audit trail does not record this export" in exported.stderr


@pytest.mark.soak
def test_a_locked_run_is_refused_at_once_and_unharmed(desk: Desk, undisturbed: list[tuple[str, ...]]) -> None:
    with _sealed(desk, _slow(desk, 0.05)) as process:
        refused = desk.typed(*desk.judging(desk.work / "cases.jsonl"), code=4)
        assert "another process writes to it" in refused.stderr
        assert "0 failed" not in desk.typed("summary", "may.run").stdout
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    _whole(desk, undisturbed)


@pytest.mark.soak
def test_a_run_cut_short_or_with_flipped_bits_is_told_or_read_right(
    desk: Desk, undisturbed: list[tuple[str, ...]]
) -> None:
    cases = desk.cases(CASES)
    desk.typed(*desk.judging(cases))
    whole, rng = (desk.work / "may.run").read_bytes(), random.Random(3)
    told = 0
    for number in range(4):
        content = bytearray(whole)
        if number < 1:
            del content[rng.randrange(1, len(content)) :]
        else:
            for _ in range(40):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (desk.work / "may.run").write_bytes(content)
        command = ["summary", "may.run"] if number % 2 else desk.judging(cases)
        done = desk.typed(*command, code=None)
        assert done.returncode in (0, 1, 4), done.stderr
        told += done.returncode == 4
        assert "fault:" not in done.stderr
    assert told >= 2
    (desk.work / "may.run").write_bytes(whole)
    _whole(desk, undisturbed)


@pytest.mark.parametrize("in_place", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_cases_file_that_changes_meanwhile_is_told(desk: Desk, in_place: bool) -> None:
    command = _slow(desk, 0.03)
    cases = desk.work / "cases.jsonl"
    with _sealed(desk, command) as process:
        fresh = cases if in_place else desk.work / "fresh"
        fresh.write_text(cases.read_text().replace("It is 39.", "It is 93."))
        fresh.replace(cases)
        _, said = process.communicate(timeout=60)
    assert "changed while it was judged" in said
    assert process.returncode == 0
    desk.environment["REPLY_SCRIPT_SECONDS"] = "0"
    again = desk.typed(*desk.judging(cases))
    assert "judged again because their texts changed: 1" in again.stderr
    assert len(outcomes(desk.work / "may.run")) == CASES
    assert superseded(desk.work / "may.run") == 1


@pytest.mark.soak
def test_a_clock_that_jumps_changes_nothing(desk: Desk, undisturbed: list[tuple[str, ...]]) -> None:
    desk.environment["PYTHONPATH"] += f"{os.pathsep}{HERE / 'jumping_clock'}"
    desk.typed(*_slow(desk))
    entries = json.loads(desk.typed("runs", "audit", "may.run", "--json").stdout)["entries"]
    assert len({entry["at"][:10] for entry in entries}) > 1  # the clock did jump
    assert outcomes(desk.work / "may.run") == undisturbed


def test_two_cases_that_kill_the_engine_block_neither_job_nor_resuming(
    tmp_path: Path, tiny_judge: Path, mark: Path
) -> None:
    desk = Desk(tmp_path / "d", tiny_judge, "moody", {MARK: str(mark)})
    texts = [*[POISON] * 2, *(f"It is {number}." for number in range(9))]
    cases = desk.sheet([{"id": str(n), "question": "What?", "answer": text} for n, text in enumerate(texts)])
    for _ in range(2):
        done = desk.typed(*desk.judging(cases), code=1)
        assert "2 failed" in done.stderr
        found = {case: failure for case, *_, failure in outcomes(desk.work / "may.run")}
        assert len(found) == len(texts)
        assert {case for case, failure in found.items() if failure} == {"0", "1"}


@pytest.mark.soak
def test_an_engine_that_dies_of_every_case_is_given_up_and_says_so(
    tmp_path: Path, tiny_judge: Path, mark: Path
) -> None:
    desk = Desk(tmp_path / "d", tiny_judge, "moody", {MARK: str(mark)})
    cases = desk.sheet([{"id": str(n), "question": "What?", "answer": POISON} for n in range(20)])
    done = desk.typed(*desk.judging(cases), code=5)
    assert "died 12 times in a row" in done.stderr
    assert "leave them out" in " ".join(done.stderr.split())
    assert [failure for *_, failure in outcomes(desk.work / "may.run")] == ["engine-error"] * 5


@pytest.mark.soak
def test_an_engine_that_hangs_is_started_again(tmp_path: Path, tiny_judge: Path, mark: Path) -> None:
    desk = Desk(tmp_path / "d", tiny_judge, "moody", {MARK: str(mark)})
    desk.environment["PYTHONPATH"] += f"{os.pathsep}{HERE / 'short_hang'}"
    texts = [f"It is {number}." for number in range(8)] + [HANGING]
    cases = desk.sheet([{"id": str(n), "question": "What?", "answer": text} for n, text in enumerate(texts)])
    done = desk.typed(*desk.judging(cases))
    assert "gave no sign of life" in done.stderr
    assert len(outcomes(desk.work / "may.run")) == 9
    assert all(failure is None for *_, failure in outcomes(desk.work / "may.run"))
