"""Divergence: the patterns of the rubric document, and the cases where people should look first."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rated_run import TINY, add, judged_run, said

from pathway_local.rater import LABEL
from pathway_local.results.divergence import divergence, pattern_of, reason_field
from pathway_local.results.table import Table
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Score, Verdict

LEVELS = (1, 2, 4, 5)
KINDS = ("apart", "neighbours", "special", "agree")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    """Beside "demo", which gives 4: s-1 apart, s-2 neighbours, s-3 partly special, s-4 agreed on."""
    with judged_run(tmp_path / "may.run") as run:
        add(run, "ann", said(1, 5, 3, 4), kind="human")
        add(run, "bob", said(1, 4, 4, 0), kind="human")
        yield run


def tables(run: RunFile, top: int = 20, rubric: Rubric = TINY) -> dict[str, Table]:
    (found,) = divergence(run, [rubric], top)
    return {table.key: table for table in found.tables}


@pytest.mark.parametrize(
    ("values", "kind", "text"),
    [
        ([2, 2, 2], "agree", "2"),
        ([1, 2, 1], "neighbours", "1, 2"),
        ([2, 4], "neighbours", "2, 4"),
        ([1, 4], "apart", "1, 4"),
        ([5, 1, 2], "apart", "1, 2, 5"),
        ([3, 3], "agree", "3"),
        ([3, 4], "special", "3, 4"),
    ],
)
def test_patterns(values: list[int], kind: str, text: str) -> None:
    assert pattern_of(values, (3,), LEVELS) == (kind, text)


def test_without_special_levels_2_and_4_are_no_neighbours() -> None:
    assert pattern_of([2, 4], (), (1, 2, 3, 4, 5)) == ("apart", "2, 4")


@pytest.mark.parametrize(
    ("values", "kind", "text"),
    [
        ([1 / 3, 0.5], "neighbours", "0.33, 0.5"),
        ([0, 0.8], "apart", "0, 0.8"),
        ([-1, 0.5], "special", "-1, 0.5"),
    ],
)
def test_shares_are_far_apart_from_half_the_scale_on(values: list[float], kind: str, text: str) -> None:
    assert pattern_of(values, (-1,), (0, 1)) == (kind, text)


def test_the_cases_to_look_at_first(run: RunFile) -> None:
    run.set_setting(f"{LABEL}ann", "tired")
    found = tables(run)
    assert found["kinds"].about["cases"] == 4
    assert {row["kind"]: row["cases"] for row in found["kinds"].rows} == dict.fromkeys(KINDS, 1)
    assert {"kind": "apart", "pattern": "1, 4", "cases": 1, "share": 0.25} in found["patterns"].rows
    assert {"kind": "agree", "cases": 1, "share": 0.25} in found["kinds"].rows
    assert [note.values["label"] for note in found["kinds"].notes] == ["tired"]
    assert [row["case"] for row in found["first"].rows] == ["s-3", "s-1", "s-2"]
    special, apart, _ = found["first"].rows
    assert special.items() >= {"mean": 4.0, "spread": 0, "scores.demo": 4, "scores.ann": 3, "scores.bob": 4}.items()
    assert (apart["mean"], apart["spread"], apart["kind"], apart["scores.demo"]) == (2.0, 3, "apart", 4)
    said = [(row["rater"], row["score"], row["words"]) for row in found["words"].rows if row["case"] == "s-1"]
    assert said == [("ann", 1, "because 1"), ("bob", 1, "because 1")]
    one = tables(run, 1)
    assert [row["case"] for row in one["first"].rows] == ["s-3"]
    assert len(one["patterns"].rows) == 1 and one["kinds"].rows == found["kinds"].rows


def test_people_s_notes_are_their_reasons(run: RunFile) -> None:
    noted = {"s-1": Verdict({"score": Score(5)}, {"notes": "my note", "reason": "my reason"})}
    add(run, "cara", noted, kind="human")
    said = {(row["case"], row["rater"]): row["words"] for row in tables(run)["words"].rows}
    assert said["s-1", "cara"] == "my note\nmy reason"


def test_combined_scores_take_no_part(run: RunFile) -> None:
    add(run, "both", said(1, 2, 4, 5), kind="combined")
    scores = [column.label for column in tables(run)["first"].columns if column.name.startswith("scores.")]
    assert scores == ["demo", "ann", "bob"]


def test_one_rater_alone_diverges_from_nobody(tmp_path: Path) -> None:
    with judged_run(tmp_path / "one.run") as run:
        found = tables(run)
        assert list(found) == ["kinds", "patterns"] and not found["kinds"].rows


def test_nominal_scores_have_no_mean(tmp_path: Path) -> None:
    nominal = parse_rubric(TINY.text.replace("special: [3]", "scale: nominal"), "tiny")
    with judged_run(tmp_path / "n.run", nominal) as run:
        add(run, "ann", said(5, 4, 4, 4), nominal)
        found = tables(run, 5, nominal)
        assert [(row["case"], row["mean"], row["spread"]) for row in found["first"].rows] == [("s-1", None, None)]
        kinds = {row["kind"]: row["cases"] for row in found["kinds"].rows}
        assert kinds == {"agree": 3, "apart": 1}, "on a nominal scale, 4 and 5 are no neighbours"


def test_the_reason_that_goes_with_a_score() -> None:
    wanted = {
        ("pathway-answer", "score"): "justification", ("groundedness", "score"): "explanation",
        ("contextual-relevance", "score"): "reason", ("gold-answer", "completeness_score"): "completeness_reasoning",
        ("gold-answer", "correctness_score"): "correctness_reasoning", ("pair-answer", "preference"): "comparison",
    }  # fmt: skip
    for (rubric, score), field in wanted.items():
        assert reason_field(load_rubric(rubric).format, score) == field
