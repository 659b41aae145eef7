"""Thinking first: one path for all families, and the grammar holds from the right token on."""

import math
from pathlib import Path

import pytest
from families import FAMILIES, Family, write_tokenizer

from pathway_local.case import Case
from pathway_local.chat import Thinking, chat_of, think_budget, thinking_of
from pathway_local.engines.host import Host
from pathway_local.engines.passes import Pass, PassResult, Sampling
from pathway_local.engines.pool import Completion, Pool, Request
from pathway_local.engines.scripted import ScriptedEngine
from pathway_local.errors import UsageError
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.prompt import Prompt, PromptWriter
from pathway_local.rubrics.rubric import load_rubric
from pathway_local.tokenizer import JudgeTokenizer

THINKERS = [family for family in FAMILIES if family.thinking]
REPLY = " the user wants facts.</S0>\n<S1>Short.</S1>\n<S2>4</S2>"


@pytest.fixture(scope="module", params=THINKERS, ids=lambda family: family.name)
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[JudgeSpec, JudgeTokenizer]:
    family: Family = request.param
    folder = write_tokenizer(family, tmp_path_factory.mktemp(family.name))
    system = "fold" if family.folds_system else "native"
    spec = JudgeSpec(name=family.name, source=str(folder), thinking=family.thinking, system=system)
    return spec, JudgeTokenizer(folder)


def drawn(spec: JudgeSpec, tokenizer: JudgeTokenizer, thoughts: str, budget: int) -> tuple[list[Pass], Completion]:
    """The passes of one case and its completion, from a judge that thinks `thoughts`."""
    passes: list[Pass] = []

    def script(item: Pass) -> PassResult:
        passes.append(item)
        if item.grammar is None:
            ids = tokenizer.encode(thoughts)[: item.max_tokens]
            return PassResult("", ids, "length" if len(ids) == item.max_tokens else "stop")
        if item.logprob_ids:
            return PassResult("", logprobs={i: math.log(1 / len(item.logprob_ids)) for i in item.logprob_ids})
        return PassResult("", tokenizer.encode(REPLY))

    rubric = load_rubric("groundedness")
    thinking = thinking_of(spec, budget, tokenizer, seed=0)
    writer = PromptWriter(rubric, tokenizer, chat_of(spec, budget), context=20_000, thinking=thinking)
    [prompt] = writer.write([Case("1", dict.fromkeys(rubric.inputs, "x </think> <channel|> <|end|>"))])
    assert isinstance(prompt, Prompt)
    pool = Pool(lambda: ScriptedEngine(script), tokenizer, 20_000)
    pool.submit(Request("1", prompt, Sampling(), thinking))
    [completion] = pool.completions()
    return passes, completion


@pytest.mark.parametrize("budget", [200, 3])
def test_thinking_is_free_and_then_the_format_holds(judge: tuple[JudgeSpec, JudgeTokenizer], budget: int) -> None:
    spec, tokenizer = judge
    how = spec.thinking
    assert how is not None
    passes, completion = drawn(spec, tokenizer, "hmm, let me see what is there", budget)
    free, reply = passes[0], passes[1]
    assert free.grammar is None
    assert free.max_tokens == budget
    assert tokenizer.id_of(how.end) in free.stop_ids
    assert reply.grammar is not None
    assert reply.ids[: len(free.ids)] == free.ids
    between = tokenizer.grammar_tokenizer.decode_bytes(list(reply.ids[len(free.ids) :])).decode()
    assert between.endswith(f"{how.closing}<S0>Let's think step by step:")
    assert completion.reading is not None
    assert completion.reading.values["score"] == 4
    assert completion.thinking
    assert "hmm, let me see what is there".startswith(completion.thinking)
    assert ("thinking" in completion.cut) == (budget == 3)


def test_without_thinking_the_reply_is_asked_for_at_once(judge: tuple[JudgeSpec, JudgeTokenizer]) -> None:
    spec, tokenizer = judge
    how = spec.thinking
    assert how is not None
    passes, completion = drawn(spec, tokenizer, "", 0)
    assert passes[0].grammar is not None
    assert completion.thinking == ""
    text = tokenizer.tokenizer.decode(list(passes[0].ids))
    assert how.skip in text
    if how.off_by:
        assert text != tokenizer.tokenizer.decode(list(drawn(spec, tokenizer, "x", 9)[0][0].ids))


def test_only_thinking_judges_think() -> None:
    plain = JudgeSpec(name="plain", source="/models/plain")
    with pytest.raises(UsageError, match="no thinking judge"):
        think_budget("auto", plain)
    assert think_budget("0", plain) == 0


def test_real_vllm_thinks_and_then_keeps_the_format(vllm_host: Host, tiny_judge: Path) -> None:
    tokenizer = JudgeTokenizer(tiny_judge)
    rubric = load_rubric("pathway-answer")
    thinking = Thinking(12, tokenizer.eos_id, tokenizer.encode("\n"), Sampling(1.0))
    chat = chat_of(JudgeSpec(name="t", source="/t"), 0)
    writer = PromptWriter(rubric, tokenizer, chat, context=2048, thinking=thinking, detail="score")
    pool = Pool(lambda: vllm_host, tokenizer, 2048)
    for at, prompt in enumerate(writer.write([Case(str(i), dict.fromkeys(rubric.inputs, "x")) for i in range(20)])):
        assert isinstance(prompt, Prompt), prompt
        pool.submit(Request(str(at), prompt, Sampling(1.0, seed=at), thinking))
    found: list[Completion] = []
    while pool.in_flight:
        found += pool.completions()
    assert len(found) == 20
    assert all(completion.reading and completion.reading.values["score"] in range(1, 6) for completion in found)
    assert sum(bool(completion.thinking) for completion in found) > 15
