"""A run's verdicts as a table: a file of its own, or columns beside the user's own sheet."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pathway_local.case import BadRow, Case, fingerprint
from pathway_local.errors import CasesError, RunFileError, UnknownName, UsageError
from pathway_local.output.export_columns import (
    CASE_COLUMNS,
    CAUTION,
    END_COLUMNS,
    SCORE_COLUMNS,
    MetadataColumns,
    RubricColumns,
    cells_in,
    columns_by_rubric,
    names,
)
from pathway_local.results.reading_list import NOTES, reason_field
from pathway_local.runs.audit import file_facts, note, recorded
from pathway_local.runs.purge import purged
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.columns import same_column
from pathway_local.sheets.delimited import CSV, TSV
from pathway_local.sheets.kinds import Page, kind_of
from pathway_local.sheets.row import may_run
from pathway_local.sheets.tables import add_columns, write_table
from pathway_local.verdict import Failure, Value

EXPORT = "export"
FAILURE = "failure"
RUNS = "rows with cells that a spreadsheet may run as formulas, copied as they are"
SUFFIXES = tuple(column.suffix for column in SCORE_COLUMNS)


def export(run: RunFile, target: Path, *, force: bool, only: Sequence[str] = ()) -> list[str]:
    """Write a row for each case, rater and rubric, in the order of the cases file; returns notes for the user.

    Columns that no row fills are left out, except `failure`; `only` names those to write, in their order. A workbook
    also gets a sheet with the failures. Raises UsageError.
    """
    table = VerdictTable(run, only)
    # The sheet of failures comes last: only then are all known.
    further = (Page("failures", table.failure_columns, table.failures) for _ in "1" if table.failures)
    return _remarks(write_table(target, table.columns, table.rows(), further, force=force), table.purge)


class VerdictTable:
    """A run's verdicts as rows, in the order of the cases file, below `columns`. Raises UsageError without verdicts.

    `failures` has the rows of failures, once all rows were read; `purge` says when texts were removed, if they were.
    """

    def __init__(self, run: RunFile, only: Sequence[str] = ()) -> None:
        self._run = run
        self._of, self.purge = _columns(run)
        raters = [rater for _, rater in run.raters()]
        fields = list(dict.fromkeys(name for rater in raters for name in self._of[rater.rubric].of(rater)))
        ends = {name for rater in raters for name in self._of[rater.rubric].ends(rater)}
        ends.add(FAILURE)  # a script that counts failures reads the column also when there are none
        self._metadata = MetadataColumns(run, fields)
        first = [*names(CASE_COLUMNS), *self._metadata.names]
        last = [each for each in names(END_COLUMNS) if each in ends]
        self.columns, self.failure_columns = [*first, *fields, *last], [*first, *last]
        if only:
            self.columns = _chosen(only, self.columns, run)
        self.failures: list[dict[str, Value]] = []

    def rows(self) -> Iterator[dict[str, Value]]:
        """Yield a row for each case, rater and rubric; it may lack columns."""
        self.failures.clear()
        for record in self._run.records():
            case = cells_in(CASE_COLUMNS, record) | self._metadata.cells(record)
            cells = case | self._of[record.rubric].cells(record)
            if isinstance(record.outcome, Failure):
                self.failures.append(cells)
            yield cells


def _chosen(asked: Sequence[str], every: Sequence[str], run: RunFile) -> list[str]:
    """The columns that a user asked for: by their names, a score's also as `label`, its reason as `reason`."""
    scores = [(rubric, score) for rubric in run.rubrics().values() for score in rubric.format.scores]
    short = {suffix[1:]: [f"{score}{suffix}" for _, score in scores] for suffix in SUFFIXES}
    short["reason"] = [*(reason_field(rubric.format, score) for rubric, score in scores), *NOTES]
    chosen: list[str] = []
    for name in asked:
        column = same_column(name, every)
        found = [each for each in (column, *short.get(name, ())) if each in every]
        if not found:
            raise UnknownName("column", name, [*every, *short])
        chosen += found
    return list(dict.fromkeys(chosen))


def export_onto(run: RunFile, cases: CasesFile, target: Path, *, force: bool, only: Sequence[str] = ()) -> list[str]:
    """Copy the cases' own sheet with the verdicts' columns added to each row; rows stay in their order.

    Columns are named RUBRIC.FIELD, with the rater in front if the run has several. These are each score with its label,
    reason and confidence, failures and a judge's label, unless `only` names those to add. A case with other texts than
    those judged gets no cells; the returned notes count such cases. Raises UsageError; CasesError if cases are known by
    row number alone and a row has other texts: then rows have moved.
    """
    columns, purge = _columns(run)
    several = len({rater.name for _, rater in run.raters()}) > 1
    records, counts, met = defaultdict[str, list[Record]](list), Counter[str](), 0
    for record in run.records():
        records[record.case_id].append(record)
    delimited, sheet = kind_of(target) in (CSV, TSV), cases.path.name

    def cells_of(row: Case | BadRow) -> dict[str, Value]:
        nonlocal met
        own_texts = (*(row.inputs.values() if isinstance(row, Case) else ()), *row.metadata.values())
        counts[RUNS] += delimited and any(map(may_run, own_texts))
        cells: dict[str, Value] = {}
        found = records.get(row.id, [])
        met += len(found)
        counts[f"rows of {sheet} without a verdict"] += not found
        for record in found:
            own = columns[record.rubric]
            if isinstance(row, Case) and record.case_hash != fingerprint(run.key, own.rubric.texts_of(row)):
                if cases.id_column is None:
                    said = f"row {row.row} of the sheet has other texts than the row of that number that was judged"
                    raise CasesError(said, "Rows that move need ids: judge with a column of ids.")
                counts[f"verdicts left out, since their cases have other texts in {sheet}"] += 1
                continue
            prefix = _prefix(record.rater, record.rubric, several)
            cells |= {f"{prefix}{name}": value for name, value in own.cells(record).items()}
        return cells

    added = _added(run, columns, only, several=several)
    remarks = _remarks(add_columns(cases, target, added, cells_of, force=force), purge)
    counts[f"verdicts without a row in {sheet}"] = sum(map(len, records.values())) - met
    if delimited and any(map(may_run, cases.sheet.columns)):
        remarks.append("the header has names that a spreadsheet may run as formulas, copied as they are")
    return [*remarks, *(f"{said}: {count}" for said, count in counts.items() if count)]


def _added(run: RunFile, columns: Mapping[str, RubricColumns], only: Sequence[str], *, several: bool) -> list[str]:
    """The names of the columns that `export_onto` adds for all raters, of whom there may be `several`."""
    own = {
        (rater.name, rater.rubric): [*columns[rater.rubric].of(rater), *columns[rater.rubric].ends(rater)]
        for _, rater in run.raters()
    }
    wanted = (
        _chosen(only, list(dict.fromkeys(column for there in own.values() for column in there)), run) if only else []
    )
    return [
        f"{_prefix(rater, rubric, several)}{column}"
        for (rater, rubric), there in own.items()
        for column in wanted or _short(columns[rubric])
        if column in there
    ]


def _short(columns: RubricColumns) -> list[str]:
    """The columns that a reader needs beside a row: what was scored, why and how surely, and what to know about it."""
    found, output = list[str](), columns.rubric.format
    for score, column in columns.scores.items():
        reason = reason_field(output, score)
        found += [column, f"{score}_label", columns.fields.get(reason, reason), f"{score}_confidence"]
    found += [columns.fields.get(name, name) for name in NOTES]
    return list(dict.fromkeys([*found, FAILURE, f"{FAILURE}_message", CAUTION]))


def _remarks(cut: int, purge: str) -> list[str]:
    remarks = [f"cells that were cut at the length limit of a workbook's cells: {cut:,}"] if cut else []
    if purge:
        remarks.append(f"what raters wrote was purged at {purge} UTC: scores are exported without it")
    return remarks


def record_export(run: Path, target: Path, command: Sequence[str]) -> bool:
    """Record in a run's audit trail that `target` was exported from it; False if the run can't be written."""
    try:
        with RunFile.read(run, None) as read:
            facts: dict[str, Value] = {"file": "-"} if str(target) == "-" else file_facts(target, read.key)
    except RunFileError:
        return False
    return note(run, EXPORT, {"command": recorded(command), **facts})


def _prefix(rater: str, rubric: str, several: bool) -> str:
    return f"{rater}.{rubric}." if several else f"{rubric}."


def _columns(run: RunFile) -> tuple[dict[str, RubricColumns], str]:
    """The columns by rubric, and when texts were purged, if they were. Raises UsageError if nothing is left."""
    at, what = purged(run) or ("", "")
    if what == "all":
        raise UsageError(f"the run holds no verdicts: they were purged at {at} UTC", "Judge the cases again.")
    if not run.raters():
        raise UsageError("the run holds no verdicts yet", "Judge some cases first.")
    return columns_by_rubric(run, run.rubrics()), at
