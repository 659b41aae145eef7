"""Each command and group of commands as Typer has it, by the words that a user types for it."""

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from pathway_local.cli.command_line import app

ROOT: Any = typer.main.get_command(app)
CONTEXT: Any = ROOT.context_class


def _commands(words: tuple[str, ...] = (), command: Any = ROOT) -> Iterator[tuple[str, Any]]:
    yield " ".join(words), command
    if isinstance(command, TyperGroup):
        context = CONTEXT(command)
        for name in command.list_commands(context):
            yield from _commands((*words, name), command.resolve_command(context, [name])[1])


COMMANDS = dict(_commands())
