"""Figures as a table in a file: one row for each, with its interval or the reason why there is none."""

from collections.abc import Iterable
from pathlib import Path

from pathway_local.results.figure_row import FigureRow
from pathway_local.sheets.tables import write_table
from pathway_local.verdict import Value

COLUMNS = (
    "rubric", "score", "table", "first", "second", "group", "figure", "value", "low", "high", "interval", "clusters",
    "undefined_resamples", "reason",
)  # fmt: skip


def write_figures(path: Path, figures: Iterable[tuple[str, str, FigureRow]], *, force: bool) -> None:
    """Write figures, each with its rubric and score, to a table file. Raises OutputExists and UsageError."""
    rows: list[dict[str, Value]] = [
        {"rubric": rubric, "score": score, **row.as_json()} for rubric, score, row in figures
    ]
    further = dict.fromkeys(name for row in rows for name in row if name not in COLUMNS)
    write_table(path, [*COLUMNS, *further], rows, force=force)
