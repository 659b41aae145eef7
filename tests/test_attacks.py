"""A small share of `soak_attacks.py`: disturbed commands go on, and nothing is lost, doubled or left."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from attacked import Trial, small_disk
from disturbed import outcomes
from reply_script import SECONDS
from typed import Desk

CASES = 30


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Trial:
    desk = Desk(tmp_path_factory.mktemp("attacks") / "d", tiny_judge, environment={SECONDS: "0.02"})
    command = desk.judging(desk.cases(CASES))
    began = time.monotonic()
    desk.typed(*command, afresh=True)
    seconds, right = time.monotonic() - began, outcomes(desk.work / "may.run")
    (desk.work / "may.run").unlink()
    return Trial(desk, command, seconds, right, random.Random(4))


@pytest.mark.soak
def test_signals_and_a_jumping_clock(trial: Trial) -> None:
    trial.start_over()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        trial.interrupt(number)
    trial.jump()
    trial.finish()
    assert trial.problems == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk: sudo ./scripts/test")
@pytest.mark.soak
def test_a_full_disk(trial: Trial) -> None:
    trial.start_over()
    with small_disk(trial.desk.work / "disk") as disk:
        command = [*trial.command[:-1], "disk/may.run"]
        full = replace(trial, disk=disk, run=Path("disk/may.run"), command=command)
        full.fill()
        full.finish()
        assert full.problems == []
        assert full.tried["disk"]


def test_an_interrupt_while_a_module_makes_a_class_is_no_bug_of_ours() -> None:
    code = "from pathway_local.cli import command_line\nclass Field:\n def __set_name__(*_): raise KeyboardInterrupt\n"
    code += "def app(**_): type('Made', (), {'field': Field()})\ncommand_line.app = app\ncommand_line.run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize("error", ["MemoryError()", 'RuntimeError("can\'t start new thread")'])
def test_memory_that_runs_out_is_no_bug_of_ours(error: str) -> None:
    code = f"from pathway_local.cli import command_line\ndef app(**_): raise {error}\ncommand_line.app = app\n"
    code += "command_line.run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 5
    assert "memory ran out" in done.stderr
    assert "ulimit -u" in done.stderr
    assert "report" not in done.stderr
