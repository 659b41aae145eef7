"""Charts as rows of numbers in percent of their width: templates draw them, and put a table behind each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from pathway_local.output.wording import Wording
from pathway_local.results.table import Level, Table
from pathway_local.statistics.figure import Estimate, Interval, Undefined
from pathway_local.system.visible import visible
from pathway_local.words.language import Language

LONGEST_LABEL = 52
"""Characters of a label in a chart; the table behind it has all."""

MOST_BARS = 21
"""A scale with more levels is drawn in this many steps or fewer."""

MOST_MARKS, TALLEST = 40, 20
"""Rows that are drawn, and rows in one chart, which fits on a printed page; the table behind has all."""

WIDEST, TIGHTEST = 56, 46
"""Characters of a row's label and figure that fit beside another chart, and on a telephone."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar from the left for a level and its meaning; `off_scale` draws it as an outline."""

    level: str
    meaning: str
    said: str
    width: float
    off_scale: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with its interval on an axis; a missing part is None."""

    label: str
    said: str
    at: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from `low` to `high`."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """The place of a value in percent; a value beyond the ends lies on them."""
        width = self.high - self.low
        share = (value - self.low) / width if width else 0.5
        return round(100 * min(1.0, max(0.0, share)), 2)

    def mark(self, label: str, said: str, estimate: Estimate) -> Mark:
        """The mark of an estimate."""
        at, *ends = (None if each is None else self.at(each) for each in _ends(estimate))
        return Mark(short(label), said, at, *ends)


def _ends(estimate: Estimate) -> tuple[float | None, float | None, float | None]:
    """The value and the ends of its interval, None for what is missing."""
    value, interval = estimate.value, estimate.interval
    low, high = (interval.low, interval.high) if isinstance(interval, Interval) else (None, None)
    return None if isinstance(value, Undefined) else value, low, high


def axis_around_zero(estimates: Iterable[Estimate]) -> Axis:
    """An axis with zero in its middle that holds all of these with their intervals, and ends at a half."""
    ends = [abs(end) for each in estimates for end in _ends(each) if end is not None]
    widest = -(-max([0.5, *ends]) * 2 // 1) / 2
    return Axis(-widest, widest)


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its caption: bars, marks on an axis (around zero or not), or points.

    A tick has a label and its place; a point of a reliability diagram its place with the ends of its interval, from the
    left and from the top.
    """

    kind: Literal["bars", "marks", "diagram"]
    caption: str
    bars: Sequence[Bar] = ()
    marks: Sequence[Mark] = ()
    dots: Sequence[tuple[float, float, float | None, float | None]] = ()
    ticks: Sequence[tuple[str, float]] = ()
    around_zero: bool = False
    more: int = 0

    @property
    def longest(self) -> int:
        """Return the characters of the row with most."""
        rows = [(mark.label, mark.said) for mark in self.marks]
        rows += [(f"{bar.level} {bar.meaning}", bar.said) for bar in self.bars]
        return max((len(label) + len(said) for label, said in rows), default=0)

    @property
    def wide(self) -> bool:
        """Whether its words leave no room for another chart beside it."""
        return self.longest > WIDEST

    @property
    def tight(self) -> bool:
        """Whether a telephone has no room for its figures beside its labels; the table behind has them."""
        return self.longest > TIGHTEST


def figures(table: Table, wording: Wording) -> Iterator[Figure]:
    """Yield the charts that a table asks for."""
    if table.chart:
        yield from {"bars": _bars, "interval": _marks, "calibration": _diagram}[table.chart](table, wording)


def _bars(table: Table, wording: Wording) -> Iterator[Figure]:
    [counts] = table.of_kind("counts")
    for row in table.rows:
        levels = row.get(counts.name)
        if isinstance(levels, tuple) and any(level.count for level in levels):
            estimates = [cell for cell in row.values() if isinstance(cell, Estimate) and isinstance(cell.value, float)]
            caption = ": ".join([wording.row_name(table, row), *map(wording.say.estimate, estimates[:1])])
            yield Figure("bars", caption, tuple(bars(levels, wording.say)))


def bars(levels: Sequence[Level], say: Language) -> Iterator[Bar]:
    """Yield a bar for each level, or for several together where there are too many."""
    every, size = max(1, sum(level.count for level in levels)), -(-len(levels) // MOST_BARS)
    for start in range(0, len(levels), size):
        some = levels[start : start + size]
        count = sum(level.count for level in some)
        name = "–".join(say.levels(each.value) for each in some[:: max(1, len(some) - 1)])
        label = visible(some[0].label) if len(some) == 1 else ""
        said = f"{say.count(count)} · {say.share(count / every)}"
        yield Bar(name, short(label), said, round(100 * count / every, 2), some[0].off_scale)


def _marks(table: Table, wording: Wording) -> Iterator[Figure]:
    """Yield a chart for each score, or more than one where it has many rows, all on one axis."""
    name = table.of_kind("estimate")[0].name
    cells = [(row, row.get(name)) for row in table.rows]
    found = [(row, cell) for row, cell in cells if isinstance(cell, Estimate) and isinstance(cell.value, float)]
    if not found:
        return
    axis, say = Axis(*table.scale) if table.scale else axis_around_zero(cell for _, cell in found), wording.say
    ends = (axis.low, axis.high) if table.scale else (axis.low, 0.0, axis.high)
    ticks, zero = [(say.number(value, 1), axis.at(value)) for value in ends], not table.scale
    of_scores = groupby(found[:MOST_MARKS], lambda each: (each[0].get("rubric"), each[0].get("score")))
    every = [own[at : at + TALLEST] for _, rows in of_scores for own in [[*rows]] for at in range(0, len(own), TALLEST)]
    for own in every:
        part = replace(table, rows=[row for row, _ in own])
        marks = [axis.mark(wording.row_name(part, row), say.estimate(cell), cell) for row, cell in own]
        more = max(0, len(found) - MOST_MARKS) if own is every[-1] else 0
        yield Figure("marks", wording.caption(part), marks=marks, ticks=ticks, around_zero=zero, more=more)


def _diagram(table: Table, wording: Wording) -> Iterator[Figure]:
    across, up = table.of_kind("number")[0].name, table.of_kind("estimate")[0].name
    axis = Axis(*(table.scale or (0.0, 1.0)))
    dots = []
    for row in table.rows:
        x, y = row.get(across), row.get(up)
        if isinstance(x, float) and isinstance(y, Estimate):
            mark = axis.mark("", "", y)
            low, high = (None if end is None else 100 - end for end in (mark.low, mark.high))
            dots += [] if mark.at is None else [(axis.at(x), 100 - mark.at, low, high)]
    if dots:
        ticks = [(f"{end:g}", axis.at(end)) for end in (axis.low, axis.high)]
        yield Figure("diagram", wording.caption(table), dots=dots, ticks=ticks)


def short(label: str) -> str:
    """The label, cut to what a chart has room for."""
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
