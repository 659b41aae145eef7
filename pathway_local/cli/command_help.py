"""Help in plain text: usage, description, options in named groups, and examples to paste."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import copy
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

ALL = "pathway_local.all_options"
"""Where a command's context notes that all options are asked for."""

FEW = 6
"""Up to this many options stand under one heading."""

MOST_USED = {
    "judge": "id map pair-by keep limit rubric judge run out dry-run",
    "judges test": "rubric cases id n role map run out temperature detail",
    "agreement": "rubric rater against by cluster figure full out json lang",
    "compare": "between rubric rater pair-by cluster margin full out json lang",
    "plan": "half-width detect against between rubric cluster pair-by rater out json",
    "sample": "n rubric rater out cases id seed strata lang pseudonyms",
    "report": "out by between pair-by against cluster title logo lang",
    "handover": "against error within by store cases sheet rater full out",
    "import": "kind rater rubric cases id map score comment pseudonyms encoding",
    "hosted export": "cases rubric service model out id map",
}
"""Commands with more options than one screen holds, with those that their `--help` shows; `--help-all` shows all."""

LONG = 200
"""Characters of a command's description in a list: more than any first sentence has."""


def option(value: str, says: str, group: str = "", *names: str, **limits: Any) -> Any:
    """Declare an option: the name of its value (empty for a switch), its help, and the heading above it.

    Without `names` it has the name of its parameter.
    """
    return typer.Option(*names, metavar=value or None, help=says, rich_help_panel=group or None, **limits)


def declared(told: Option, *names: str, **more: Any) -> Any:
    """Return an option of `judge` for a command."""
    limits = {} if told.least is None else {"min": told.least, "max": told.most}
    return option(told.value, told.says, told.group, *(names or told.names), **limits, **more)


def _write_page(command: Any, ctx: Any, formatter: Any) -> None:
    command.format_usage(ctx, formatter)
    command.format_help_text(ctx, formatter)
    for heading, rows in _sections(command, ctx).items():
        with formatter.section(heading):
            formatter.write_dl(rows)
    with formatter.section("Examples"):
        for line in command.epilog.splitlines():
            formatter.write(f"  {line}\n")  # as it is: an example that is broken elsewhere can't be pasted


def _show_all(ctx: Any, _: Any, asked: bool) -> None:
    if asked:
        ctx.meta[ALL] = True
        typer.echo(ctx.get_help())
        ctx.exit()


class Command(TyperCommand):
    """A command with this help. Its epilog holds the examples, a line each; a backslash continues a long one.

    Typer's own help draws boxes: importing them takes half a second, they leave a third of 80 columns for words, and
    they show types such as <bool>.
    """

    format_help = _write_page

    _help_all: Any = None

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's options, with `--help-all` where `--help` does not show all of them."""
        params: list[Any] = super().get_params(ctx)
        if not _most_used(ctx):
            return params
        if self._help_all is None:
            self._help_all = copy(params[-1])  # `--help`: the same kind of option, with other words
            self._help_all.name, self._help_all.opts = "help_all", ["--help-all"]
            self._help_all.help, self._help_all.callback = "Show all options and exit.", _show_all
        return [*params, self._help_all]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, without Typer's braces around arguments."""
        return [piece.replace("}...", " …").strip("{}") for piece in super().collect_usage_pieces(ctx)]


class JudgingCommand(Command):
    """Lets `--think` come with or without a number, which Typer's own options can't."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(with_budget(args)))


def with_budget(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments, with `auto` behind each `--think` that has no number."""
    for argument, following in pairwise([*arguments, ""]):
        yield argument
        if argument == "--think" and not (following.isdecimal() or following == "auto"):
            yield "auto"


class Group(TyperGroup):
    """Commands below one name, with the same help."""

    format_help = _write_page


class App(typer.Typer):
    """One command or, with a description, a group of commands. Each example is a line of help."""

    def __init__(self, says: str = "", *examples: str) -> None:
        group: dict[str, Any] = {}
        if says:
            # Without a callback, Typer would turn a group of a single command into that command.
            group = {"cls": Group, "no_args_is_help": True, "callback": lambda: None}
        super().__init__(
            add_completion=False, pretty_exceptions_enable=False, help=says, epilog="\n".join(examples), **group
        )

    def with_examples(self, *examples: str, name: str | None = None, cls: type[Command] = Command) -> Callable[[F], F]:
        """Return a decorator that makes a function a command."""
        return self.command(name=name, cls=cls, epilog="\n".join(examples))


def _most_used(ctx: Any) -> list[str]:
    """Return the names of the options that `--help` shows, or none if it shows all."""
    return MOST_USED.get(ctx.command_path.removeprefix("pathway-local "), "").split()


def _sections(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Return arguments, options and commands under their headings, in the order of their declaration."""
    sections = defaultdict(list)
    params, most_used = command.get_params(ctx), _most_used(ctx)
    if most_used and not ctx.meta.get(ALL):
        shown = {*(f"--{name}" for name in most_used), "--help", "--help-all"}
        params = [param for param in params if param.param_type_name == "argument" or not shown.isdisjoint(param.opts)]
    options = [param for param in params if param.param_type_name == "option"]
    few = len(options) <= FEW
    rest = "Options" if few or not getattr(options[0], "rich_help_panel", None) else "Other options"
    for param in params:
        group = None if few else getattr(param, "rich_help_panel", None)
        sections["Arguments" if param.param_type_name == "argument" else group or rest].append(_row(param))
    if isinstance(command, TyperGroup):
        known = {name: command.get_command(ctx, name) for name in command.list_commands(ctx)}
        sections["Commands"] = [(name, each.get_short_help_str(LONG)) for name, each in known.items() if each]
    return sections


def _row(param: Any) -> tuple[str, str]:
    """Return the names of an argument or option with its value, and its description."""
    if param.param_type_name == "argument":
        return param.metavar, param.help
    names = ", ".join(sorted(param.opts, key=len))
    value = "" if param.is_flag else f" {param.metavar}"
    remark = "  [required]" if param.required else ""
    if param.show_default and param.default not in (None, "", [], False):
        remark = f"  [default: {param.default}]"
    return names + value, param.help + remark
