"""Panels: the level or the mean that others' scores make, with the spread, and no score that nobody gave."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rated_run import TINY, TWO, add, cases, judged_run, said, scores_of

from pathway_local.case import Case
from pathway_local.errors import RaterChanged, UnknownName, UsageError
from pathway_local.rater import PanelRule
from pathway_local.results.panel import PanelResult, make_panel, mean_of
from pathway_local.results.summary import summary_of
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Score, Verdict


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    """Three members; "demo" gave 4 everywhere, and s-4 has one member alone."""
    with judged_run(tmp_path / "may.run") as run:
        add(run, "ann", said(1, 4, 3, 0), kind="human")
        add(run, "bob", said(2, 4, 3, 5), kind="human")
        add(run, "cy", said(5, 5, 4), kind="human")
        yield run


def made(run: RunFile, rule: PanelRule, members: str = "ann,bob,cy", name: str = "panel") -> PanelResult:
    (found,) = make_panel(run, name, members.split(","), rule, ["panel"])
    return found


def outcomes(run: RunFile, name: str = "panel") -> dict[str, Verdict | Failure]:
    return {record.case_id: record.outcome for record in run.records(name)}


def test_a_rubrics_own_field_is_no_mean_of_a_panel() -> None:
    assert mean_of(Verdict({"score": Score(3)}, {"score_mean": 2.5}), "score") is None


def test_a_mean_is_no_level_of_the_scale(run: RunFile) -> None:
    found = made(run, "mean")
    said_by_panel = outcomes(run)
    first = said_by_panel["s-1"]
    assert first == Verdict({}, {"score_mean": 8 / 3, "score_spread": 4}, ())
    assert isinstance(first, Verdict)
    assert mean_of(first, "score") == 8 / 3
    # Two of three said that it was not asked: that is the panel's word, and 4 alone makes no mean.
    assert said_by_panel["s-3"] == Verdict({"score": Score(3)}, {"score_spread": 0}, ())
    assert said_by_panel["s-4"] == Failure("panel-incomplete", "fewer than 2 members have scored the case")
    assert (found.verdicts, found.partial, dict(found.failures)) == (3, 0, {"panel-incomplete": 1})
    assert summary_of(run)[0].rows


def test_medians_and_majorities_are_levels(run: RunFile) -> None:
    made(run, "median", name="median")
    assert scores_of(run, "median") == {"s-1": 2, "s-2": 4, "s-3": 3, "s-4": "panel-incomplete"}
    made(run, "majority", name="majority")
    assert scores_of(run, "majority") == {"s-1": "no-majority", "s-2": 4, "s-3": 3, "s-4": "panel-incomplete"}
    made(run, "median", "ann,bob", "two")
    assert scores_of(run, "two")["s-1"] == 1


def test_members_that_are_left_out_are_marked(run: RunFile) -> None:
    found = made(run, "mean", "demo,ann,bob")
    marks = {case: outcome.marks for case, outcome in outcomes(run).items() if isinstance(outcome, Verdict)}
    assert marks == {"s-1": (), "s-2": (), "s-3": (), "s-4": ("members:2/3",)}
    assert found.partial == 1
    made(run, "mean", "demo,cy,ann", "other")
    other = outcomes(run, "other")["s-3"]
    assert other == Verdict({}, {"score_mean": 4.0, "score_spread": 0}, ("special:1/3",))


def test_a_panel_made_again_follows_its_members(run: RunFile) -> None:
    made(run, "median")
    add(run, "ann", said(0, 0, 0, 5), kind="human")
    made(run, "median")
    assert scores_of(run, "panel")["s-4"] == 5
    with pytest.raises(RaterChanged):
        made(run, "mean")
    assert scores_of(run, "panel")["s-4"] == 5


def test_members_who_saw_other_texts_do_not_count(run: RunFile) -> None:
    rows = [Case(case.id, {**case.inputs, "answer": "rewritten"}, {}, case.row) for case in cases()[:1]]
    for name, value, kind in (("demo", 4, "judge"), ("ann", 1, "human"), ("bob", 5, "human")):
        add(run, name, said(value), kind=kind, rows=rows)
    made(run, "median")
    assert scores_of(run, "panel")["s-1"] == 1
    first = outcomes(run)["s-1"]
    assert isinstance(first, Verdict)
    assert first.marks == ("members:2/3",)


def test_a_run_without_raters_says_so(tmp_path: Path) -> None:
    with RunFile.create(tmp_path / "new.run") as new, pytest.raises(UnknownName, match="no rater is called 'ann'"):
        made(new, "mean", "ann,bob")


def test_what_is_no_panel(run: RunFile) -> None:
    for members, error in (("ann", UsageError), ("ann,ann", UsageError), ("ann,dora", UnknownName)):
        with pytest.raises(error):
            made(run, "mean", members)
    made(run, "mean")
    with pytest.raises(UsageError, match="panels as members"):
        made(run, "mean", "panel,ann", "second")
    with pytest.raises(RaterChanged):
        made(run, "mean", name="demo")
    for name in ("adjudicated", "adjudicated/Zoe"):
        with pytest.raises(UsageError, match="reserved for scores agreed on in `view`") as refused:
            made(run, "mean", name=name)
        assert refused.value.hint == "Give this rater another name."
    add(run, "eve", {"s-1": Verdict({"clear": Score(1)})}, TWO, rows=cases(TWO))
    with pytest.raises(UsageError, match="no rubric in common"):
        made(run, "mean", "ann,eve")
    assert [rater.name for _, rater in run.raters()] == ["demo", "ann", "bob", "cy", "panel", "eve"]


def test_nominal_scores_have_a_majority_only(tmp_path: Path) -> None:
    nominal = parse_rubric(TINY.text.replace("special: [3]", "scale: nominal"), "tiny")
    with judged_run(tmp_path / "n.run", nominal) as run:
        add(run, "ann", said(4, 1, 1, 1), nominal)
        with pytest.raises(UsageError, match="nominal"):
            make_panel(run, "p", ["demo", "ann"], "mean", [])
        make_panel(run, "p", ["demo", "ann"], "majority", [])
        assert scores_of(run, "p")["s-1"] == 4
        found = outcomes(run, "p")["s-1"]
        assert isinstance(found, Verdict)
        assert found.fields == {}


def test_several_scores(tmp_path: Path) -> None:
    with judged_run(tmp_path / "two.run", TWO) as run:
        add(run, "ann", {"s-1": Verdict({"clear": Score(1)})}, TWO, rows=cases(TWO))
        make_panel(run, "p", ["demo", "ann"], "mean", [])
        found = outcomes(run, "p")["s-1"]
        assert found == Verdict({}, {"clear_mean": 2.5, "clear_spread": 3}, ("members:1/2",))
