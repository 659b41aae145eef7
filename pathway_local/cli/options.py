"""Arguments and options that several commands have in common, in the same words."""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from pathway_local.cli.command_help import CASES, OUTPUT, PRIVACY, RATERS, declared, option
from pathway_local.judging.plan import ENCODING, HEADER_ROW, ID, MAP, MODELS, SHEET, Option
from pathway_local.words import languages

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The run file.")]
RunToBe = Annotated[Path, typer.Argument(metavar="RUN", help="The run file; with --rubric it may be a new one.")]
CasesOption = Annotated[Path, option("FILE", "The cases file.", CASES)]
Models = Annotated[Path | None, declared(MODELS)]
RubricOfRun = Annotated[str | None, option("RUBRIC", "Only this rubric; default: all.", RATERS)]
RubricIfSeveral = Annotated[str | None, option("RUBRIC", "The rubric; needed if the run has several.", RATERS)]
Out = Annotated[Path | None, option("FILE", "Write all tables to a page (.html) or a file such as .xlsx.", OUTPUT)]
Full = Annotated[bool, option("", "Show every table and column, and how to read each figure.", OUTPUT, "--full")]
Page = Annotated[Path, option("FILE", "The page, an .html file.", OUTPUT)]
Title = Annotated[str, option("TEXT", "The page's title.", OUTPUT)]
Lang = Annotated[str, option("LANGUAGE", f"Language of what is shown: {', '.join(languages())}.", OUTPUT)]
Yes = Annotated[bool, option("", "Do not ask first.", PRIVACY, "--yes")]
Force = Annotated[bool, option("", "Replace the output file if it exists.", OUTPUT, "--force")]
KeyFile = Annotated[Path | None, option("KEYFILE", "Key of the run's pseudonyms.", PRIVACY)]
AsJson = Annotated[bool, option("", "Print JSON instead of tables.", OUTPUT, "--json")]

Kinds = Mapping[str, tuple[Any, Any]]
"""Options by the name of their parameter, each with its annotated type and its default."""

READING: Kinds = {
    "id_column": (Annotated[str | None, declared(ID, "--id")], None),
    "encoding": (Annotated[str, declared(ENCODING)], ""),
    "pseudonyms": (KeyFile, None),
}
"""How to read the cases file of a run that knows its columns."""

MATCHING: Kinds = {
    **READING,
    "header_row": (Annotated[int | None, declared(HEADER_ROW)], None),
    "sheet": (Annotated[str, declared(SHEET)], ""),
    "mapping": (Annotated[list[str], declared(MAP, "--map")], []),
}
"""How to read a cases file whose columns may have to be matched first."""


def of_judge(options: Mapping[str, Option]) -> Kinds:
    """Return these options of `judge`."""
    return {
        name: (Annotated[each.typed or each.type, declared(each)], each.typed() if each.typed else each.default)
        for name, each in options.items()
    }


def taking(options: Kinds) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command these options, where its parameter `given` stands.

    The function gets those that the user typed, by name, as `given`.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(ctx: typer.Context, **values: Any) -> None:
            taken = {name: values.pop(name) for name in options}
            function(given={name: value for name, value in taken.items() if _is_typed(ctx, name)}, **values)

        parameters = [keyword("ctx", typer.Context)]
        for each in signature(function).parameters.values():
            taken = [keyword(name, *kind) for name, kind in options.items()] if each.name == "given" else None
            parameters += taken or [each.replace(kind=Parameter.KEYWORD_ONLY)]
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def keyword(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:
    """Return a parameter of a command: required if it has no default."""
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _is_typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
