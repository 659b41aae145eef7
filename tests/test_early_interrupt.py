"""An interrupt in the first moments of a command ends it without a word, however often it comes at a bad time."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pathway_local.system.early_interrupt import INTERRUPTED

STRUCK = """
import os, signal, sys, threading
from pathway_local import cli
delay, *arguments = sys.argv[1:]
sys.argv = ["pathway-local", *arguments]
strike = threading.Timer(float(delay), os.kill, (os.getpid(), signal.SIGINT))
strike.daemon = True
prepare = cli.leave_at_once
def then_strike():
    prepare()
    strike.start()
cli.leave_at_once = then_strike
cli.main()
"""
DELAYS = [number / 100 for number in range(1, 41)]
SOME = DELAYS[:10:2] + DELAYS[10::4]
JUDGE = ("judge", "none.csv", "-r", "groundedness")
COMMANDS = [
    pytest.param(JUDGE, SOME, id="judge"),
    *(
        pytest.param(each, DELAYS, id=f"{each[0]}-often", marks=pytest.mark.soak)
        for each in (JUDGE, ("summary", "none.run"), ("rubrics", "list"), ("--help",))
    ),
]


def _struck(folder: Path, delay: float, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    typed = [sys.executable, "-c", STRUCK, str(delay), *command]
    return subprocess.run(typed, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("command", "delays"), COMMANDS)
def test_an_early_interrupt_ends_a_command_without_a_traceback(
    tmp_path: Path, command: tuple[str, ...], delays: list[float]
) -> None:
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda delay: _struck(tmp_path, delay, command), delays))
    for delay, done in zip(delays, ended, strict=True):
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, (delay, done.stderr)
    interrupted = [done for done in ended if done.returncode == INTERRUPTED]
    assert len(interrupted) > 5, "most of them came in time"
    # While Python itself ends, SIGINT has its default action again, which is as quiet.
    over = (0, 3, 4, -signal.SIGINT)
    assert all(done.returncode in (INTERRUPTED, *over) for done in ended), "others had ended before"
    assert all(done.stderr == "" for done in interrupted[:5]), "imports of the first tenth of a second"


def test_an_interrupt_that_is_ignored_stays_so(tmp_path: Path) -> None:
    typed = ["env", "--ignore-signal=INT", sys.executable, "-c", STRUCK, "0.05", "rubrics", "list"]
    done = subprocess.run(typed, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert "groundedness" in done.stdout
