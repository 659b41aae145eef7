"""The columns of a sheet of ratings are found by their names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rated_run import TINY, TWO

from pathway_local.errors import UsageError
from pathway_local.ratings.rating_layout import PAGE_COLUMNS, RatingLayout, RatingsFile, find_layout


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


@pytest.mark.parametrize(
    "header", ["Ann score", "Ann_score", "Ann: Score", "score (Ann)", "Score Ann", "Ann.rating", "Ann"]
)
def test_evaluators_are_named_by_their_headers(header: str) -> None:
    found = layout(["id", header, "Bob", "Ann notes", "Comment Bob", "notes"], scores=[header, "Bob"])
    ann, bob = found.evaluators
    assert (ann.name, ann.scores) == ("Ann", {"score": header})
    assert ann.notes == {"notes": "Ann notes", "shared_notes": "notes"}
    assert (bob.name, bob.notes) == ("Bob", {"notes": "Comment Bob", "shared_notes": "notes"})
    assert found.unread == ()


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


def test_several_scores_belong_to_whom_the_headers_say() -> None:
    columns = ["id", "Ann clear", "Ann right", "right (Bob)"]
    ann, bob = layout(columns, TWO, scores=columns[1:]).evaluators
    assert (ann.scores, bob.scores) == ({"clear": "Ann clear", "right": "Ann right"}, {"right": "right (Bob)"})
    (own,) = layout(["id", "a", "b"], TWO, scores=["clear=a", "right=b"]).evaluators
    assert (own.name, own.scores) == ("", {"clear": "a", "right": "b"})
    people = layout(["id", "Ann", "Dr. Bob"], TWO, scores=["clear=Ann", "clear=Dr. Bob"]).evaluators
    assert {each.name: each.scores for each in people} == {"Ann": {"clear": "Ann"}, "Dr. Bob": {"clear": "Dr. Bob"}}
    with pytest.raises(UsageError, match="unclear whose scores"):
        layout(["id", "clear", "Clear"], TWO, scores=["clear", "Clear"])


def test_a_header_of_a_megabyte_takes_no_longer_than_others() -> None:
    [ann] = layout(["id", "Ann score", "." * 1_000_000, ". note" * 200_000], scores=["Ann score"]).evaluators
    assert (ann.name, ann.notes) == ("Ann", {})


@pytest.mark.parametrize("kept", PAGE_COLUMNS)
def test_a_file_of_a_page_is_known_by_any_column_of_its_own(kept: str) -> None:
    assert layout(["rating_id", "rater", kept, "score"]).from_page
    assert layout(["rating_id", kept, "score"]).from_page
    assert not layout(["id", "rater", kept, "score"]).from_page
    assert not layout(["rating_id", kept, "reply"], kind="hosted").from_page
    assert not layout(["rating_id", "rater", "score"]).from_page
