"""A small share of `soak_attacks.py`: disturbed commands go on, and nothing is lost, doubled or left."""

import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from attacked import Trial, small_disk
from disturbed import outcomes
from reply_script import SECONDS
from typed import Desk

from pathway_local.system.private_process import LEAST_ADDRESS_SPACE

CASES = 30
FEW_KIB = 300 << 10


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Trial:
    desk = Desk(tmp_path_factory.mktemp("attacks") / "d", tiny_judge, environment={SECONDS: "0.02"})
    command = desk.judging(desk.cases(CASES))
    began = time.monotonic()
    desk.typed(*command)
    seconds, right = time.monotonic() - began, outcomes(desk.work / "may.run")
    (desk.work / "may.run").unlink()
    return Trial(desk, command, seconds, right, random.Random(4))


def test_signals_and_a_jumping_clock(trial: Trial) -> None:
    trial.start_over()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        trial.interrupt(number)
    trial.jump()
    trial.finish()
    assert trial.problems == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk")
def test_a_full_disk(trial: Trial) -> None:
    trial.start_over()
    with small_disk(trial.desk.work / "disk") as disk:
        command = [*trial.command[:-1], "disk/may.run"]
        full = replace(trial, disk=disk, run=Path("disk/may.run"), command=command)
        for _ in range(3):
            full.fill()
        full.finish()
        assert full.problems == []
        assert full.tried["disk"]


def test_a_limit_on_memory_that_leaves_no_room_for_libraries_is_told(trial: Trial) -> None:
    """Without a check OpenBLAS would try for ever to allocate."""
    few = ["sh", "-c", f'ulimit -v {FEW_KIB}; exec "$@"', "sh"]
    said = trial.desk.typed(*trial.command, before=few, code=5).stderr
    assert "(ulimit -v) is 300 MB" in said
    assert f"Raise it to {LEAST_ADDRESS_SPACE >> 20} MB" in said
