"""A share of cases with Wilson's interval, for as many independent cases as weights and clusters leave."""

from statistics import NormalDist

import numpy as np

from pathway_local.statistics.corrected import corrected_domain_mean
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Interval, Undefined, undefined_estimate
from pathway_local.statistics.intervals import LEVEL, cluster_codes, cluster_sums, t_quantile, wilson
from pathway_local.statistics.prediction_powered import CASES_ALONE, BoolArray, Survey

FEW_ERRORS = 10
"""With fewer labels that differ from the judge, their spread says too little: only the number of labels counts."""


def share(hits: FloatArray, clusters: IntArray | None = None, weights: FloatArray | None = None) -> Estimate:
    """The share of hits (n,), each 0 or 1, among cases of which each stands for `weights` (n,) cases.

    Wilson's interval for the effective number of cases (Korn and Graubard 1998): the number with which a simple sample
    would have the variance that clusters leave, cut to that of the weights, and less for Student's t.
    """
    if not len(hits):
        return undefined_estimate("there is no such case")
    heavy = np.ones(len(hits)) if weights is None else weights
    value, codes = float(np.average(hits, weights=heavy)), cluster_codes(clusters, len(hits))
    return Estimate(value, _wilson(value, _effective(hits, value, heavy, codes), int(codes.max()) + 1))


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


def _wilson(value: float, cases: float, clusters: int) -> Interval:
    found = wilson(value * max(cases, 1.0), max(cases, 1.0))
    return Interval(found.low, found.high, found.method, clusters, found.level)


def corrected_share(
    judge: FloatArray,
    people: FloatArray,
    judge_special: BoolArray,
    people_special: BoolArray,
    survey: Survey = CASES_ALONE,
) -> Estimate:
    """The share of cases that people would call a hit: the judge's (N,), corrected by labels (N,), 0, 1 or NaN.

    The value is that of `corrected_domain_mean`. Wilson's interval has the number of cases with which a simple sample
    would have its variance. With few errors among the labels, it has the number of labels.
    """
    found = corrected_domain_mean(judge, people, judge_special, people_special, (0.0, 1.0), survey).mean
    if isinstance(found, Undefined):
        return undefined_estimate(found.reason)
    if isinstance(found.corrected.value, Undefined) or found.labelled == found.cases:
        return found.corrected
    inside = np.isfinite(people) & (True if survey.inside is None else survey.inside)
    value, pilot = min(1.0, max(0.0, found.corrected.value)), found.pilot
    each = float(pilot.residuals @ pilot.residuals) / max(pilot.there - 1, 1)
    variance, errors = each * (1 / pilot.there - 1 / pilot.cases), np.sum((judge != people)[inside])
    cases = float(inside.sum())
    if survey.strata is not None:
        whole, drawn = np.bincount(survey.strata), np.bincount(survey.strata, np.isfinite(people))
        heavy = (whole / np.maximum(drawn, 1))[survey.strata[inside]]
        cases = float(heavy.sum() ** 2 / np.sum(heavy**2))
    if errors >= FEW_ERRORS and variance > 0:
        cases = value * (1 - value) / variance
    return Estimate(value, _wilson(value, cases, int(inside.sum())))
