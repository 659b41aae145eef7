"""A judge's figures, corrected by people's labels: the mean of the cases with a place on the scale, and a difference.

A special level such as "not asked" has no place on the scale. Whether people would give it is known of labelled
cases only, so the mean over the others is a ratio of two means, each of which the judge's verdicts correct.

The difference is that of two chatbots or groups as people would see it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathway_local.statistics.figure import (
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Number,
    Reason,
    Undefined,
    undefined_estimate,
)
from pathway_local.statistics.intervals import Effect, cluster_codes, cluster_sums, contrast_error, tailed_freedom
from pathway_local.statistics.prediction_powered import (
    CASES_ALONE,
    BoolArray,
    Correction,
    Survey,
    corrected_mean,
    cross_fitted_slopes,
    few_dissenters,
    weighted_residuals,
)
from pathway_local.statistics.share import wilson_of

ROUNDS = 4
"""Newton's steps. The equation is linear up to the cross-fitted slopes, so it is solved to many digits by then."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The corrected mean over cases with a place on the scale, and the corrected share of those without one."""

    mean: Correction | Undefined
    special: Correction | Undefined


def corrected_domain_mean(
    judge: FloatArray,
    people: FloatArray,
    judge_special: BoolArray,
    people_special: BoolArray,
    scale: tuple[float, float],
    survey: Survey = CASES_ALONE,
) -> Placed:
    """The corrected mean and share; scores (N,) are NaN off the scale, the next two say which are special levels.

    With z for a place on the scale by people, g by the judge: the mean m solves E[z (y - m)] = 0. Its left side
    is a mean, corrected with g (f - m) in the judge's place; it is solved by Newton's steps, m plus it over
    E[z]. By linearization (Woodruff 1971; Särndal, Swensson and Wretman 1992, chapter 5), m has the variance of
    that mean divided by E[z] squared. Where nobody gave a special level, it is the mean of `corrected_mean`.
    """
    if not (judge_special.any() or people_special.any()):
        return Placed(corrected_mean(judge, people, scale, survey), Undefined("nobody gave a special level"))
    z, g = _has_place(people, people_special), _has_place(judge, judge_special)
    special = corrected_mean(1 - g, 1 - z, (0.0, 1.0), replace(survey, noise=None))
    if isinstance(special, Undefined):
        return Placed(special, special)
    inside = True if survey.inside is None else survey.inside
    labels, verdicts = (scores[np.isfinite(scores) & inside] for scores in (people, judge))
    if len(labels) < 2:
        return Placed(
            Undefined(Reason("{labels} of the labels has a place on the scale, under 2", labels=len(labels))), special
        )

    def deviation(middle: float) -> Correction | Undefined:
        ends = (scale[0] - middle, scale[1] - middle)
        return corrected_mean(_deviations(judge, g, middle), _deviations(people, z, middle), ends, survey)

    if survey.noise:  # labels off the scale count as exact
        share = float(np.nanmean(z))
        survey = replace(survey, noise=replace(survey.noise, variance=survey.noise.variance * share))
    start = float(labels.mean())
    found, corrected = _solved(deviation, lambda each: each.corrected, start, special, scale)
    if isinstance(found, Undefined):
        return Placed(found, special)
    _, labels_only = _solved(deviation, lambda each: each.labels_only, start, special, scale)
    plain: Number = float(verdicts.mean()) if len(verdicts) else Undefined("no case has a verdict on the scale")
    warnings = few_dissenters(labels)
    held = 1 - special.corrected.value if isinstance(special.corrected.value, float) else 1.0
    mean = replace(
        found,
        judge_mean=plain,
        corrected=corrected,
        labels_only=labels_only,
        pilot=replace(found.pilot.scaled(1 / max(held, 1e-9)), value=_value(corrected, start), scale=scale),
        warnings=warnings,
    )
    return Placed(mean, special)


def _value(estimate: Estimate, otherwise: float) -> float:
    return estimate.value if isinstance(estimate.value, float) else otherwise


def _has_place(scores: FloatArray, special: BoolArray) -> FloatArray:
    """1 for a score on the scale, 0 for a special level, NaN where there is neither."""
    known = np.isfinite(scores) | special
    return np.where(known, np.isfinite(scores), np.nan)


def _deviations(scores: FloatArray, has_place: FloatArray, middle: float) -> FloatArray:
    """z (y - middle): 0 for special levels, and NaN where there is neither."""
    return np.where(has_place == 1, scores - middle, has_place)


def _solved(
    deviation: Callable[[float], Correction | Undefined],
    side: Callable[[Correction], Estimate],
    start: float,
    special: Correction,
    scale: tuple[float, float],
) -> tuple[Correction | Undefined, Estimate]:
    """The middle from which cases on the scale deviate by 0 on average, with the last correction on the way there."""
    away = side(special).value
    held = 1 - away if isinstance(away, float) else 0.0
    middle = start
    for _ in range(ROUNDS):
        found = deviation(middle)
        if isinstance(found, Undefined) or held <= 0:
            return found, Estimate(Undefined("no place on the scale is left"), Undefined("there is no value"))
        estimate = _moved(side(found), middle, held, scale)
        middle = estimate.value if isinstance(estimate.value, float) else middle
    return found, estimate


def _moved(found: Estimate, middle: float, held: float, scale: tuple[float, float]) -> Estimate:
    """An estimate of E[z (y - middle)] as one of the mean itself, within the scale."""

    def place(value: float) -> float:
        return float(np.clip(middle + value / held, *scale))

    value = place(found.value) if isinstance(found.value, float) else found.value
    interval = found.interval
    if isinstance(interval, Interval):
        interval = replace(interval, low=place(interval.low), high=place(interval.high))
    return Estimate(value, interval)


Part = tuple[BoolArray, FloatArray, FloatArray, float]
"""A mean in a sum of means: its cases (N,), their weights and what each adds to it, and the factor of the mean."""

FEW_ERRORS = 10
"""With fewer labels that differ from the judge, their spread says too little: only the number of labels counts."""

FEWEST = 10
"""Labels that each side needs: with fewer, the spread of the judge's errors can't be estimated."""


@dataclass(frozen=True, slots=True)
class CorrectedDifference:
    """First minus second as people would score them; `labels` are counted on each side.

    `slope` is how far labels follow the judge, `labels_only` the same without the judge.
    """

    labels: tuple[int, int]
    slope: float
    corrected: Effect
    labels_only: Effect


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
    cluster contributes to both sides, judge and labels, before it is squared (`_means_error`). So pairing and the judge
    both help, and neither is trusted. Degrees of freedom are at most those of `tailed_freedom`, as few clusters carry
    most of the variance.
    """
    labelled = np.isfinite(people)
    counts = (int(np.sum(labelled & first)), int(np.sum(labelled & ~first)))
    if min(counts) < FEWEST:
        missing = Effect(
            None, missing=Reason("one side has {labels} labels, under {fewest}", labels=min(counts), fewest=FEWEST)
        )
        return CorrectedDifference(counts, 0.0, missing, missing)
    codes = cluster_codes(clusters, len(judge))
    slopes = cross_fitted_slopes(judge, people, first.astype(np.int64), codes)
    slope = float(slopes[labelled].mean())
    found = list[Effect]()
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
    return CorrectedDifference(counts, slope, *found)


def _effect(value: float, parts: Sequence[Part], codes: IntArray, labelled: IntArray) -> Effect:
    count = len(np.unique(labelled))
    if count < FEWEST:
        return Effect(
            value,
            missing=Reason("the labels come from {clusters} clusters, under {fewest}", clusters=count, fewest=FEWEST),
        )
    error, freedom = _means_error(parts, codes)
    if not freedom:
        return Effect(value, missing="the labels of one side come from one cluster")
    if error <= 1e-12:
        return Effect(value, missing="people's labels do not vary")
    influence = np.zeros(len(codes))
    for members, _, adds, factor in parts:
        influence[members] += factor * adds
    totals = cluster_sums(influence, codes)
    return Effect(value, error, min(freedom, tailed_freedom(totals)), len(totals))


def _means_error(parts: Sequence[Part], clusters: IntArray) -> tuple[float, float]:
    """The standard error of a sum of means, and its degrees of freedom, by `contrast_error` over draws of clusters."""
    rows = np.concatenate([np.flatnonzero(members) for members, *_ in parts])
    shares = [weights / weights.sum() for _, weights, _, _ in parts]
    place = np.repeat(np.arange(len(parts)), [len(each) for each in shares])
    roots = np.sqrt(np.concatenate(shares))
    design = (place[:, None] == np.arange(len(parts))) * roots[:, None]
    residuals = np.concatenate([adds for _, _, adds, _ in parts]) / roots
    factors = np.array([factor for *_, factor in parts])
    return contrast_error(design, residuals, factors, cluster_codes(clusters[rows], len(rows)))


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
    return Estimate(value, wilson_of(value, cases, int(inside.sum())))
