"""What a job does: the checked options of `judge`, by the names that a Python program gives them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, field, fields
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, ConfigDict, Field, InstanceOf, ValidationError
from pydantic.dataclasses import dataclass

from pathway_local.engines.allocation import check_gpus
from pathway_local.errors import UnknownName, UsageError
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.pair import Orders
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.file_errors import RunKind
from pathway_local.runs.split import MOST
from pathway_local.sealing.seal import Wanted
from pathway_local.sheets.kinds import Sheet
from pathway_local.system.safe_yaml import first_complaint

_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)

LARGEST = 2**63

OF_RATER = ("judge", "rater", "engine", "detail", "samples", "temperature", "orders", "seed", "think")
"""Options that define a rater: a run that continues has its own raters."""


def flag(name: str) -> str:
    """Return an option's name on the command line."""
    return f"--{name.replace('_', '-')}"


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


def columns_by_input(given: Sequence[str] | Mapping[str, str]) -> Mapping[str, str]:
    """Read what the user gave for --map. Raises UsageError."""
    if isinstance(given, Mapping):
        return given
    given = [given] if isinstance(given, str) else given
    return values_by_name(given, "--map", "INPUT=COLUMN", "question=Query")


def _mapped(given: object) -> object:
    """Read columns by input; what can't be these stays as it is, for the type to refuse."""
    texts = isinstance(given, str | Sequence) and all(isinstance(each, str) for each in given)
    return columns_by_input(cast(Sequence[str], given)) if texts else given


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
    """What `judge` does. The command has each field but the first two and `kind` as an option, and so has the API.

    Without rubrics, an existing run continues with its own raters. Without judges, the run's own judge takes further
    rubrics; a new run takes the demo judge. `keep` None means all columns. `kind` is the run's. Rubrics are loaded by
    then.
    """

    cases: Path | Sheet
    run: Path
    _: KW_ONLY
    kind: RunKind = ""
    id: str | None = None
    encoding: str = ""
    header_row: Annotated[int | None, Field(ge=1, le=100_000)] = None
    sheet: str = ""
    map: Annotated[Mapping[str, str], BeforeValidator(_mapped)] = field(default_factory=dict)
    keep: Annotated[Sequence[str] | None, BeforeValidator(_kept)] = ()
    truncate: str | None = None
    limit: Annotated[int | None, Field(ge=1, le=LARGEST)] = None
    rubric: Sequence[InstanceOf[Rubric]] = ()
    judge: Annotated[Sequence[str], BeforeValidator(_several)] = ()
    rater: str | None = None
    models: OwnPath = None
    engine: str = "auto"
    detail: Detail = "full"
    samples: Annotated[int, Field(ge=1, le=100)] = 1
    temperature: Annotated[float, Field(ge=0, le=5)] = 0.0
    orders: Orders | None = None
    seed: Annotated[int | None, Field(ge=0, le=LARGEST)] = None
    think: Annotated[str, BeforeValidator(str)] = "0"
    gpus: Annotated[str, BeforeValidator(str)] = ""
    cluster: str = ""
    workers: Annotated[int, Field(ge=1, le=MOST)] = 1
    engine_log: OwnPath = None
    seal: Wanted = "auto"
    without_text: bool = False
    pseudonyms: OwnPath = None


OPTIONS = tuple(each.name for each in fields(Plan) if each.name not in ("cases", "run", "kind"))
"""The options of `judge`, by the names of their fields in `Plan`."""


def read_plan(cases: Path | Sheet, run: Path, given: Mapping[str, Any]) -> Plan:
    """Return the plan with the options that a user gave; None stands for the default. Raises UsageError."""
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in OPTIONS:
            raise UnknownName("option of judge", name, OPTIONS)
    try:
        plan = Plan(cases, run, **given)
    except ValidationError as error:
        keys, _, said = first_complaint(error)
        name = str(keys[0])
        value = given[name]
        shown = repr(value)[:20] if isinstance(value, str | int | float) else f"(a {type(value).__name__})"
        raise UsageError(f"{flag(name)} {shown}: {said}", "See `pathway-local judge --help`.") from None
    check_gpus(plan.gpus)
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


def default_run(cases: Path, out: Path | None) -> Path:
    """Return the run file if the user names none: beside the output, else in this folder, named like the cases."""
    return out.with_suffix(".run") if out and str(out) != "-" else Path(f"{cases.stem}.run")
