"""The quickstart says how many verdicts on the sample cases have the meant score."""

from pathlib import Path

import pytest
from typed_here import typing_in

from demo_judge.cases import MAKERS
from judge_samples import RUBRICS, meant_scores
from pathway_local.case import CaseRef
from pathway_local.rater import Rater
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Failure, Outcome, Score, Verdict


def test_verdicts_with_the_meant_score_are_counted_for_each_score_and_failures_are_not(tmp_path: Path) -> None:
    both = {"meant_completeness_score": "4", "meant_correctness_score": "5"}
    outcomes: list[tuple[str, dict[str, str], Outcome]] = [
        ("groundedness", {"meant_score": "2"}, Verdict({"score": Score(2)}, {})),
        ("groundedness", {"meant_score": "2"}, Verdict({"score": Score(3)}, {})),
        ("groundedness", {"meant_score": "1"}, Failure("cut", "x")),
        ("gold-answer", both, Verdict({"completeness_score": Score(4), "correctness_score": Score(4)}, {})),
    ]
    with RunFile.create(tmp_path / "a.run") as run:
        raters = {}
        for name in ("groundedness", "gold-answer"):
            store_rubric(run, load_rubric(name))
            raters[name] = run.add_rater(Rater("demo", "judge", name, {}))
        for row, (rubric, meant, outcome) in enumerate(outcomes, 1):
            ref = CaseRef(f"{rubric}-{row}", row, metadata=meant, hash=f"{row:032x}")
            run.put(raters[rubric], ref, outcome, keep=None)
    assert meant_scores(tmp_path / "a.run").splitlines() == [
        "Verdicts of the demo judge with the meant score:",
        "groundedness               1 of 3",
        "gold-answer completeness   1 of 1",
        "gold-answer correctness    0 of 1",
    ]


def test_the_samples_of_all_made_rubrics_are_judged() -> None:
    assert set(RUBRICS) == set(MAKERS)


def test_the_table_of_all_sample_rubrics_fits_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunFile.create(tmp_path / "samples.run") as run:
        for name in RUBRICS:
            rubric = load_rubric(name)
            store_rubric(run, rubric)
            rater = run.add_rater(Rater("demo", "judge", name, {}))
            for row in range(1, 21):
                verdict = Verdict({score: Score(1 + row % 5) for score in rubric.format.scores}, {})
                run.put(rater, CaseRef(f"{name}-{row}", row, hash=f"{row:032x}"), verdict)
    shown = typing_in(tmp_path, monkeypatch, capsys)("summary", "samples.run").out
    table = shown.partition("rater: demo")[2].partition("95% interval: ")[0].splitlines()
    assert sum(line.strip().startswith(RUBRICS) for line in table) == 5
    assert max(len(line.rstrip()) for line in table) <= 80
    assert any(line.split()[:2] == ["score", "n"] for line in table), "a head of two lines"
