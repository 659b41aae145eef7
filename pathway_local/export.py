"""A run's verdicts as a table: a file of its own, or columns beside the user's own sheet."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pathway_local.errors import UsageError
from pathway_local.rubric import Rubric, parse_rubric
from pathway_local.run_file import Record, RunFile
from pathway_local.tables import add_columns, write_table
from pathway_local.verdict import Failure, Score, Value

CASE_COLUMNS = ("case", "rater", "rubric")
END_COLUMNS = ("marks", "failure", "failure_message")


def export(run: RunFile, target: Path, *, force: bool) -> None:
    """Write a row for each case, rater and rubric, in the order of the cases file. Raises UsageError."""
    rubrics = _rubrics(run)
    metadata = _metadata_columns(run)
    fields = list(dict.fromkeys(column for rubric in rubrics.values() for column in _columns(rubric)))
    columns = [*CASE_COLUMNS, *metadata, *fields, *END_COLUMNS]
    write_table(target, columns, (_row(record, rubrics, metadata) for record in run.records()), force=force)


def export_onto(run: RunFile, source: Path, target: Path, *, id_column: str | None, force: bool) -> None:
    """Copy the user's sheet with the verdicts' columns added to each case's row, rows in their order.

    Columns are named RUBRIC.FIELD, with the rater in front where there are several. Raises UsageError.
    """
    rubrics, several = _rubrics(run), len({rater.name for _, rater in run.raters()}) > 1
    columns = [
        f"{_prefix(rater.name, rater.rubric, several)}{column}"
        for _, rater in run.raters()
        for column in (*_columns(rubrics[rater.rubric]), *END_COLUMNS)
    ]
    found: dict[str, dict[str, Value]] = {}
    for record in run.records():
        prefix = _prefix(record.rater, record.rubric, several)
        cells = {f"{prefix}{name}": value for name, value in _cells(record, rubrics[record.rubric]).items()}
        found.setdefault(record.case_id, {}).update(cells)
    add_columns(source, target, columns, lambda case_id: found.get(case_id, {}), id_column=id_column, force=force)


def _prefix(rater: str, rubric: str, several: bool) -> str:
    return f"{rater}.{rubric}." if several else f"{rubric}."


def _rubrics(run: RunFile) -> dict[str, Rubric]:
    rubrics = {name: parse_rubric(text, name) for name, text in run.rubrics().items()}
    if not run.raters():
        raise UsageError("the run holds no verdicts yet", "Judge some cases first.")
    return rubrics


def _metadata_columns(run: RunFile) -> list[str]:
    return list(dict.fromkeys(name for record in run.records() for name in record.metadata))


def _columns(rubric: Rubric) -> Iterator[str]:
    for name, score in rubric.format.scores.items():
        yield from (name, f"{name}_label", f"{name}_expected", f"{name}_confidence")
        yield from (f"{name}_p{value}" for value in score.values)
    yield from rubric.format.fields


def _row(record: Record, rubrics: Mapping[str, Rubric], metadata: list[str]) -> dict[str, Value]:
    case: dict[str, Value] = {"case": record.case_id, "rater": record.rater, "rubric": record.rubric}
    kept: dict[str, Value] = {name: record.metadata.get(name, "") for name in metadata}
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
