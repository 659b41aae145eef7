"""Makes commands for Typer: a command's options come from a class that declares them, its examples end its help."""

import types
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

import typer
from pydantic_core import PydanticUndefined
from typer.core import TyperGroup

from pathway_local.judging.plan import Plan
from pathway_local.system.options import declared, flag
from pathway_local.words import languages

F = TypeVar("F", bound=Callable[..., Any])


def option(value: str, says: str, *names: str, **limits: Any) -> Any:
    """Declare an option: the name of its value (empty for a switch), and its help.

    Without `names` it has the name of its parameter.
    """
    return typer.Option(*names, metavar=value or None, help=says, **limits)


Run = Annotated[Path, typer.Argument(metavar="RUN", help="The run file.")]
CasesOption = Annotated[Path, option("FILE", "The cases file.")]
RubricIfSeveral = Annotated[str | None, option("RUBRIC", "The rubric; needed if the run has several.")]
Out = Annotated[Path | None, option("FILE", "Write all tables to a file: .csv, .tsv, .jsonl, .xlsx or .parquet.")]
Full = Annotated[bool, option("", "Show every table and column, and how to read each figure.", "--full")]
Page = Annotated[Path, option("FILE", "The page, an .html file.")]
Title = Annotated[str, option("TEXT", "The page's title.")]
Lang = Annotated[str, option("LANGUAGE", f"Language of what is shown: {', '.join(languages())}.")]
Yes = Annotated[bool, option("", "Do not ask first.", "--yes")]
Force = Annotated[bool, option("", "Replace the output file if it exists.", "--force")]
AsJson = Annotated[bool, option("", "Print JSON instead of tables.", "--json")]


def options_of(form: Any, *names: str) -> dict[str, Parameter]:
    """Return the options that a class declares, or those of these names, as parameters that Typer reads.

    One that is not typed is None, or an empty list, so that the class has the defaults.
    """
    found = dict[str, Parameter]()
    for name, (each, says) in declared(form).items():
        kind: Any = each.annotation
        default = each.default
        several = {get_origin(one) for one in (kind, *get_args(kind))} & {tuple, Sequence, Mapping}
        told = "" if default in (None, "", (), False, PydanticUndefined) or "default:" in says.text else str(default)
        help_text = f"{says.text[:-1]} (default: {told})." if told else says.text
        shown = option(says.value, help_text, flag(name), *filter(None, [says.short]), show_default=False)
        typed: Any = list[str] if several else kind if kind is bool or each.is_required() else kind | None
        missing: Any = Parameter.empty if each.is_required() else [] if several else False if kind is bool else None
        found[name] = Parameter(name, Parameter.KEYWORD_ONLY, annotation=Annotated[typed, shown], default=missing)
    return {name: found[name] for name in names or found}


Models = options_of(Plan)["models"].annotation
KeyFile = options_of(Plan)["pseudonyms"].annotation

READING = options_of(Plan, "id", "encoding", "pseudonyms")
"""Options that say how to read the cases file of a run that knows its columns."""

MATCHING = READING | options_of(Plan, "header_row", "sheet", "map")
"""The same for a cases file whose columns may have to be matched first."""


class App(typer.Typer):
    """A group of commands. Each example is a line below the help.

    Help is plain: importing what draws Typer's boxes takes half a second.
    """

    def __init__(self, says: str = "", *examples: str, **more: Any) -> None:
        # Without a callback, Typer would turn a group of a single command into that command.
        group: Any = {"cls": TyperGroup, "no_args_is_help": True, "callback": lambda: None}
        plain: Any = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
        super().__init__(help=says, epilog=pasted(*examples), **plain, **group | more)

    def with_examples(
        self, *examples: str, name: str | None = None, given: Mapping[str, Parameter] = types.MappingProxyType({})
    ) -> Callable[[F], F]:
        """Return a decorator that makes a function a command, which gets those of the options `given` that are typed.

        It gets them by name, as its parameter `given`.
        """

        def decorate(function: F) -> F:
            def command(**values: Any) -> None:
                taken = {each: values.pop(each) for each in given}
                typed = {each: value for each, value in taken.items() if value != given[each].default}
                function(**values, **({"given": typed} if given else {}))

            parameters = list[Parameter]()
            for each in signature(function).parameters.values():
                parameters += given.values() if each.name == "given" else [each.replace(kind=Parameter.KEYWORD_ONLY)]
            command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
            command.__name__, command.__doc__ = function.__name__, function.__doc__
            self.command(name=name, epilog=pasted(*examples))(command)
            return function

        return decorate


def pasted(*examples: str) -> str:
    """Return examples as the end of a command's help, which keeps their lines: a broken one could not be pasted."""
    return "\n".join(["Examples:", "", "\b", *examples])
