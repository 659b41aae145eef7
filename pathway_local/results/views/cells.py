"""Figures as cells of a table: the value with its interval below, and a footnote's number for what is missing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pathway_local.results.figure_row import why_missing
from pathway_local.statistics.figure import Estimate, Interval, Number, Undefined, percent, with_names
from pathway_local.statistics.intervals import LEVEL

ALONE = "Each case counts as independent; if a student or a conversation gave several, name the column with --cluster."

Row = tuple[Sequence[str], Mapping[str, Estimate]]
"""The words of a row, and its figures by name."""


class Cells:
    """Makes the cells of a view's tables, and remembers why figures are missing and how intervals were made."""

    def __init__(self) -> None:
        self._reasons: dict[str, int] = {}
        self.methods: dict[str, None] = {}
        self._levels: set[float] = set()

    def cell(self, estimate: Estimate, names: Sequence[str] = ()) -> str:
        """The value and its interval, with its level unless it is the usual one, or a footnote's number."""
        if isinstance(estimate.interval, Interval):
            self.methods[estimate.interval.method] = None
            self._levels.add(estimate.interval.level)
        first, second = (*names, "", "")[:2]
        mark = self.mark(with_names(why_missing(estimate), first, second))
        if isinstance(estimate.value, Undefined):
            return f"not defined {mark}"
        return f"{number(estimate.value)}\n{interval(estimate.interval) or mark}{_unusual(estimate.interval)}"

    def mark(self, reason: str) -> str:
        """The number of the footnote with this reason; empty for none."""
        return f"({self._reasons.setdefault(reason, len(self._reasons) + 1)})" if reason else ""

    def footnotes(self) -> tuple[str, ...]:
        """The reasons with their numbers."""
        return tuple(f"({place}) {reason}" for reason, place in self._reasons.items())

    def sentences(self, cluster: str, units: str = ALONE) -> Iterator[str]:
        """Say how the intervals were made; without a column `cluster` whose cases were kept together, by `units`."""
        if self.methods:
            together = f"Cases with the same {cluster} are kept together." if cluster else units
            yield f"{percent(*self._levels)} intervals: {', '.join(self.methods)}. {together}"


def number(value: Number) -> str:
    """The number with two digits behind the point."""
    return "not defined" if isinstance(value, Undefined) else _rounded(value)


def interval_head(found: Iterable[Interval | Undefined]) -> str:
    """The head of a column with the ends of these intervals."""
    levels = [each.level for each in found if isinstance(each, Interval)]
    return f"{percent(*levels)} interval" if levels else "interval"


def interval(found: Interval | Undefined) -> str:
    """Both ends of the interval; empty if it is undefined."""
    return "" if isinstance(found, Undefined) else f"{_rounded(found.low)} to {_rounded(found.high)}"


def _unusual(found: Interval | Undefined) -> str:
    """A further line with the level of an interval that is not at the usual one."""
    level = percent(found.level if isinstance(found, Interval) else LEVEL)
    return "" if level == percent(LEVEL) else f"\n({level})"


def _rounded(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # adding 0.0 turns -0.0 into 0.0
