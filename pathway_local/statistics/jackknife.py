"""The interval engine: the jackknife over clusters of cases, for any figure of weighed rows of scores.

A figure is a function of ratings (rows, raters), of weights (R, rows), which say how often each row counts in each of R
weightings, and of the levels of the scale. It gives R numbers, NaN for weights that define none. Cases with the same
scores are one row, so 100,000 cases of two raters on five levels are 25 rows, and leaving clusters out is a product of
cluster weights and counts.

Raters are held fixed: clusters of cases are left out, never people or judges, so the intervals speak of these
raters on other cases like these.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pathway_local.statistics.effect import jackknifed
from pathway_local.statistics.figure import (
    Estimate,
    FloatArray,
    IntArray,
    Reason,
    Undefined,
    undefined_estimate,
    why_constant,
)
from pathway_local.statistics.intervals import LEVEL, cluster_codes, share

GROUPS = 100
"""Groups of the jackknife at most: its t interval then has 99 degrees of freedom, close to the normal."""

TOGETHER = 100_000
"""Weights of rows to measure in one step: 0.8 MB, and most data are measured without each group in one or two."""

RARE = 10
"""Cases that each side of the scale needs: with fewer, intervals of kappa and alpha hold the truth in 70 to 90%."""


Levels = Sequence[float]
Measure = Callable[[FloatArray, FloatArray, Levels], FloatArray]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One figure of agreement: how to name, read and measure it.

    `scale` is the scale that it is made for: "interval" needs at least an order. One that `needs_levels` is refused
    where a score is no level of the scale. It is one `of_pairs`, or of any number of raters. `reading` is one sentence
    for laymen. `bounds` are its ends, given the levels, and it `needs` so many cases. A `share` is one of cases. One
    with `chance` corrects for it, and needs cases on both sides of the scale.
    """

    name: str
    label: str
    scale: Literal["nominal", "ordinal", "interval"]
    reading: str
    measure: Measure
    needs_levels: bool = True
    of_pairs: bool = True
    bounds: Callable[[Levels], tuple[float, float]] = lambda _levels: (-1.0, 1.0)
    needs: int = 2
    share: bool = False
    chance: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """Distinct rows of scores (rows, raters) and how often each occurs.

    Each case (cases,) has a row, its `kind`, a cluster, by `codes`, and a `group` that is left out together: its
    cluster, or some of very many.
    """

    scores: FloatArray
    counts: FloatArray
    kind: IntArray
    codes: IntArray
    group: IntArray
    clusters: int

    @classmethod
    def of(cls, scores: FloatArray, clusters: IntArray | None = None) -> "Rows":
        """The rows of scores (cases, raters), NaN where there is none; `clusters` (cases,) holds cluster codes."""
        rows, kind = _distinct(scores)
        codes = cluster_codes(clusters, len(scores))
        count = int(codes.max(initial=-1)) + 1
        # Clusters are taken in an order that their scores decide, not their places in the file.
        order = np.argsort(kind, kind="stable") if clusters is None else np.arange(count)
        drawn, groups = np.random.default_rng(0).permutation(count), np.empty(count, dtype=np.int64)
        for group, members in enumerate(np.array_split(drawn, max(1, min(count, GROUPS)))):
            groups[order[members]] = group
        return cls(rows, np.bincount(kind, minlength=len(rows)).astype(np.float64), kind, codes, groups[codes], count)

    @property
    def cases(self) -> int:
        """The number of cases."""
        return len(self.kind)

    def left_out(self) -> Iterator[FloatArray]:
        """Yield the weights of rows without each group, (groups, rows), for some groups at a time."""
        groups, order = min(self.clusters, GROUPS), np.argsort(self.group, kind="stable")
        parts = np.split(self.kind[order], np.cumsum(np.bincount(self.group, minlength=groups))[:-1])
        some = max(1, TOGETHER // max(len(self.scores), 1))
        for start in range(0, groups, some):
            held = [np.bincount(part, minlength=len(self.scores)) for part in parts[start : start + some]]
            yield self.counts - np.stack(held)

    def alone(self) -> Iterator[FloatArray]:
        """Yield weights that count one row each, (some, rows)."""
        size, some = len(self.scores), max(1, TOGETHER // max(len(self.scores), 1))
        for start in range(0, size, some):
            yield np.eye(min(some, size - start), size, start)


def estimates(
    figures: Mapping[str, Coefficient],
    scores: FloatArray,
    levels: Levels,
    clusters: IntArray | None = None,
    level: float = LEVEL,
    *,
    nominal: bool = False,
) -> dict[str, Estimate]:
    """All figures of scores (cases, raters) with intervals, by the jackknife over clusters, or GROUPS groups of more.

    Kott (2001). Shares have Wilson's interval, figures with bounds the t interval of their log-odds.
    """
    rows = Rows.of(scores, clusters)
    whole = {name: value_of(figure, rows, levels) for name, figure in figures.items()}
    known = {name: figure for name, figure in figures.items() if not isinstance(whole[name], Undefined)}
    left = {name: np.empty(0) for name in known}
    if rows.clusters > 1 and known:
        some = [
            {name: each.measure(rows.scores, part, levels) for name, each in known.items()} for part in rows.left_out()
        ]
        left = {name: np.concatenate([each[name] for each in some]) for name in known}
    few = rare(rows.scores, rows.counts, nominal=nominal) < RARE
    found = {}
    for name, value in whole.items():
        if isinstance(value, Undefined):
            found[name] = undefined_estimate(value.reason)
        elif known[name].chance and few:
            reason = Reason("under {fewest} cases are on the rarer side of the scale", fewest=RARE)
            found[name] = Estimate(value, Undefined(reason))
        elif known[name].share:
            hits = np.concatenate([known[name].measure(rows.scores, part, levels) for part in rows.alone()])
            found[name] = Estimate(value, share(hits[rows.kind], rows.codes).interval)
        else:
            effect, _ = jackknifed(value, left[name], rows.clusters)
            found[name] = effect.estimate(level, known[name].bounds(levels))
    return found


def value_of(figure: Coefficient, rows: Rows, levels: Levels) -> float | Undefined:
    """The figure of these rows, or why it has none."""
    if rows.cases < max(figure.needs, 1):
        return Undefined("there is only one case" if rows.cases else "there is no case to compare")
    value = float(figure.measure(rows.scores, rows.counts[None, :], levels)[0])
    given = [scores[np.isfinite(scores)] for scores in rows.scores.T]
    return value if np.isfinite(value) else Undefined(why_constant(given))


def rare(scores: FloatArray, counts: FloatArray, *, nominal: bool) -> float:
    """The cases on the rarer side of the scale where one cut divides the scores of rows most evenly.

    A cut of an ordinal scale lies between two levels, one of a nominal scale sets one level apart. Scores count as so
    many cases as they have raters.
    """
    given = np.isfinite(scores)
    levels, place = np.unique(scores[given], return_inverse=True)
    held = np.bincount(place.reshape(-1), np.broadcast_to(counts[:, None], scores.shape)[given], len(levels))
    sides = held if nominal else np.cumsum(held)[:-1]
    evenest = np.minimum(sides, held.sum() - sides).max(initial=0.0)
    return float(evenest * counts.sum() / max(held.sum(), 1.0))


def _distinct(scores: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct rows and the row of each case; missing scores count as alike."""
    kind = np.zeros(len(scores), dtype=np.int64)
    # Codes are renumbered after each column: a product over many raters would overflow. `np.unique` over whole rows
    # would sort them as bytes, and would keep rows with NaN apart.
    for column in scores.T:
        levels, place = np.unique(column, return_inverse=True)
        kind = np.unique(kind * len(levels) + place.reshape(-1), return_inverse=True)[1].astype(np.int64).reshape(-1)
    first = np.unique(kind, return_index=True)[1]
    return scores[first], kind
