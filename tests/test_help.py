"""The help of every command: readable at 80 columns, in words that users know, with examples that parse."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typed_here import Run

from pathway_local.cli.command_help import ALL, MOST_USED, Group
from pathway_local.cli.command_line import app

ROOT: Any = typer.main.get_command(app)
CONTEXT: Any = ROOT.context_class
SAMPLES = Path(__file__).parents[1] / "examples"
PLACES = re.compile(r"\$\{(env|file):NAME\}")


def _commands(words: tuple[str, ...] = (), command: Any = ROOT) -> Iterator[tuple[str, Any]]:
    """Each command and group of commands, with the words that a user types for it."""
    yield " ".join(words), command
    if isinstance(command, Group):
        context = CONTEXT(command)
        for name in command.list_commands(context):
            yield from _commands((*words, name), command.resolve_command(context, [name])[1])


COMMANDS = dict(_commands())


def _page(words: str, *, every: bool = True) -> str:
    context = CONTEXT(COMMANDS[words], info_name=f"pathway-local {words}", terminal_width=80, max_content_width=80)
    context.meta[ALL] = every
    page: str = COMMANDS[words].get_help(context)
    return page


def _examples(words: str) -> list[str]:
    """The examples of a command, each as a shell reads it."""
    text = _page(words).partition("\nExamples:\n")[2].replace("\\\n", "")
    return [" ".join(shlex.split(line)) for line in text.splitlines()]


@pytest.mark.parametrize("words", COMMANDS)
def test_help_fits_80_columns_and_names_values_in_words(words: str) -> None:
    page = _page(words)
    assert max(map(len, page.splitlines())) <= 80
    for sign in ("{", "<", " None", "[]", "..."):
        assert sign not in PLACES.sub("", page).replace("[ARGS]...", ""), f"{sign} in the help of {words}"
    for param in COMMANDS[words].get_params(CONTEXT(COMMANDS[words])):
        assert param.help.endswith(".")


@pytest.mark.parametrize("words", COMMANDS)
def test_help_has_two_examples_that_parse(words: str) -> None:
    examples = _examples(words)
    assert len(examples) == 2
    for example in examples:
        program, *rest = example.partition(" | ")[0].split()
        assert program == "pathway-local"
        assert example.startswith(f"pathway-local {words}".strip())
        command, context = ROOT, None
        while isinstance(command, Group):
            context = CONTEXT(command, parent=context)
            name, command, rest = command.resolve_command(context, rest)
        command.make_context(name, rest, parent=context)  # raises UsageError for an unknown option or a missing one


@pytest.mark.parametrize("words", COMMANDS)
def test_columns_in_examples_are_metadata_of_the_sample_files(words: str) -> None:
    for example in _examples(words):
        for file in re.findall(r"examples/[\w-]+\.csv", example):
            header = (SAMPLES / Path(file).name).read_text().partition("\n")[0].split(",")
            named = re.findall(r"--(?:score|column|keep) (\w+)", example)
            assert {*named} - {"all"} <= {name for name in header if name.startswith("meant_")}, example


@pytest.mark.parametrize("words", [words for words, each in COMMANDS.items() if not isinstance(each, Group)])
def test_help_shows_at_most_a_dozen_options_and_help_all_the_rest(words: str) -> None:
    options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", _page(words, every=False), re.MULTILINE))
    most_used = {f"--{name}" for name in MOST_USED.get(words, "").split()}
    assert len(options) <= 12 and MOST_USED.keys() <= COMMANDS.keys()
    assert not most_used or options == {*most_used, "--help", "--help-all"}


def test_help_all_is_typed_as_help_is(run: Run) -> None:
    assert "--strict-permissions" not in run("judge", "--help").out
    assert "--strict-permissions" in run("judge", "--help-all").out


def test_there_are_few_commands() -> None:
    assert len(ROOT.list_commands(CONTEXT(ROOT))) <= 18


def test_options_of_judge_are_in_groups() -> None:
    headings = re.findall(r"^(\w.*):$", _page("judge"), re.MULTILINE)
    assert headings == [
        "Arguments",
        "Cases",
        "Judge",
        "Reply",
        "Machine",
        "Output",
        "Privacy",
        "Other options",
        "Examples",
    ]


def test_options_that_stand_first_are_not_the_other_ones() -> None:
    assert re.findall(r"^(\w.*):$", _page("rubrics new"), re.MULTILINE) == [
        "Arguments",
        "Options",
        "Output",
        "Examples",
    ]
