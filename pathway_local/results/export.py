"""A run's verdicts as a table: a file of its own, or columns beside the user's own sheet."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pathway_local.case import BAD_ROW, BadRow, Case, fingerprint
from pathway_local.errors import CasesError, UsageError
from pathway_local.results.export_columns import (
    CASE_COLUMNS,
    END_COLUMNS,
    RubricColumns,
    cells_in,
    columns_by_rubric,
    metadata_columns,
    names,
)
from pathway_local.runs.audit import AuditTrail, file_facts, note
from pathway_local.runs.jobs import recorded
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.tables import add_columns, write_table
from pathway_local.verdict import Failure, Value

EXPORT = "export"


def export(run: RunFile, target: Path, *, force: bool) -> list[str]:
    """Write a row for each case, rater and rubric, in the order of the cases file; returns notes for the user.

    Raises UsageError.
    """
    columns = _columns(run)
    fields = list(dict.fromkeys(name for _, rater in run.raters() for name in columns[rater.rubric].of(rater)))
    metadata = metadata_columns(run, fields)

    def row(record: Record) -> dict[str, Value]:
        kept: dict[str, Value] = {column: record.metadata.get(name, "") for name, column in metadata.items()}
        return cells_in(CASE_COLUMNS, record) | kept | columns[record.rubric].cells(record)

    every = [*names(CASE_COLUMNS), *metadata.values(), *fields, *names(END_COLUMNS)]
    return _remarks(write_table(target, every, map(row, run.records()), force=force))


def export_onto(run: RunFile, cases: CasesFile, target: Path, *, force: bool) -> list[str]:
    """Copy the cases' own sheet with the verdicts' columns added to each row; rows stay in their order.

    Columns are named RUBRIC.FIELD, with the rater in front if the run has several. A case with other texts than those
    judged gets no cells; the returned notes count such cases. Raises UsageError; CasesError if cases are known by row
    number alone and a row has other texts: then rows have moved.
    """
    columns = _columns(run)
    several = len({rater.name for _, rater in run.raters()}) > 1
    added = [
        f"{_prefix(rater.name, rater.rubric, several)}{column}"
        for _, rater in run.raters()
        for column in (*columns[rater.rubric].of(rater), *names(END_COLUMNS))
    ]
    found: dict[str, list[Record]] = {}
    without_id: dict[int, list[Record]] = {}
    for record in run.records():
        found.setdefault(record.case_id, []).append(record)
        failure = record.outcome if isinstance(record.outcome, Failure) else None
        # A row without a usable id got one that begins with its file's name.
        if failure and failure.kind == BAD_ROW and record.case_id.startswith(f"{failure.source} "):
            without_id.setdefault(failure.row, []).append(record)
    changed = 0

    def records_of(row: Case | BadRow) -> Iterable[Record]:
        """The run's records of a row; a bad row without an id is found by its number if its file was renamed."""
        if row.id in found or isinstance(row, Case):
            return found.get(row.id, ())
        return without_id.get(row.row, ())

    def cells_of(row: Case | BadRow) -> dict[str, Value]:
        nonlocal changed
        cells: dict[str, Value] = {}
        for record in records_of(row):
            own = columns[record.rubric]
            if isinstance(row, Case) and record.case_hash != fingerprint(run.key, own.rubric.texts_of(row)):
                _refuse_moved(row)
                changed += 1
                continue
            prefix = _prefix(record.rater, record.rubric, several)
            cells |= {f"{prefix}{name}": value for name, value in own.cells(record).items()}
        return cells

    remarks = _remarks(add_columns(cases, target, added, cells_of, force=force))
    if changed:
        remarks.append(f"{changed} verdicts are left out: their cases have other texts in {cases.path.name}")
    return remarks


def _remarks(cut: int) -> list[str]:
    return [f"{cut} cells were cut at the length limit of a workbook's cells"] if cut else []


def record_export(run: Path, target: Path, command: Sequence[str]) -> bool:
    """Record in a run's audit trail that `target` was exported from it; False if the run can't be written."""
    facts: dict[str, Value] = {"file": "-"} if str(target) == "-" else file_facts(target)
    return note(run, EXPORT, {"command": recorded(command), **facts})


def is_judges_own(run: Path, target: Path) -> bool:
    """Whether `judge` wrote this file from this run and it is unchanged since, by the run's audit trail."""
    try:
        facts = file_facts(target) if run.is_file() else {}
    except OSError:
        return False  # missing or unreadable: the command that writes it reports that
    if not facts:
        return False
    with RunFile.read(run) as read:
        entries = AuditTrail(read.database).entries()
    told = [entry.facts for entry in entries if entry.event == EXPORT and _of_judge(entry.facts)]
    return any(facts.items() <= each.items() for each in told)


def _of_judge(facts: Mapping[str, Value]) -> bool:
    command = facts.get("command")
    return isinstance(command, list) and command[1:2] == ["judge"]


def _refuse_moved(case: Case) -> None:
    if case.numbered:
        said = f"row {case.row} of the sheet has other texts than the row of that number that was judged"
        raise CasesError(said, "Rows that move need ids: judge with --id COLUMN.")


def _prefix(rater: str, rubric: str, several: bool) -> str:
    return f"{rater}.{rubric}." if several else f"{rubric}."


def _columns(run: RunFile) -> dict[str, RubricColumns]:
    if not run.raters():
        raise UsageError("the run holds no verdicts yet", "Judge some cases first.")
    return columns_by_rubric(run, rubrics_of(run))
