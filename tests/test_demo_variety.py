"""What training says in many ways stays true to its facts, and never uses a held-out wording."""

import re
from hashlib import sha256
from itertools import chain
from random import Random

import pytest
from test_demo_cases import SHAPES, pattern

from demo_judge import varied
from demo_judge.cases import MAKERS, make_case
from demo_judge.phrases import (
    ANY_QUESTIONS,
    ANY_STATEMENTS,
    HELD_OUT,
    HELD_OUT_KINDS,
    KINDS,
    MORE_KINDS,
    MORE_SENTENCES,
    TRAINED_QUESTIONS,
    TRAINED_STATEMENTS,
)
from demo_judge.varied import NUMBERS, VariedWorld
from demo_judge.world import Fact, held_out

TRAINED = KINDS + MORE_KINDS
NEW_WORDINGS = {
    wording: pattern(wording, SHAPES[kind.value])
    for kind in KINDS
    for wording in (
        *kind.statements[TRAINED_STATEMENTS:],
        *kind.negations[TRAINED_STATEMENTS:],
        *kind.questions[TRAINED_QUESTIONS:],
    )
}


def drawn(count: int) -> list[tuple[VariedWorld, Fact]]:
    worlds = [VariedWorld(Random(seed)) for seed in range(count)]
    return [(world, world.fact()) for world in worlds]


def forms(fact: Fact) -> list[str]:
    """All ways in which a statement may give the fact's value."""
    if fact.kind.value == "count" and int(fact.value) < len(NUMBERS):
        return [fact.value, NUMBERS[int(fact.value)]]
    shape, others = varied.FORMS.get(fact.kind.value, ("", ()))
    return [fact.value, *(re.sub(shape, other, fact.value) for other in others)]


def test_no_further_wording_is_a_held_out_one() -> None:
    for kind in KINDS:
        said = {text.replace("{t}", kind.topic) for text in chain(ANY_QUESTIONS, ANY_STATEMENTS)}
        said |= {*kind.more_questions, *kind.more_statements, *kind.more_negations}
        assert not {wording for wording in said if wording in NEW_WORDINGS}
    for group, more_of_it in MORE_SENTENCES.items():
        assert not set(group) & set(more_of_it)


def test_kinds_for_training_are_neither_measured_nor_alike() -> None:
    topics = [kind.topic for kind in TRAINED + HELD_OUT_KINDS]
    assert len(set(topics)) == len(topics)
    assert not {kind.name for kind in MORE_KINDS} & {kind.name for kind in KINDS + HELD_OUT_KINDS}
    held = {wording for kind in HELD_OUT_KINDS for wording in (*kind.questions, *kind.statements, *kind.negations)}
    assert not held & {wording for kind in MORE_KINDS for wording in (*kind.questions, *kind.statements)}


@pytest.mark.parametrize("rubric", MAKERS)
def test_training_cases_hold_nothing_held_out(rubric: str) -> None:
    held = {text for group in MORE_SENTENCES for text in group[-HELD_OUT:]}
    closed = [pattern(text, r"\S+") for text in held if "{" in text]
    for seed in range(150):
        case = make_case(rubric, VariedWorld(Random(seed)))
        text = "\n".join(case.inputs.values())
        assert not [wording for wording in held if wording in text]
        for sentence in re.findall(r"[^\n.!?]+[.!?]", text):
            found = [each.pattern for each in (*NEW_WORDINGS.values(), *closed) if each.fullmatch(sentence.strip())]
            assert not found, sentence
        assert not re.search(r"\bbooks?\b|interview|mentor|calculator", re.sub(r"A good book is .*", "", text))


def test_a_statement_keeps_subject_and_value() -> None:
    for world, fact in drawn(1500):
        text = world.say(fact)
        assert fact.subject.removeprefix("the ") in text
        if fact.kind.value == "yesno":
            assert bool(re.search(r"\b(no|not|cannot)\b", text.lower())) is (fact.value == "no")
        else:
            assert any(re.search(rf"(?<![\w$]){re.escape(form)}(?!\w)", text) for form in forms(fact)), (fact, text)
            assert not held_out(fact.value)


def test_a_typing_error_leaves_names_values_and_denials_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(varied, "TYPO", 1.0)
    monkeypatch.setattr(varied, "FRAME", 0.0)
    test_a_statement_keeps_subject_and_value()
    known = {text for kind in TRAINED for text in (*kind.statements, *kind.negations)}
    mistyped = [world._mistyped(text) for world, _ in drawn(20) for text in sorted(known)]
    assert sum(text in known for text in mistyped) < 0.2 * len(mistyped)


def test_facts_come_in_many_wordings_layouts_and_forms() -> None:
    fact = Fact(KINDS[0], "Sandrel", "$450")
    worlds = [VariedWorld(Random(seed)) for seed in range(400)]
    assert len({world.say(fact) for world in worlds}) > 40
    assert len({world.ask(fact) for world in worlds}) > 20
    joined = {world.join(["One.", "Two."]) for world in worlds}
    assert {"One. Two.", "One.\nTwo.", "- One.\n- Two."} < joined
    assert {world.join(["One."]) for world in worlds} == {"One."}


def test_the_cases_are_those_from_which_the_shipped_weights_learned() -> None:
    """Other cases would make other weights: train anew, measure the card anew, then store this hash."""
    made = sha256()
    for rubric in MAKERS:
        world = VariedWorld(Random(7))
        for _ in range(200):
            case = make_case(rubric, world)
            made.update(repr((dict(case.inputs), dict(case.scores), dict(case.fields))).encode())
    assert made.hexdigest()[:16] == "b847c9b804638122"
