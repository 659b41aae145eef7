"""The demo judge's cases: what their texts say, read back independently of how they were made, fits their scores."""

import json
import re
from collections.abc import Iterator
from functools import cache

import pytest

from demo_judge.cases import EXAMPLES, LEVELS, MAKERS, make_cases, rows, sample_file
from demo_judge.gold_cases import completeness, correctness
from demo_judge.made_case import MadeCase
from demo_judge.phrases import (
    CHATTER,
    GIVEN,
    HELD_OUT_KINDS,
    KINDS,
    OFF_TOPIC,
    PLEASANTRIES,
    REFUSALS,
    TRAINED_QUESTIONS,
    TRAINED_STATEMENTS,
    UNKNOWN,
    VAGUE,
)
from demo_judge.world import Split, held_out
from pathway_local.rubrics.rubric_file import load_rubric

RUBRIC_AND_SPLIT = [(rubric, split) for rubric in MAKERS for split in Split]


SHAPES = {
    "dollars": r"\$\d+",
    "count": r"\d+",
    "percent": r"\d+%",
    "date": r"[A-Z][a-z]+ \d+",
    "time": r"\d+:\d\d",
    "extension": r"\d+",
    "name": r"[A-Z][a-z]+",
    "office": r"[A-Z]\w+(?: [A-Z]\w+)*",
    "yesno": r"(?!)",
}


ANY = r"\S+(?: [\w%:]+)*"


def pattern(wording: str, shape: str) -> re.Pattern[str]:
    """What a wording can be filled in to; only its first letter may be of another case."""
    slots = {"{s}": r"(?P<s>(?:the )?[\w-]+(?: [\w-]+)*?)", "{v}": f"(?P<v>{shape})"}
    return re.compile("".join(slots.get(part, re.escape(part)) for part in re.split(r"(\{s\}|\{v\})", wording)))


WORDINGS = [
    (kind, pattern(wording, SHAPES[kind.value]), truth)
    for kind in KINDS + HELD_OUT_KINDS
    for wordings, truth in ((kind.statements, "yes"), (kind.negations, "no"))
    for wording in wordings
]


def sentences(text: str) -> list[str]:
    return re.findall(r"\S.*?[.!?](?=\s|$)", text.replace("Dr. ", "Dr.~"))


def facts(text: str) -> dict[str, str]:
    """Topic → value of every fact that `text` states."""
    return dict(filter(None, map(fact, sentences(text))))


@cache  # cases say the same in their question, their passage and their answer
def fact(sentence: str) -> tuple[str, str] | None:
    plain = sentence.replace("Dr.~", "Dr. ")
    for kind, wording, truth in WORDINGS:
        match = wording.fullmatch(plain) or wording.fullmatch(plain[0].lower() + plain[1:])
        if match:
            subject = re.sub(r"^The (?=Certificate|Associate|Bachelor)", "the ", match["s"])
            return kind.topic.format(s=subject), truth if kind.value == "yesno" else match["v"]
    return None


def links(text: str) -> set[str]:
    return set(re.findall(r"tvou\.example/\w+", text))


def reply_text(text: str) -> str:
    """The last message's words where a response is a JSON list of messages."""
    return json.loads(text)[-1]["content"] if text.startswith("[{") else text


def cases(rubric: str, split: Split = Split.TRAIN, count: int = 150) -> Iterator[MadeCase]:
    return make_cases(rubric, split, count, seed=11)


@pytest.mark.parametrize(("rubric", "split"), RUBRIC_AND_SPLIT)
def test_verdicts_have_the_rubrics_own_format_and_name_the_deciding_fact(rubric: str, split: Split) -> None:
    loaded = load_rubric(rubric)
    for case in make_cases(rubric, split, 100, seed=5):
        assert set(case.inputs) == set(loaded.inputs)
        assert set(case.scores) == set(loaded.format.scores)
        for name, wanted in loaded.inputs.items():
            assert case.inputs[name].strip() or wanted.empty == "judge"
        reply = loaded.format.reply(case.inputs)
        assert dict(reply.form.read(reply.form.write(case.values)).values) == case.values
        assert any(case.decisive in str(value) for value in case.fields.values())


@pytest.mark.parametrize(("rubric", "split"), RUBRIC_AND_SPLIT)
def test_no_slot_is_left_open_and_no_word_doubled(rubric: str, split: Split) -> None:
    for case in make_cases(rubric, split, 100, seed=6):
        text = " ".join(map(str, (*case.inputs.values(), *case.fields.values(), case.decisive)))
        assert not re.search(r"\{[a-z]\}|\b(the|a|in|of) \1\b", text, re.IGNORECASE)


@pytest.mark.parametrize("rubric", MAKERS)
def test_the_sample_files_are_as_they_were_drawn(rubric: str) -> None:
    name, text = sample_file(rubric)
    assert (EXAMPLES / name).read_text("utf-8") == text


@pytest.mark.parametrize("rubric", MAKERS)
def test_every_score_occurs_about_as_often(rubric: str) -> None:
    made = list(cases(rubric, count=1000))
    lowest = [min(case.scores.values()) for case in made]
    for level in LEVELS:
        assert 120 < lowest.count(level) < 300


def test_pathway_scores_follow_from_the_texts() -> None:
    for case in [case for split in Split for case in cases("pathway-answer", split)]:
        ideal, answer = facts(case.inputs["ideal_answer"]), facts(case.inputs["ai_answer"])
        content = facts(case.inputs["retrieved_content"])
        wrong = [topic for topic in ideal if answer.get(topic, ideal[topic]) != ideal[topic]]
        if not case.inputs["retrieved_content"]:
            right = 2
        elif wrong:
            right = 1
        elif set(answer) - set(content):
            right = 2
        elif set(ideal) - set(answer):
            right = 3
        else:
            right = 5 if links(case.inputs["ideal_answer"]) == links(case.inputs["ai_answer"]) else 4
        assert case.scores == {"score": right}
        assert ideal and (ideal.items() <= content.items() or not content)
        if right == 1:
            assert ideal[wrong[0]] in case.decisive and answer[wrong[0]] in case.decisive


def test_groundedness_scores_follow_from_the_texts() -> None:
    for case in [case for split in Split for case in cases("groundedness", split)]:
        claims = facts(reply_text(case.inputs["response"]))
        source = case.inputs["context"]
        if not source and case.inputs["response"].startswith('[{"role": "assistant", "tool_calls"'):
            source = json.loads(case.inputs["response"])[1]["content"]
        elif not source:
            source = case.inputs["query"].removeprefix("I read this: ")
        known = facts(source)
        asked = len(re.findall(r"\?", case.inputs["query"]))
        if reply_text(case.inputs["response"]) in PLEASANTRIES:
            right = 3
        elif not claims:
            right = 1
            assert reply_text(case.inputs["response"]) in CHATTER
        elif claims.items() <= known.items():
            right = 5 if len(claims) == asked else 4
        else:
            right = 1 if not set(claims) & set(known) and len(claims) == 1 else 2
        assert case.scores == {"score": right}


def test_follow_up_scores_follow_from_the_texts() -> None:
    for case in [case for split in Split for case in cases("contextual-relevance", split)]:
        question, score = case.inputs["follow_up_question"], case.scores["score"]
        cited = [m["v"] for wording in GIVEN if (m := pattern(wording, ANY).fullmatch(question))]
        in_answer = bool(cited) and any(cited[0] == value for value in facts(case.inputs["answer"]).values())
        assert (question in OFF_TOPIC) is (score == 1)
        assert in_answer is (score == 5)
        if cited and not in_answer:
            assert score == 2


def test_gold_scores_follow_from_the_texts() -> None:
    for case in [case for split in Split for case in cases("gold-answer", split)]:
        gold, answer = facts(case.inputs["gold_answer"]), facts(case.inputs["model_answer"])
        said = case.inputs["model_answer"]
        if case.inputs["gold_answer"] in UNKNOWN:
            right = (5, 5)
        elif said in REFUSALS:
            right = (1, 1)
        elif said in VAGUE:
            right = (2, 2)
        else:
            wanted, given = links(case.inputs["gold_answer"]), links(said)
            wrong = sum(gold[topic] != value for topic, value in answer.items())
            gone, slip = bool(wanted) and not given, bool(given) and given != wanted
            right = (completeness(len(answer), len(gold), gone), correctness(wrong, len(answer), slip))
            assert set(answer) <= set(gold)
        assert (case.scores["completeness_score"], case.scores["correctness_score"]) == right


def test_gold_levels_rise_with_coverage_and_fall_with_errors() -> None:
    assert [completeness(covered, 3, False) for covered in range(4)] == [1, 2, 3, 5]
    assert completeness(3, 3, True) == 4
    assert [correctness(wrong, 3, False) for wrong in range(4)] == [5, 3, 2, 1]
    assert correctness(0, 3, True) == 4


def test_training_and_held_out_cases_share_no_name_and_no_value() -> None:
    for rubric in MAKERS:
        for split in Split:
            for case in cases(rubric, split, 100):
                texts = [facts(reply_text(text)) for text in case.inputs.values() if text]
                for value in {value for found in texts for value in found.values()} - {"yes", "no"}:
                    assert held_out(value) is (split is not Split.TRAIN)


@pytest.mark.parametrize("rubric", MAKERS)
def test_held_out_wordings_are_in_their_split_alone(rubric: str) -> None:
    kept = [wording for kind in KINDS for wording in kind.statements[TRAINED_STATEMENTS:]]
    kept += [wording for kind in KINDS for wording in kind.questions[TRAINED_QUESTIONS:]]
    new = [pattern(wording, ANY) for wording in kept]
    seen = dict.fromkeys(Split, 0)
    for split in Split:
        for case in cases(rubric, split, 60):
            found = [s for text in case.inputs.values() for s in sentences(text)]
            seen[split] += sum(bool(wording.fullmatch(s)) for s in found for wording in new)
    assert seen[Split.PHRASINGS] > 60
    assert seen[Split.TRAIN] == seen[Split.VALUES] == 0


@pytest.mark.parametrize("rubric", MAKERS)
def test_kinds_that_training_never_sees_are_in_their_split_alone(rubric: str) -> None:
    areas = [kind.area for kind in HELD_OUT_KINDS]
    for split in Split:
        said = [" ".join(map(str, (*case.fields.values(), case.decisive))) for case in cases(rubric, split, 100)]
        if split is not Split.KINDS:
            assert not any(f"On {area}" in text for area in areas for text in said)
        asked = " ".join(text for case in cases(rubric, split, 100) for text in case.inputs.values())
        assert ("calculator" in asked) is (split is Split.KINDS)


def test_all_kinds_have_wordings_enough_to_hold_some_out() -> None:
    for kind in KINDS:
        assert len(kind.statements) - TRAINED_STATEMENTS >= 2
        assert len(kind.questions) - TRAINED_QUESTIONS >= 1
        assert len(kind.negations) == (len(kind.statements) if kind.value == "yesno" else 0)
    assert len({kind.name for kind in KINDS + HELD_OUT_KINDS}) == len(KINDS + HELD_OUT_KINDS)


def test_a_row_holds_inputs_right_scores_and_the_deciding_words() -> None:
    made = list(rows("gold-answer", Split.VALUES, 7, 2, decisive=True))
    assert len({row["id"] for row in made}) == 7
    wanted = {"id", "question", "gold_answer", "model_answer", "decisive"}
    assert all(set(row) == wanted | {"meant_completeness_score", "meant_correctness_score"} for row in made)
