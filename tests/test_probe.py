"""Probabilities of a score's values: from passes of their own, and from a short reply as it was written."""

import math
from collections.abc import Mapping
from itertools import count

import pytest
from families import FAMILIES, write_tokenizer
from scripted_engine import ScriptedEngine

from pathway_local.judging.pool import Pool, Request
from pathway_local.judging.probe import Noted, Probe
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


def settle(probe: Probe, texts: Mapping[int, str], said: Noted = ()) -> tuple[dict[int, float], list[Pass]]:
    """The distribution, and the passes that it took, each answered by `made_up`."""
    numbers, asked = count(), []
    passes = probe.passes((1,), (2,), texts, lambda: str(next(numbers)), "0", said)
    try:
        item = next(passes)
        while True:
            asked.append(item)
            item = passes.send(PassResult(item.id, logprobs=(made_up(item),)))
    except StopIteration as stop:
        return stop.value, asked


@pytest.mark.parametrize("outputs", [FIVE, TEN])
def test_what_a_reply_said_needs_no_pass_and_gives_the_same(
    tokenizer: JudgeTokenizer, outputs: dict[str, object]
) -> None:
    reply = OutputFormat.load(outputs).reply({}, "score")
    [slot] = reply.form.slots
    probe = Probe(tokenizer)
    watched = probe.watched(reply.form)
    texts = reply.form.score_texts(slot, " ")
    plain, asked = settle(probe, texts)
    assert sum(plain.values()) == pytest.approx(1)
    ids = tokenizer.encode(" 1")
    places = [Pass("", (1, 2, *ids[:at]), None, 1, logprob_ids=watched) for at in range(len(ids) + 1)]
    said = list(zip((*ids, tokenizer.eos_id), map(made_up, places), strict=True))
    noted, left = settle(probe, texts, said)
    paths = {item.ids[2:] for item in asked}
    assert {item.ids[2:] for item in left} == paths - {ids[:at] for at in range(len(ids) + 1)}
    assert len(left) < len(asked)
    assert noted == pytest.approx(plain)


def test_a_longer_reply_is_not_watched(tokenizer: JudgeTokenizer) -> None:
    fields = {**FIVE["fields"], "why": {"type": "text", "tokens": 40}}  # type: ignore[dict-item]
    reply = OutputFormat.load({"layout": "{why}\n\nScore: {s}", "fields": fields}).reply({})
    assert Probe(tokenizer).watched(reply.form) == ()


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
    probe = Probe(tokenizer)
    numbers = count()
    passes = probe.passes((1,), (), {1: "1", 10: "10"}, lambda: str(next(numbers)), "0")
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
    assert stop.value.value[1] > 0.3


def test_many_values_are_asked_for_in_parts(tokenizer: JudgeTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {value: str(value) for value in range(1, 8)}
    whole, [once] = settle(Probe(tokenizer), texts)
    monkeypatch.setattr("pathway_local.judging.probe.MOST_NAMED", 3)
    parts, asked = settle(Probe(tokenizer), texts)
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
