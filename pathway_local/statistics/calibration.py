"""A reliability diagram: whether people give on average what a judge expects."""

from collections.abc import Iterator

import numpy as np

from pathway_local.statistics.effect import mean_effect
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray

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
