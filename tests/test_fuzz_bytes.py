"""A share of the damaged files that `scripts/soak fuzz` tries: an answer or a clean error, and no case text in it."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_bytes import SECRET, Ended, damaged_bytes

HERE = Path(__file__).parent


def test_damaged_files_get_an_answer_or_a_clean_error() -> None:
    # In a process of its own: it forks for each file, and measures what the fork takes.
    tried = subprocess.run([sys.executable, HERE / "fuzz_bytes.py", "42"], capture_output=True, text=True)
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert tried.stdout.startswith("42 inputs, 0 problems")


@pytest.mark.parametrize(
    ("ended", "problem"),
    [
        (Ended(0, "fine", 1, 100), ""),
        (Ended(5, "error: no engine", 1, 100), ""),
        (Ended(70, "fault: it failed", 1, 100), "ends with 70"),
        (Ended(-11, "", 1, 100), "ends with -11"),
        (Ended(-14, "", 30, 100), "hangs"),
        (Ended(0, "fine", 1, 501), "takes 501 MB"),
        (Ended(3, f"error: the cell {SECRET[4:]} is bad", 1, 100), "shows a case's text"),
    ],
)
def test_what_counts_as_a_problem(ended: Ended, problem: str) -> None:
    assert ended.problem == problem


def test_damage_changes_a_file() -> None:
    data = bytes(1000)
    assert sum(damaged_bytes(data, random.Random(seed)) != data for seed in range(50)) > 40
