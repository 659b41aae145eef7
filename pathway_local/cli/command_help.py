"""Help in plain text: usage, description, options in named groups, and examples to paste."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from pathway_local.judging.option import CASES as CASES
from pathway_local.judging.option import JUDGE as JUDGE
from pathway_local.judging.option import MACHINE as MACHINE
from pathway_local.judging.option import OUTPUT as OUTPUT
from pathway_local.judging.option import PRIVACY as PRIVACY
from pathway_local.judging.option import REPLY as REPLY
from pathway_local.judging.option import Option

F = TypeVar("F", bound=Callable[..., Any])

RATERS = "Rubric and raters"

FEW = 6
"""Up to this many options stand under one heading."""

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


class Command(TyperCommand):
    """A command with this help. Its epilog holds the examples, a line each; a backslash continues a long one.

    Typer's own help draws boxes: importing them takes half a second, they leave a third of 80 columns for words, and
    they show types such as <bool>.
    """

    format_help = _write_page

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, without Typer's braces around arguments."""
        return [piece.replace("}...", " …").strip("{}") for piece in super().collect_usage_pieces(ctx)]


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


def _sections(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Return arguments, options and commands under their headings, in the order of their declaration."""
    sections = defaultdict(list)
    params = command.get_params(ctx)
    few = sum(param.param_type_name == "option" for param in params) <= FEW
    for param in params:
        group = None if few else getattr(param, "rich_help_panel", None)
        heading = group or ("Options" if few else "Other options")
        sections["Arguments" if param.param_type_name == "argument" else heading].append(_row(param))
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
