"""The difference of two chatbots or groups that people would see: a judge's difference, corrected by their labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pathway_local.statistics.figure import FloatArray, IntArray, Reason
from pathway_local.statistics.intervals import Effect, cluster_codes, cluster_sums, tailed_freedom
from pathway_local.statistics.needed import Spread
from pathway_local.statistics.prediction_powered import (
    BoolArray,
    Part,
    cross_fitted_slopes,
    means_error,
    weighted_residuals,
)

FEWEST = 10
"""Labels that each side needs: with fewer, the spread of the judge's errors can't be estimated."""


@dataclass(frozen=True, slots=True)
class CorrectedDifference:
    """First minus second as people would score them; `labels` are counted on each side.

    `slope` is how far labels follow the judge, `labels_only` the same without the judge. `spread` says how the variance
    falls with labels on the same cases, as far as labels of different cases do not depend on each other.
    """

    labels: tuple[int, int]
    slope: float
    corrected: Effect
    labels_only: Effect
    spread: Spread | None


def corrected_difference(
    judge: FloatArray,
    people: FloatArray,
    first: BoolArray,
    shares: FloatArray,
    weights: FloatArray,
    clusters: IntArray,
) -> CorrectedDifference:
    """The difference of the two means that people would give; each array is (cases,).

    `judge` has no gaps, `people` NaN where there is no label. `shares` add up to 1 on each side and say how much a case
    counts, `weights` are 1/probability of being labelled. Cases with the same code of `clusters` (both answers to a
    question) depend on each other. Each side's mean is that of Särndal, Swensson and Wretman (1992, chapter 6),
    m(y - L f over labels) + L m(f over all), with the slope L of all other clusters. The variance adds up what a
    cluster contributes to both sides, judge and labels, before it is squared (`means_error`). So pairing and the judge
    both help, and neither is trusted. Degrees of freedom are at most those of `tailed_freedom`, as few clusters carry
    most of the variance.
    """
    labelled = np.isfinite(people)
    counts = (int(np.sum(labelled & first)), int(np.sum(labelled & ~first)))
    if min(counts) < FEWEST:
        missing = Effect(
            None, missing=Reason("one side has {labels} labels, under {fewest}", labels=min(counts), fewest=FEWEST)
        )
        return CorrectedDifference(counts, 0.0, missing, missing, None)
    codes = cluster_codes(clusters, len(judge))
    slopes = cross_fitted_slopes(judge, people, first.astype(np.int64), codes)
    slope = float(slopes[labelled].mean())
    found, spreads = list[Effect](), list[float]()
    for used, whole in ((slopes, slope), (np.zeros_like(slopes), 0.0)):
        value, parts = 0.0, list[Part]()
        for side, sign in ((first, 1.0), (~first, -1.0)):
            own = side & labelled
            centre = float(shares[side] @ judge[side])
            mean, adds = weighted_residuals(people[own], judge[own], used[own], (shares * weights)[own], centre)
            value += sign * mean
            parts += [
                (own, (shares * weights)[own], adds, sign),
                (side, shares[side], shares[side] * (judge[side] - centre), sign * whole),
            ]
        found.append(_effect(value, parts, codes, codes[labelled]))
        spreads.append(float(sum(np.sum(adds**2) for _, _, adds, _ in parts[::2])))
    fixed = max(found[0].error ** 2 - spreads[0], 0.0)
    spread = Spread(fixed, spreads[0] * sum(counts), sum(counts), len(judge), found[0].freedom or None)
    return CorrectedDifference(counts, slope, found[0], found[1], spread)


def _effect(value: float, parts: Sequence[Part], codes: IntArray, labelled: IntArray) -> Effect:
    count = len(np.unique(labelled))
    if count < FEWEST:
        return Effect(
            value,
            missing=Reason("the labels come from {clusters} clusters, under {fewest}", clusters=count, fewest=FEWEST),
        )
    error, freedom = means_error(parts, codes)
    if not freedom:
        return Effect(value, missing="the labels of one side come from one cluster")
    if error <= 1e-12:
        return Effect(value, missing="people's labels do not vary")
    influence = np.zeros(len(codes))
    for members, _, adds, factor in parts:
        influence[members] += factor * adds
    totals = cluster_sums(influence, codes)
    return Effect(value, error, min(freedom, tailed_freedom(totals)), len(totals))
