"""In which groups a rater errs: signed and absolute error per group of cases, with intervals for many groups at once.

Errors are used because a kappa falls by itself where a group's scores span little of the scale.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined, undefined_estimate
from pathway_local.statistics.intervals import LEVEL, cluster_codes, standard_error, t_interval


@dataclass(frozen=True, slots=True)
class GroupError:
    """The errors of a rater in one group.

    `signed` is the mean error and `excess` the mean absolute error less that of all other cases. Their intervals are at
    Holm's levels, so that an interval leaves zero out exactly where Holm's test over all groups rejects. `absolute` is
    the mean absolute error. No test belongs to it, so its interval is at the level of Holm's first step in every group
    (Bonferroni's), and all of them hold at once.
    """

    group: int
    cases: int
    signed: Estimate
    absolute: Estimate
    excess: Estimate


@dataclass(frozen=True, slots=True)
class _Effect:
    """A figure, its standard error and degrees of freedom; `missing` says why the error, or both, are not there."""

    value: float | None
    error: float = 0.0
    freedom: float = 0.0
    clusters: int = 0
    missing: str = ""

    @property
    def p_value(self) -> float:
        return float(2 * stats.t.sf(abs(self.value or 0.0) / self.error, self.freedom))

    def estimate(self, level: float) -> Estimate:
        if self.value is None:
            return undefined_estimate(self.missing)
        if self.missing:
            return Estimate(self.value, Undefined(self.missing))
        return Estimate(self.value, t_interval(self.value, self.error, self.freedom, self.clusters, level))


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

    def effects(of: Callable[[NDArray[np.bool_]], _Effect]) -> list[_Effect]:
        return [
            of(own == name)
            if size >= smallest
            else _Effect(None, missing=f"the group has {size} cases, under {smallest}")
            for name, size in zip(names, sizes, strict=True)
        ]

    sizes_of_error = np.abs(errors)
    signed = _at_holm_levels(effects(lambda inside: _mean_effect(errors, inside, codes)))
    excess = _at_holm_levels(effects(lambda inside: _excess_effect(sizes_of_error, inside, codes)))
    absolute = _at_first_level(effects(lambda inside: _mean_effect(sizes_of_error, inside, codes)))
    return tuple(
        GroupError(int(name), size, *figures)
        for name, size, *figures in zip(names, sizes, signed, absolute, excess, strict=True)
    )


def holm_levels(p_values: Sequence[float]) -> list[float]:
    """The confidence level for each test's interval under Holm's step-down procedure (Holm 1979).

    The smallest of m p-values is held to alpha/m, the next to alpha/(m-1), and so on until one is not
    rejected; all from there on are held to that one's level. Each interval then leaves out zero exactly where
    the procedure rejects.
    """
    alpha = 1 - LEVEL
    levels = [LEVEL] * len(p_values)
    step = 0
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        levels[place] = 1 - alpha / (len(p_values) - step)
        if step == rank and p_values[place] <= alpha / (len(p_values) - rank):
            step = rank + 1
    return levels


def _at_holm_levels(effects: Sequence[_Effect]) -> list[Estimate]:
    tested = [place for place, effect in enumerate(effects) if not effect.missing]
    levels = dict(zip(tested, holm_levels([effects[place].p_value for place in tested]), strict=True))
    return [effect.estimate(levels.get(place, LEVEL)) for place, effect in enumerate(effects)]


def _at_first_level(effects: Sequence[_Effect]) -> list[Estimate]:
    tested = sum(not effect.missing for effect in effects)
    return [effect.estimate(1 - (1 - LEVEL) / max(tested, 1)) for effect in effects]


def _mean_effect(errors: FloatArray, inside: NDArray[np.bool_], codes: IntArray) -> _Effect:
    own = errors[inside]
    influence = np.where(inside, errors - own.mean(), 0.0) / len(own)
    return _effect(float(own.mean()), influence[inside], codes[inside], own)


def _excess_effect(errors: FloatArray, inside: NDArray[np.bool_], codes: IntArray) -> _Effect:
    """The group's mean less that of all other cases; clusters may reach into both."""
    own, rest = errors[inside], errors[~inside]
    if len(rest) == 0:
        return _Effect(None, missing="there are no other cases")
    influence = np.where(inside, (errors - own.mean()) / len(own), -(errors - rest.mean()) / len(rest))
    if min(len(np.unique(codes[inside])), len(np.unique(codes[~inside]))) < 2:
        return _Effect(float(own.mean() - rest.mean()), missing="one side of the comparison has only one cluster")
    return _effect(float(own.mean() - rest.mean()), influence, codes, errors, inside.astype(np.int64))


def _effect(
    value: float, influence: FloatArray, codes: IntArray, errors: FloatArray, sides: IntArray | None = None
) -> _Effect:
    clusters = len(np.unique(codes))
    if clusters < 2:
        return _Effect(value, missing="the group has only one cluster")
    error, freedom = standard_error(influence, cluster_codes(codes, len(codes)), sides)
    if error <= 1e-12:
        same = f"every error is {errors[0]:g}" if np.ptp(errors) == 0 else "every cluster has the same mean"
        return _Effect(value, missing=same)
    return _Effect(value, error, freedom, clusters)
