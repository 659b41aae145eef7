"""`pathway-local read`: which cases come first, with whose words and which texts."""

from pathlib import Path

import numpy as np
import pytest
from html_page import check_harmless
from rated_run import IDS, TINY, TWO, add, cases, judged_run, said, write_lines
from taught_run import rows, rubric, taught_run
from typed_here import Run, typing_in

from pathway_local.case import Case
from pathway_local.results.reading_list import By, ReadOptions, reading_lists, reason_field
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.scores.scores import Scores
from pathway_local.verdict import Outcome, Score, Verdict


def sure(*confidences: float) -> dict[str, Outcome]:
    """A 4 on each case with this confidence."""
    return {
        name: Verdict({"score": Score(4, {4: share, 1: 1 - share})}, {"reason": "because"})
        for name, share in zip(IDS, confidences, strict=True)
    }


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    with RunFile.create(tmp_path / "may.run") as made:
        made.set_setting("columns", {"mapping": {}, "id": "id"})
        add(made, "demo", sure(0.9, 0.6, 0.99, 0.7))
        add(made, "ann", said(5, 4, 1, 3), kind="human")
        add(made, "hosted", said(5, 4, 2, 0), kind="hosted")
        add(made, "both", said(1, 1, 1, 1), kind="combined")
    write_lines(tmp_path / "cases.jsonl", [{"id": case.id, **case.inputs} for case in cases()])
    (tmp_path / "cases.jsonl").chmod(0o600)
    return typing_in(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("by", "first"),
    [
        ("score", ["s-3", "s-2", "s-4", "s-1"]),
        ("confidence", ["s-2", "s-4", "s-1", "s-3"]),
        ("disagreement", ["s-4", "s-3", "s-1"]),
        ("failure", ["s-4"]),
    ],
)
def test_what_comes_first(by: By, first: list[str], run: Run, tmp_path: Path) -> None:
    with RunFile.read(tmp_path / "may.run") as made:
        sheet = cases_of(tmp_path / "cases.jsonl", [TINY], made)
        for top in (4, 2):
            (found,) = reading_lists(Scores(made), [TINY], ReadOptions(by=by, top=top), sheet)
            assert [case.case for case in found.cases] == first[:top]
            assert all(case.texts and not case.changed and len(case.said) == 4 for case in found.cases)


def test_people_who_rated_under_what_a_rubric_is_rated_as_are_shown(tmp_path: Path) -> None:
    """Also cases that no judge has scored under the rubric, such as those beyond a --limit."""
    scores, own = np.array([1.0, 5, 2, 4]), rubric("own", "rated_as: plain\n")
    judges = [(rubric(), scores), (own, np.array([3.0, 3, np.nan, np.nan]))]
    path = taught_run(tmp_path / "a.run", {"Ann": scores}, judges)
    write_lines(tmp_path / "c.jsonl", [{"id": each.id, **each.inputs} for each in rows(4)])
    (tmp_path / "c.jsonl").chmod(0o600)
    with RunFile.read(path) as made:
        (found,) = reading_lists(Scores(made), [own], ReadOptions(), cases_of(tmp_path / "c.jsonl", [own], made))
    assert {each.case: [said.rater for said in each.said] for each in found.cases} == {
        "c-000": ["demo", "Ann"], "c-001": ["demo", "Ann"], "c-002": ["Ann"], "c-003": ["Ann"],
    }  # fmt: skip
    assert {said.kind for each in found.cases for said in each.said} == {"judge", "human"}


def test_a_ranking_of_many_keeps_the_lowest(tmp_path: Path) -> None:
    rows = [Case(f"c-{row}", {"question": "q", "answer": "a"}, {}, row) for row in range(1, 2500)]
    worst = {f"c-{row}": Verdict({"score": Score(1 if row % 800 == 0 else 5)}) for row in range(1, 2500)}
    write_lines(tmp_path / "cases.jsonl", [{"id": case.id, **case.inputs} for case in rows])
    with RunFile.create(tmp_path / "may.run") as made:
        add(made, "demo", worst, rows=rows)
        sheet = cases_of(tmp_path / "cases.jsonl", [TINY], made)
        (found,) = reading_lists(Scores(made), [TINY], ReadOptions(top=3), sheet)
    assert [case.case for case in found.cases] == ["c-800", "c-1600", "c-2400"]


def test_a_page_shows_texts_levels_and_everyones_words(run: Run) -> None:
    told = run("read", "may.run", "--cases", "cases.jsonl", "--out", "read.html", "--top", 1)
    assert told.code == 0 and "note: read.html holds texts of cases" in told.err
    page = check_harmless(Path("read.html").read_text(encoding="utf-8"))
    assert "This page holds texts of cases" in page.said and "1 Bad 2 Poor 3 Not asked 4 Good 5 Best" in page.said
    assert (
        "s-3 row 3 question the question of s-3 answer the answer of s-3 demo local judge 4 Good confidence 99% "
        "Probabilities 1 Bad 1% 4 Good 99% reason because ann person 1 Bad reason because 1 hosted hosted judge 2 Poor"
    ) in page.said
    assert (
        "s-3 the question of s-3 the answer of s-3 4 Good confidence 99% because 1 Bad because 1 2 Poor because 2 1 Bad"
        in page.said
    )
    german = run("read", "may.run", "--cases", "cases.jsonl", "--out", "lies.html", "--by", "failure", "--lang", "de")
    assert german.code == 0
    assert "nicht lesbare Zeile" in check_harmless(Path("lies.html").read_text(encoding="utf-8")).said


def test_cases_that_several_scores_list_count_once(run: Run, tmp_path: Path) -> None:
    judged_run(tmp_path / "two.run", TWO).close()
    write_lines(tmp_path / "two.jsonl", [{"id": case.id, **case.inputs} for case in cases(TWO)])
    (tmp_path / "two.jsonl").chmod(0o600)
    assert "written: two.html, 4 cases" in run("read", "two.run", "--cases", "two.jsonl", "--out", "two.html").words


def test_a_file_with_other_texts_or_without_the_case_is_told_per_case(run: Run, tmp_path: Path) -> None:
    given = [{"id": case.id, **case.inputs} for case in cases()][1:]
    given[1]["answer"] = "another answer"
    write_lines(tmp_path / "cases.jsonl", given)
    assert run("read", "may.run", "--cases", "cases.jsonl", "--out", "read.html").code == 0
    page = check_harmless(Path("read.html").read_text(encoding="utf-8")).said
    for case, note in (("s-1", "The cases file has no such case."), ("s-3", "now has other texts")):
        assert page.count(note) == 1 and note in page.rpartition(f"{case} row")[2][:300]


def test_wrong_files_are_refused_before_anything_is_read(run: Run) -> None:
    for name in ("read.pdf", "read.xlsx"):
        assert run("read", "may.run", "--cases", "cases.jsonl", "--out", name).code == 2
    assert run("read", "may.run", "--cases", "none.jsonl", "--out", "read.html").code == 3
    assert run("read", "may.run", "--cases", "cases.jsonl", "--out", "read.html", "--by", "luck").code == 2
    assert not Path("read.html").exists()


def test_the_reason_that_goes_with_a_score() -> None:
    wanted = {
        ("pathway-answer", "score"): "justification", ("groundedness", "score"): "explanation",
        ("contextual-relevance", "score"): "reason", ("gold-answer", "completeness_score"): "completeness_reasoning",
        ("gold-answer", "correctness_score"): "correctness_reasoning", ("pair-answer", "preference"): "comparison",
    }  # fmt: skip
    for (name, score), field in wanted.items():
        assert reason_field(load_rubric(name).format, score) == field


def test_a_run_without_ratings_says_so(run: Run, tmp_path: Path) -> None:
    with RunFile.create(tmp_path / "new.run") as made:
        store_rubric(made, TINY)
    told = run("read", "new.run", "--cases", "cases.jsonl", "--out", "none.html")
    assert told.code == 2 and "the run holds no verdicts yet" in told.err and not Path("none.html").exists()
