"""A run's verdicts as a table: a file of its own, or columns beside the user's own sheet."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pathway_local.case import BAD_ROW, BadRow, Case, fingerprint
from pathway_local.errors import CasesError, UsageError
from pathway_local.rater import Rater
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import AuditTrail, file_facts, note
from pathway_local.runs.command_line import recorded
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.sheet_copy import add_columns
from pathway_local.sheets.tables import write_table
from pathway_local.verdict import Failure, Score, Value, Verdict

CASE_COLUMNS = ("case", "rater", "rubric")
END_COLUMNS = ("marks", "failure", "failure_message")
EXPORT = "export"
OURS = (*CASE_COLUMNS, *END_COLUMNS)


def export(run: RunFile, target: Path, *, force: bool) -> list[str]:
    """Write a row for each case, rater and rubric, in the order of the cases file; what to tell the user of it.

    A metadata column that is called like another one is written as case.NAME, a rubric's field or score as
    field.NAME. Raises UsageError.
    """
    held = _Held(run)
    columns = _columns(run, held)
    fields = list(dict.fromkeys(name for _, rater in run.raters() for name in columns[rater.rubric].of(rater)))
    metadata = _apart(held.metadata, {*OURS, *fields}, "case")
    every = [*CASE_COLUMNS, *metadata.values(), *fields, *END_COLUMNS]
    rows = (_row(record, columns, metadata) for record in run.records())
    return _remarks(write_table(target, every, rows, force=force))


def export_onto(run: RunFile, cases: CasesFile, target: Path, *, force: bool) -> list[str]:
    """Copy the cases' own sheet with the verdicts' columns added to each row; rows stay in their order.

    Columns are named RUBRIC.FIELD, with the rater in front where there are several. A case whose texts are not
    those that were judged gets no cells: that is told in what is returned. Raises UsageError; CasesError where
    cases are known by row number alone and a row has other texts: then rows have moved.
    """
    columns = _columns(run, _Held(run))
    several = len({rater.name for _, rater in run.raters()}) > 1
    added = [
        f"{_prefix(rater.name, rater.rubric, several)}{column}"
        for _, rater in run.raters()
        for column in (*columns[rater.rubric].of(rater), *END_COLUMNS)
    ]
    found: dict[str, list[Record]] = {}
    bad: dict[tuple[int, str], list[Record]] = {}
    for record in run.records():
        found.setdefault(record.case_id, []).append(record)
        if isinstance(record.outcome, Failure) and record.outcome.kind == BAD_ROW:
            bad.setdefault((record.outcome.row, record.outcome.reason), []).append(record)
    changed = 0

    def records_of(row: Case | BadRow) -> Iterable[Record]:
        """What the run has of a row; one without an id of its own is also known when its file has another name."""
        if row.id in found or isinstance(row, Case):
            return found.get(row.id, ())
        return bad.get((row.row, row.reason), ())

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
            cells |= {f"{prefix}{name}": value for name, value in _cells(record, own).items()}
        return cells

    remarks = _remarks(add_columns(cases, target, added, cells_of, force=force))
    if changed:
        remarks.append(f"{changed} verdicts are left out: their cases have other texts in {cases.path.name}")
    return remarks


def _remarks(cut: int) -> list[str]:
    return [f"{cut} cells were cut: a workbook's cell ends there"] if cut else []


def record_export(run: Path, target: Path, command: Sequence[str]) -> bool:
    """Note in a run's audit trail that `target` was made of it; False where the run can't be written."""
    facts: dict[str, Value] = {"file": "-"} if str(target) == "-" else file_facts(target)
    return note(run, EXPORT, {"command": recorded(command), **facts})


def is_judges_own(run: Path, target: Path) -> bool:
    """Whether a file is one that `judge` wrote of this run, and unchanged, as the run's audit trail tells."""
    try:
        facts = file_facts(target) if run.is_file() else {}
    except OSError:
        return False  # none, or none that can be looked at: whoever writes it will say so
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


def _columns(run: RunFile, held: "_Held") -> dict[str, "_Columns"]:
    """By rubric."""
    rubrics = rubrics_of(run)
    if not run.raters():
        raise UsageError("the run holds no verdicts yet", "Judge some cases first.")
    scores = [item for rubric in rubrics.values() for item in rubric.format.scores.items()]
    others = {*OURS, *(column for name, score in scores for column in _beside(name, score))}
    return {name: _Columns(rubric, held, others) for name, rubric in rubrics.items()}


class _Held:
    """The names of what a run holds beside scores: metadata, and each rater's fields under each rubric.

    A rubric does not tell all fields: people write notes, hosted judges more than was asked, and panels have
    means and spreads.
    """

    def __init__(self, run: RunFile) -> None:
        self.metadata: dict[str, None] = {}
        self.fields: dict[str, dict[str, dict[str, None]]] = {}
        """By rubric and rater."""
        for record in run.records():
            self.metadata |= dict.fromkeys(record.metadata)
            if isinstance(record.outcome, Verdict):
                own = self.fields.setdefault(record.rubric, {}).setdefault(record.rater, {})
                own |= dict.fromkeys(record.outcome.fields)


class _Columns:
    """What the columns are called that the verdicts under a rubric fill: no two alike, and none like `others`."""

    def __init__(self, rubric: Rubric, held: _Held, others: Collection[str]) -> None:
        self.rubric = rubric
        self._held = held.fields.get(rubric.name, {})
        self._thinking = rubric.format.thinking
        self.scores = _apart(rubric.format.scores, others, "field")
        fields = [*rubric.format.fields, self._thinking, *(name for own in self._held.values() for name in own)]
        self.fields = _apart(fields, {*others, *self.scores.values()}, "field")

    def of(self, rater: Rater) -> Iterator[str]:
        """The columns that the rater's verdicts fill, in order."""
        for name, score in self.rubric.format.scores.items():
            yield from (self.scores[name], *_beside(name, score))
        thinking = [self._thinking] if rater.spec.get("think") else []
        fields = [*self.rubric.format.fields, *thinking, *self._held.get(rater.name, ())]
        yield from (self.fields[name] for name in dict.fromkeys(fields))


def _beside(name: str, score: ScoreField) -> list[str]:
    """The columns that go with a score's own."""
    return [f"{name}_label", f"{name}_expected", f"{name}_confidence", *(f"{name}_p{value}" for value in score.values)]


def _apart(names: Iterable[str], others: Collection[str], prefix: str) -> dict[str, str]:
    """A column for each name: the name, behind as many prefixes as it takes to be that of no other column."""
    columns = {name: name for name in names}
    for name in [each for each in columns if each in others]:
        column = name
        while column in others or column in columns.values():
            column = f"{prefix}.{column}"
        columns[name] = column
    return columns


def _row(record: Record, columns: Mapping[str, _Columns], metadata: Mapping[str, str]) -> dict[str, Value]:
    case: dict[str, Value] = {"case": record.case_id, "rater": record.rater, "rubric": record.rubric}
    kept: dict[str, Value] = {column: record.metadata.get(name, "") for name, column in metadata.items()}
    return case | kept | _cells(record, columns[record.rubric])


def _cells(record: Record, columns: _Columns) -> dict[str, Value]:
    outcome = record.outcome
    if isinstance(outcome, Failure):
        return {"failure": outcome.kind, "failure_message": outcome.message}
    cells: dict[str, Value] = {"marks": " ".join(outcome.marks)}
    for name, score in outcome.scores.items():
        cells |= _score_cells(name, score, columns)
    return cells | {columns.fields.get(name, name): value for name, value in outcome.fields.items()}


def _score_cells(name: str, score: Score, columns: _Columns) -> dict[str, Value]:
    declared = columns.rubric.format.scores[name]
    return {
        columns.scores[name]: score.value,
        f"{name}_label": declared.levels.get(score.value, ""),
        f"{name}_expected": score.expected(declared.special) if declared.scale == "ordinal" else None,
        f"{name}_confidence": score.confidence,
        **{f"{name}_p{value}": share for value, share in score.probabilities.items()},
    }
