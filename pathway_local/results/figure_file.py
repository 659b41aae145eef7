"""Writes figures to a table file: one row for each, with its interval or the reason why it is missing."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from pathway_local.results.figure_row import FigureRow
from pathway_local.sheets.tables import write_table
from pathway_local.verdict import Value

COLUMNS = (
    "rubric", "score", "table", "first", "second", "group", "figure", "value", "low", "high", "interval", "clusters",
    "undefined_resamples", "reason",
)  # fmt: skip


class Figured(Protocol):
    """Results about one score of a rubric, with their figures."""

    @property
    def rubric(self) -> str:
        """The rubric's name."""

    @property
    def score(self) -> str:
        """The score's name."""

    def rows(self) -> Iterable[FigureRow]:
        """Its figures."""


def write_figures(path: Path, found: Iterable[Figured], *, force: bool) -> None:
    """Write all figures, each with its rubric and score, to a table file. Raises OutputExists and UsageError."""
    rows: list[dict[str, Value]] = [
        {"rubric": each.rubric, "score": each.score, **row.as_json()} for each in found for row in each.rows()
    ]
    further = dict.fromkeys(name for row in rows for name in row if name not in COLUMNS)
    write_table(path, [*COLUMNS, *further], rows, force=force)
