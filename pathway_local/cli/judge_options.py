"""Options of the commands that load a judge, as `judging/plan.py` and `judging/option.py` declare them."""

from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from pathway_local.cli.command_help import Command, declared
from pathway_local.judging.option import Option
from pathway_local.judging.plan import DETAIL, ENGINE, TEMPERATURE, THINK
from pathway_local.rubrics.output_format import Detail

FLAG = "--think"

Engine = Annotated[str, declared(ENGINE)]
HowMuch = Annotated[Detail, declared(DETAIL)]
Temperature = Annotated[float | None, declared(TEMPERATURE)]
Think = Annotated[str, declared(THINK, show_default=False)]


class JudgingCommand(Command):
    """Lets `--think` come with or without a number, which Typer's own options can't."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(with_budget(args)))


def with_budget(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments, with `auto` behind each `--think` that has no number."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        yield argument
        if argument == FLAG and not (following.isdecimal() or following == "auto"):
            yield "auto"


def taking(options: dict[str, Option]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command these options, behind its argument and before its own options.

    The function gets those that the user gave, by name, as `given`.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(ctx: typer.Context, **values: Any) -> None:
            taken = {name: values.pop(name) for name in options}
            given = {name: value for name, value in taken.items() if _is_typed(ctx, name)}
            function(given=given, **values)

        first, *own = (each for each in signature(function).parameters.values() if each.name != "given")
        context = Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=typer.Context)
        parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (first, *_parameters(options), *own)]
        command.__signature__ = Signature([context, *parameters])  # type: ignore[attr-defined]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def _is_typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _parameters(options: dict[str, Option]) -> Iterator[Parameter]:
    for name, option in options.items():
        kind, default = (option.typed, option.typed()) if option.typed else (option.type, option.default)
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declared(option)])
