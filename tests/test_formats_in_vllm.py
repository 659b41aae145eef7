"""Real vLLM, a judge of random weights at temperature 1: it tries hard to break the formats, and can't.

FORMAT_SAMPLES is the number of replies under each rubric.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from walks import Walker

from pathway_local.engines.engines import Engines
from pathway_local.judges.judge_spec import Chat
from pathway_local.judging.pool import Completion, Pool, Request
from pathway_local.passes import GREEDY, Pass, Sampling
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric, parse_rubric

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

INSTRUCTIONS = re.compile(r"^system:\n.*?^user:\n", re.DOTALL | re.MULTILINE)
SAMPLES = int(os.environ.get("FORMAT_SAMPLES", "20"))
CUT = 2 * SAMPLES
WHOLE = 1
CONTEXT = 2048


@pytest.fixture(scope="module")
def tokenizer(tiny_judge: Path) -> JudgeTokenizer:
    return JudgeTokenizer(tiny_judge)


def rubric_with(name: str, *, tokens: int) -> Rubric:
    """The built-in rubric, its instructions left out and its budgets cut: the format is what is tested."""
    text = INSTRUCTIONS.sub("user:\n", load_rubric(name).text)
    return parse_rubric(re.sub(r"tokens: \d+", f"tokens: {tokens}", text), name)


Drawn = dict[str, list[tuple[Request, Completion]]]


def drawn(
    host: Engines,
    tokenizer: JudgeTokenizer,
    counts: Sequence[tuple[Rubric, int]],
    sampling: Sampling,
    detail: Detail = "full",
) -> Drawn:
    """So many replies under each rubric by its name, all of them in one batch: that takes the fewest steps."""
    pool, requests = Pool(lambda: host, tokenizer, CONTEXT), {}
    for rubric, count in counts:
        writer = PromptWriter(rubric, tokenizer, Chat(), context=CONTEXT, detail=detail)
        cases = [dict.fromkeys(rubric.inputs, f'Case "{at}".') for at in range(count)]
        for at, prompt in enumerate(writer.write(cases)):
            assert isinstance(prompt, Prompt), prompt
            request = Request(f"{rubric.name} {at}", prompt, Sampling(sampling.temperature, seed=at))
            requests[request.id] = request
            pool.submit(request)
    found: Drawn = {rubric.name: [] for rubric, _ in counts}
    while pool.in_flight:
        for completion in pool.completions():
            found[completion.id.partition(" ")[0]].append((requests[completion.id], completion))
    assert {name: len(each) for name, each in found.items()} == {rubric.name: count for rubric, count in counts}
    return found


@pytest.fixture(scope="module")
def samples(vllm_host: Engines, tokenizer: JudgeTokenizer) -> tuple[dict[str, Rubric], Drawn]:
    """The rubrics by name, and replies under them."""
    rubrics = {name: rubric_with(name, tokens=16) for name in builtin_names()}
    rubrics["claims"] = parse_rubric(CLAIMS, "claims")
    counts = [(rubric, CUT if name == "pathway-answer" else SAMPLES) for name, rubric in rubrics.items()]
    return rubrics, drawn(vllm_host, tokenizer, counts, Sampling(1.0))


@pytest.mark.parametrize("name", [*builtin_names(), "claims"])
def test_every_sample_is_complete_and_readable(samples: tuple[dict[str, Rubric], Drawn], name: str) -> None:
    rubric, found = samples[0][name], samples[1][name]
    for request, completion in found:
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
    samples: tuple[dict[str, Rubric], Drawn], tokenizer: JudgeTokenizer
) -> None:
    found = samples[1]["pathway-answer"]
    lengths: dict[bool, list[int]] = {True: [], False: []}
    for _, completion in found:
        assert completion.reading is not None
        text = completion.reading.values["analysis"]
        assert isinstance(text, str)
        lengths["analysis" in completion.cut].append(len(tokenizer.encode_cases([text])[0]))
    assert len(lengths[True]) >= 10
    assert min(lengths[True]) >= 8
    assert len(lengths[False]) + len(lengths[True]) == CUT


def test_the_likeliest_value_is_the_one_that_is_written(vllm_host: Engines, tokenizer: JudgeTokenizer) -> None:
    """At temperature 0, where a value has one spelling only: here it stands right behind a tag, without a blank."""
    rubric = rubric_with("groundedness", tokens=8)
    for _, completion in drawn(vllm_host, tokenizer, [(rubric, 10)], GREEDY, "score")[rubric.name]:
        assert completion.reading is not None
        [shares] = completion.probabilities.values()
        value = completion.reading.values["score"]
        assert isinstance(value, int)
        assert shares[value] > max(shares.values()) - 1e-3


def test_generated_ids_are_what_the_grammar_lets_through(vllm_host: Engines, tokenizer: JudgeTokenizer) -> None:
    walker = Walker(tokenizer.grammar_tokenizer)
    writer = PromptWriter(rubric_with("gold-answer", tokens=8), tokenizer, Chat(), context=CONTEXT)
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


def test_whole_budgets_end_too(vllm_host: Engines, tokenizer: JudgeTokenizer) -> None:
    texts = {name: load_rubric(name).text for name in ("pathway-answer", "groundedness")}
    counts = [(parse_rubric(INSTRUCTIONS.sub("user:\n", text), name), WHOLE) for name, text in texts.items()]
    for found in drawn(vllm_host, tokenizer, counts, Sampling(1.0)).values():
        for _, completion in found:
            assert completion.reading is not None, completion.problem
