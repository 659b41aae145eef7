"""Thinking first: one path for all families, and the grammar holds from the right token on."""

import math
from types import SimpleNamespace

import pytest
from families import FAMILIES, Family, write_tokenizer
from scripted_engine import ScriptedEngine

from pathway_local.case import CaseRef
from pathway_local.errors import UsageError
from pathway_local.judges.judge_spec import (
    JudgeSpec,
    SamplingSpec,
    ThinkingSpec,
    chat_of,
    chat_settings,
    think_budget,
    thinking_sampling,
)
from pathway_local.judging.loop import JudgingLoop, LocalRater, own_seed
from pathway_local.judging.pool import Completion, Pool, Request
from pathway_local.judging.reply_reading import verdict_of
from pathway_local.passes import Pass, PassResult, Sampling
from pathway_local.rendering.prompt import Prompt, PromptWriter, thinking_of
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.form import Reading
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.verdict import Verdict

ALWAYS = Family(
    "always",
    "<|end|>",
    ("<|end|>", "<|user|>", "<|assistant|>", "<|system|>"),
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|><think>\n{% endif %}",
    added=("<think>", "</think>"),
    thinking=ThinkingSpec(skip="\n</think>\n\n", end="</think>"),
)
THINKERS = [*(family for family in FAMILIES if family.thinking), ALWAYS]
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
        if item.max_tokens == 1:
            return PassResult("", logprobs=({i: math.log(1 / len(item.logprob_ids)) for i in item.logprob_ids},))
        return PassResult("", tokenizer.encode(REPLY))

    rubric = load_rubric("groundedness")
    thinking = thinking_of(spec, budget, tokenizer, Sampling())
    writer = PromptWriter(rubric, tokenizer, chat_of(spec, budget), context=20_000, thinking=thinking)
    [prompt] = writer.write([dict.fromkeys(rubric.inputs, "x </think> <channel|> <|end|>")])
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
    assert [bool(item.after) for item in passes] == [False, *[True] * (len(passes) - 1)]
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
    assert completion.thinking_cut == (budget == 3)


def test_without_thinking_the_reply_is_asked_for_at_once(judge: tuple[JudgeSpec, JudgeTokenizer]) -> None:
    spec, tokenizer = judge
    how = spec.thinking
    assert how is not None
    passes, completion = drawn(spec, tokenizer, "", 0)
    assert passes[0].grammar is not None
    assert [bool(item.after) for item in passes] == [False, *[True] * (len(passes) - 1)]
    assert completion.thinking == ""
    text = tokenizer.text(list(passes[0].ids))
    assert how.skip in text
    if how.off_by:
        assert text != tokenizer.text(list(drawn(spec, tokenizer, "x", 9)[0][0].ids))


def test_a_field_of_the_rubric_is_no_place_for_the_judges_thoughts() -> None:
    score = {"type": "score", "min": 1, "max": 5}
    plain = OutputFormat.load({"layout": "json", "fields": {"score": score}})
    own = OutputFormat.load({"layout": "json", "fields": {"thinking": {"type": "text"}, "score": score}})
    assert (plain.thinking, own.thinking) == ("thinking", "judge.thinking")
    reading = Reading({"thinking": "by the rubric", "score": 4}, {})
    completion = Completion("1", reading, "by itself", cut=("thinking",), thinking_cut=True)
    verdict = verdict_of([completion], own, ())
    assert isinstance(verdict, Verdict)
    assert verdict.fields == {"thinking": "by the rubric", "judge.thinking": "by itself"}
    assert verdict.marks == ("cut:judge.thinking", "cut:thinking")


def test_only_thinking_judges_think() -> None:
    plain = JudgeSpec(name="plain", source="/models/plain", thinking=None)
    thinker = JudgeSpec(name="thinker", source="/models/thinker", thinking=ThinkingSpec(end="</think>", budget=77))
    for wanted in ("auto", "100"):
        with pytest.raises(UsageError, match="'plain' never thinks"):
            think_budget(wanted, plain)
    assert (think_budget("0", plain), think_budget("0", thinker)) == (0, 0)
    assert (think_budget("auto", thinker), think_budget("100", thinker)) == (77, 100)
    for wanted in ("much", "-3", "1.5", "", "9" * 5000):
        with pytest.raises(UsageError, match="is not a number of tokens"):
            think_budget(wanted, thinker)


def test_thoughts_are_drawn_as_the_maker_says_else_as_the_reply() -> None:
    reply = Sampling(0.5, seed=3)
    maker = SamplingSpec(temperature=0.6, top_k=20)
    for sampling, expected in ((maker, Sampling(0.6, 1.0, 20, 3)), (None, reply)):
        thinking = ThinkingSpec(end="</think>", sampling=sampling)
        assert thinking_sampling(JudgeSpec(name="t", source="/t", thinking=thinking), reply) == expected


def test_what_changes_the_prompts_or_the_thoughts_is_told() -> None:
    first = JudgeSpec(name="t", source="/t", thinking=ThinkingSpec(end="</think>", on_by={"think": True}))
    told = chat_settings(first, 100, Sampling())
    assert told == chat_settings(first.model_copy(update={"notes": "kind", "context": 9}), 100, Sampling())
    others: list[dict[str, object]] = [{"system": "fold"}, {"end_of_turn": ("</s>",)}]
    changed = {
        "sampling": SamplingSpec(temperature=1),
        "end": "[/THINK]",
        "close": "x",
        "start": "<think>",
        "on_by": {"think": "hard"},
    }
    for key, value in changed.items():
        assert first.thinking
        others.append({"thinking": first.thinking.model_copy(update={key: value})})
    for change in others:
        assert chat_settings(first.model_copy(update=change), 100, Sampling()) != told, change
    assert chat_settings(first, 0, Sampling())["thinking"] == {}


def test_each_sample_thinks_for_itself(judge: tuple[JudgeSpec, JudgeTokenizer]) -> None:
    spec, tokenizer = judge
    thinking = thinking_of(spec, 10, tokenizer, Sampling(1.0))
    rubric = load_rubric("groundedness")
    writer = PromptWriter(rubric, tokenizer, chat_of(spec, 10), context=20_000, thinking=thinking)
    [prompt] = writer.write([dict.fromkeys(rubric.inputs, "text")])
    asked: list[Request] = []
    rater = LocalRater(1, writer, samples=2)
    judging = JudgingLoop(None, "c.csv", [rater], SimpleNamespace(submit=asked.append))  # type: ignore[arg-type]
    judging._submit(rater, CaseRef("1"), {"ab": prompt})
    assert [each.thinking.sampling.seed for each in asked] == [own_seed(0, "1", sample) for sample in (0, 1)]
