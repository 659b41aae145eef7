"""Declares commands and options for Typer, whose plain help shows them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from pathway_local.judging.plan import CASES as CASES
from pathway_local.judging.plan import JUDGE as JUDGE
from pathway_local.judging.plan import MACHINE as MACHINE
from pathway_local.judging.plan import OUTPUT as OUTPUT
from pathway_local.judging.plan import PRIVACY as PRIVACY
from pathway_local.judging.plan import REPLY as REPLY
from pathway_local.judging.plan import Option

F = TypeVar("F", bound=Callable[..., Any])

RATERS = "Rubric and raters"


def option(value: str, says: str, group: str = "", *names: str, **limits: Any) -> Any:
    """Declare an option: the name of its value (empty for a switch), its help, and its group on the page of reference.

    Without `names` it has the name of its parameter.
    """
    return typer.Option(*names, metavar=value or None, help=says, rich_help_panel=group or None, **limits)


def declared(told: Option, *names: str, **more: Any) -> Any:
    """Return an option of `judge` for a command."""
    limits = {} if told.least is None else {"min": told.least, "max": told.most}
    return option(told.value, told.says, told.group, *(names or told.names), **limits, **more)


class JudgingCommand(TyperCommand):
    """Lets `--think` come with or without a number, which Typer's own options can't."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(with_budget(args)))


def with_budget(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments, with `auto` behind each `--think` that has no number."""
    for argument, following in pairwise([*arguments, ""]):
        yield argument
        if argument == "--think" and not (following.isdecimal() or following == "auto"):
            yield "auto"


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

    def with_examples(
        self, *examples: str, name: str | None = None, cls: type[TyperCommand] = TyperCommand
    ) -> Callable[[F], F]:
        """Return a decorator that makes a function a command."""
        return self.command(name=name, cls=cls, epilog=pasted(*examples))


def pasted(*examples: str) -> str:
    """Return examples as the end of a command's help, which keeps their lines: a broken one could not be pasted."""
    return "\n".join(["Examples:", "", "\b", *examples])
