"""Scores as people write them: read if they are clear, refused if they are ambiguous."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathway_local.errors import ReplyError
from pathway_local.ratings.score_text import read_score, scale_text
from pathway_local.rubrics.fields import ScoreField

FIVE = ScoreField(levels={1: "Bad", 2: "Poor", 3: "Fair", 4: "Good", 5: "Level 5, the best"})
PLAIN = ScoreField(min=0, max=10)
PASS = ScoreField(levels={0: "bad", 1: "good"}, written={0: "Fail", 1: "Pass"})


@pytest.mark.parametrize(
    "text",
    [
        "4", " 4\n", "4.0", "4,0", "4/5", "4 / 5", "4,0/5",
        "Good", "good", "GOOD ", "4 – Good", "4 - good", "4 — Good", "4 (Good)", "4(good)",
    ],
)  # fmt: skip
def test_a_level_a_number_or_both(text: str) -> None:
    assert read_score(text, FIVE) == 4


def test_a_name_with_a_number_in_it() -> None:
    assert read_score("5 – Level 5, the best", FIVE) == read_score("level 5, the best", FIVE) == 5


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "0", "6", "45", "-4", "–4", "5.5", "0,5", "3-4", "3 4", "3 or 4", "4/10", "1e1", "4th", "-", "4 (2)",
        "½", "٤x", "**4**", "'4'", "4.", "(4)", "[4]", "4:", "Good.", "Good, nearly",
    ],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(ReplyError):
        read_score(text, FIVE)


# Excel's dates for a typed 3/5 and 3.5, words behind a number, another level's name, the scores of two people.
NO_SCORES = (
    "5-Mar", "03. Mai", "3-Apr", "2 of the claims are wrong", "4 would be too high", "5-point scale: four", "1. fine",
    "1. The fee is missing", "4 of 5 claims are right", "3 claims are wrong, else good", "4 - see below", "4: nearly",
    "4 Good", "4 out of 5", "4 von 5", "1 - Good", "5 (Bad)", "5 Poor", "[3,5]", "[3, 5]",
)  # fmt: skip


@pytest.mark.parametrize("text", NO_SCORES)
def test_anything_else_is_not_a_score(text: str) -> None:
    with pytest.raises(ReplyError, match="this is not a score"):
        read_score(text, FIVE)


def test_a_name_that_is_another_levels_number_is_ambiguous() -> None:
    turned = ScoreField(levels={1: "2", 2: "1"})
    with pytest.raises(ReplyError, match="more than one way"):
        read_score("1", turned)


def test_numbers_between_levels_are_kept_as_they_are() -> None:
    between = {"4.5": 4.5, "4,5": 4.5, "3.25/5": 3.25, "4.333333333333333": 4.333333333333333}
    assert {text: read_score(text, FIVE) for text in between} == between
    halves = ScoreField(min=1, max=5, step=0.5)
    assert (read_score("4.5", halves), read_score("4.25", halves)) == (4.5, 4.25)
    skipped = ScoreField(levels={0: "nothing to judge", 1: "bad", 2: "good"}, special=(0,))
    assert read_score("1.5", skipped) == 1.5
    named = ScoreField(levels={0: "a", 1: "b", 2: "c"}, scale="nominal")
    for text, field in (("0.5", skipped), ("0.5", PASS), ("1.5", named), ("10.5", PLAIN)):
        with pytest.raises(ReplyError, match="off the scale"):
            read_score(text, field)


@pytest.mark.parametrize("text", ["4e0", "+4", "40E-1", "0.4e+1", "4.000000000000000000000", "0000004", "４", "٤"])
def test_a_level_in_any_spelling(text: str) -> None:
    assert read_score(text, FIVE) == 4


@given(st.floats(1, 5, exclude_min=True, exclude_max=True), st.sampled_from(["{!r}", "{:.20g}", "{:.17e}", "{:+.60f}"]))
def test_every_spelling_of_a_number_is_read(number: float, form: str) -> None:
    text = form.format(number)
    for spelled in (text, text.replace(".", ","), text.upper(), text.upper().replace(".", ",")):
        value = read_score(spelled, FIVE)
        assert value == (number if round(number, 6) not in FIVE.values else round(number))
        assert read_score(json.dumps(float(text)), FIVE) == value


def test_numbers_that_are_unclear_are_refused() -> None:
    thousand = ScoreField(min=0, max=1000)
    assert read_score("1,5", thousand) == 1.5
    assert read_score("1,250", FIVE) == 1.25
    for text in ("1,000", "1.000", "1_0", "nan", "inf", "1e999", "1" * 5_000):
        with pytest.raises(ReplyError):
            read_score(text, thousand)


def test_other_scales() -> None:
    assert read_score("10", PLAIN) == 10
    assert read_score("10/10", PLAIN) == 10
    with pytest.raises(ReplyError, match="out of 5"):
        read_score("4/5", PLAIN)
    assert read_score("pass", PASS) == 1
    assert read_score("Fail", PASS) == read_score("0 (Fail)", PASS) == 0
    assert read_score("1", PASS) == 1
    assert (scale_text(FIVE), scale_text(ScoreField(levels={1: "a", 3: "b"}))) == ("1 to 5", "1, 3")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30) | st.from_regex(r"[0-9*./ -]{0,12}"))
def test_never_off_the_scale(text: str) -> None:
    for field in (FIVE, PLAIN, PASS):
        try:
            value = read_score(text, field)
        except ReplyError:
            continue
        assert value in field.values or field.between(value)
