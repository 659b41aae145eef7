"""Arguments and options that several commands have in common, in the same words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from pathway_local.cli.command_help import option
from pathway_local.engines.engine_list import engine_names
from pathway_local.judging.plan import Plan, flag
from pathway_local.words import languages

MODELS = "Your own models.yaml; it overrides built-in entries."

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The run file.")]
RunToBe = Annotated[Path, typer.Argument(metavar="RUN", help="The run file; with --rubric it may be a new one.")]
CasesOption = Annotated[Path, option("FILE", "The cases file.")]
Models = Annotated[Path | None, option("FILE", MODELS)]
RubricIfSeveral = Annotated[str | None, option("RUBRIC", "The rubric; needed if the run has several.")]
Out = Annotated[Path | None, option("FILE", "Write all tables to a file: .csv, .tsv, .jsonl, .xlsx or .parquet.")]
Full = Annotated[bool, option("", "Show every table and column, and how to read each figure.", "--full")]
Page = Annotated[Path, option("FILE", "The page, an .html file.")]
Title = Annotated[str, option("TEXT", "The page's title.")]
Lang = Annotated[str, option("LANGUAGE", f"Language of what is shown: {', '.join(languages())}.")]
Yes = Annotated[bool, option("", "Do not ask first.", "--yes")]
Force = Annotated[bool, option("", "Replace the output file if it exists.", "--force")]
KeyFile = Annotated[Path | None, option("KEYFILE", "Key of the run's pseudonyms.")]
AsJson = Annotated[bool, option("", "Print JSON instead of tables.", "--json")]

Kinds = Mapping[str, tuple[Any, Any]]
"""Options by the name of their parameter, each with its annotated type and its default."""

OF_JUDGE = {
    "id": ("COLUMN", "Column with the cases' ids."),
    "encoding": ("NAME", "Encoding of a text file, such as cp1252; default: UTF-8."),
    "header_row": ("N", "Row that names the columns; default: the first."),
    "sheet": ("NAME", "Sheet of a workbook; default: the first."),
    "map": ("INPUT=COLUMN", "Column to read an input from, if their names differ; repeat for each."),
    "keep": ("COLUMN", "Metadata column to keep in the run, or all; repeat for more."),
    "truncate": ("INPUT", "Input to cut at its end if a prompt is too long."),
    "limit": ("N", "Judge only N cases, drawn at random by --seed; more in a later command."),
    "rubric": ("RUBRIC", "A rubric's name or file; repeat for more."),
    "judge": ("JUDGE", "A judge's name or folder; repeat for more (default: the run's, else demo)."),
    "rater": ("NAME", "The judge's name as a rater; default: the judge's own."),
    "models": ("FILE", MODELS),
    "engine": ("ENGINE", f"One of {', '.join(engine_names())}."),
    "detail": ("DETAIL", "How much the judge writes: full, through-score (stop after the last score) or score."),
    "samples": ("N", "Replies to draw for each case and average."),
    "temperature": ("X", "Sampling temperature; at 0 the likeliest token is taken."),
    "orders": (
        "ORDERS",
        "Orders in which to compare two responses: both, one (as in the file) or random (default: both).",
    ),
    "seed": ("N", "Seed of sampling and --limit (default: 0)."),
    "think": ("TOKENS", "Let the judge think first, for at most this many tokens, or as its entry says: auto."),
    "gpus": ("N", "Judge on this many GPUs, or on all; each engine has its own (default: one engine)."),
    "cluster": ("ADDRESS", "Judge in parts on a Ray cluster whose nodes see this folder."),
    "workers": ("N", "With --cluster: how many parts to judge at a time."),
    "engine_log": ("FILE", "Write everything that the engine prints while it loads; no case text."),
    "seal": ("SEAL", "Keep the engine off networks: auto (as far as possible), required or off."),
    "without_text": ("", "Store scores only, not what the judge writes."),
    "pseudonyms": ("KEYFILE", "Replace ids by hashes with this key; a missing key file is made."),
}
"""The texts of `judge`'s options: the name of the value, empty for a switch, and the help. `Plan` has all else."""

SHORT = {"rubric": ("-r",), "judge": ("-j",)}


def of_judge(*names: str) -> Kinds:
    """Return these options of `judge`; their texts stand here, all else in `Plan`."""
    types, defaults = get_type_hints(Plan), {each.name: each.default for each in fields(Plan)}
    found: dict[str, tuple[Any, Any]] = {}
    for name in names:
        kind = types[name]
        several = {get_origin(each) for each in (kind, *get_args(kind))} & {Sequence, Mapping}
        shown = option(*OF_JUDGE[name], flag(name), *SHORT.get(name, ()))
        found[name] = (Annotated[list[str] if several else kind, shown], [] if several else defaults[name])
    return found


_OWN = of_judge("id", "encoding", "header_row", "sheet", "map")

READING: Kinds = {"id_column": _OWN["id"], "encoding": _OWN["encoding"], "pseudonyms": (KeyFile, None)}
"""How to read the cases file of a run that knows its columns."""

MATCHING: Kinds = {
    **READING,
    "header_row": _OWN["header_row"],
    "sheet": _OWN["sheet"],
    "mapping": _OWN["map"],
}
"""How to read a cases file whose columns may have to be matched first."""


def taking(options: Kinds) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command these options, where its parameter `given` stands.

    The function gets those that the user typed, by name, as `given`.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(ctx: typer.Context | None = None, **values: Any) -> None:
            if ctx is None:  # called by another command, with what it gives
                return function(**values)
            taken = {name: values.pop(name) for name in options}
            return function(given={name: value for name, value in taken.items() if _is_typed(ctx, name)}, **values)

        parameters = [keyword("ctx", typer.Context)]
        for each in signature(function).parameters.values():
            taken = [keyword(name, *kind) for name, kind in options.items()] if each.name == "given" else None
            parameters += taken or [each.replace(kind=Parameter.KEYWORD_ONLY)]
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        command.__name__, command.__doc__, command.__annotations__ = function.__name__, function.__doc__, {}
        return command

    return decorate


def keyword(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:
    """Return a parameter of a command: required if it has no default."""
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _is_typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
