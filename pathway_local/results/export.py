"""A run's verdicts as a table: a file of its own, or columns beside the user's own sheet."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pathway_local.case import BadRow, Case, fingerprint
from pathway_local.errors import CasesError, UsageError
from pathway_local.rater import Rater
from pathway_local.reading import THINKING
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import AuditTrail, file_facts, note
from pathway_local.runs.command_line import recorded
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.tables import Written, write_table
from pathway_local.verdict import Failure, Score, Value, Verdict

CASE_COLUMNS = ("case", "rater", "rubric")
END_COLUMNS = ("marks", "failure", "failure_message")
EXPORT = "export"


def export(run: RunFile, target: Path, *, force: bool) -> list[str]:
    """Write a row for each case, rater and rubric, in the order of the cases file; what to tell the user of it.

    A metadata column that is called like one of ours is written as case.NAME. Raises UsageError.
    """
    rubrics, held = _rubrics(run), _Held(run)
    fields = list(dict.fromkeys(name for _, rater in run.raters() for name in _columns(rater, rubrics, held)))
    ours = {*CASE_COLUMNS, *fields, *END_COLUMNS}
    metadata = {name: f"case.{name}" if name in ours else name for name in held.metadata}
    columns = [*CASE_COLUMNS, *metadata.values(), *fields, *END_COLUMNS]
    rows = (_row(record, rubrics, metadata) for record in run.records())
    return _remarks(write_table(target, columns, rows, force=force))


def export_onto(run: RunFile, cases: CasesFile, target: Path, *, force: bool) -> list[str]:
    """Copy the cases' own sheet with the verdicts' columns added to each row; rows stay in their order.

    Columns are named RUBRIC.FIELD, with the rater in front where there are several. A case whose texts are not
    those that were judged gets no cells: that is told in what is returned. Raises UsageError; CasesError where
    cases are known by row number alone and a row has other texts: then rows have moved.
    """
    rubrics, held = _rubrics(run), _Held(run)
    several = len({rater.name for _, rater in run.raters()}) > 1
    columns = [
        f"{_prefix(rater.name, rater.rubric, several)}{column}"
        for _, rater in run.raters()
        for column in (*_columns(rater, rubrics, held), *END_COLUMNS)
    ]
    found: dict[str, list[Record]] = {}
    for record in run.records():
        found.setdefault(record.case_id, []).append(record)
    changed = 0

    def cells_of(row: Case | BadRow) -> dict[str, Value]:
        nonlocal changed
        cells: dict[str, Value] = {}
        for record in found.get(row.id, ()):
            rubric = rubrics[record.rubric]
            if isinstance(row, Case) and record.case_hash != fingerprint(run.key, rubric.texts_of(row)):
                _refuse_moved(row)
                changed += 1
                continue
            prefix = _prefix(record.rater, record.rubric, several)
            cells |= {f"{prefix}{name}": value for name, value in _cells(record, rubric).items()}
        return cells

    from pathway_local.sheets.sheet_copy import add_columns  # it knows all kinds of sheets, whose libraries load slowly

    remarks = _remarks(add_columns(cases, target, columns, cells_of, force=force))
    if changed:
        remarks.append(f"{changed} verdicts are left out: their cases have other texts in {cases.path.name}")
    return remarks


def _remarks(written: Written) -> list[str]:
    return [f"{written.cut_cells} cells were cut: a workbook's cell ends there"] if written.cut_cells else []


def record_export(run: Path, target: Path, command: Sequence[str]) -> bool:
    """Note in a run's audit trail that `target` was made of it; False where the run can't be written."""
    facts: dict[str, Value] = {"file": "-"} if str(target) == "-" else file_facts(target)
    return note(run, EXPORT, {"command": recorded(command), **facts})


def is_own_export(run: Path, target: Path) -> bool:
    """Whether a file is what a run was written to, and nobody has changed it since, as the run's audit trail tells."""
    if not (run.is_file() and target.is_file()):
        return False
    sha256 = file_facts(target)["sha256"]
    with RunFile.read(run) as read:
        entries = AuditTrail(read.database).entries()
    return any(entry.event == EXPORT and entry.facts.get("sha256") == sha256 for entry in entries)


def _refuse_moved(case: Case) -> None:
    if case.numbered:
        said = f"row {case.row} of the sheet has other texts than the row of that number that was judged"
        raise CasesError(said, "Rows that move need ids: judge with --id COLUMN.")


def _prefix(rater: str, rubric: str, several: bool) -> str:
    return f"{rater}.{rubric}." if several else f"{rubric}."


def _rubrics(run: RunFile) -> dict[str, Rubric]:
    rubrics = rubrics_of(run)
    if not run.raters():
        raise UsageError("the run holds no verdicts yet", "Judge some cases first.")
    return rubrics


class _Held:
    """The names of what a run holds beside scores: metadata, and each rater's fields under each rubric.

    A rubric does not tell all fields: people write notes, hosted judges more than was asked, and panels have
    means and spreads.
    """

    def __init__(self, run: RunFile) -> None:
        self.metadata: dict[str, None] = {}
        self._fields: dict[tuple[str, str], dict[str, None]] = {}
        for record in run.records():
            self.metadata |= dict.fromkeys(record.metadata)
            if isinstance(record.outcome, Verdict):
                own = self._fields.setdefault((record.rater, record.rubric), {})
                own |= dict.fromkeys(record.outcome.fields)

    def fields(self, rater: Rater) -> Iterator[str]:
        """Fields that the rater's verdicts have."""
        yield from self._fields.get((rater.name, rater.rubric), ())


def _columns(rater: Rater, rubrics: Mapping[str, Rubric], held: _Held) -> list[str]:
    output = rubrics[rater.rubric].format
    columns: dict[str, None] = {}
    for name, score in output.scores.items():
        columns |= dict.fromkeys((name, f"{name}_label", f"{name}_expected", f"{name}_confidence"))
        columns |= dict.fromkeys(f"{name}_p{value}" for value in score.values)
    columns |= dict.fromkeys(output.fields)
    if rater.spec.get("think"):
        columns[THINKING] = None
    return [*columns, *(name for name in held.fields(rater) if name not in columns)]


def _row(record: Record, rubrics: Mapping[str, Rubric], metadata: Mapping[str, str]) -> dict[str, Value]:
    case: dict[str, Value] = {"case": record.case_id, "rater": record.rater, "rubric": record.rubric}
    kept: dict[str, Value] = {column: record.metadata.get(name, "") for name, column in metadata.items()}
    return case | kept | _cells(record, rubrics[record.rubric])


def _cells(record: Record, rubric: Rubric) -> dict[str, Value]:
    outcome = record.outcome
    if isinstance(outcome, Failure):
        return {"failure": outcome.kind, "failure_message": outcome.message}
    cells: dict[str, Value] = {"marks": " ".join(outcome.marks)}
    for name, score in outcome.scores.items():
        cells |= _score_cells(name, score, rubric)
    return cells | dict(outcome.fields)


def _score_cells(name: str, score: Score, rubric: Rubric) -> dict[str, Value]:
    declared = rubric.format.scores[name]
    return {
        name: score.value,
        f"{name}_label": declared.levels.get(score.value, ""),
        f"{name}_expected": score.expected(declared.special) if declared.scale == "ordinal" else None,
        f"{name}_confidence": score.confidence,
        **{f"{name}_p{value}": share for value, share in score.probabilities.items()},
    }
