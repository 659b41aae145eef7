"""The columns of a sheet of ratings are found by their names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rated_run import TINY

from pathway_local.errors import UsageError
from pathway_local.ratings.rating_rows import RatingLayout, RatingsFile, find_layout


def layout(
    columns: Sequence[str], rubric: Any = TINY, own_id: str | None = None, mapping: Any = None, **options: Any
) -> RatingLayout:
    file = RatingsFile(Path("people.csv"), options.pop("kind", "human"), **options)
    return find_layout(columns, rubric, file, own_id, mapping or {})


def test_columns_are_found_by_their_names() -> None:
    assert layout(["id", "rating_id", "score"]).id_column == "rating_id"
    assert layout(["id", "nr", "score"], own_id="nr").id_column == "nr"
    assert layout(["Case ID", "score"]).id_column == "Case ID"
    assert layout(["id", "question", "AI answer", "score"]).inputs == {"question": "question", "answer": "AI answer"}
    assert layout(["rating_id", "question", "score"]).inputs == {"question": "question"}
    mapped = {"answer": "Said", "question": "Asked"}
    assert layout(["id", "said", "answer", "question", "score"], mapping=mapped).inputs == {"answer": "said"}
    assert layout(["id", "answer", "response", "score"]).inputs == {"answer": "answer"}
    assert layout(["id", "AI answer", "response", "score"]).inputs == {}
    alone = layout(["id", "score", "notes", "comment", "reason", "mood"])
    assert alone.notes == {"notes": "notes", "comment": "comment", "reason": "reason"}
    assert alone.unread == ("mood",)


def test_raw_replies_are_a_hosted_judges() -> None:
    assert layout(["id", "reply", "score"], kind="hosted").reply_column == "reply"
    assert layout(["id", "reply", "score"], kind="hosted", scores=["score"]).reply_column is None
    assert layout(["id", "reply", "score"]).reply_column is None
    with pytest.raises(UsageError, match="raw replies"):
        layout(["id", "text"], kind="hosted")
