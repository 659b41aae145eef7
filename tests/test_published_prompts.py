"""The prompt of every built-in judge is what its maker's chat template writes for a system turn and a case."""

from datetime import date

import pytest
from families import write_tokenizer
from published_families import PROMPTS, Published

from pathway_local.judges.judge_spec import JudgeSpec, chat_of
from pathway_local.judges.registry import load_registry
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric_file import parse_rubric

JUDGES = [judge for judge in load_registry() if judge.name != "demo"]
BARE = parse_rubric(
    "---\nname: bare\ninputs: {case: {type: string}}\noutputs:\n  layout: 'Score: {score}'\n"
    "  fields: {score: {type: score, min: 1, max: 5}}\n---\nsystem:\nSYSTEM\nuser:\n{{case}}\n",
    "bare",
)


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, JudgeTokenizer]:
    """A tokenizer of every family, by its name."""
    families = {published.family.name: published.family for published in PROMPTS.values()}
    return {
        name: JudgeTokenizer(write_tokenizer(family, tmp_path_factory.mktemp(name), 700))
        for name, family in families.items()
    }


def _prompt(judge: JudgeSpec, tokenizer: JudgeTokenizer, budget: int) -> str:
    """Return the judge's prompt for a case, with today's date as TODAY and without the reply's own start."""
    writer = PromptWriter(BARE, tokenizer, chat_of(judge, budget), context=4096)
    [prompt] = writer.write([{"case": "CASE"}])
    assert isinstance(prompt, Prompt)
    text = tokenizer.text(prompt.ids)
    return text.removesuffix("Score: ").removesuffix("Score:").replace(date.today().isoformat(), "TODAY")


def _published(judge: JudgeSpec) -> Published:
    """The same judge in more or fewer bits has the same prompts."""
    return PROMPTS[judge.name if judge.name in PROMPTS else judge.name.rpartition("-")[0]]


def test_every_prompt_here_is_of_a_judge() -> None:
    assert PROMPTS.keys() <= {judge.name for judge in JUDGES}


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.name)
def test_the_prompt_is_what_the_maker_publishes(judge: JudgeSpec, tokenizers: dict[str, JudgeTokenizer]) -> None:
    published = _published(judge)
    tokenizer = tokenizers[published.family.name]
    assert _prompt(judge, tokenizer, 0) == published.off
    assert bool(judge.thinking) == bool(published.on)
    if judge.thinking:
        assert _prompt(judge, tokenizer, 100) == published.on


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.name)
def test_an_entry_says_which_template_was_seen(judge: JudgeSpec) -> None:
    assert judge.template == _published(judge).seen
