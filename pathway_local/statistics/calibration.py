"""A reliability diagram: people's mean score of cases for which a judge expects similar scores."""

from dataclasses import dataclass

import numpy as np

from pathway_local.statistics.figure import Estimate, FloatArray, IntArray
from pathway_local.statistics.intervals import mean

MOST_BINS = 10
LEAST_IN_BIN = 10
"""Bins of a reliability diagram hold about this many cases or more."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Cases that a judge expects similar scores of: the mean expected score, and people's mean with its interval."""

    cases: int
    expected: float
    people: Estimate


def reliability_bins(expected: FloatArray, people: FloatArray, *, clusters: IntArray | None = None) -> tuple[Bin, ...]:
    """The points of a reliability diagram: cases with both scores, in order of the expected one, in equal parts.

    Cases with the same expected score stay together, so parts may differ in size.
    """
    both = np.isfinite(expected) & np.isfinite(people)
    x, y = expected[both], people[both]
    own = None if clusters is None else clusters[both]
    parts = min(MOST_BINS, max(1, len(x) // LEAST_IN_BIN))
    part = np.searchsorted(np.sort(x), x) * parts // max(1, len(x))
    bins = [part == code for code in np.unique(part)]
    return tuple(
        Bin(int(inside.sum()), float(x[inside].mean()), mean(y[inside], None if own is None else own[inside]))
        for inside in bins
    )
