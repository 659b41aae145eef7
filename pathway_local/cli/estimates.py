"""How figures look on a terminal: the value with its interval below, and reasons as numbered notes, never a NaN."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.table import Table

from pathway_local.cli.terminal import table
from pathway_local.results.figure_row import why_missing, with_names
from pathway_local.statistics.figure import Estimate, Interval, Number, Undefined

NAMES = {
    "exact": "exact",
    "within_one": "within one",
    "kappa": "kappa",
    "kappa_linear": "kappa linear",
    "kappa_quadratic": "kappa quadratic",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "mean_difference": "mean difference",
    "mean_absolute_error": "mean abs. error",
    "alpha_nominal": "alpha nominal",
    "alpha_ordinal": "alpha ordinal",
    "alpha_interval": "alpha interval",
    "ac1": "AC1",
    "ac2_linear": "AC2 linear",
    "ac2_quadratic": "AC2 quadratic",
    "icc_2_1": "ICC(2,1)",
    "icc_2_k": "ICC(2,k)",
}
"""What figures are called on a terminal."""

FEW = "jackknife with t"
ALONE = "Each case counts as independent: give --cluster COLUMN where a student or a conversation gave several."

Row = tuple[Sequence[str], Mapping[str, Estimate]]
"""The words of a row, and its figures by name."""


class Notes:
    """Reasons and how intervals were made, each told once below the tables that refer to it by number."""

    def __init__(self) -> None:
        self._reasons: dict[str, int] = {}
        self._methods: dict[str, None] = {}
        self._undefined = 0

    def cell(self, estimate: Estimate, names: Sequence[str] = ()) -> str:
        """The value and its interval, or a note's number in place of what is missing."""
        self._learn(estimate.interval)
        first, second = (*names, "", "")[:2]
        mark = self.mark(with_names(why_missing(estimate), first, second))
        if isinstance(estimate.value, Undefined):
            return f"not defined {mark}"
        return f"{number(estimate.value)}\n{interval(estimate.interval) or mark}"

    def mark(self, reason: str) -> str:
        """The number of the note with this reason; empty for none."""
        return f"({self._reasons.setdefault(reason, len(self._reasons) + 1)})" if reason else ""

    def lines(self, cluster: str) -> Iterator[str]:
        """The notes; `cluster` is the column whose values were kept together, or empty."""
        yield from (f"({place}) {reason}" for reason, place in self._reasons.items())
        if self._methods:
            told = f"Cases with the same {cluster} are kept together." if cluster else ALONE
            yield f"95% intervals: {', '.join(self._methods)}. {told}"
        if FEW in self._methods:
            yield "With fewer than 30 of them a bootstrap's intervals are too short, so the jackknife is taken."
        if self._undefined:
            yield f"Up to {self._undefined:,} of 10,000 resamples left a figure without a value and are not counted."

    def _learn(self, found: Interval | Undefined) -> None:
        if isinstance(found, Interval):
            self._methods[found.method] = None
            self._undefined = max(self._undefined, found.undefined)


def number(value: Number) -> str:
    """The number with two digits behind the point."""
    return "not defined" if isinstance(value, Undefined) else _rounded(value)


def interval(found: Interval | Undefined) -> str:
    """Both ends of the interval; empty where there is none."""
    if isinstance(found, Undefined):
        return ""
    return f"{_rounded(found.low)} to {_rounded(found.high)}"


def _rounded(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # 0.0 takes the sign from a zero


def figure_table(
    title: str, words: Sequence[str], figures: Sequence[str], rows: Iterable[Row], notes: Notes
) -> Table | None:
    """A table with a column for each of the figures that the rows have; None where they have none of them."""
    listed = list(rows)
    shown = [name for name in figures if any(name in found for _, found in listed)]
    if not shown:
        return None
    cells = [
        [*said, *(notes.cell(found[name], said[0].splitlines()) if name in found else "" for name in shown)]
        for said, found in listed
    ]
    return table(title, [*words, *(NAMES[name] for name in shown)], cells, left=len(words))
