"""Opens the cases file of a run: its columns are matched as when the run was first judged.

Of its cases a run may judge a limited number, or a part of a split run its share.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert

from pathway_local.case import part_of_case
from pathway_local.errors import RunFileError, UsageError
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.jobs import Job
from pathway_local.runs.record import VALUES_BY_NAME, Stored
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.kinds import FLAGS, Sheet, open_sheet
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.verdict import Value

SETTING = "columns"
PSEUDONYMS = "pseudonyms"
READING = "reading"
KEEP = "keep"
ALL: Literal["all"] = "all"


class Columns(Struct, frozen=True):
    """The column that the user gave for each input of a run's cases, and the column of their ids."""

    mapping: dict[str, str] = {}
    id: str | None = None


_COLUMNS, _KEEP = Stored[Columns](Columns), Stored[Any](Literal["all"] | list[str])

_SOME = "SELECT EXISTS (SELECT 1 FROM cases) OR EXISTS (SELECT 1 FROM inclusions) OR EXISTS (SELECT 1 FROM handouts)"


def cases_of(
    cases: Path | Sheet,
    rubrics: Iterable[Rubric],
    run: RunFile | None,
    id_column: str | None = None,
    mapping: Mapping[str, str] | None = None,
    pseudonyms: Pseudonyms | None = None,
    **how: Any,
) -> CasesFile:
    """Return the cases for these rubrics; arguments, `how` for `open_sheet`, take precedence over what the run knows.

    With `pseudonyms`, these replace the cases' ids. Raises UsageError if the run's ids are not pseudonyms of that key,
    and RunFileError if the run's cases have row numbers as ids and these have an id column.
    """
    known = list(rubrics)
    needed = {rubric.name: tuple(rubric.inputs) for rubric in known}
    required = {name for rubric in known for name, wanted in rubric.inputs.items() if wanted.default is None}
    remembered = remembered_columns(run) if run else Columns()
    inputs = {name for names in needed.values() for name in names}
    given = {name: column for name, column in remembered.mapping.items() if name in inputs} | dict(mapping or {})
    optional = inputs - required
    how = {name: value for name, value in how.items() if value}
    opened = cases if isinstance(cases, Sheet) else open_sheet(cases, **_remembered_reading(run, cases) | how)
    talks = {name for rubric in known for name, each in rubric.inputs.items() if each.conversation}
    found = CasesFile(opened, needed, given, id_column or remembered.id, optional, talks)
    if run is not None and found.id_column is not None and rows_are_ids(run):
        said = f"{run.path}: its cases have row numbers as ids, these have ids from a column"
        raise RunFileError(said, "Name another run file, or a cases file without a column of ids.")
    found.pseudonyms = _checked(pseudonyms, run, found)
    return found


def remember(run: RunFile, cases: CasesFile, mapping: Mapping[str, str]) -> None:
    """Store how the columns of `cases` were matched, and how the user said to read the file, for the next command."""
    before = remembered_columns(run).mapping
    run.set_setting(SETTING, {"mapping": {**before, **mapping}, "id": cases.id_column})
    if cases.sheet.told:
        run.set_setting(READING, {"file": cases.path.name, **cases.sheet.told})
    if cases.pseudonyms:
        run.set_setting(PSEUDONYMS, cases.pseudonyms.mark)


def kept_columns(run: RunFile | None, cases: CasesFile, asked: Sequence[str] | None) -> list[str] | None:
    """Return the metadata columns to keep: those asked for, and those kept so far that the file has; None for all."""
    before = (run.get_setting(KEEP, _KEEP) if run else None) or []
    if asked is None or before == ALL:
        return None
    known = [name for name in before if name in cases.metadata]
    return list(dict.fromkeys([*known, *map(cases.column, asked)]))


def remember_kept(run: RunFile, columns: Sequence[str] | None) -> None:
    """Store which columns later jobs keep as well, so that cases added then are in the same groups; None for all."""
    before = run.get_setting(KEEP, _KEEP) or []
    run.set_setting(KEEP, ALL if columns is None or before == ALL else list(dict.fromkeys([*before, *columns])))


def _remembered_reading(run: RunFile | None, path: Path) -> dict[str, Any]:
    """Return how the user said to open a file of that name; another may need other options."""
    kept = run.get_setting(READING, VALUES_BY_NAME) if run else None
    return {name: kept[name] for name in FLAGS if name in kept} if kept and kept.get("file") == path.name else {}


def _checked(given: Pseudonyms | None, run: RunFile | None, cases: CasesFile) -> Pseudonyms | None:
    """Return the given pseudonyms if they are the run's. Raises UsageError."""
    known = run.get_setting(PSEUDONYMS) if run else None
    if given is None:
        if known is not None:
            raise UsageError("the ids in this run are pseudonyms", "Give --pseudonyms KEYFILE with this run's key.")
        return None
    if cases.id_column is None:
        raise UsageError("cases known by row number have no ids to replace", "Give --id COLUMN, or no --pseudonyms.")
    if known is not None and known != given.mark:
        said = "the pseudonyms in this run were made with another key"
        raise UsageError(said, "Give --pseudonyms with the file of that key.")
    if run is not None and known is None and rows_are_ids(run) is not None:
        raise UsageError("the ids in this run are not pseudonyms", "Leave --pseudonyms out, or name another run file.")
    return given


def rows_are_ids(run: RunFile) -> bool | None:
    """Whether the ids of the run's cases are their row numbers, which move when a sheet is sorted; None without cases.

    Such ids join nothing unless the texts match.
    """
    [(some,)] = run.database.rows(_SOME)
    kept = run.get_setting(SETTING, _COLUMNS)
    return kept.id is None if some and kept else None


def remembered_columns(run: RunFile) -> Columns:
    """Return how the columns of the run's cases were matched."""
    return run.get_setting(SETTING, _COLUMNS) or Columns()


PART = "part"
"""A job's fact, "3/16", and the setting that makes a run a part."""


class Part(Struct, frozen=True):
    """Part `number`, from 1, of cases that are divided by their ids into `of` parts.

    A run that is a part knows the hash and the last job that the run had when it was split.
    """

    number: Annotated[int, Meta(ge=1)]
    of: Annotated[int, Meta(ge=1)]
    head: str = ""
    jobs: int = 0

    @classmethod
    def read(cls, stored: Value) -> "Part | None":
        """Return the part that a run or a job names as K/N; None for anything else."""
        found = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", stored) if isinstance(stored, str) else None
        return cls(int(found[1]), int(found[2])) if found else None

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def __contains__(self, case_id: str) -> bool:
        return part_of_case(case_id, self.of) == self.number - 1


_PART = Stored[Part](Part)


def part_of(run: RunFile) -> Part | None:
    """Return which part of another run this one is; None if it is a run of its own."""
    found: Part | None = run.get_setting(PART, _PART)
    return found


FACT = "limit"


@dataclass(frozen=True, slots=True)
class Limit:
    """`size` of the cases of a `file`, drawn by `seed`; `rows` counts them, invalid ones included."""

    file: str
    size: int
    rows: int
    seed: int

    def __str__(self) -> str:
        return f"a random {self.size:,} of the {self.rows:,} cases of {self.file} (--limit, seed {self.seed})"

    def facts(self) -> dict[str, Value]:
        """Return the facts that a job records."""
        return {FACT: asdict(self)}


def shares_judged(run: RunFile) -> dict[tuple[str, str], list[str]]:
    """Return in words, for each rater and rubric, the share of each cases file that was judged, if it is not all."""
    judged = defaultdict[tuple[tuple[str, str], str], list[Job]](list)
    for job in run.jobs.all():
        for rater in job.judges:
            judged[rater, str(job.fact("cases").get("file"))].append(job)
    found = defaultdict[tuple[str, str], list[str]](list)
    for (rater, file), jobs in judged.items():
        found[rater] += _shares(file, jobs)
    return found


def _shares(file: str, jobs: Sequence[Job]) -> Iterator[str]:
    """Yield the largest limit, unless a job had none: after it, even a stopped one, the cases are no random part.

    Yield the parts of a split run, too, unless all of them or the whole were begun.
    """
    limits, parts = [_limit(job.facts) for job in jobs], {Part.read(job.facts.get(PART)) for job in jobs}
    if largest := max((limit for limit in limits if limit), key=lambda each: each.size, default=None):
        yield from [] if None in limits else [str(largest)]
    begun = Counter(part.of for part in parts if part)
    if None not in parts and not any(count == of for of, count in begun.items()):
        yield from (f"{count} of {of} parts of {file} (runs split)" for of, count in begun.items())


def last_seed(run: RunFile, file: str) -> int | None:
    """Return the seed of the last limit on this file; None without one."""
    limits = (_limit(job.facts) for job in reversed(run.jobs.all()))
    return next((limit.seed for limit in limits if limit and limit.file == file), None)


def _limit(facts: Mapping[str, Value]) -> Limit | None:
    try:
        return convert(facts.get(FACT), Limit | None)
    except ValidationError:  # a fact of this name that another release wrote
        return None
