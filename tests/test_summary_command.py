"""`pathway-local summary` tells what it leaves out."""

import json
from pathlib import Path

import pytest
from rated_run import add, cases, judged_run, said
from typed_here import Run, typing_in


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return typing_in(tmp_path, monkeypatch, capsys)


def test_a_value_with_few_cases_of_one_rater_is_told_though_another_has_many(run: Run, tmp_path: Path) -> None:
    rows = cases(audience="guest")
    with judged_run(tmp_path / "may.run", rows=rows) as made:
        add(made, "ann", said(1, 4), kind="human", rows=rows)
    found = run("summary", "may.run", "--by", "audience", "--min-group", 3, "--json")
    assert [group["rater"] for group in json.loads(found.out)] == ["demo"]
    assert found.err == "note: one value of audience has under 3 cases and is left out (--min-group)\n"
    every = run("summary", "may.run", "--by", "audience", "--min-group", 1)
    assert (every.code, every.err) == (0, "")
