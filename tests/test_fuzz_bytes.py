"""`fuzz_bytes.py`, by which `scripts/soak fuzz` tries damaged files, knows a problem when it sees one."""

import random
from pathlib import Path

import pytest
from fuzz_bytes import SECRET, Ended, damaged_bytes, trials


@pytest.mark.parametrize(
    ("ended", "problem"),
    [
        (Ended(0, "fine", 1, 100), ""),
        (Ended(5, "error: no engine", 1, 100), ""),
        (Ended(70, "fault: it failed", 1, 100), "ends with 70"),
        (Ended(-11, "", 1, 100), "ends with -11"),
        (Ended(-14, "", 30, 100), "hangs"),
        (Ended(0, "fine", 1, 401), "takes 401 MB"),
        (Ended(3, f"error: the cell {SECRET[4:]} is bad", 1, 100), "shows a case's text"),
    ],
)
def test_what_counts_as_a_problem(ended: Ended, problem: str) -> None:
    assert ended.problem == problem


def test_damage_changes_a_file() -> None:
    data = bytes(1000)
    assert sum(damaged_bytes(data, random.Random(seed)) != data for seed in range(50)) > 40


def test_damaged_json_in_a_run_ends_no_command_with_a_fault(tmp_path: Path) -> None:
    """Each trial is another command on a run whose JSON was changed; the soak tries thousands."""
    ended = dict(trials(tmp_path, 12, 12, "JSON in a run"))
    assert {what: each.problem for what, each in ended.items() if each.problem} == {}
    assert any(each.code == 4 for each in ended.values())
