"""Declares commands and options for Typer, whose plain help shows them."""

from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperGroup

F = TypeVar("F", bound=Callable[..., Any])


def option(value: str, says: str, *names: str, **limits: Any) -> Any:
    """Declare an option: the name of its value (empty for a switch), and its help.

    Without `names` it has the name of its parameter.
    """
    return typer.Option(*names, metavar=value or None, help=says, **limits)


class App(typer.Typer):
    """One command or, with a description, a group of commands. Each example is a line below the help.

    Help is plain: importing what draws Typer's boxes takes half a second.
    """

    def __init__(self, says: str = "", *examples: str) -> None:
        group: dict[str, Any] = {}
        if says:
            # Without a callback, Typer would turn a group of a single command into that command.
            group = {"cls": TyperGroup, "no_args_is_help": True, "callback": lambda: None}
        super().__init__(
            add_completion=False,
            pretty_exceptions_enable=False,
            rich_markup_mode=None,
            help=says,
            epilog=pasted(*examples),
            **group,
        )

    def with_examples(self, *examples: str, name: str | None = None) -> Callable[[F], F]:
        """Return a decorator that makes a function a command."""
        return self.command(name=name, epilog=pasted(*examples))


def pasted(*examples: str) -> str:
    """Return examples as the end of a command's help, which keeps their lines: a broken one could not be pasted."""
    return "\n".join(["Examples:", "", "\b", *examples])
