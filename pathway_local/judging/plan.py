"""Declares the checked options of `judge`, by the names that a Python program gives them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, InstanceOf
from pydantic.dataclasses import dataclass

from pathway_local.engines.engine_list import engine_names
from pathway_local.errors import UsageError
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.pair import Orders
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.parts import MOST
from pathway_local.runs.run_file import RunKind
from pathway_local.sealing.seal import Wanted
from pathway_local.sheets.kinds import Sheet
from pathway_local.system.options import Says, checked, declared, flag

_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)

LARGEST = 2**63

OF_RATER = ("judge", "rater", "engine", "detail", "samples", "temperature", "orders", "seed", "think")
"""Options that define a rater: a run that continues has its own raters."""


def values_by_name(given: Sequence[str], flag: str, form: str, example: str) -> Mapping[str, str]:
    """Read what the user gave for an option of this form, such as the example. Raises UsageError."""
    found: dict[str, str] = {}
    for item in given:
        name, sign, value = item.partition("=")
        if not (name and sign and value):
            raise UsageError(f"{flag} {name}{sign}{value} is not {form}", f"Such as {flag} {example}.")
        if name in found:
            raise UsageError(f"{flag} gives {name} twice", "Give each name once.")
        found[name] = value
    return found


def columns_by_input(given: Any) -> Any:
    """Read what the user gave for --map; what can't be that stays as it is, to be refused by its type."""
    given = [given] if isinstance(given, str) else given
    texts = isinstance(given, Sequence) and all(isinstance(each, str) for each in given)
    return values_by_name(given, "--map", "INPUT=COLUMN", "question=Query") if texts else given


def _several(given: object) -> object:
    """Read one name or file, or several."""
    items = [given] if isinstance(given, str | os.PathLike) else given
    if not isinstance(items, Iterable):
        return items
    return tuple(os.fspath(each) if isinstance(each, os.PathLike) else each for each in items)


def _kept(given: object) -> object:
    """Read the columns to keep; None for all."""
    columns = _several(given)
    return None if isinstance(columns, tuple) and "all" in columns else columns


def _path(given: object) -> object:
    return Path(given) if isinstance(given, str) else given


OwnPath = Annotated[Path | None, BeforeValidator(_path)]


@dataclass(frozen=True, slots=True, config=_STRICT)
class Plan:
    """The work of `judge`. The command has each field but the first two and `kind` as an option, and so has the API.

    Without rubrics, an existing run continues with its own raters. Without judges, the run's own judge takes further
    rubrics; a new run takes the demo judge. `keep` None means all columns. `kind` is the run's. Rubrics are loaded by
    then.
    """

    cases: Path | Sheet
    run: Path
    _: KW_ONLY
    kind: RunKind = ""
    id: Annotated[str | None, Says("COLUMN", "Column with the cases' ids.")] = None
    encoding: Annotated[str, Says("NAME", "Encoding of a text file, such as cp1252; default: UTF-8.")] = ""
    header_row: Annotated[
        int | None, Field(ge=1, le=100_000), Says("N", "Row that names the columns; default: the first.")
    ] = None
    sheet: Annotated[str, Says("NAME", "Sheet of a workbook; default: the first.")] = ""
    map: Annotated[
        Mapping[str, str],
        BeforeValidator(columns_by_input),
        Says("INPUT=COLUMN", "Column to read an input from, if their names differ; repeat for each."),
    ] = field(default_factory=dict)
    keep: Annotated[
        Sequence[str] | None,
        BeforeValidator(_kept),
        Says("COLUMN", "Metadata column to keep in the run, or all; repeat for more."),
    ] = ()
    truncate: Annotated[str | None, Says("INPUT", "Input to cut at its end if a prompt is too long.")] = None
    limit: Annotated[
        int | None,
        Field(ge=1, le=LARGEST),
        Says("N", "Judge only N cases, drawn at random by --seed; more in a later command."),
    ] = None
    rubric: Annotated[
        Sequence[InstanceOf[Rubric]], Says("RUBRIC", "A rubric's name or file; repeat for more.", "-r")
    ] = ()
    judge: Annotated[
        Sequence[str],
        BeforeValidator(_several),
        Says("JUDGE", "A judge's name or folder; repeat for more (default: the run's, else demo).", "-j"),
    ] = ()
    rater: Annotated[str | None, Says("NAME", "The judge's name as a rater; default: the judge's own.")] = None
    models: Annotated[OwnPath, Says("FILE", "Your own models.yaml; it overrides built-in entries.")] = None
    engine: Annotated[str, Says("ENGINE", f"One of {', '.join(engine_names())}.")] = "auto"
    detail: Annotated[
        Detail, Says("DETAIL", "How much the judge writes: full, through-score (stop after the last score) or score.")
    ] = "full"
    samples: Annotated[int, Field(ge=1, le=100), Says("N", "Replies to draw for each case and average.")] = 1
    temperature: Annotated[
        float, Field(ge=0, le=5), Says("X", "Sampling temperature; at 0 the likeliest token is taken.")
    ] = 0.0
    orders: Annotated[
        Orders | None,
        Says("ORDERS", "Orders of two responses to compare: both, one (as in the file) or random (default: both)."),
    ] = None
    seed: Annotated[int | None, Field(ge=0, le=LARGEST), Says("N", "Seed of sampling and --limit (default: 0).")] = None
    think: Annotated[
        str,
        BeforeValidator(str),
        Says("TOKENS", "Let the judge think first, for at most this many tokens, or as its entry says: auto."),
    ] = "0"
    gpus: Annotated[
        str,
        BeforeValidator(str),
        Field(pattern=r"^(|all|[1-9]\d{0,2})$"),
        Says("N", "Judge on this many GPUs, or on all; each engine has its own (default: one engine)."),
    ] = ""
    cluster: Annotated[str, Says("ADDRESS", "Judge in parts on a Ray cluster whose nodes see this folder.")] = ""
    workers: Annotated[int, Field(ge=1, le=MOST), Says("N", "With --cluster: how many parts to judge at a time.")] = 1
    engine_log: Annotated[
        OwnPath, Says("FILE", "Write everything that the engine prints while it loads; no case text.")
    ] = None
    seal: Annotated[
        Wanted, Says("SEAL", "Keep the engine off networks: auto (as far as possible), required or off.")
    ] = "auto"
    without_text: Annotated[bool, Says("", "Store scores only, not what the judge writes.")] = False
    pseudonyms: Annotated[
        OwnPath, Says("KEYFILE", "Key of the pseudonyms that replace ids; a new run makes a missing file.")
    ] = None


OPTIONS = tuple(declared(Plan))
"""The options of `judge`, by the names of their fields in `Plan`."""


def read_plan(cases: Path | Sheet, run: Path, given: Mapping[str, Any]) -> Plan:
    """Return the plan with the options that a user gave; None stands for the default. Raises UsageError."""
    given = {name: value for name, value in given.items() if value is not None}
    plan = checked(Plan, given, cases, run)
    if plan.workers > 1 and not plan.cluster:
        raise UsageError("--workers is for a cluster", "Add --cluster ADDRESS, or give --gpus N.")
    if plan.cluster and plan.gpus:
        raise UsageError("--gpus is for this machine", "With --cluster, give --workers N.")
    for name in OF_RATER if run.exists() and not plan.rubric else ():
        if name in given:
            raise UsageError(
                f"{flag(name)} would define a new rater, and without a rubric a run continues with its own raters",
                f"Name a rubric to judge with {flag(name)}, or leave {flag(name)} out.",
            )
    return plan


def default_run(cases: Path) -> Path:
    """Return the run file if the user names none: in this folder, named like the cases."""
    return Path(f"{cases.stem}.run")
