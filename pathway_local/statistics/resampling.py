"""Jackknife over clusters of any figure, over counted cases.

A figure is computed from weights: how often each row of scores counts. Cases with the same scores are one
row of a `CountedRows`, so 100,000 cases of two raters on five levels are 25 rows, and leaving clusters out is a
product of cluster weights and the clusters' own counts.

Raters are held fixed: clusters of cases are left out, never people or judges, so the intervals speak of these
raters on other cases like these.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pathway_local.statistics.figure import (
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Number,
    Reason,
    Undefined,
    undefined_estimate,
)
from pathway_local.statistics.intervals import (
    LEVEL,
    cluster_codes,
    log_odds_interval,
    t_interval,
    tailed_freedom,
    wilson,
)

GROUPS = 100
"""Groups of the jackknife at most: its t interval then has 99 degrees of freedom, close to the normal."""

DENSE_CELLS = 4_000_000
"""The largest table (clusters, distinct rows) to build: 32 MB. Above, each case stays a row of its own."""

TOGETHER = 100_000
"""Weights of rows to measure in one step: 0.8 MB, and most data are measured without each group in one or two."""

OTHER_RATERS = "F for other raters as well"
"""The method of intervals that are not only about these raters."""

SAME_EVERYWHERE = Undefined("it is the same whatever is left out, which says nothing of its uncertainty")


@dataclass(frozen=True, slots=True)
class Statistic:
    """A figure of counted rows.

    `measure` takes weights (R, rows) and gives R figures, NaN for weights that define none; NaN never leaves this
    module. `reason` says why the data themselves may define none. `needs` is the smallest number of cases, `least` and
    `most` bound the figure, and a `share` is a share of cases.
    `unweighted` says why the figure is refused where cases weigh differently; empty if it is not. `any_raters` makes
    both ends of an interval that also allows for other raters, if cases are independent, or says why it has none.
    """

    measure: Callable[[FloatArray], FloatArray]
    reason: str
    needs: int = 1
    least: float = -np.inf
    most: float = np.inf
    share: bool = False
    unweighted: str = ""
    any_raters: Callable[[FloatArray], tuple[float, float] | Undefined] | None = None


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows of scores (rows, raters), how often each occurs, and how they lie in clusters.

    Where they are few, `sums` (kinds, rows) has the counts of each distinct kind of cluster, and `times` (kinds,) the
    number of clusters of that kind. Else every case is its own row, its cluster in `codes`, and there are no `sums`.
    `each` (rows,) is how much a case of a row weighs, 1 on average over the cases.
    """

    rows: FloatArray
    counts: FloatArray
    times: IntArray
    sums: FloatArray | None
    codes: IntArray
    each: FloatArray

    @property
    def cases(self) -> int:
        """The number of cases."""
        return int(self.counts.sum())

    @property
    def clusters(self) -> int:
        """The number of independent units."""
        return int(self.times.sum())

    def value(self, statistic: Statistic) -> Number:
        """The figure of the data themselves."""
        if self.cases == 0:
            return Undefined("there is no case to compare")
        if self.cases < statistic.needs:
            return Undefined("there is only one case")
        if statistic.unweighted and np.ptp(self.each) > 0:
            return Undefined(statistic.unweighted)
        value = float(statistic.measure((self.counts * self.each)[None, :])[0])
        return value if np.isfinite(value) else Undefined(statistic.reason)

    def estimate(self, statistics: Mapping[str, Statistic]) -> dict[str, Estimate]:
        """All figures with intervals by the jackknife over clusters, or over GROUPS random groups of more.

        Kott (2001). With t at one degree of freedom less than there are groups, or for figures with bounds as log-odds
        with `tailed_freedom`. Groups are the same for all figures.
        """
        values = {name: self.value(statistic) for name, statistic in statistics.items()}
        found = {name: value for name, value in values.items() if not isinstance(value, Undefined)}
        wide = {name: interval for name in found if (interval := self._any_raters(statistics[name]))}
        left = self._measured({name: statistics[name] for name in found if name not in wide})
        intervals: dict[str, Interval | Undefined] = {**wide}
        intervals |= {name: self._jackknife(statistics[name], found[name], each) for name, each in left.items()}
        return {
            name: undefined_estimate(value.reason) if isinstance(value, Undefined) else Estimate(value, intervals[name])
            for name, value in values.items()
        }

    def _measured(self, statistics: Mapping[str, Statistic]) -> dict[str, FloatArray]:
        """The figures without each group of clusters, by name."""
        if not statistics or self.clusters < 2:
            return {name: np.empty(0) for name in statistics}
        left = [{name: each.measure(weights) for name, each in statistics.items()} for weights in self._leave_outs()]
        return {name: np.concatenate([each[name] for each in left]) for name in statistics}

    def _leave_outs(self) -> Iterator[FloatArray]:
        """The weights of rows without each group of clusters, (groups, rows), for some groups at a time."""
        order = np.random.default_rng(0).permutation(self.clusters)
        kinds = np.repeat(np.arange(len(self.times)), self.times)
        groups = np.array_split(order, min(self.clusters, GROUPS))
        some = max(1, TOGETHER // max(len(self.rows), len(self.times)))
        for start in range(0, len(groups), some):
            left_out = [np.bincount(kinds[each], minlength=len(self.times)) for each in groups[start : start + some]]
            kept = (self.times - np.stack(left_out)).astype(np.float64)
            # Weights of kinds of clusters, or of clusters, become weights of rows.
            yield (kept[:, self.codes] if self.sums is None else kept @ self.sums) * self.each

    def _any_raters(self, statistic: Statistic) -> Interval | Undefined | None:
        if statistic.any_raters is None or self.clusters < self.cases or np.ptp(self.each) > 0:
            return None
        ends = statistic.any_raters(self.counts)
        return ends if isinstance(ends, Undefined) else Interval(*ends, OTHER_RATERS, self.clusters, LEVEL)

    def _jackknife(self, statistic: Statistic, value: float, left: FloatArray) -> Interval | Undefined:
        groups = len(left)
        if groups < 2:
            return Undefined("there is only one case, or only one cluster of cases")
        lost = int(np.sum(~np.isfinite(left)))
        if lost:
            said = "leaving out one of {clusters} clusters leaves it undefined, {lost} times"
            if groups < self.clusters:
                said = "leaving out one of {clusters} groups of clusters leaves it undefined, {lost} times"
            return Undefined(Reason(said, clusters=groups, lost=lost))
        if np.ptp(left) <= 1e-12:
            return self._without_spread(statistic, value)
        parts = groups * value - (groups - 1) * left
        error = float(parts.std(ddof=1) / np.sqrt(groups))
        jackknife = "jackknife" if groups == self.clusters else f"jackknife over {groups} groups"
        ends = (statistic.least, statistic.most)
        if not np.isfinite(ends).all():
            found = t_interval(value, error, groups - 1, self.clusters)
            low, high = max(ends[0], found.low), min(ends[1], found.high)
            return replace(found, low=low, high=high, method=f"{jackknife} with t")
        found = log_odds_interval(value, error, tailed_freedom(parts), self.clusters, ends)
        return replace(found, method=f"{jackknife} with log-odds and t")

    def _without_spread(self, statistic: Statistic, value: float) -> Interval | Undefined:
        """A share of none or all still has an interval: Wilson's, with clusters as the independent units."""
        if statistic.share and value in (0.0, 1.0):
            return wilson(value * self.clusters, self.clusters)
        return SAME_EVERYWHERE


def counted_rows(
    scores: FloatArray,
    clusters: IntArray | None = None,
    weights: FloatArray | None = None,
    *,
    kept: NDArray[np.bool_] | None = None,
) -> CountedRows:
    """The distinct rows of scores (cases, raters), NaN where there is none; `clusters` (cases,) holds cluster codes.

    `weights` (cases,) say how many cases each stands for, such as 1/probability of being drawn. With `kept` (cases,)
    the others do not count.
    """
    if kept is not None:
        scores = scores[kept]
        clusters = None if clusters is None else clusters[kept]
        weights = None if weights is None else weights[kept]
    cases = len(scores)
    codes = cluster_codes(clusters, cases)
    heavy = np.ones(cases) if weights is None or not cases else weights / weights.mean()
    rows, kind = _distinct_rows(np.column_stack([scores, heavy]))
    rows, each = rows[:, :-1], rows[:, -1]
    count = int(codes.max()) + 1 if cases else 0
    counts = np.bincount(kind, minlength=len(rows)).astype(np.float64)
    if clusters is None and len(rows) ** 2 <= DENSE_CELLS:
        return CountedRows(rows, counts, counts.astype(np.int64), np.eye(len(rows)), codes, each)
    if clusters is not None and count * len(rows) <= DENSE_CELLS:
        cells = np.bincount(codes * len(rows) + kind, minlength=count * len(rows)).reshape(count, len(rows))
        sums, times = np.unique(cells, axis=0, return_counts=True)
        return CountedRows(rows, counts, times.astype(np.int64), sums.astype(np.float64), codes, each)
    return CountedRows(scores, np.ones(cases), np.ones(count, dtype=np.int64), None, codes, heavy)


def _distinct_rows(scores: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct rows and the row of each case; missing scores count as alike."""
    kind = np.zeros(len(scores), dtype=np.int64)
    # Codes are renumbered after each column: a product over many raters would overflow. `np.unique` over whole rows
    # would sort them as bytes, and would keep rows with NaN apart.
    for column in scores.T:
        levels, place = np.unique(column, return_inverse=True)
        kind = np.unique(kind * len(levels) + place.reshape(-1), return_inverse=True)[1].astype(np.int64).reshape(-1)
    first = np.unique(kind, return_index=True)[1]
    return scores[first], kind
