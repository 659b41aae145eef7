"""The help of every command: readable at 80 columns, in words that users know, with examples that parse."""

import re
import shlex
from pathlib import Path

import pytest
from command_tree import COMMANDS, CONTEXT, ROOT
from typed_here import Run
from typer.core import TyperGroup as Group

SAMPLES = Path(__file__).parents[1] / "examples"


def parse(words: list[str]) -> None:
    """Read a command's words. Raises UsageError for an unknown option or a missing one."""
    command, context = ROOT, None
    while isinstance(command, Group):
        context = CONTEXT(command, parent=context)
        name, command, words = command.resolve_command(context, words)
    command.make_context(name, words, parent=context)


def _page(words: str) -> str:
    context = CONTEXT(COMMANDS[words], info_name=f"pathway-local {words}", terminal_width=80, max_content_width=80)
    page: str = COMMANDS[words].get_help(context)
    return page


def _examples(words: str) -> list[str]:
    """The examples of a command, each as a shell reads it."""
    text = _page(words).partition("\n  Examples:\n")[2].replace("\\\n", "").strip()
    return [" ".join(shlex.split(line)) for line in text.splitlines()]


@pytest.mark.parametrize("words", COMMANDS)
def test_help_fits_80_columns_and_has_examples_that_parse(words: str) -> None:
    assert max(map(len, _page(words).splitlines())) <= 80
    assert all(param.help.endswith(".") for param in COMMANDS[words].get_params(CONTEXT(COMMANDS[words])))
    examples = _examples(words)
    assert examples
    for example in examples:
        assert example.startswith(f"pathway-local {words}".strip())
        parse(example.partition(" | ")[0].split()[1:])
        for file in re.findall(r"examples/[\w-]+\.csv", example):
            header = (SAMPLES / Path(file).name).read_text().partition("\n")[0].split(",")
            named = re.findall(r"--(?:score|column|keep) (\w+)", example)
            assert {*named} - {"all"} <= {name for name in header if name.startswith("meant_")}, example


@pytest.mark.parametrize(
    ("option", "value", "told"), [("--seed", "x", "must be a whole number"), ("--orders", "x", "'x' is not one of")]
)
def test_a_wrong_value_is_told_in_plain_words(run: Run, option: str, value: str, told: str) -> None:
    said = run("judge", "x", option, value)
    assert said.code == 2 and f"Invalid value for '{option}': {told}" in said.words and "parse" not in said.words
