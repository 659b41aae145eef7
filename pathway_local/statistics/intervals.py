"""Intervals from an error or a count, and their standing to a margin; `effect` and `jackknife` find the errors."""

from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Interval, Undefined, undefined_estimate

Standing = Literal["better", "not worse", "worse", "can't tell"]

LEVEL = 0.95
"""The confidence level of every interval but those that Holm's procedure makes wider."""

UNBOUNDED = (-np.inf, np.inf)
"""A scale without ends."""


def cluster_codes(clusters: IntArray | None, cases: int) -> IntArray:
    """The cluster of each case, numbered from 0 without gaps; without clusters each case is its own."""
    if clusters is None:
        return np.arange(cases, dtype=np.int64)
    if len(clusters) != cases:
        raise ValueError(f"{len(clusters)} cluster codes for {cases} cases")
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64).reshape(-1)


def linked_clusters(groups: IntArray, clusters: IntArray, size: int) -> IntArray:
    """The cluster of each of `size` groups of cases, (groups,); groups and clusters are (cases,).

    Groups with a case of the same cluster belong together, also through other groups.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    codes = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    width = size + int(codes.max(initial=-1)) + 1
    links = coo_array((np.ones(len(groups)), (groups, size + codes)), shape=(width, width))
    return connected_components(links, directed=False)[1][:size].astype(np.int64)


def cluster_sums(amounts: FloatArray, codes: IntArray) -> FloatArray:
    """The sum of one amount per case within each cluster, (clusters,)."""
    return np.bincount(codes, weights=amounts).astype(np.float64)


def t_quantile(level: float, freedom: Any) -> Any:
    """Student's quantile for a two-sided interval of that level (Student 1908), or those for several freedoms."""
    from scipy import special  # scipy.stats would take seconds to import, and most commands need no interval

    return special.stdtrit(freedom, (1 + level) / 2)


def interval_on(
    scale: tuple[float, float], value: float, error: float, freedom: float, clusters: int, level: float = LEVEL
) -> Interval:
    """The t interval (Student 1908) on a scale from its low to its high end: that of the log-odds, taken back to it.

    The error of log((m - low)/(high - m)) follows by the delta method. Such an interval stays on the scale and reaches
    further towards the middle than towards the near end, as the mean of skewed scores does. On a scale without ends,
    and of a value at an end, which has no log-odds, it is value +- t * error, cut at the ends.
    """
    from scipy.special import expit

    low, high = scale
    reach = float(t_quantile(level, freedom)) * error
    place = (value - low) / (high - low) if np.isfinite(scale).all() else 0.0
    if not 0 < place < 1:
        return Interval(max(low, value - reach), min(high, value + reach), "jackknife with t", clusters, level)
    odds, reach = float(np.log(place / (1 - place))), reach / (high - low) / (place * (1 - place))
    ends = low + (high - low) * expit(np.array([odds - reach, odds + reach]))
    return Interval(float(ends[0]), float(ends[1]), "jackknife with log-odds and t", clusters, level)


def tailed_freedom(parts: FloatArray) -> float:
    """Degrees of freedom of a variance estimated from C parts whose tails may be long.

    2C / (K - 1 + 2/(C-1)) with the kurtosis K of the parts, between 3 and C - 1: a scaled chi-square with the
    same mean and variance as s^2 (Satterthwaite 1946), where Var(s^2) = s^4 ((K - 3)/C + 2/(C-1)).
    """
    count = len(parts)
    apart = parts - parts.mean()
    square = float(np.sum(apart**2))
    if square <= 0:
        return float(count - 1)
    kurtosis = count * float(np.sum(apart**4)) / square**2
    return min(count - 1.0, max(3.0, 2 * count / (kurtosis - 1 + 2 / (count - 1))))


def wilson(rate: float, cases: float, clusters: int) -> Interval:
    """Wilson's interval for a share of so many independent cases, of one at least, that come from `clusters`.

    Wilson (1927): the shares p for which |p_hat - p| <= z sqrt(p(1-p)/n). It keeps inside 0 to 1 and has
    width at 0 of n and n of n.
    """
    z, cases = NormalDist().inv_cdf((1 + LEVEL) / 2), max(cases, 1.0)
    middle = (rate + z**2 / (2 * cases)) / (1 + z**2 / cases)
    reach = z * np.sqrt(rate * (1 - rate) / cases + z**2 / (4 * cases**2)) / (1 + z**2 / cases)
    low, high = float(middle - reach), float(middle + reach)
    return Interval(0.0 if rate == 0 else low, 1.0 if rate == 1 else high, "Wilson", clusters, LEVEL)


def share(hits: FloatArray, clusters: IntArray | None = None, weights: FloatArray | None = None) -> Estimate:
    """The share of hits (n,), each 0 or 1, among cases of which each stands for `weights` (n,) cases.

    Wilson's interval for the effective number of cases (Korn and Graubard 1998): the number with which a simple sample
    would have the variance that clusters leave, cut to that of the weights, and less for Student's t.
    """
    if not len(hits):
        return undefined_estimate("there is no such case")
    heavy = np.ones(len(hits)) if weights is None else weights
    value, codes = float(np.average(hits, weights=heavy)), cluster_codes(clusters, len(hits))
    return Estimate(value, wilson(value, _effective(hits, value, heavy, codes), int(codes.max()) + 1))


def _effective(hits: FloatArray, value: float, heavy: FloatArray, codes: IntArray) -> float:
    """The effective number of cases."""
    most, sums = float(heavy.sum() ** 2 / np.sum(heavy**2)), cluster_sums(heavy, codes)
    count = len(sums)
    if count == len(hits):
        return most
    if count == 1 or not 0 < value < 1:
        return float(sums.sum() ** 2 / np.sum(sums**2))
    parts = cluster_sums(heavy * (hits - value), codes) / heavy.sum()
    variance = count / (count - 1) * float(np.sum(parts**2))
    freedom = max(float(sums.sum() ** 2 / np.sum(sums**2)) - 1, 1.0)
    lost: float = (NormalDist().inv_cdf((1 + LEVEL) / 2) / t_quantile(LEVEL, freedom)) ** 2
    return lost * min(most, value * (1 - value) / variance if variance else most)


def standing(difference: Interval | Undefined, margin: float) -> Standing:
    """Compares the interval of a difference, of which positive is good, with a `margin` > 0 set beforehand.

    "better": all of it above zero. "not worse": all of it above -margin. "worse": all of it below zero, and
    some of it below -margin. Otherwise "can't tell". A difference that is surely negative yet surely smaller
    than the margin is "not worse": that is what the margin was set for.
    """
    if isinstance(difference, Undefined):
        return "can't tell"
    if difference.low > 0:
        return "better"
    if difference.low > -margin:
        return "not worse"
    return "worse" if difference.high < 0 else "can't tell"
