"""A forked command does what a started one does, and what it can't show is not left to it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from disturbed import outcomes
from preloaded import Forked
from typed import HERE, Desk


def _ended(process: "subprocess.Popen[str]") -> tuple[list[str], list[str], int]:
    with process:
        out, err = process.communicate(timeout=60)
    return out.splitlines(), err.splitlines(), process.returncode


def test_it_says_stores_and_ends_alike(desk: Desk) -> None:
    cases, run = desk.cases(3), desk.work / "may.run"
    found = []
    for afresh in (True, False):
        run.unlink(missing_ok=True)
        process = desk.begun(*desk.judging(cases, "--detail", "score"), afresh=afresh)
        assert isinstance(process, Forked) is not afresh
        out, err, code = _ended(process)
        measured = [line for line in err if any(word in line for word in ("loading", "cases/s"))]
        assert len(measured) == 2
        found.append((out, [line for line in err if line not in measured], code, outcomes(run)))
    assert found[0] == found[1]
    for command in (["summary", "none.run"], ["nonsense"], ["runs", "audit", "may.run", "--json"], []):
        assert _ended(desk.begun(*command)) == _ended(desk.begun(*command, afresh=True))


@pytest.mark.parametrize("afresh", [pytest.param(True, marks=pytest.mark.soak), False])
def test_it_is_a_child_that_leads_its_session_and_hears_signals(desk: Desk, afresh: bool) -> None:
    desk.environment["REPLY_SCRIPT_SECONDS"] = "1"
    with desk.begun(*desk.judging(desk.cases(9)), afresh=afresh) as process:
        assert process.stderr
        assert any("sealed:" in line for line in process.stderr)
        status = dict(line.split(":\t") for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
        assert int(status["PPid"]) == os.getpid()
        assert os.getsid(process.pid) == os.getpgid(process.pid) == process.pid
        assert status["Umask"] == "0077"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("name", "value"), [("PYTHONIOENCODING", "ascii"), ("LC_ALL", "C"), ("PYTHONPATH", str(HERE / "short_hang"))]
)
def test_what_is_read_at_a_start_needs_one(desk: Desk, name: str, value: str) -> None:
    desk.environment[name] = value
    with desk.begun("--version") as process:
        assert not isinstance(process, Forked)
        process.communicate(timeout=60)
