"""Whether a judge's doubt tells right from wrong: the share of wrong cases among the surest, and the area below it."""

import numpy as np

from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Reason, undefined_estimate
from pathway_local.statistics.resampling import Statistic, counted_rows

FEW = 20
"""With fewer labels nothing is said."""

BINS = 5
"""Groups of cases alike in sureness; more would take chance for an error of calibration, fewer hide one."""


def doubt_figures(
    sure: FloatArray, wrong: FloatArray, clusters: IntArray | None, weights: FloatArray | None
) -> dict[str, Estimate]:
    """How much lower the area is than in a random order, and how far a judge's confidence is from its right cases.

    "overconfidence" is by how much its mean exceeds their share. "calibration" is the expected calibration error: the
    mean distance of both within fifths of the cases (Naeini, Cooper and Hauskrecht 2015), which finds what cancels out
    over all of them, and is a little above 0 by chance alone. The area below the curve of risk is the mean, over the
    cases, of the share of wrong ones among those that are as sure or surer (Geifman, Uziel and El-Yaniv 2019). All
    arrays are (n,); `weights` say how many cases each stands for.
    """
    if len(sure) < FEW:
        few = Reason("there are fewer than {fewest} labels", fewest=FEW)
        return dict.fromkeys(("area_gain", "overconfidence", "calibration"), undefined_estimate(few))
    counted = counted_rows(np.column_stack([sure, wrong]), clusters, weights)
    order = np.argsort(-counted.rows[:, 0], kind="stable")
    doubt, errors = -counted.rows[order, 0], counted.rows[order, 1]
    last = np.searchsorted(doubt, doubt, side="right") - 1

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
    middle = (np.cumsum(heavy) - heavy / 2) / heavy.sum()
    alike = (np.minimum(middle[last] * BINS, BINS - 1).astype(int)[:, None] == np.arange(BINS)).astype(np.float64)
    apart = alike * (errors - 1 - doubt)[:, None]

    def distance(weighed: FloatArray) -> FloatArray:
        found: FloatArray = np.abs(weighed[:, order] @ apart).sum(axis=1) / weighed.sum(axis=1)
        return found

    figures = {"area_gain": Statistic(gain, ""), "overconfidence": Statistic(excess, "")}
    return counted.estimate({**figures, "calibration": Statistic(distance, "", least=0.0, most=1.0)})
