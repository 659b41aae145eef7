"""A command that a signal ends leaves none of the texts that it was writing, and says so by its exit code."""

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from typed import Desk

INTERRUPTED = 130
WORD = "QUAGGAMARKER"
CASES = 2_000
TRIES = 5
EXPORT = ["hosted", "export", "may.run", "--cases", "cases.jsonl", "--service", "openai", "--model", "m", "--yes"]
SAMPLE = ["sample", "may.run", "--cases", "cases.jsonl", "--n", str(CASES), "--seed", "1"]
RUBRIC = ["--rubric", "small.prompty"]


Writing = Callable[["subprocess.Popen[str]", Desk], bool]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path / "d", tmp_path)
    text = f"{WORD} " * 40
    desk.sheet([{"id": f"c{number}", "question": text, "answer": f"{text} {number}"} for number in range(CASES)])
    return desk


def _writing(process: "subprocess.Popen[str]", desk: Desk) -> bool:
    """Whether a command has begun a file in the working folder that gets its name at the end, other than the run."""
    run = desk.work / "may.run"
    with suppress(OSError):  # what is closed, or ends, while it is looked at; a run that is not made yet
        for path in Path(f"/proc/{process.pid}/fd").iterdir():
            target = path.readlink()
            hidden = target.name.endswith(" (deleted)") or ".part" in str(target)
            if hidden and target.is_relative_to(desk.work) and path.stat().st_size and not path.samefile(run):
                return True
    return False


def _unpacked(_: "subprocess.Popen[str]", desk: Desk) -> bool:
    """Whether a workbook's library has begun its temporary files."""
    return any(path.is_file() for path in desk.work.glob(".*.part/*"))


def _end_while_it_writes(
    desk: Desk, command: list[str], number: signal.Signals, *before: str, writing: Writing = _writing
) -> int:
    """The exit code of a command that is ended while it writes the file that it names last."""
    for _ in range(TRIES):
        with desk.begun(*command, before=before) as process:
            caught = _stopped_while(process, desk, writing)
            if caught:
                process.send_signal(number)
            process.send_signal(signal.SIGCONT)
            out, err = process.communicate(timeout=120)
        assert WORD not in out + err
        assert "Traceback" not in err
        if caught:
            return process.returncode
        assert process.returncode == 0, err
        (desk.work / command[-1]).unlink()
    pytest.fail(f"not caught writing {TRIES} times in a row")


def _stopped_while(process: "subprocess.Popen[str]", desk: Desk, writing: Writing) -> bool:
    """Stop a command while it writes; False if it is through with that."""
    while process.poll() is None:
        if writing(process, desk):
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            return writing(process, desk)
        time.sleep(0.001)
    return False


def _left(desk: Desk) -> list[str]:
    """The files, but for the cases, in which the word is found."""
    others = (path for path in desk.root.rglob("*") if path.is_file() and path.name != "cases.jsonl")
    return [path.name for path in others if WORD.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(each, marks=pytest.mark.soak) for each in (signal.SIGHUP, signal.SIGINT))]
)
def test_a_batch_file_that_is_ended_half_written_is_removed(desk: Desk, number: signal.Signals) -> None:
    assert _end_while_it_writes(desk, [*EXPORT, *RUBRIC, "--out", "req.jsonl"], number) == INTERRUPTED
    assert _left(desk) == []
    assert sorted(path.name for path in desk.work.iterdir()) == [
        "cases.jsonl",
        "may.run",
        "models.yaml",
        "small.prompty",
    ]
    desk.typed(*EXPORT, *RUBRIC, "--out", "req.jsonl")
    assert _left(desk) == ["req.jsonl"], "the same command again"


def test_a_rating_sheet_that_is_ended_half_written_is_removed(desk: Desk) -> None:
    assert _end_while_it_writes(desk, [*SAMPLE, *RUBRIC, "--out", "sheet.xlsx"], signal.SIGTERM) == INTERRUPTED
    assert _left(desk) == []
    assert not list(desk.work.glob(".*"))


@pytest.mark.soak
def test_what_is_told_to_outlive_its_terminal_does(desk: Desk) -> None:
    ignoring = ["env", "--ignore-signal=HUP"]
    assert _end_while_it_writes(desk, [*EXPORT, *RUBRIC, "--out", "req.jsonl"], signal.SIGHUP, *ignoring) == 0
    assert _left(desk) == ["req.jsonl"]


def test_what_a_killed_command_has_left_is_told_by_the_doctor_and_by_purge(desk: Desk) -> None:
    ended = _end_while_it_writes(desk, [*SAMPLE, *RUBRIC, "--out", "sheet.xlsx"], signal.SIGKILL, writing=_unpacked)
    assert ended == -signal.SIGKILL
    parts = sorted(desk.work.glob(".*.part"))  # the file, and a folder for its sheets
    assert sorted(part.stat().st_mode & 0o777 for part in parts) == [0o600, 0o700], (
        "the file, and a folder for its sheets"
    )
    for name in ("may.run", "cases.jsonl"):
        told = {each["name"]: each for each in json.loads(desk.typed("doctor", name, "--json", code=5).stdout)}
        assert told["half-written files"]["fix"].endswith(f"rm -r {shlex.join(map(str, parts))}")
    assert str(parts[0]) in desk.typed("runs", "purge", "may.run", "--all", "--yes").stderr
