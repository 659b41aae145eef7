"""Probabilities of a score's values: from passes of their own, and from a short reply as it was written."""

import math
from collections.abc import Callable, Mapping

import pytest
from families import FAMILIES, write_tokenizer
from scripted_engine import ScriptedEngine

from pathway_local.judging.pool import Pool, Request
from pathway_local.judging.value_probabilities import Distribution, Noted, Place, ValueProbabilities
from pathway_local.passes import Pass, PassResult
from pathway_local.rendering.prompt import Prompt
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import OutputFormat

FIVE = {"layout": "Score: {s}", "fields": {"s": {"type": "score", "min": 1, "max": 5}}}
TEN = {"layout": "Score: {s}", "fields": {"s": {"type": "score", "min": 1, "max": 10}}}


@pytest.fixture(scope="module", params=[family.name for family in FAMILIES])
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> JudgeTokenizer:
    [family] = [family for family in FAMILIES if family.name == request.param]
    return JudgeTokenizer(write_tokenizer(family, tmp_path_factory.mktemp(family.name)), family.end_of_turn)


def made_up(item: Pass) -> dict[int, float]:
    """Log-probabilities that follow from place and id, and leave most to ids that nobody asks about."""
    return {token: math.log((1 + (token * 7 + len(item.ids) * 3) % 11) / 9000) for token in item.logprob_ids}


def settle(
    values: ValueProbabilities, texts: Mapping[int, str], said: Noted = ()
) -> tuple[Mapping[int, float], list[Pass]]:
    """The distribution, and the passes that it took, each answered by `made_up`."""
    found, asked = answered(values, Place(texts), made_up, said)
    return found.probabilities, asked


def answered(
    values: ValueProbabilities, place: Place, answer: Callable[[Pass], Mapping[int, float]], said: Noted = ()
) -> tuple[Distribution, list[Pass]]:
    """What is found at a place from these answers, and the passes that it took."""
    asked: list[Pass] = []
    passes = values.passes((1, 2), place, "0", said)
    try:
        item = next(passes)
        while True:
            asked.append(item)
            item = passes.send(PassResult(item.id, logprobs=(answer(item),)))
    except StopIteration as stop:
        return stop.value, asked


@pytest.mark.parametrize("outputs", [FIVE, TEN])
def test_what_a_reply_said_needs_no_pass_and_gives_the_same(
    tokenizer: JudgeTokenizer, outputs: dict[str, object]
) -> None:
    reply = OutputFormat.load(outputs).reply({}, "score")
    [slot] = reply.form.slots
    values = ValueProbabilities(tokenizer)
    watched = values.watched(reply.form)
    texts = reply.form.score_texts(slot, " ")
    plain, asked = settle(values, texts)
    assert sum(plain.values()) == pytest.approx(1)
    ids = tokenizer.encode(" 1")
    places = [Pass("", (1, 2, *ids[:at]), None, 1, logprob_ids=watched) for at in range(len(ids) + 1)]
    said = list(zip((*ids, tokenizer.eos_id), map(made_up, places), strict=True))
    noted, left = settle(values, texts, said)
    paths = {item.ids[2:] for item in asked}
    assert {item.ids[2:] for item in left} == paths - {ids[:at] for at in range(len(ids) + 1)}
    assert len(left) < len(asked)
    assert noted == pytest.approx(plain)


def test_a_longer_reply_is_not_watched(tokenizer: JudgeTokenizer) -> None:
    fields = {**FIVE["fields"], "why": {"type": "text", "tokens": 40}}  # type: ignore[dict-item]
    reply = OutputFormat.load({"layout": "{why}\n\nScore: {s}", "fields": fields}).reply({})
    assert ValueProbabilities(tokenizer).watched(reply.form) == ()


def test_a_reply_of_one_score_is_one_pass(tokenizer: JudgeTokenizer) -> None:
    reply = OutputFormat.load(FIVE).reply({}, "score")
    ids, asked = tokenizer.encode(" 4"), []

    def script(item: Pass) -> PassResult:
        asked.append(item)
        likely = dict.fromkeys(item.logprob_ids, -30.0)
        return PassResult("", ids, logprobs=tuple(likely | {token: -0.01} for token in (*ids, tokenizer.eos_id)))

    pool = Pool(lambda: ScriptedEngine(script), tokenizer, 1000)
    pool.submit(Request("x", Prompt((1, 2), (3,), (), reply)))
    [completion] = pool.completions()
    assert completion.probabilities["s"][4] > 0.99
    assert len(asked) == 1


def test_the_end_of_a_turn_ends_a_score_like_the_end_token(tokenizer: JudgeTokenizer) -> None:
    """1 and 10 part where the reply ends: a judge that ends its turns by another token than its end token says 1."""
    values = ValueProbabilities(tokenizer)
    passes = values.passes((1,), Place({1: "1", 10: "10"}), "0")
    item = next(passes)
    ends = {tokenizer.eos_id, *tokenizer.end_ids}
    while not ends & set(item.logprob_ids):
        shares = dict.fromkeys(item.logprob_ids, math.log(1 / len(item.logprob_ids)))
        item = passes.send(PassResult(item.id, logprobs=(shares,)))
    assert ends <= set(item.logprob_ids)
    last = (*tokenizer.end_ids, tokenizer.eos_id)[0]
    shares = {token: 0.0 if token == last else -30.0 for token in item.logprob_ids}
    with pytest.raises(StopIteration) as stop:
        passes.send(PassResult(item.id, logprobs=(shares,)))
    assert stop.value.value.probabilities[1] > 0.3


def test_many_values_are_asked_for_in_parts(tokenizer: JudgeTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {value: str(value) for value in range(1, 8)}
    whole, [once] = settle(ValueProbabilities(tokenizer), texts)
    monkeypatch.setattr("pathway_local.judging.value_probabilities.MOST_NAMED", 3)
    parts, asked = settle(ValueProbabilities(tokenizer), texts)
    assert max(len(item.logprob_ids) for item in asked) == 3
    assert [token for item in asked for token in item.logprob_ids] == list(once.logprob_ids)
    assert parts == pytest.approx(whole)


def test_a_pass_for_probabilities_that_fails_fails_the_case(tokenizer: JudgeTokenizer) -> None:
    """So that it is tried again when the run goes on: a verdict without its probabilities would stay."""
    fields = {**FIVE["fields"], "why": {"type": "text", "tokens": 40}}  # type: ignore[dict-item]
    reply = OutputFormat.load({"layout": "{why}\n\nScore: {s}", "fields": fields}).reply({})
    ids = tokenizer.encode(reply.form.write({"why": "So.", "s": 3}))

    def script(item: Pass) -> PassResult:
        if item.max_tokens == 1:
            return PassResult("", finish="error", error="the engine died twice while it held this case")
        return PassResult("", ids)

    pool = Pool(lambda: ScriptedEngine(script), tokenizer, 1000)
    pool.submit(Request("x", Prompt((1, 2), (3,), (), reply)))
    [completion] = pool.completions()
    assert completion.problem == ("engine-error", "the engine died twice while it held this case")
    assert completion.reading is None


def judge_of(tokenizer: JudgeTokenizer, texts: Mapping[str, float]) -> Callable[[Pass], dict[int, float]]:
    """Answers of a judge that would write these texts with these probabilities if no format held it."""
    spelled = [(tokenizer.encode(text), share) for text, share in texts.items()]

    def answer(item: Pass) -> dict[int, float]:
        begun = [
            (ids[len(item.ids) - 2 :], share) for ids, share in spelled if ids[: len(item.ids) - 2] == item.ids[2:]
        ]
        shares = dict.fromkeys(item.logprob_ids, 0.0)
        for ids, share in begun:
            if ids and ids[0] in shares:
                shares[ids[0]] += share / sum(each for _, each in begun)
        return {token: math.log(share) if share else -math.inf for token, share in shares.items()}

    return answer


WORDS = {0: "Incorrect", 1: "Partially correct", 2: "Correct"}
MASSES: dict[str, tuple[dict[str, object], dict[str, float], float]] = {
    "all of it": ({"min": 1, "max": 5}, {" 4": 0.7, " 5": 0.3}, 1.0),
    "most of it elsewhere": ({"min": 1, "max": 5}, {" 4": 0.2, " 5": 0.1, " none": 0.6, " N": 0.1}, 0.3),
    "one begins another": ({"min": 1, "max": 10}, {" 1": 0.2, " 10": 0.3, " 1/5": 0.1, " X": 0.4}, 0.6),
    "of several tokens": (
        {"levels": WORDS, "written": WORDS},
        {" Partially wrong": 0.5, " Partially correct": 0.2, " Correct": 0.1, " Incorrect": 0.1, " Maybe": 0.1},
        0.4,
    ),
    "in steps": ({"min": 0, "max": 1, "step": 0.5}, {" 0.5": 0.3, " 0.0": 0.1, " 0 of 1": 0.4, " 1": 0.2}, 0.4),
}


@pytest.mark.parametrize(("scale", "texts", "mass"), MASSES.values(), ids=MASSES.keys())
def test_the_mass_is_what_the_judge_gave_to_whole_legal_values(
    tokenizer: JudgeTokenizer, scale: dict[str, object], texts: dict[str, float], mass: float
) -> None:
    """Without the format, this judge would have written one of these texts."""
    fields = {"s": {"type": "score", **scale}, "why": {"type": "text", "tokens": 40}}
    form = OutputFormat.load({"layout": "Score: {s}\n\n{why}", "fields": fields}).reply({}).form
    slot = form.slots[0]
    behind = len(form.ending("s").literal)
    judge = judge_of(tokenizer, texts)
    found, _ = answered(ValueProbabilities(tokenizer), Place(form.score_texts(slot, " "), 1, behind), judge)
    assert found.mass == pytest.approx(mass, abs=0.001)
    assert sum(found.probabilities.values()) == pytest.approx(1)


def test_log_probabilities_from_under_the_grammar_give_no_mass(tokenizer: JudgeTokenizer) -> None:
    reply = OutputFormat.load(FIVE).reply({}, "score")
    values = ValueProbabilities(tokenizer)
    texts, ids = reply.form.score_texts(reply.form.slots[0], " "), tokenizer.encode(" 1")
    likely = dict.fromkeys(values.watched(reply.form), -1.0)
    found, _ = answered(values, Place(texts, 1), made_up, [(token, likely) for token in (*ids, tokenizer.eos_id)])
    assert found.mass is None
