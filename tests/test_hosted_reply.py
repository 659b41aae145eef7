"""Raw replies of hosted judges are read by the rubric's own layout; nothing else in them is a score."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathway_local.ratings.hosted_reply import read_reply
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.record import to_columns
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
        (EXACT.replace("**", ""), set()),
        (EXACT.replace("**Score:** 4", "**Score**: 4"), set()),
        (EXACT.replace("**Score:** 4", "## Score: 4"), set()),
        (EXACT.replace("\n\n", "\n"), set()),
        (f"\n{EXACT}\n", set()),
        (EXACT.replace("**Analysis:**\n", "Analysis: "), set()),
        (EXACT.replace("**Score:** 4", "**Score:**\n4"), set()),
        (EXACT.replace("**Score:** 4", "**Score:**4"), set()),
        (EXACT.replace("4", "**4**"), set()),
        (EXACT.replace("4", "4/5"), set()),
        (EXACT.replace("4", "4 (Mostly correct with minor issues)"), set()),
        (EXACT.replace("4", "mostly correct with minor issues"), set()),
        (f"```\n{EXACT}\n```", {"code-fence"}),
        (f"```text\r\n{EXACT}\r\n  ```", {"code-fence"}),
        (f"<think>\nScore: 2\n</think>\n\n{EXACT}", set()),
        (f"Score: 2, or more\n</think>\n{EXACT}", set()),
    ],
)
def test_blanks_emphasis_a_fence_and_a_thought_are_left_out(text: str, marks: set[str]) -> None:
    assert breaks(text) == marks
    found = verdict(text)
    assert (found.scores, found.fields) == (verdict(EXACT).scores, verdict(EXACT).fields)


@pytest.mark.parametrize("text", ["4.5", "**4.5**", "4,5", "4.5/5"])
def test_a_half_point_is_kept(text: str) -> None:
    assert verdict(EXACT.replace("4", text)).scores == {"score": Score(4.5)}
    half = json.dumps({**TWO, "completeness_score": 3.25})
    assert verdict(half, GOLD).scores["completeness_score"] == Score(3.25)
    assert breaks(half, GOLD) == breaks(EXACT.replace("4", text)) == {"between"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't score this.",
        EXACT.replace("4", "6"),
        EXACT.replace("4", "3 or 4"),
        EXACT.replace("4", ""),
        EXACT.replace("4", "4 – a link is missing"),
        EXACT.replace("4", "4 would be too high"),
        EXACT.replace("4", "4\nbecause of the link"),
        EXACT.replace("**", "") + "\n\nScore: 2",
        EXACT.replace("It agrees.", "It agrees.\nScore: 1 would be too low."),
        f"Here you are:\n\n{EXACT}",
        f"```\n{EXACT}\n```\nI hope the link helps.",
        f"```\n{EXACT}\n```\n```\nMore.\n```",
        EXACT[EXACT.index("**Score") :],
        "**Score:** 4\n\n**Analysis:**\nIt agrees.\n\n**Justification:**\nA link is missing.",
        "The score of 4 is my analysis: the answer misses a link.",
        EXACT.split("\n\n**Justification")[0],
    ],
)
def test_what_could_be_read_in_two_ways_or_not_at_all_is_a_failure(text: str) -> None:
    outcome = read(text)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "unreadable-reply"
    assert "link" not in outcome.message


def test_a_sentence_that_begins_with_a_heading_is_no_heading() -> None:
    text = EXACT.replace("It agrees.", "Score 1 would be too low.\nAnalysis of the rest: fine.")
    assert verdict(text).scores == {"score": Score(4)}


RESULT = OutputFormat.load(
    {"layout": "Feedback: {feedback} [RESULT] {score}", "fields": {"feedback": "text", "score": "1-5"}}
)


def test_a_label_is_the_layouts_own() -> None:
    assert verdict("Feedback: Right. [RESULT] 5", RESULT).scores == {"score": Score(5)}
    assert verdict("Feedback: Right.\n\n**[RESULT]** 5", RESULT).scores == {"score": Score(5)}
    for text in (
        "Feedback: The response computes the result 4, which is wrong.",
        "Feedback: The format is Feedback: (write one) [RESULT] (a number between 1 and 5). Good. [RESULT] 2",
        "Feedback: Right. [RESULT] 5 [RESULT] 4",
    ):
        assert isinstance(read(text, RESULT), Failure)


@pytest.mark.parametrize("text", ["Pass\n\nFail", "Pass. Fail", "Pass or Fail", "Pass, so it is no Fail", "Not Pass"])
def test_a_bare_word_beside_another_is_no_answer(text: str) -> None:
    word = OutputFormat.load({"layout": "{verdict}", "fields": {"verdict": "Fail < Pass"}})
    assert verdict("**pass**", word).scores == {"verdict": Score(1)}
    assert isinstance(read(text, word), Failure)


def test_tags() -> None:
    for text in (TAGGED.replace("\n", ""), TAGGED.replace("<S2>5", "<S2>\n5\n")):
        assert verdict(text, GROUNDED).scores == {"score": Score(5)} and not breaks(text, GROUNDED)


@pytest.mark.parametrize(
    "text",
    [
        TAGGED.lower(),
        TAGGED.replace("Let's think step by step: ", ""),
        TAGGED.replace("<S1>All backed.</S1>\n", ""),
        TAGGED.replace("</S2>", ""),
        TAGGED + "\nI hope this helps.",
    ],
)
def test_other_tags_are_no_reply(text: str) -> None:
    assert isinstance(read(text, GROUNDED), Failure)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        (json.dumps(TWO, separators=(",", ":")), set()),
        (json.dumps(TWO, indent=2), set()),
        (f"```json\n{json.dumps(TWO)}\n```", {"code-fence"}),
        (f"<think>It has all.</think>\n```json\n{json.dumps(TWO)}\n```", {"code-fence"}),
        (json.dumps(dict(reversed(TWO.items()))), set()),
        (json.dumps({**TWO, "completeness_score": 3.0}), set()),
    ],
)
def test_json_of_the_asked_shape(text: str, marks: set[str]) -> None:
    assert breaks(text, GOLD) == marks
    assert verdict(text, GOLD).scores == {"completeness_score": Score(3), "correctness_score": Score(5)}


OTHER_JSON = {
    f"Here is the JSON: {json.dumps(TWO)} Bye.": "it is not JSON",
    f"Here you are:\n```json\n{json.dumps(TWO)}\n```": "it is not JSON",
    json.dumps({**TWO, "key_missing_info": ["a link"] * 99}): "key_missing_info: expected a list of at most",
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


def test_a_level_that_is_written_as_a_word_is_no_number_in_json() -> None:
    field = {"type": "score", "levels": {0: "bad", 1: "good"}, "written": {0: "Fail", 1: "Pass"}}
    written = OutputFormat.load({"layout": "json", "fields": {"verdict": field}})
    assert verdict('{"verdict": "Pass"}', written).scores == {"verdict": Score(1)}
    for other in ('"PASS"', "1", "1.0", "true"):
        assert isinstance(read(f'{{"verdict": {other}}}', written), Failure)


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
    assert isinstance(read(json.dumps({"claims": long}), CLAIMS), Failure)
    for wrong in ({"claim": "a", "verdict": "maybe"}, {"claim": "a"}, {"claim": "a", "verdict": []}, "a"):
        assert isinstance(read(json.dumps({"claims": [wrong]}), CLAIMS), Failure)


NUMBERS = ("NaN", "[NaN]", "-Infinity", "[[1e999]]", "1e999", "9" * 310, "-" + "9" * 4300, "9" * 5000)


@pytest.mark.parametrize("name", ["key_missing_info", "completeness_score", "confidence"])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_can_not_be_kept_is_a_failure(name: str, number: str) -> None:
    outcome = read(json.dumps({**TWO, name: "HERE"}).replace('"HERE"', number), GOLD)
    assert isinstance(outcome, Failure)
    assert len(outcome.message) < 80


@pytest.mark.parametrize("name", ["other", "completeness_reasoning", "key_missing_info"])
def test_a_reply_that_is_nested_too_deep_is_a_verdict_or_a_failure(name: str) -> None:
    made = json.dumps({**TWO, name: "HERE"})
    for depth in range(800, 1000):
        text = made.replace('"HERE"', "[" * depth + "]" * depth)
        to_columns(read(text, GOLD))


def test_a_reply_that_was_cut_off() -> None:
    whole = EXACT.split("is missing")[0]
    outcome = read(whole, unfinished=True)
    assert isinstance(outcome, Verdict)
    assert outcome.marks == ("format:incomplete",)
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


def test_a_choice_is_the_word_itself() -> None:
    fields = {"score": {"type": "score", "min": 1, "max": 5}, "tone": {"type": "choice", "choices": ["Kind", "Rude"]}}
    toned = OutputFormat.load({"layout": "Score: {score}\nTone: {tone}", "fields": fields})
    assert verdict("Score: 4\nTone: **Kind**", toned).fields == {"tone": "Kind"}
    assert isinstance(read("Score: 4\nTone: Kind, not Rude", toned), Failure)


THOUGHTS = (
    "<think>\nThe format is:\n**Analysis:** text\n**Score:** 5 if all is right.\n**Justification:** text\nIt says",
    "<think>\nMaybe\n**Score:** 4 would be too high.\nLet me see</think>\n**Analysis:**\nIt lacks",
)


@pytest.mark.parametrize("text", THOUGHTS)
@pytest.mark.parametrize("unfinished", [True, False])
def test_a_reply_that_ends_in_its_thoughts_or_before_its_score_is_a_failure(text: str, unfinished: bool) -> None:
    outcome = read(text, unfinished=unfinished)
    assert isinstance(outcome, Failure)
    assert outcome.kind == ("unfinished-reply" if unfinished else "unreadable-reply")


def test_text_of_any_kind_gives_an_answer_in_time() -> None:
    nasty = [
        "{" * 5000,
        '{"score":' * 2000,
        "**Score:** " * 3000,
        "<S0>" * 5000,
        "*" * 20000 + "Score: 4",
        "\n" * 50000,
        f"```\n{' ' * 2_000_000}",
        "\n\n**Analysis:**" * 3000,
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
            declared = ((output_format.scores[name], score.value) for name, score in outcome.scores.items())
            assert all(value in field.values or field.between(value) for field, value in declared)
        else:
            assert "é" not in outcome.message
