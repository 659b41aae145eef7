"""The options of `judge`, declared once: the command, `pathway_local.judge` and a self-test take them from `Plan`."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter

from pathway_local.engines.allocation import ONE_ENGINE, Allocation
from pathway_local.engines.engine_list import engine_names
from pathway_local.errors import UnknownName, UsageError
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.pair import Orders
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.file_errors import RunKind
from pathway_local.runs.split import MOST
from pathway_local.sealing.seal import Wanted
from pathway_local.sheets.kinds import Sheet

_AS_DECLARED = ConfigDict(strict=True, arbitrary_types_allowed=True)

# Headings over the options in a command's help.
CASES = "Cases"
JUDGE = "Judge"
REPLY = "Reply"
MACHINE = "Machine"
OUTPUT = "Output"
PRIVACY = "Privacy"


@dataclass(frozen=True, slots=True)
class Option:
    """The name of an option's value (empty for a switch), its help, and the heading above it.

    `names` are those on the command line, unless it has the name of its field. A number is from `least` to `most`.
    `typed` is the type on the command line, if it is not the field's own; then `read` makes the field's value of what a
    user typed or a program gave. `of_rater` options define a rater: a run that continues has its own raters. `type` and
    `default` are the field's.
    """

    value: str
    says: str
    group: str
    names: tuple[str, ...] = ()
    least: float | None = None
    most: float = float("inf")
    typed: Any = None
    read: Callable[[Any], Any] | None = None
    of_rater: bool = False
    type: Any = None
    default: Any = None

    @property
    def flag(self) -> str:
        """The option's name on the command line."""
        return self.names[0]

    def value_of(self, given: Any) -> Any:
        """Return the field's value for what was given. Raises UsageError."""
        read = self.read or (Path if Path in get_args(self.type) else None)
        try:
            value: Any = read(given) if read else given
            TypeAdapter(self.type, config=_AS_DECLARED).validate_python(value)
            if self.least is None or self.least <= value <= self.most:
                return value
        except (TypeError, ValueError):
            pass
        shown = repr(given)[:20] if isinstance(given, str | int | float) else f"a {type(given).__name__}"
        for choices in (get_args(each) for each in (self.type, *get_args(self.type)) if get_origin(each) is Literal):
            raise UnknownName(f"value of {self.flag}", shown.strip("'"), choices)
        wanted = "valid" if self.least is None else f"a number from {self.least} to {self.most}"
        raise UsageError(f"{self.flag} is {shown}, which is not {wanted}", self.says)


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


def _thinking(given: object) -> str:
    return "auto" if given is True else "0" if given is False else str(given)


ID = Option("COLUMN", "Column with the cases' ids.", CASES)
HEADER_ROW = Option("N", "Row that names the columns; default: the first.", CASES, least=1, most=100_000)
SHEET = Option("NAME", "Sheet of a workbook; default: the first, or the one behind a cover page.", CASES)
ENCODING = Option("NAME", "Encoding of a text file, such as cp1252; default: UTF-8.", CASES)
MAP = Option(
    "INPUT=COLUMN",
    "Column to read an input from, if their names differ; repeat for each.",
    CASES,
    typed=list[str],
    read=columns_by_input,
)
MODELS = Option("FILE", "Your own models.yaml; it overrides built-in entries.", JUDGE)


Names = str | os.PathLike[str]


def _several(given: Names | Iterable[Names]) -> tuple[str, ...]:
    """Read one name or file, or several."""
    return tuple(os.fspath(item) for item in ([given] if isinstance(given, str | os.PathLike) else given))


def _kept(given: Names | Iterable[Names]) -> tuple[str, ...] | None:
    """Read the columns to keep; None for all."""
    columns = _several(given)
    return None if "all" in columns else columns


def _share(given: str | float) -> float:
    """Read the share of --double-check, such as 5% or 0.05. Raises UsageError."""
    text = str(given)
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise UsageError(f"--double-check {text[:20]} is not a share", "Such as --double-check 5%.")
    return share


@dataclass(frozen=True, slots=True)
class Plan:
    """What `judge` shall do. Each field with an option is one of the command and of the API, by this very name.

    Without rubrics, an existing run continues with its own raters. Without judges, the run's own judge takes further
    rubrics; a new run takes the demo judge. `keep` None means all columns. `kind` is the run's. `allocation` follows
    from the options of the machine. Rubrics are loaded by then.
    """

    cases: Path | Sheet
    run: Path
    _: KW_ONLY
    id: Annotated[str | None, ID] = None
    encoding: Annotated[str, ENCODING] = ""
    header_row: Annotated[int | None, HEADER_ROW] = None
    sheet: Annotated[str, SHEET] = ""
    map: Annotated[Mapping[str, str], MAP] = field(default_factory=dict)
    keep: Annotated[
        Sequence[str] | None,
        Option(
            "COLUMN", "Metadata column to keep in the run, or all; repeat for more.", CASES, typed=list[str], read=_kept
        ),
    ] = ()
    truncate: Annotated[str | None, Option("INPUT", "Input to cut at its end if a prompt is too long.", CASES)] = None
    limit: Annotated[
        int | None,
        Option(
            "N", "Judge only N cases, drawn at random by --seed; more in a later command.", CASES, least=1, most=2**63
        ),
    ] = None
    rubric: Annotated[
        Sequence[Rubric],
        Option("RUBRIC", "A rubric's name or file; repeat for more.", JUDGE, ("--rubric", "-r"), typed=list[str]),
    ] = ()
    judge: Annotated[
        Sequence[str],
        Option(
            "JUDGE",
            "A judge's name or folder; repeat for more (default: the run's, else demo).",
            JUDGE,
            ("--judge", "-j"),
            typed=list[str],
            read=_several,
            of_rater=True,
        ),
    ] = ()
    rater: Annotated[
        str | None, Option("NAME", "The judge's name as a rater; default: the judge's own.", JUDGE, of_rater=True)
    ] = None
    models: Annotated[Path | None, MODELS] = None
    engine: Annotated[str, Option("ENGINE", f"One of {', '.join(engine_names())}.", JUDGE, of_rater=True)] = "auto"
    detail: Annotated[
        Detail,
        Option(
            "DETAIL",
            "How much the judge writes: full, through-score (stop after the last score) or score.",
            REPLY,
            of_rater=True,
        ),
    ] = "full"
    samples: Annotated[
        int, Option("N", "Replies to draw for each case and average.", REPLY, least=1, most=100, of_rater=True)
    ] = 1
    keep_samples: Annotated[bool, Option("", "Also store and export what each of --samples says.", REPLY)] = False
    temperature: Annotated[
        float | None,
        Option("X", "Sampling temperature; default: the rubric's, else 0.", REPLY, least=0, most=5, of_rater=True),
    ] = None
    orders: Annotated[
        Orders | None,
        Option(
            "ORDERS",
            "Orders in which to compare two responses: both, one (as in the file) or random (default: both).",
            REPLY,
            of_rater=True,
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option(
            "N",
            "Seed of sampling and --limit; default: the rubric's, else 0.",
            REPLY,
            least=0,
            most=2**63,
            of_rater=True,
        ),
    ] = None
    think: Annotated[
        str,
        Option(
            "[TOKENS]",
            "Let the judge think first, for at most this many tokens.",
            REPLY,
            typed=str,
            read=_thinking,
            of_rater=True,
        ),
    ] = "0"
    double_check: Annotated[
        float,
        Option(
            "SHARE",
            "Judge a random part again, such as 5%, with the levels in the other order, and mark what flips.",
            REPLY,
            typed=str,
            read=_share,
        ),
    ] = 0.0
    gpus: Annotated[
        str,
        Option(
            "N", "Judge on this many GPUs, or on all; each engine has its own (default: one engine).", MACHINE, read=str
        ),
    ] = ""
    engines: Annotated[
        int, Option("N", "Engines side by side on a machine without a GPU.", MACHINE, least=1, most=64)
    ] = 1
    cluster: Annotated[
        str, Option("ADDRESS", "Judge in parts on a Ray cluster whose nodes see this folder.", MACHINE)
    ] = ""
    workers: Annotated[
        int, Option("N", "With --cluster: how many parts to judge at a time.", MACHINE, least=1, most=MOST)
    ] = 1
    engine_log: Annotated[
        Path | None, Option("FILE", "Write everything that the engine prints while it loads; no case text.", OUTPUT)
    ] = None
    seal: Annotated[
        Wanted, Option("SEAL", "Keep the engine off networks: auto (as far as possible), required or off.", PRIVACY)
    ] = "auto"
    without_text: Annotated[bool, Option("", "Store scores only, not what the judge writes.", PRIVACY)] = False
    pseudonyms: Annotated[
        Path | None, Option("KEYFILE", "Replace ids by hashes with this key; a missing key file is made.", PRIVACY)
    ] = None
    kind: RunKind = ""
    allocation: Allocation = ONE_ENGINE

    def __post_init__(self) -> None:
        """Find the engines that the options name. Raises UsageError if they contradict each other."""
        if self.workers > 1 and not self.cluster:
            raise UsageError("--workers is for a cluster", "Add --cluster ADDRESS, or give --gpus N or --engines N.")
        if self.cluster and (self.gpus or self.engines > 1):
            raise UsageError("--gpus and --engines are for this machine", "With --cluster, give --workers N.")
        if (self.gpus, self.engines) != ("", 1) and self.allocation is ONE_ENGINE:
            object.__setattr__(self, "allocation", Allocation(self.gpus, self.engines))


def options_of(plan: type[Plan] = Plan) -> dict[str, Option]:
    """Return the options of `judge` by their names, in the order of the command's help."""
    hints = get_type_hints(plan, include_extras=True)
    found: dict[str, Option] = {}
    for each in fields(plan):
        if get_origin(hint := hints[each.name]) is Annotated:
            kind, option = get_args(hint)
            names = option.names or (f"--{each.name.replace('_', '-')}",)
            found[each.name] = replace(option, names=names, type=kind, default=each.default)
    return found


def read_plan(cases: Path | Sheet, run: Path, given: Mapping[str, Any]) -> Plan:
    """Return the plan with the options that a user gave; None stands for the default. Raises UsageError."""
    options = options_of()
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in options:
            raise UnknownName("option of judge", name, options)
    plan = Plan(cases, run, **{name: options[name].value_of(value) for name, value in given.items()})
    for name in given if run.exists() and not plan.rubric else ():
        if options[name].of_rater:
            flag = options[name].flag
            raise UsageError(
                f"{flag} would define a new rater, and without a rubric a run continues with its own raters",
                f"Name a rubric to judge with {flag}, or leave {flag} out.",
            )
    return plan


def default_run(cases: Path, out: Path | None) -> Path:
    """Return the run file if the user names none: beside the output, else in this folder, named like the cases."""
    return out.with_suffix(".run") if out and str(out) != "-" else Path(f"{cases.stem}.run")
