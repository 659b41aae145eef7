"""In which groups a rater errs: signed and absolute error per group of cases, with intervals for many groups at once.

Errors are used because a kappa falls by itself where a group's scores span little of the scale.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathway_local.statistics.families import at_holm_levels
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray
from pathway_local.statistics.intervals import (
    LEVEL,
    Effect,
    cluster_codes,
    cluster_sums,
    difference_effect,
    mean_effect,
    tailed_freedom,
)

MOST_LEVELS = 12
"""Different scores that are levels of their own; of more, each tenth of the cases makes one."""


@dataclass(frozen=True, slots=True)
class GroupError:
    """The errors of a rater in one group.

    `signed` is the mean error and `excess` the mean absolute error less that of all other cases. Their intervals are at
    Holm's levels, so that an interval leaves zero out exactly where Holm's test over all groups rejects. `absolute` is
    the mean absolute error. No test belongs to it, so its interval is at the level of Holm's first step in every group
    (Bonferroni's), and all of them hold at once. `unequal` is the mean error less that of other cases to which the
    reference gave the same score, with intervals at Holm's levels: a rater who gives everybody middling scores errs in
    a group of good answers, but does not treat it otherwise than equally good ones elsewhere.
    """

    group: int
    cases: int
    signed: Estimate
    absolute: Estimate
    excess: Estimate
    unequal: Estimate


def group_errors(
    rater: FloatArray,
    reference: FloatArray,
    groups: IntArray,
    *,
    clusters: IntArray | None = None,
    smallest: int = 10,
) -> tuple[GroupError, ...]:
    """Errors rater - reference of cases (cases,) by group code, on the cases with both scores, by group code.

    Intervals are Student's t, robust to dependence within `clusters`. Groups under `smallest` cases get the
    reason instead of figures and do not count for the correction (Holm 1979).
    """
    both = np.isfinite(rater) & np.isfinite(reference)
    errors = (rater - reference)[both]
    own = groups[both]
    codes = cluster_codes(None if clusters is None else clusters[both], len(errors))
    names = np.unique(groups)
    sizes = [int(np.sum(own == name)) for name in names]

    def effects(of: Callable[[NDArray[np.bool_]], Effect]) -> list[Effect]:
        return [
            of(own == name)
            if size >= smallest
            else Effect(None, missing=f"the group has {size} cases, under {smallest}")
            for name, size in zip(names, sizes, strict=True)
        ]

    sizes_of_error = np.abs(errors)
    signed = at_holm_levels(effects(lambda inside: mean_effect(errors[inside], codes[inside], each="error")))
    excess = at_holm_levels(effects(lambda inside: difference_effect(sizes_of_error, inside, codes, each="error")))
    levels = _levels(reference[both])
    unequal = at_holm_levels(effects(lambda inside: _unequal_effect(errors, levels, inside, codes)))
    absolute = _at_first_level(effects(lambda inside: mean_effect(sizes_of_error[inside], codes[inside], each="error")))
    return tuple(
        GroupError(int(name), size, *figures)
        for name, size, *figures in zip(names, sizes, signed, absolute, excess, unequal, strict=True)
    )


def _levels(reference: FloatArray) -> IntArray:
    """Return a code for each case (cases,): cases with the same score share one, or with about the same if many differ.

    Then tenths of the cases, by score, are the levels.
    """
    values, levels = np.unique(np.round(reference, 9), return_inverse=True)
    if len(values) > MOST_LEVELS:
        bounds = np.unique(np.quantile(reference, np.arange(0.1, 1, 0.1)))
        _, levels = np.unique(np.searchsorted(bounds, reference), return_inverse=True)
    return levels.astype(np.int64)


def _at_first_level(effects: Sequence[Effect]) -> list[Estimate]:
    tested = sum(not effect.missing for effect in effects)
    return [effect.estimate(1 - (1 - LEVEL) / max(tested, 1)) for effect in effects]


def _unequal_effect(errors: FloatArray, levels: IntArray, inside: NDArray[np.bool_], codes: IntArray) -> Effect:
    """The group's mean error less that of other cases with the same level, (cases,) each."""
    if min(len(np.unique(codes[inside])), len(np.unique(codes[~inside]))) < 2:
        return Effect(None, missing="one side of the comparison has only one cluster")
    none = "hardly any other case got the same scores as this group"
    return _at_equal_levels(errors, levels, inside.astype(np.float64), codes, none)


def drift(
    rater: FloatArray, reference: FloatArray, position: FloatArray, *, clusters: IntArray | None = None
) -> tuple[int, Effect]:
    """The cases that count, and how far a rater's errors move from the first to the last position, at equal scores.

    All are (cases,): NaN where there is no score, and positions from 0 to 1 in the order of dates, batches or versions,
    NaN where it is not known. The errors are taken to move along a straight line.
    """
    known = np.isfinite(rater) & np.isfinite(reference) & np.isfinite(position)
    codes = cluster_codes(None if clusters is None else clusters[known], int(known.sum()))
    if len(np.unique(codes)) < 2:
        return int(known.sum()), Effect(None, missing="fewer than two cases, or clusters of cases, have both scores")
    errors, levels = rater[known] - reference[known], _levels(reference[known])
    none = "cases with the same score lie too close together in that order"
    return len(errors), _at_equal_levels(errors, levels, position[known], codes, none)


def _at_equal_levels(errors: FloatArray, levels: IntArray, amounts: FloatArray, codes: IntArray, none: str) -> Effect:
    """The coefficient of the amounts in a regression of errors on them and on a constant for each level; all (cases,).

    With amounts of 0 and 1 it is the analysis of covariance; levels count by how much they tell about the difference.
    Clusters are added up before they are squared. `none` is the reason if the amounts hardly vary within levels.
    """
    sizes = np.bincount(levels)
    held = amounts - (np.bincount(levels, amounts) / sizes)[levels]
    told = float(np.sum(held**2))
    if told < 1:
        return Effect(None, missing=none)
    value = float(held @ errors) / told
    rest = errors - (np.bincount(levels, errors) / sizes)[levels] - value * held
    totals = cluster_sums(held * rest / told, codes)
    count, lost = len(totals), len(sizes) + 1
    error = float(np.sqrt(count / (count - 1) * len(errors) / max(len(errors) - lost, 1) * np.sum(totals**2)))
    if error <= 1e-12:
        return Effect(value, missing="errors at equal scores do not vary")
    return Effect(value, error, tailed_freedom(totals), count)
