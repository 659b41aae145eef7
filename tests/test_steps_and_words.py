"""Scores with steps, with words and with values off the scale; a rubric that nobody has confirmed is refused."""

from pathlib import Path

import pytest
from rated_run import TINY, add, judged_run

from pathway_local.errors import FormatError, ReplyError
from pathway_local.ratings.score_text import read_score
from pathway_local.results.tally import tally
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.scores.matrix import ratings_matrices
from pathway_local.scores.scores import Scores
from pathway_local.verdict import Score, Verdict

SCALE = "levels: {1: Bad, 2: Poor, 3: Not asked, 4: Good, 5: Best}, special: [3]"
NOMINAL = "scale: nominal, levels: {1: A, 2: B, 4: C}, written: {1: A, 2: B, 4: C}"
HALVES = parse_rubric(TINY.text.replace(SCALE, "min: 1, max: 5, step: 0.5"), "tiny")
LETTERS = parse_rubric(TINY.text.replace(SCALE, NOMINAL), "tiny")
OPEN = """---
name: mine
inputs: {answer: {}}
outputs: {layout: "{score}", fields: {score: {type: score, min: 1, max: 5}}}
%s---
user:
Judge {{answer}} from 1 to 5. Half points are allowed.
"""


def test_halves_are_stored_and_summed_up(tmp_path: Path) -> None:
    with judged_run(tmp_path / "h.run", HALVES) as run:
        values = {"s-1": 3.5, "s-2": 3, "s-3": 4.5}
        outcomes = {name: Verdict({"score": Score(value, {value: 0.75, 1.5: 0.25})}) for name, value in values.items()}
        add(run, "ann", outcomes, HALVES)
        assert {r.case_id: r.outcome.scores["score"] for r in run.records("ann")} == {  # type: ignore[union-attr]
            name: outcome.scores["score"] for name, outcome in outcomes.items()
        }
        group = next(each for each in tally(Scores(run)) if each.rater == "ann")
        assert group.scores["score"].counts[3.5] == 1
        assert group.scores["score"].mean.value == pytest.approx(11 / 3)
        [matrix] = ratings_matrices(run, HALVES)
        assert matrix.levels == (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)


def test_categories_have_counts_and_no_mean(tmp_path: Path) -> None:
    with judged_run(tmp_path / "l.run", LETTERS) as run:
        group = tally(Scores(run))[0]
        assert group.scores["score"].counts == {1: 0, 2: 0, 4: 4}
        assert not isinstance(group.scores["score"].mean.value, float)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ({"min": 1, "max": 5, "step": 0.5}, "4.5", 4.5),
        ({"min": 1, "max": 5, "step": 0.5}, "4", 4),
        ({"min": 0, "max": 1, "step": 0.01}, "0.70", 0.7),
        ({"min": 1, "max": 5, "special": [0], "written": {0: "N/A"}}, "n/a", 0),
    ],
)
def test_people_write_them_too(field: dict[str, object], text: str, value: float) -> None:
    assert read_score(text, ScoreField.model_validate({"type": "score", **field})) == value


def test_a_value_beyond_the_last_step_is_off_the_scale() -> None:
    with pytest.raises(ReplyError, match=r"5\.25 is off the scale"):
        read_score("5.25", ScoreField(min=1, max=5, step=0.5))


@pytest.mark.parametrize(
    "field",
    [
        {"min": 0, "max": 1, "step": 0.3}, {"min": 0, "max": 1, "step": 0}, {"min": 0, "max": 1, "step": 1e-9},
        {"min": 0, "max": float("inf")}, {"min": float("nan"), "max": 1}, {"min": -1e308, "max": 1e308},
    ],
)  # fmt: skip
def test_steps_that_fit_no_scale_are_refused(field: dict[str, object]) -> None:
    with pytest.raises(FormatError):
        OutputFormat.load({"layout": "{score}", "fields": {"score": {"type": "score", **field}}})


def test_json_writes_numbers_and_null_without_quotes_and_words_with_them() -> None:
    null = ScoreField(min=1, max=2, special=(0,), written={0: "null"})
    assert list(null.texts(True)) == ["null", "1", "2"]
    assert list(ScoreField(min=1, max=2, special=(0,), written={0: "N/A"}).texts(True)) == ['"N/A"', "1", "2"]


def test_a_scale_that_begins_between_two_steps_is_written_exactly() -> None:
    assert list(ScoreField(min=0.25, max=1.25, step=0.5).texts(False)) == ["0.25", "0.75", "1.25"]
