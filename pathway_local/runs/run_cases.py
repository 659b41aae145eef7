"""The cases file of a run: its columns are matched and kept the way they were when it was judged first."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, convert, to_builtins

from pathway_local.errors import UsageError
from pathway_local.pseudonyms import Pseudonyms
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.database import decoding
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cases_file import CasesFile

SETTING = "columns"
PSEUDONYMS = "pseudonyms"


class Columns(Struct, frozen=True):
    """What a run remembers of its cases files: inputs by column, the ids' column, and the metadata that it keeps."""

    mapping: dict[str, str] = {}
    id: str | None = None
    keep: tuple[str, ...] = ()


def cases_of(
    path: Path,
    rubrics: Iterable[Rubric],
    run: RunFile | None,
    id_column: str | None = None,
    mapping: Mapping[str, str] | None = None,
    pseudonyms: Pseudonyms | None = None,
) -> CasesFile:
    """The cases file at `path` for these rubrics; what is given here comes before what the run remembers.

    With `pseudonyms` its cases are known by these. UsageError where the run has them by another key, or has none.
    """
    known = list(rubrics)
    needed = {rubric.name: tuple(rubric.inputs) for rubric in known}
    required = {name for rubric in known for name, wanted in rubric.inputs.items() if wanted.default is None}
    optional = {name for names in needed.values() for name in names} - required
    before = columns_of(run) if run else Columns()
    given = {**before.mapping, **(mapping or {})}
    cases = CasesFile(path, needed, given, id_column or before.id, optional)
    cases.pseudonyms = _checked(pseudonyms, run, cases)
    return cases


def columns_of(run: RunFile) -> Columns:
    """What the run remembers so far. Raises RunDamaged."""
    with decoding(run.path):
        return convert(run.get_setting(SETTING) or {}, Columns)


def remember(run: RunFile, cases: CasesFile, mapping: Mapping[str, str], keep: Sequence[str] | None = ()) -> None:
    """Remember how the columns of `cases` are matched, and which to `keep`. All (None) are those of this file:

    another file's can hold what nobody meant to keep.
    """
    before = columns_of(run)
    kept = dict.fromkeys([*before.keep, *(cases.metadata if keep is None else keep)])
    now = Columns({**before.mapping, **mapping}, cases.id_column, tuple(kept))
    run.set_setting(SETTING, to_builtins(now))
    if cases.pseudonyms:
        run.set_setting(PSEUDONYMS, cases.pseudonyms.mark)


def _checked(given: Pseudonyms | None, run: RunFile | None, cases: CasesFile) -> Pseudonyms | None:
    """The pseudonyms that are given, if they are the run's."""
    known = run.get_setting(PSEUDONYMS) if run else None
    if given is None:
        if known is not None:
            raise UsageError("the ids in this run are pseudonyms", "Give --pseudonyms KEYFILE with this run's key.")
        return None
    if cases.id_column is None:
        raise UsageError("cases known by row number have no ids to replace", "Give --id COLUMN, or no --pseudonyms.")
    if known is not None and known != given.mark:
        raise UsageError("the pseudonyms in this run were made with another key", "Give --pseudonyms that key's file.")
    if run is not None and known is None and run.numbered is not None:
        raise UsageError("the ids in this run are no pseudonyms", "Leave --pseudonyms out, or name another run file.")
    return given
