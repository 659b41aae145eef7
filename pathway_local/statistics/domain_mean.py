"""A corrected mean over the cases that have a place on the scale, where nobody knows beforehand which these are.

A special level such as "not asked" has no place on the scale. Whether people would give it is known of labelled
cases only, so the mean over the others is a ratio of two means, each of which the judge's verdicts correct.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pathway_local.statistics.figure import Estimate, FloatArray, Interval, Number, Undefined
from pathway_local.statistics.prediction_powered import Correction, few_dissenters

ROUNDS = 4

Correct = Callable[[FloatArray, FloatArray, tuple[float, float]], Correction | Undefined]
"""`corrected_mean`, or one group of `corrected_groups`, for scores of the judge, labels and the ends of the scale."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The corrected mean over cases with a place on the scale, and the corrected share of those without one."""

    mean: Correction | Undefined
    special: Correction | Undefined


def corrected_domain_mean(
    judge: FloatArray,
    people: FloatArray,
    judge_special: NDArray[np.bool_],
    people_special: NDArray[np.bool_],
    inside: NDArray[np.bool_],
    scale: tuple[float, float],
    correct: Correct,
) -> Placed:
    """Both for scores (N,), NaN where there is none on the scale; the next two say where it is a special level.

    `inside` are the cases that `correct` is about: all, or those of its group.

    With z for a place on the scale by people, g by the judge: the mean m solves E[z (y - m)] = 0. Its left side
    is a mean, corrected with g (f - m) in the judge's place; it is solved by Newton's steps, m plus it over
    E[z]. By linearization (Woodruff 1971; Särndal, Swensson and Wretman 1992, chapter 5), m has the variance of
    that mean divided by E[z] squared.
    """
    labelled = np.isfinite(people) | people_special
    seen = np.isfinite(judge) | judge_special
    z = np.where(labelled, np.isfinite(people).astype(np.float64), np.nan)
    g = np.where(seen, np.isfinite(judge).astype(np.float64), np.nan)
    special = correct(1 - g, 1 - z, (0.0, 1.0))
    if isinstance(special, Undefined):
        return Placed(special, special)
    on_scale = people[inside & np.isfinite(people)]
    if len(on_scale) < 2:
        return Placed(Undefined(f"{len(on_scale)} of the labels has a place on the scale, under 2"), special)

    def solved(side: Callable[[Correction], Estimate]) -> tuple[Correction | Undefined, Estimate]:
        away = side(special).value
        held = 1 - away if isinstance(away, float) else 0.0
        middle = float(on_scale.mean())
        for _ in range(ROUNDS):
            found = correct(
                np.where(g == 1, judge - middle, np.where(g == 0, 0.0, np.nan)),
                np.where(z == 1, people - middle, np.where(z == 0, 0.0, np.nan)),
                (scale[0] - middle, scale[1] - middle),
            )
            if isinstance(found, Undefined) or held <= 0:
                return found, Estimate(Undefined("no place on the scale is left"), Undefined("there is no value"))
            estimate = _moved(side(found), middle, held, scale)
            middle = estimate.value if isinstance(estimate.value, float) else middle
        return found, estimate

    found, corrected = solved(lambda correction: correction.corrected)
    if isinstance(found, Undefined):
        return Placed(found, special)
    _, labels_only = solved(lambda correction: correction.labels_only)
    verdicts = judge[inside & np.isfinite(judge)]
    plain: Number = float(verdicts.mean()) if len(verdicts) else Undefined("no case has a verdict on the scale")
    warnings = few_dissenters(on_scale)
    mean = replace(found, judge_mean=plain, corrected=corrected, labels_only=labels_only, warnings=warnings)
    return Placed(mean, special)


def _moved(found: Estimate, middle: float, held: float, scale: tuple[float, float]) -> Estimate:
    """An estimate of E[z (y - middle)] as one of the mean itself, within the scale."""

    def place(value: float) -> float:
        return float(np.clip(middle + value / held, *scale))

    value = place(found.value) if isinstance(found.value, float) else found.value
    interval = found.interval
    if isinstance(interval, Interval):
        interval = replace(interval, low=place(interval.low), high=place(interval.high))
    return Estimate(value, interval)
