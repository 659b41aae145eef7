"""A share of cases with Wilson's interval, for as many independent cases as weights and clusters leave."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from pathway_local.statistics.effect import mean_effect
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Interval, undefined_estimate
from pathway_local.statistics.intervals import LEVEL, cluster_codes, cluster_sums, t_quantile, wilson


def share(hits: FloatArray, clusters: IntArray | None = None, weights: FloatArray | None = None) -> Estimate:
    """The share of hits (n,), each 0 or 1, among cases of which each stands for `weights` (n,) cases.

    Wilson's interval for the effective number of cases (Korn and Graubard 1998): the number with which a simple sample
    would have the variance that clusters leave, cut to that of the weights, and less for Student's t.
    """
    if not len(hits):
        return undefined_estimate("there is no such case")
    heavy = np.ones(len(hits)) if weights is None else weights
    value, codes = float(np.average(hits, weights=heavy)), cluster_codes(clusters, len(hits))
    return Estimate(value, wilson_of(value, _effective(hits, value, heavy, codes), int(codes.max()) + 1))


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


def wilson_of(value: float, cases: float, clusters: int) -> Interval:
    found = wilson(value * max(cases, 1.0), max(cases, 1.0))
    return Interval(found.low, found.high, found.method, clusters, found.level)


def scale_mean(
    scores: FloatArray, levels: Sequence[float], clusters: IntArray | None = None, weights: FloatArray | None = None
) -> Estimate:
    """The mean of scores (n,) on a scale with these ascending levels; on one of two levels, that of a share.

    Others have the jackknife's interval of their log-odds. With `clusters` (n,), it is robust to dependence within
    them; scores count by `weights` (n,), all above 0. Where most scores lie at one end of the scale, the plain t
    interval of 30 to 60 of them holds the truth in only 85 to 90% of samples.
    """
    low, high = float(levels[0]), float(levels[-1])
    if len(levels) == 2 and len(scores) and np.isin(scores, levels).all():
        found = share((scores - low) / (high - low), clusters, weights)
        assert isinstance(found.value, float) and isinstance(found.interval, Interval)
        ends = {name: low + (high - low) * getattr(found.interval, name) for name in ("low", "high")}
        return Estimate(float(np.average(scores, weights=weights)), replace(found.interval, **ends))
    return mean_effect(scores, clusters, weights).estimate(scale=(low, high))
