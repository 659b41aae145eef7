"""Real vLLM, a judge of random weights at temperature 1: it tries hard to break the formats, and can't."""

import re
from pathlib import Path

import pytest
from walks import Walker

from pathway_local.engines.hosts import Hosts
from pathway_local.judges.judge_spec import Chat
from pathway_local.judging.pool import Completion, Pool, Request
from pathway_local.passes import GREEDY, Pass, Sampling
from pathway_local.prompty.rubric_file import builtin_names, load_rubric, parse_rubric
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric import Rubric

CLAIMS = """---
name: claims
inputs: {answer: {type: string}, source: {type: string}}
outputs:
  layout: json
  fields:
    claims:
      type: verdicts
      score: faithfulness
      items: 3
      members:
        claim: {type: text, tokens: 16}
        verdict: {type: score, levels: {0: "no", 1: "yes"}, written: {0: unsupported, 1: supported}}
---
user:
List the claims of {{ answer }}, each with whether {{ source }} supports it.
"""

SAMPLES = 40
WHOLE = 2
CONTEXT = 2048


@pytest.fixture(scope="module")
def tokenizer(tiny_judge: Path) -> JudgeTokenizer:
    return JudgeTokenizer(tiny_judge)


def rubric_with(name: str, *, tokens: int) -> Rubric:
    """The built-in rubric, its instructions left out and its budgets cut: the format is what is tested."""
    text = load_rubric(name).text
    text = re.sub(r"^system:\n.*?^user:\n", "user:\n", text, flags=re.DOTALL | re.MULTILINE)
    return parse_rubric(re.sub(r"tokens: \d+", f"tokens: {tokens}", text), name)


def drawn(
    host: Hosts, tokenizer: JudgeTokenizer, rubric: Rubric, count: int, sampling: Sampling, detail: Detail = "full"
) -> list[tuple[Request, Completion]]:
    writer = PromptWriter(rubric, tokenizer, Chat(), context=CONTEXT, detail=detail)
    cases = [dict.fromkeys(rubric.inputs, f'Case "{at}".') for at in range(count)]
    pool, requests = Pool(lambda: host, tokenizer, CONTEXT), {}
    for at, prompt in enumerate(writer.write(cases)):
        assert isinstance(prompt, Prompt), prompt
        how = Sampling(sampling.temperature, seed=at)
        requests[str(at)] = Request(str(at), prompt, how)
        pool.submit(requests[str(at)])
    found: list[tuple[Request, Completion]] = []
    while pool.in_flight:
        found += [(requests[completion.id], completion) for completion in pool.completions()]
    assert len(found) == count
    return found


@pytest.mark.parametrize("name", [*builtin_names(), "claims"])
def test_every_sample_is_complete_and_readable(vllm_host: Hosts, tokenizer: JudgeTokenizer, name: str) -> None:
    rubric = parse_rubric(CLAIMS, name) if name == "claims" else rubric_with(name, tokens=16)
    for request, completion in drawn(vllm_host, tokenizer, rubric, SAMPLES, Sampling(1.0)):
        assert completion.reading is not None, completion.problem
        slots = request.prompt.reply.form.slots
        assert set(completion.reading.values) == {name for slot in slots for name in (slot.name, slot.score) if name}
        if name == "claims":
            _check_claims(completion)
            continue
        for score, declared in rubric.format.scores.items():
            assert completion.reading.values[score] in declared.values
            shares = completion.probabilities[score]
            assert set(shares) == set(declared.values)
            assert sum(shares.values()) == pytest.approx(1, abs=1e-6)


def _check_claims(completion: Completion) -> None:
    """The share is that of the verdicts, and only claims that a budget closed are marked as cut."""
    assert completion.reading is not None
    claims, share = completion.reading.values["claims"], completion.reading.values["faithfulness"]
    assert isinstance(claims, list)
    backed = [item["verdict"] == "supported" for item in claims if isinstance(item, dict)]
    assert share == pytest.approx(sum(backed) / len(backed) if backed else -1, abs=1e-6)
    assert (len(claims) < 3) or completion.cut == ("claims",), "a full list may lack claims"
    assert completion.probabilities == {}


def test_long_texts_that_their_budget_closed_are_marked_and_short_ones_are_not(
    vllm_host: Hosts, tokenizer: JudgeTokenizer
) -> None:
    found = drawn(vllm_host, tokenizer, rubric_with("pathway-answer", tokens=16), 40, Sampling(1.0))
    lengths: dict[bool, list[int]] = {True: [], False: []}
    for _, completion in found:
        assert completion.reading is not None
        text = completion.reading.values["analysis"]
        assert isinstance(text, str)
        lengths["analysis" in completion.cut].append(len(tokenizer.encode_cases([text])[0]))
    assert len(lengths[True]) >= 10
    assert min(lengths[True]) >= 8
    assert len(lengths[False]) + len(lengths[True]) == 40


def test_the_likeliest_value_is_the_one_that_is_written(vllm_host: Hosts, tokenizer: JudgeTokenizer) -> None:
    """At temperature 0, where a value has one spelling only: here it stands right behind a tag, without a blank."""
    for _, completion in drawn(vllm_host, tokenizer, rubric_with("groundedness", tokens=8), 10, GREEDY, "score"):
        assert completion.reading is not None
        [shares] = completion.probabilities.values()
        value = completion.reading.values["score"]
        assert isinstance(value, int)
        assert shares[value] > max(shares.values()) - 1e-3


def test_generated_ids_are_what_the_grammar_lets_through(vllm_host: Hosts, tokenizer: JudgeTokenizer) -> None:
    walker = Walker(tokenizer.grammar_tokenizer)
    writer = PromptWriter(rubric_with("gold-answer", tokens=12), tokenizer, Chat(), context=CONTEXT)
    [prompt] = writer.write([dict.fromkeys(writer.rubric.inputs, "x")])
    assert isinstance(prompt, Prompt)
    grammar = prompt.reply.form.grammar(tokenizer.end_ids)
    for seed in range(4):
        vllm_host.submit(Pass(f"ids{seed}", prompt.ids, grammar, prompt.reply.form.limit, Sampling(1.0, seed=seed)))
    results = []
    while len(results) < 4:
        results += vllm_host.results()
    for result in results:
        assert result.finish == "stop"
        assert walker.accepts(grammar, result.ids)


@pytest.mark.parametrize("name", ["pathway-answer", "groundedness"])
def test_whole_budgets_end_too(vllm_host: Hosts, tokenizer: JudgeTokenizer, name: str) -> None:
    text = re.sub(r"^system:\n.*?^user:\n", "user:\n", load_rubric(name).text, flags=re.DOTALL | re.MULTILINE)
    for _, completion in drawn(vllm_host, tokenizer, parse_rubric(text, name), WHOLE, Sampling(1.0)):
        assert completion.reading is not None, completion.problem
