"""Raw replies of hosted judges: the exact layout has no mark, each departure has one, and no score is a guess."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathway_local.errors import ReplyError
from pathway_local.ratings.hosted_reply import read_reply
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.record import from_columns, to_columns
from pathway_local.sheets.row import json_text
from pathway_local.verdict import Failure, Outcome, Score, Verdict

PATHWAY = load_rubric("pathway-answer").format
GROUNDED = load_rubric("groundedness").format
RELEVANT = load_rubric("contextual-relevance").format
GOLD = load_rubric("gold-answer").format

EXACT = "**Analysis:**\nIt agrees.\n\n**Score:** 4\n\n**Justification:**\nA link is missing."
TAGGED = "<S0>Let's think step by step: claims hold.</S0>\n<S1>All backed.</S1>\n<S2>5</S2>"
ECHOED = '{"fq_id": "fq-1", "follow_up_question": "Is \\"that\\" all?", "score": 2, "reason": "Off topic."}'
TWO = {
    "completeness_score": 3, "completeness_reasoning": "Half.", "key_missing_info": ["the fee"],
    "correctness_score": 5, "correctness_reasoning": "Right.", "factual_errors": [],
}  # fmt: skip


def read(text: str, output_format: OutputFormat = PATHWAY, *, unfinished: bool = False) -> Outcome:
    return read_reply(text, output_format, unfinished=unfinished)


def verdict(text: str, output_format: OutputFormat = PATHWAY) -> Verdict:
    outcome = read(text, output_format)
    assert isinstance(outcome, Verdict), outcome
    return outcome


def breaks(text: str, output_format: OutputFormat = PATHWAY) -> set[str]:
    return {mark.removeprefix("format:") for mark in verdict(text, output_format).marks}


def test_the_exact_layout_has_no_mark() -> None:
    assert verdict(EXACT) == Verdict(
        {"score": Score(4)}, {"analysis": "It agrees.", "justification": "A link is missing."}
    )
    assert verdict(TAGGED, GROUNDED) == Verdict(
        {"score": Score(5)}, {"thoughts": "claims hold.", "explanation": "All backed."}
    )
    assert verdict(ECHOED, RELEVANT) == Verdict({"score": Score(2)}, {"reason": "Off topic."})
    found = verdict(json.dumps(TWO), GOLD)
    assert found.scores == {"completeness_score": Score(3), "correctness_score": Score(5)}
    assert (found.fields["key_missing_info"], found.marks) == (["the fee"], ())


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        (EXACT.replace("**Score:** 4", "**Score:**  4"), {"spacing"}),
        (EXACT.replace("\n\n", "\n"), {"spacing"}),
        ("\n" + EXACT, {"spacing"}),
        (EXACT.replace("**Score:**", "**SCORE:**"), {"heading"}),
        (EXACT.replace("**", ""), {"heading"}),
        (EXACT.replace("**Score:** 4", "## Score: 4"), {"heading"}),
        (EXACT.replace("**Score:** 4", "**Score**: 4"), {"heading"}),
        (EXACT.replace("**Score:** 4", "**Score:**\n4"), {"spacing"}),
        (EXACT.replace("4", "**4**"), {"score-form"}),
        (EXACT.replace("4", "4/5"), {"score-form"}),
        (EXACT.replace("4", "4 out of 5"), {"score-form"}),
        (EXACT.replace("4", "4 (Mostly correct with minor issues)"), {"score-form"}),
        (EXACT.replace("4", "4 – a link is missing"), {"score-form"}),
        (EXACT.replace("4", "mostly correct with minor issues"), {"score-form"}),
        (f"```\n{EXACT}\n```", {"code-fence"}),
        (f"Here you are:\n\n{EXACT}", {"text-around"}),
        (EXACT.split("\n\n**Justification")[0], {"missing:justification"}),
        (EXACT[EXACT.index("**Score") :], {"missing:analysis"}),
    ],
)
def test_a_departure_is_read_and_marked(text: str, marks: set[str]) -> None:
    assert breaks(text) == marks
    assert verdict(text).scores == {"score": Score(4)}


@pytest.mark.parametrize("text", ["4.5", "**4.5**", "4,5", "4.5/5"])
def test_a_half_point_is_kept_and_breaks_the_format_of_whole_numbers(text: str) -> None:
    assert verdict(EXACT.replace("4", text)).scores == {"score": Score(4.5)}
    assert "between-levels" in breaks(EXACT.replace("4", text))
    half = json.dumps({**TWO, "completeness_score": 3.25})
    assert verdict(half, GOLD).scores["completeness_score"] == Score(3.25)
    assert breaks(half, GOLD) == {"between-levels"}


def test_sections_in_another_order() -> None:
    found = verdict("**Score:** 4\n\n**Analysis:**\nIt agrees.\n\n**Justification:**\nA link is missing.")
    assert found.marks == ("format:heading",)
    assert found.fields == {"analysis": "It agrees.", "justification": "A link is missing."}


def test_what_stands_beside_the_format_is_kept() -> None:
    found = verdict("Sure!\n\n**Analysis:**\nIt agrees.\n\n**Score:** 4\nbecause of the link")
    assert found.fields == {"analysis": "It agrees.", "rest": "Sure!\n\nbecause of the link"}
    assert set(found.marks) == {"format:text-around", "format:missing:justification"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't score this.",
        EXACT.replace("4", "6"),
        EXACT.replace("4", "5.5"),
        EXACT.replace("4", "3-4"),
        EXACT.replace("4", "3 or 4"),
        EXACT.replace("4", "4 (perhaps 3)"),
        EXACT.replace("4", "4/10"),
        EXACT.replace("4", "four"),
        EXACT.replace("4", ""),
        EXACT.replace("**", "") + "\n\nScore: 2",
        "The score of 4 is my analysis: the answer misses a link.",
    ],
)
def test_what_could_be_read_in_two_ways_or_not_at_all_is_a_failure(text: str) -> None:
    outcome = read(text)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "unreadable-reply"
    assert "link" not in outcome.message


def test_the_same_score_twice_is_one_score() -> None:
    assert "heading" in breaks(EXACT.replace("**", "") + "\n\nScore: 4")


def test_a_sentence_that_begins_with_a_heading_is_no_heading() -> None:
    text = EXACT.replace("It agrees.", "Score 1 would be too low.\nAnalysis of the rest: fine.")
    assert verdict(text).scores == {"score": Score(4)}


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        (TAGGED.lower(), {"heading"}),
        (TAGGED.replace("\n", ""), {"spacing"}),
        (TAGGED.replace("Let's think step by step: ", ""), {"heading"}),
        (TAGGED.replace("</S2>", ""), {"spacing"}),
        (TAGGED.replace("<S1>All backed.</S1>\n", ""), {"missing:explanation"}),
        (TAGGED + "\nI hope this helps.", {"text-around"}),
    ],
)
def test_tags(text: str, marks: set[str]) -> None:
    found = breaks(text, GROUNDED)
    assert marks <= found
    assert verdict(text, GROUNDED).scores == {"score": Score(5)}


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        (json.dumps(TWO, separators=(",", ":")), {"spacing"}),
        (json.dumps(TWO, indent=2), {"spacing"}),
        (f"```json\n{json.dumps(TWO)}\n```", {"code-fence"}),
        (f"Here you are:\n```json\n{json.dumps(TWO)}\n```", {"code-fence", "text-around"}),
        (json.dumps(dict(reversed(TWO.items()))), {"order"}),
        (json.dumps({**TWO, "completeness_score": 3.0}), {"spacing"}),
        (json.dumps({**TWO, "key_missing_info": ["a"] * 9}), {"list-length"}),
    ],
)
def test_json_departures(text: str, marks: set[str]) -> None:
    assert breaks(text, GOLD) == marks
    assert verdict(text, GOLD).scores == {"completeness_score": Score(3), "correctness_score": Score(5)}


OTHER_JSON = {
    f"Here is the JSON: {json.dumps(TWO)} Bye.": "it is not JSON",
    json.dumps(TWO) * 2: "it is not JSON",
    json.dumps(TWO).replace("Half.", "Half.\nMore."): "it is not JSON",
    json.dumps(TWO).replace('"Half."', '"Half." said "he"'): "it is not JSON",
    json.dumps(TWO)[:-2]: "it is not JSON",
    "[]": "an object is missing",
    '{"other": 1}': "the key completeness_score is missing",
    json.dumps(TWO).replace("completeness_score", "Completeness Score"): "the key completeness_score is missing",
    json.dumps({**TWO, "link": 0.9}): "there are further keys than asked for",
    json.dumps(TWO)[:-1] + ', "correctness_score": 5}': "the reply has a key twice",
    json.dumps({**TWO, "completeness_score": "3"}): "completeness_score: expected one of",
    json.dumps({**TWO, "completeness_score": "3/5"}): "completeness_score: expected one of",
    json.dumps({**TWO, "completeness_score": None}): "completeness_score: expected one of",
    json.dumps({**TWO, "completeness_score": True}): "completeness_score: expected one of",
    json.dumps({**TWO, "completeness_score": [4]}): "completeness_score: expected one of",
    json.dumps({**TWO, "completeness_score": 9}): "completeness_score: 9 is off the scale 1 to 5",
    json.dumps({**TWO, "factual_errors": "none"}): "factual_errors: expected a list",
    json.dumps({**TWO, "factual_errors": [["a link"]]}): "factual_errors: expected a list",
}


@pytest.mark.parametrize("text", OTHER_JSON)
def test_what_is_not_json_of_the_asked_shape_is_a_failure_with_its_reason(text: str) -> None:
    outcome = read(text, GOLD)
    assert isinstance(outcome, Failure), outcome
    assert outcome.message.startswith(OTHER_JSON[text])
    assert "link" not in outcome.message


CLAIMS = OutputFormat.load(
    {
        "layout": "json",
        "fields": {
            "claims": {
                "type": "verdicts",
                "score": "faithfulness",
                "members": {
                    "claim": {"type": "text"},
                    "verdict": {"type": "score", "levels": {0: "no", 1: "yes"}, "written": {0: "no", 1: "yes"}},
                },
            }
        },
    }
)


def test_verdicts_of_a_hosted_judge_make_their_score() -> None:
    claims = [{"claim": "a", "verdict": "yes"}, {"claim": "b", "verdict": "no"}]
    for text in (json.dumps({"claims": claims}), json.dumps({"claims": claims}, indent=1)):
        found = verdict(text, CLAIMS)
        assert (found.scores, found.fields) == ({"faithfulness": Score(0.5)}, {"claims": claims})
    long = [{"claim": "a", "verdict": "yes"}] * 11
    assert verdict(json.dumps({"claims": long}), CLAIMS).marks == ("format:list-length",)
    for wrong in ({"claim": "a", "verdict": "maybe"}, {"claim": "a"}, {"claim": "a", "verdict": []}, "a"):
        assert isinstance(read(json.dumps({"claims": [wrong]}), CLAIMS), Failure)


NUMBERS = ("NaN", "[NaN]", "-Infinity", "[[1e999]]", "1e999", "9" * 310, "-" + "9" * 4300, "9" * 5000)


@pytest.mark.parametrize("name", ["key_missing_info", "completeness_score", "confidence"])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_can_not_be_kept_is_a_failure(name: str, number: str) -> None:
    outcome = read(json.dumps({**TWO, name: "HERE"}).replace('"HERE"', number), GOLD)
    assert isinstance(outcome, Failure)
    assert len(outcome.message) < 80


def test_a_json_field_holds_no_number_that_can_not_be_kept() -> None:
    score = {"type": "score", "min": 1, "max": 5}
    made = OutputFormat.load({"layout": "json", "fields": {"score": score, "free": {"type": "json", "schema": {}}}})
    for number in ("NaN", "-Infinity", "1e999"):
        text = f'{{"score": 4, "free": {{"share": {number}}}}}'
        assert isinstance(read(text, made), Failure)
        with pytest.raises(ReplyError, match="JSON value"):
            made.reply({}).form.read(text.removeprefix('{"score":'))
    assert verdict('{"score": 4, "free": {"share": 1e-3}}', made) == Verdict(
        {"score": Score(4)}, {"free": {"share": 1e-3}}
    )


@pytest.mark.parametrize("name", ["other", "completeness_reasoning", "key_missing_info"])
def test_a_reply_that_is_nested_too_deep_is_a_verdict_or_a_failure(name: str) -> None:
    made = json.dumps({**TWO, name: "HERE"})
    for depth in range(800, 1000):
        text = made.replace('"HERE"', "[" * depth + "]" * depth)
        to_columns(read(text, GOLD))


def test_what_is_kept_of_a_reply_can_be_exported() -> None:
    score = {"type": "score", "min": 1, "max": 5}
    made = OutputFormat.load({"layout": "json", "fields": {"score": score, "free": {"type": "json", "schema": {}}}})
    text = '{"score": 4, "free": HERE}'
    found = verdict(text.replace("HERE", "[" * 90 + "]" * 90), made)
    json_text(dict(found.fields))
    assert from_columns(to_columns(found)) == found
    assert isinstance(read(text.replace("HERE", "[" * 600 + "]" * 600), made), Failure)


def test_a_reply_that_was_cut_off() -> None:
    whole = EXACT.split("is missing")[0]
    outcome = read(whole, unfinished=True)
    assert isinstance(outcome, Verdict)
    assert outcome.marks == ("format:unfinished",)
    cut = read(re.split(r"(?<=Score:\*\* 4)", EXACT)[0], unfinished=True)
    assert isinstance(cut, Failure)
    assert cut.kind == "unfinished-reply"
    assert isinstance(read(json.dumps(TWO)[:-1], GOLD, unfinished=True), Failure)


def test_a_reply_that_keeps_the_layout_and_was_cut_off_at_its_score() -> None:
    """1 may be the beginning of 10."""
    fields = {"reason": {"type": "text"}, "score": {"type": "score", "min": 1, "max": 10}}
    ten = OutputFormat.load({"layout": "Reason: {reason}\nScore: {score}", "fields": fields})
    assert verdict("Reason: fine\nScore: 1", ten).marks == ()
    cut = read("Reason: fine\nScore: 1", ten, unfinished=True)
    assert isinstance(cut, Failure) and cut.kind == "unfinished-reply"


@pytest.mark.parametrize("text", ["kind", "KIND.", "**Kind.**"])
def test_a_choice_may_have_another_case_or_a_full_stop(text: str) -> None:
    fields = {"score": {"type": "score", "min": 1, "max": 5}, "tone": {"type": "choice", "choices": ["Kind", "Rude"]}}
    toned = OutputFormat.load({"layout": "Score: {score}\nTone: {tone}", "fields": fields})
    found = verdict(f"Score: 4\nTone: {text}", toned)
    assert (found.fields["tone"], found.marks) == ("Kind", ("format:choice-form",))


def test_pass_and_fail() -> None:
    written = OutputFormat.load(
        {
            "layout": "json",
            "fields": {
                "verdict": {"type": "score", "levels": {0: "bad", 1: "good"}, "written": {0: "Fail", 1: "Pass"}}
            },
        }
    )
    assert verdict('{"verdict": "Pass"}', written).marks == ()
    for other in ('"PASS"', "1", "true"):
        assert isinstance(read(f'{{"verdict": {other}}}', written), Failure)


def test_a_bare_number() -> None:
    bare = OutputFormat.load({"layout": "{score}", "fields": {"score": {"type": "score", "min": 1, "max": 5}}})
    assert verdict("3", bare).marks == ()
    assert breaks("3\n", bare) == {"spacing"}
    assert breaks("**3**", bare) == {"score-form"}
    assert isinstance(read("It is a 3", bare), Failure)


def test_text_of_any_kind_gives_an_answer_in_time() -> None:
    nasty = [
        "{" * 5000,
        '{"score":' * 2000,
        "**Score:** " * 3000,
        "<S0>" * 5000,
        "*" * 20000 + "Score: 4",
        "\n" * 50000,
    ]
    for text in nasty:
        for output_format in (PATHWAY, GROUNDED, RELEVANT, GOLD):
            read(text, output_format)


PIECES = st.sampled_from(
    ["**Score:** ", "Score: ", "4", "5", " ", "\n", "**", "{", "}", '"', '"score": ', "completeness_score", ":", ",",
     "<S2>", "</S2>", "<S0>", "[", "]", "\\", "```", "é", "\ud800", "not", "null", "9", "-", ".", "/5"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join), st.booleans())
def test_any_text_is_a_verdict_on_the_scale_or_a_failure(text: str, unfinished: bool) -> None:
    for output_format in (PATHWAY, GROUNDED, RELEVANT, GOLD):
        outcome = read(text, output_format, unfinished=unfinished)
        if isinstance(outcome, Verdict):
            assert outcome.scores
            assert all(score.value in output_format.scores[name].values for name, score in outcome.scores.items())
        else:
            assert "é" not in outcome.message


def test_blanks_behind_a_fence_take_no_longer_than_other_text() -> None:
    blanks = " " * 2_000_000
    assert isinstance(read(f"```\n{blanks}"), Failure)
    assert breaks(f"```\n{EXACT}\n{blanks}\n```") == {"code-fence"}
    assert breaks(f"```text\r\n{EXACT}\r\n  ```") == {"code-fence"}


@pytest.mark.parametrize("text", [f"```\n{EXACT}\n```\n```\nMore.\n```", f"```\n{EXACT}"])
def test_several_fences_or_an_open_one_are_no_fence_around_it(text: str) -> None:
    assert "code-fence" not in breaks(text)
