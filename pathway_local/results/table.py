"""The one form of results: tables of typed values, notes by key, and cautions. Renderers format and word them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pathway_local.note import Note
from pathway_local.statistics.figure import Estimate, Undefined

ColumnKind = Literal[
    "word", "levels", "key", "rater", "raters", "case", "count", "number", "share", "estimate", "counts"
]
"""Kinds of column: a word from outside, levels of a scale, a word of ours by its key, a rater's name, several of them,
a case's id, a whole number, a number, a share, a figure with its interval, or counts by level."""


@dataclass(frozen=True, slots=True)
class Level:
    """How often a level was given; one `off_scale` has no place in a mean."""

    value: str
    count: int
    label: str = ""
    off_scale: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """Several raters by name."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(self.names)


Cell = str | int | float | Estimate | Undefined | tuple[Level, ...] | Names | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the key of its cells, what they are, and how to read them.

    Its label and reading come from the words of a language, by the column's name; `label` and `reading` are those of a
    column that they do not know. On a page or a terminal, a column `below` another stands in the lines below its
    cells, and cells like `usual` stay empty. An
    estimate in `percent` is a share. One in `detail` is shown where somebody asks for all, and one in `english` where
    English is shown.
    """

    name: str
    kind: ColumnKind = "word"
    label: str = ""
    reading: str = ""
    below: bool = False
    usual: str = ""
    percent: bool = False
    detail: bool = False
    english: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A finding of an analysis: `about` names what all rows share, and fills the blanks of the title and of labels.

    A table in `detail` is shown where somebody asks for all. `heading` names the parts of `about` that stand above all
    tables with the same ones, and `section` the part of a page that they belong to. A `chart` draws the first estimate,
    the counts of each row, or people's mean by the expected score, on an axis that reaches over the `scale`.
    """

    key: str
    about: Mapping[str, object]
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]
    notes: Sequence[Note] = ()
    detail: bool = False
    heading: Sequence[str] = ()
    section: str = ""
    chart: Literal["", "interval", "bars", "calibration"] = ""
    scale: tuple[float, float] | None = None

    def of_kind(self, *kinds: ColumnKind) -> list[Column]:
        """Return the columns of these kinds."""
        return [column for column in self.columns if column.kind in kinds]

    def raters_in(self, row: Mapping[str, Cell]) -> Iterator[str]:
        """Yield the names of the raters in a row, and of those that all rows share."""
        for name in (*(column.name for column in self.of_kind("rater", "raters")), "first", "second", "judge"):
            cell = row.get(name, self.about.get(name))
            yield from cell.names if isinstance(cell, Names) else [cell] if isinstance(cell, str) else []

    def with_cautions(self, labels: Mapping[str, str]) -> "Table":
        """Return the table with a warning for each judge in it whose label must stand wherever its scores do."""
        named = dict.fromkeys(name for row in self.rows for name in self.raters_in(row) if name in labels)
        cautions = (Note("caution", {"rater": name, "label": labels[name]}, "warning") for name in named)
        return replace(self, notes=(*self.notes, *cautions))


def unasked(tables: Iterable[Table]) -> list[Table]:
    """Return the part that a page shows unasked: no columns in detail, and of tables in detail those that it draws."""
    shown = (table for table in tables if not table.detail or table.chart)
    return [replace(table, columns=[each for each in table.columns if not each.detail]) for table in shown]


def score_title(rubric: str, score: str) -> str:
    """The rubric's name, and behind it the score's where that says more."""
    return rubric if score == "score" else f"{rubric}: {score.removesuffix('_score')}"
