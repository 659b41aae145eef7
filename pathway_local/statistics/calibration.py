"""A map from a judge's expected score to the score that people would give, and how well it does on new cases."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined
from pathway_local.statistics.intervals import cluster_codes, mean

FEWEST = 20
"""With fewer labels, a fold would test the map on a single case or two."""

FOLDS = 10
MOST_BINS = 10
LEAST_IN_BIN = 10
"""Bins of a reliability diagram hold about this many cases or more."""

SEED = 0
"""Fixes the order in which clusters go into folds, so that the same labels give the same figures."""


@dataclass(frozen=True, slots=True)
class MonotoneMap:
    """A map that never falls: `heights` at `knots` (both ascending), straight between, flat beyond."""

    knots: FloatArray
    heights: FloatArray

    def __call__(self, expected: FloatArray) -> FloatArray:
        """The people's score for each expected score; NaN stays NaN."""
        return np.interp(expected, self.knots, self.heights)


@dataclass(frozen=True, slots=True)
class Gain:
    """A mean error of the judge's own expected score, that of the mapped one, and what the map takes off."""

    unmapped: Estimate
    mapped: Estimate
    gain: Estimate


@dataclass(frozen=True, slots=True)
class MapCheck:
    """Errors on cases that the map did not see, over `folds` folds: in score points, and squared."""

    cases: int
    folds: int
    absolute: Gain
    squared: Gain


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


def fit_map(expected: FloatArray, people: FloatArray) -> MonotoneMap | Undefined:
    """The non-decreasing map nearest to people's scores by least squares, on the cases with both.

    Isotonic regression by pooling adjacent violators (Ayer, Brunk, Ewing, Reid and Silverman 1955; Barlow et
    al. 1972): cases with the same expected score count together, and values between two knots are
    interpolated.
    """
    both = np.isfinite(expected) & np.isfinite(people)
    if not both.any():
        return Undefined("no case has an expected score and one by people")
    return _fit(expected[both], people[both])


def _fit(expected: FloatArray, people: FloatArray) -> MonotoneMap:
    knots, place = np.unique(expected, return_inverse=True)
    held = np.bincount(place).astype(np.float64)
    means = np.bincount(place, weights=people) / held
    return MonotoneMap(knots, np.asarray(isotonic_regression(means, weights=held).x, dtype=np.float64))


def check_map(expected: FloatArray, people: FloatArray, *, clusters: IntArray | None = None) -> MapCheck | Undefined:
    """Cross-validated errors of the map (Stone 1974): each case is mapped by a fit to the other folds.

    Clusters stay whole, so no case is mapped by a fit that saw its own cluster. Intervals are cluster-robust
    t; they take the folds' maps as given. Undefined under 20 cases.
    """
    both = np.isfinite(expected) & np.isfinite(people)
    x, y = expected[both], people[both]
    codes = cluster_codes(None if clusters is None else clusters[both], len(x))
    count = int(codes.max()) + 1 if len(x) else 0
    if len(x) < FEWEST:
        return Undefined(f"{len(x)} cases have both scores, under {FEWEST}")
    if count < 2:
        return Undefined("there is only one cluster")
    folds = min(FOLDS, count)
    fold = (np.random.default_rng(SEED).permutation(count) % folds)[codes]
    mapped = _mapped_across(x, y, fold)
    own = None if clusters is None else codes
    before, after = np.abs(x - y), np.abs(mapped - y)
    return MapCheck(len(x), folds, _gain(before, after, own), _gain(before**2, after**2, own))


def _mapped_across(expected: FloatArray, people: FloatArray, fold: IntArray) -> FloatArray:
    """Each case's score by the map that was fitted to the other folds."""
    mapped = np.empty_like(people)
    for held_out in np.unique(fold):
        inside = fold == held_out
        mapped[inside] = _fit(expected[~inside], people[~inside])(expected[inside])
    return mapped


def _gain(before: FloatArray, after: FloatArray, clusters: IntArray | None) -> Gain:
    errors = (before, after, before - after)
    return Gain(*(mean(scores, clusters, each="error") for scores in errors))
