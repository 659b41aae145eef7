"""Options of the commands that load a judge, `judge` and `judges test`, in the same words."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pathway_local.cli.command_help import JUDGE, REPLY, Command, option
from pathway_local.engines.engine_list import engine_names
from pathway_local.rubrics.output_format import Detail

THINK = "--think"

Engine = Annotated[str, option("ENGINE", f"One of {', '.join(engine_names())}.", JUDGE)]
HowMuch = Annotated[
    Detail,
    option("DETAIL", "How much the judge writes: full, through-score (stop after the last score) or score.", REPLY),
]
Temperature = Annotated[
    float | None, option("X", "Sampling temperature; default: the rubric's, else 0.", REPLY, min=0, max=5)
]
Think = Annotated[
    str,
    option("[TOKENS]", "Let the judge think first, for at most this many tokens.", REPLY, THINK, show_default=False),
]


class JudgingCommand(Command):
    """Lets `--think` come with or without a number, which Typer's own options can't."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(with_budget(args)))


def with_budget(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments, with `auto` behind each `--think` that has no number."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        yield argument
        if argument == THINK and not (following.isdecimal() or following == "auto"):
            yield "auto"
