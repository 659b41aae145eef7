"""Shares of a hosted judge's scores come from the tokens at the scores' places, or are left out."""

import math
from collections.abc import Mapping

import pytest

from pathway_local.ratings.hosted_reply import read_reply
from pathway_local.ratings.token_shares import Token, with_shares
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import declare_rubric, load_rubric
from pathway_local.verdict import Number, Verdict

JSON = declare_rubric("j", "Judge {answer}.", "why: text; score: 1-5").format
TENS = declare_rubric("t", "Judge {answer}.", "score: 1-10").format
WORDS = declare_rubric("w", "Judge {answer}.", "verdict: wrong < right").format
LAYOUT = load_rubric("pathway-answer").format


def tokens(*texts: str | tuple[str, Mapping[str, float]]) -> list[Token]:
    """Tokens of texts; one with probabilities has these beside it."""
    pairs = [(each, {each: 1.0}) if isinstance(each, str) else each for each in texts]
    return [
        Token(text, top_logprobs=[Token(other, math.log(share)) for other, share in likely.items()])
        for text, likely in pairs
    ]


def shares(output_format: OutputFormat, name: str, said: list[Token]) -> dict[Number, float]:
    text = "".join(token.token for token in said)
    verdict = read_reply(text, output_format)
    assert isinstance(verdict, Verdict), verdict
    found = with_shares(verdict, output_format, text, said).scores[name]
    assert (found.value, found.mass) == (verdict.scores[name].value, None)
    return {value: round(share, 6) for value, share in found.probabilities.items()}


FOUR = {" 4": 0.6, " 5": 0.2, " 3": 0.1, " four": 0.1}


@pytest.mark.parametrize("spaced", [True, False])
def test_a_json_reply_tells_the_share_of_each_level(spaced: bool) -> None:
    blank = " " if spaced else ""
    likely = {text.replace(" ", blank): share for text, share in FOUR.items()}
    said = tokens('{"why":', ' "It says \\"score\\": 1, Ä', '.", "', 'score":', (f"{blank}4", likely), "}")
    assert shares(JSON, "score", said) == {1: 0, 2: 0, 3: 0.111111, 4: 0.666667, 5: 0.222222}


def test_a_layout_tells_it_where_it_is_kept_to_the_letter() -> None:
    said = tokens("**Analysis:**\nIt agrees.\n\n**Score:**", (" 4", FOUR), "\n\n**Justification:**\nFine.")
    assert shares(LAYOUT, "score", said)[4] == 0.666667
    loose = tokens("**Analysis:**\nIt agrees.\n\n**Score:**\n", ("4", FOUR), "\n\n**Justification:**\nFine.")
    assert shares(LAYOUT, "score", loose) == {}


def test_words_are_told_by_their_beginnings() -> None:
    said = tokens('{"verdict":', ' "', ("right", {"right": 0.7, "wr": 0.2, "w": 0.1}), '"}')
    assert shares(WORDS, "verdict", said) == {}  # a word in quotes begins at the quote
    said = tokens('{"verdict":', (' "right', {' "right': 0.7, ' "wr': 0.2, ' "w': 0.1}), '"}')
    assert shares(WORDS, "verdict", said) == {0: 0.3, 1: 0.7}


def test_a_token_that_begins_two_levels_tells_nothing() -> None:
    assert shares(TENS, "score", tokens('{"score": ', ("7", {"7": 0.9, "1": 0.1}), "}")) == {}
    assert shares(TENS, "score", tokens('{"score": ', ("7", {"7": 0.9, "10": 0.1}), "}"))[10] == 0.1


@pytest.mark.parametrize(
    "said",
    [
        [],
        tokens('{"score": 4'),
        tokens('{"score": ', ("4", {"5": 0.9}), "}"),
        tokens('{"score": ', ("4", {}), "}"),
        tokens('{"score": ', ("4", {"x": 1.0}), "}"),
    ],
)
def test_what_does_not_fit_tells_nothing(said: list[Token]) -> None:
    verdict = read_reply('{"score": 4}', TENS)
    assert isinstance(verdict, Verdict)
    assert with_shares(verdict, TENS, '{"score": 4}', said) == verdict
