"""The columns of a sheet of ratings are found by their names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rated_run import TINY, TWO

from pathway_local.errors import UsageError
from pathway_local.ratings.rating_layout import RatingLayout, RatingsFile, find_layout


def layout(
    columns: Sequence[str], rubric: Any = TINY, own_id: str | None = None, mapping: Any = None, **options: Any
) -> RatingLayout:
    file = RatingsFile(Path("people.csv"), options.pop("kind", "human"), **options)
    return find_layout(columns, rubric, file, own_id, mapping or {})


def test_ids_are_found_in_order() -> None:
    assert layout(["id", "rating_id", "score"]).id_column == "rating_id"
    assert layout(["id", "rating_id", "score"]).handed_out
    assert layout(["id", "nr", "score"], own_id="nr").id_column == "nr"
    assert layout(["Case ID", "score"]).id_column == "Case ID"
    assert layout(["id", "nr", "score"], id_column="nr").id_column == "nr"
    assert layout(["score"]).id_column is None


def test_each_text_has_its_column_if_it_is_there() -> None:
    assert layout(["id", "question", "AI answer", "score"]).inputs == {"question": "question", "answer": "AI answer"}
    assert layout(["id", "Response", "score"]).inputs == {"answer": "Response"}
    assert layout(["rating_id", "question", "score"]).inputs == {"question": "question"}
    assert layout(["id", "score"]).inputs == {}
    mapped = {"answer": "Said", "question": "Asked"}
    assert layout(["id", "said", "answer", "question", "score"], mapping=mapped).inputs == {"answer": "said"}
    assert layout(["id", "answer", "response", "score"]).inputs == {"answer": "answer"}
    assert layout(["id", "AI answer", "response", "score"]).inputs == {}


def test_evaluators_are_called_as_their_columns_are() -> None:
    found = layout(["id", "Ann ", "Bob", "of Ann", "notes"], scores=["ann", "Bob"], comments=["Ann=of Ann"])
    ann, bob = found.evaluators
    assert (ann.name, ann.scores, ann.notes) == ("Ann", {"score": "Ann "}, {"notes": "of Ann"})
    assert (bob.name, bob.scores, bob.notes) == ("Bob", {"score": "Bob"}, {})
    assert found.unread == ("notes",)
    for comments in (["of Ann"], ["Cy=of Ann"]):
        with pytest.raises(UsageError, match="unclear whose comments"):
            layout(["id", "Ann", "Bob", "of Ann"], scores=["Ann", "Bob"], comments=comments)


def test_no_column_of_notes_is_lost() -> None:
    (alone,) = layout(["id", "score", "notes", "comment", "reason"]).evaluators
    assert alone.notes == {"notes": "notes", "comment": "comment", "reason": "reason"}
    assert layout(["id", "score", "mood", "question"]).unread == ("mood",)


def test_raters_in_a_column() -> None:
    found = layout(["id", "Reviewer", "rating"])
    assert (found.rater_column, found.evaluators[0].scores) == ("Reviewer", {"score": "rating"})


def test_raw_replies_are_a_hosted_judges() -> None:
    assert layout(["id", "reply", "score"], kind="hosted").reply_column == "reply"
    assert layout(["id", "reply", "score"], kind="hosted", scores=["score"]).reply_column is None
    assert layout(["id", "reply", "score"]).reply_column is None
    with pytest.raises(UsageError, match="raw replies"):
        layout(["id", "text"], kind="hosted")


def test_several_scores_belong_to_one_rater() -> None:
    (own,) = layout(["id", "a", "b"], TWO, scores=["clear=a", "right=b"]).evaluators
    assert (own.name, own.scores) == ("", {"clear": "a", "right": "b"})
    people = layout(["id", "Ann", "Dr. Bob"], TWO, scores=["clear=Ann", "clear=Dr. Bob"]).evaluators
    assert {each.name: each.scores for each in people} == {"Ann": {"clear": "Ann"}, "Dr. Bob": {"clear": "Dr. Bob"}}
    for scores in (["clear=a", "clear=b", "right=c"], ["clear=a", "clear=a"]):
        with pytest.raises(UsageError, match="several evaluators have columns"):
            layout(["id", "a", "b", "c"], TWO, scores=scores)
