"""Whether a judge's confidence and expected scores mean what they say: its doubt, and a reliability diagram."""

from collections.abc import Iterator

import numpy as np

from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Reason, undefined_estimate
from pathway_local.statistics.intervals import mean_effect
from pathway_local.statistics.resampling import Statistic, counted_rows

FEW = 20
"""With fewer labels nothing is said."""

FEW_IN_FIFTHS = 300
"""With fewer labels chance alone takes the error of calibration far above 0, which its interval never holds."""

BINS = 5
"""Groups of cases alike in sureness; more would take chance for an error of calibration, fewer hide one."""


def doubt_figures(
    sure: FloatArray, wrong: FloatArray, clusters: IntArray | None, weights: FloatArray | None
) -> dict[str, Estimate]:
    """How much lower the area is than in a random order, and how far a judge's confidence is from its right cases.

    "overconfidence" is by how much its mean exceeds their share. "calibration" is the expected calibration error: the
    mean distance of both within fifths of the cases (Naeini, Cooper and Hauskrecht 2015), which finds what cancels out
    over all of them. By chance alone it is 0.16 with 20 labels, 0.07 with 120 and 0.04 with 300. The area below the
    curve of risk is the mean, over the cases, of the share of wrong ones among those that are as sure or surer
    (Geifman, Uziel and El-Yaniv 2019). All arrays are (n,); `weights` say how many cases each stands for.
    """
    if len(sure) < FEW:
        few = Reason("there are fewer than {fewest} labels", fewest=FEW)
        return dict.fromkeys(("area_gain", "overconfidence", "calibration"), undefined_estimate(few))
    counted = counted_rows(np.column_stack([sure, wrong]), clusters, weights)
    order = np.argsort(-counted.rows[:, 0], kind="stable")
    doubt, errors = -counted.rows[order, 0], counted.rows[order, 1]
    begun, last = np.searchsorted(doubt, doubt), np.searchsorted(doubt, doubt, side="right") - 1

    def gain(weighed: FloatArray) -> FloatArray:
        each = weighed[:, order]
        whole = np.maximum(np.cumsum(each, axis=1), 1e-12)
        risk = (np.cumsum(each * errors, axis=1) / whole)[:, last]
        lower: FloatArray = risk[:, -1] - (each * risk).sum(axis=1) / whole[:, -1]
        return lower

    def excess(weighed: FloatArray) -> FloatArray:
        found: FloatArray = weighed @ (counted.rows[:, 0] - 1 + counted.rows[:, 1]) / weighed.sum(axis=1)
        return found

    heavy = (counted.counts * counted.each)[order]
    reached = np.cumsum(heavy)
    middle = (reached[last] + reached[begun] - heavy[begun]) / 2 / heavy.sum()
    alike = (np.minimum(middle * BINS, BINS - 1).astype(int)[:, None] == np.arange(BINS)).astype(np.float64)
    apart = alike * (errors - 1 - doubt)[:, None]

    def distance(weighed: FloatArray) -> FloatArray:
        found: FloatArray = np.abs(weighed[:, order] @ apart).sum(axis=1) / weighed.sum(axis=1)
        return found

    figures = {"area_gain": Statistic(gain, ""), "overconfidence": Statistic(excess, "")}
    found = counted.estimate({**figures, "calibration": Statistic(distance, "", least=0.0, most=1.0)})
    if len(sure) < FEW_IN_FIFTHS:
        few = Reason("there are fewer than {fewest} labels", fewest=FEW_IN_FIFTHS)
        found["calibration"] = undefined_estimate(few)
    return found


MOST_BINS = 10
LEAST_IN_BIN = 10
"""Bins of a reliability diagram hold about this many cases or more."""


def reliability_points(
    expected: FloatArray, people: FloatArray, *, clusters: IntArray | None = None
) -> Iterator[tuple[int, float, Estimate]]:
    """Yield the points of a reliability diagram: how many cases, their mean expected score, and people's mean.

    Cases with both scores are in equal parts, in order of the expected one. Those with the same expected score stay
    together, so parts may differ in size.
    """
    both = np.isfinite(expected) & np.isfinite(people)
    x, y = expected[both], people[both]
    own = None if clusters is None else clusters[both]
    parts = min(MOST_BINS, max(1, len(x) // LEAST_IN_BIN))
    part = np.searchsorted(np.sort(x), x) * parts // max(1, len(x))
    for inside in (part == code for code in np.unique(part)):
        given = mean_effect(y[inside], None if own is None else own[inside]).estimate()
        yield int(inside.sum()), float(x[inside].mean()), given
