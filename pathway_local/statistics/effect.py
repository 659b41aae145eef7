"""An effect: a figure with its standard error, by the jackknife over clusters of cases.

Each cluster is left out in turn, and the figure's spread over these is its error (Tukey 1958). All intervals but those
of shares are made here. Figures of weighed rows of scores, such as kappa, are left to `jackknife`; those of a few sums,
such as means and their differences, follow from the sums of each cluster.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pathway_local.statistics.figure import (
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Reason,
    Undefined,
    undefined_estimate,
)
from pathway_local.statistics.intervals import (
    LEVEL,
    UNBOUNDED,
    cluster_codes,
    cluster_sums,
    interval_on,
    share,
    tailed_freedom,
)

SAME = "it is the same whatever is left out, which says nothing of its uncertainty"


@dataclass(frozen=True, slots=True)
class Effect:
    """A figure, its standard error and degrees of freedom; `missing` says why the error, or both, are not there."""

    value: float | None
    error: float = 0.0
    freedom: float = 0.0
    clusters: int = 0
    missing: str = ""

    @property
    def p_value(self) -> float:
        """The two-sided p-value of Student's test that the figure is 0."""
        from scipy import special

        return 2 * float(special.stdtr(self.freedom, -abs(self.value or 0.0) / self.error))

    def estimate(self, level: float = LEVEL, scale: tuple[float, float] = UNBOUNDED) -> Estimate:
        """The figure with its interval of that level, within the scale."""
        if self.value is None:
            return undefined_estimate(self.missing)
        if self.missing:
            return Estimate(self.value, Undefined(self.missing))
        return Estimate(self.value, interval_on(scale, self.value, self.error, self.freedom, self.clusters, level))


@dataclass(frozen=True, slots=True)
class Strata:
    """The stratum of each unit that was drawn, (units,), and the share of each stratum that was drawn, (strata,)."""

    codes: IntArray
    drawn: FloatArray


def jackknifed(
    value: float, left: FloatArray, clusters: int, strata: Strata | None = None
) -> tuple[Effect, FloatArray]:
    """A figure with its error from the figures without each unit, and what each unit adds to it.

    The sum of the squared parts is the variance; units of a stratum vary about their mean, and less if more of it was
    drawn (Jones 1974). A unit is a cluster, or a group of some of `clusters`.
    """
    units = len(left)
    codes, drawn = (strata.codes, strata.drawn) if strata else (np.zeros(units, dtype=np.int64), np.zeros(1))
    count = np.maximum(np.bincount(codes), 1)
    parts = ((np.bincount(codes, left) / count)[codes] - left) * np.sqrt((1 - drawn) * (count - 1) / count)[codes]
    lost, missing = int(np.sum(~np.isfinite(left))), ""
    if units < 2:
        missing = "there is only one case, or only one cluster of cases"
    elif lost:
        said = "leaving out a single part of the cases can leave it undefined ({lost} of {parts} parts)"
        missing = Reason(said, parts=units, lost=lost)
    elif np.any((count < 2) & (drawn < 1)):
        missing = "a stratum, or the group, has only one label"
    elif np.ptp(left) <= 1e-12:
        missing = SAME
    if missing:
        return Effect(value, missing=missing), parts
    return Effect(value, float(np.sqrt(parts @ parts)), tailed_freedom(parts), clusters), parts


def of_sums(
    measure: Callable[[FloatArray], FloatArray],
    sums: FloatArray,
    strata: Strata | None = None,
    sizes: FloatArray | None = None,
) -> tuple[Effect, FloatArray]:
    """The figure that `measure` makes of sums (R, columns), by the jackknife over units with these sums.

    `sums` are (units, columns). Without a unit the others of its stratum stand for more. `sizes` (units, means) say how
    much a unit weighs in each of the means of which the figure is made: with few or uneven ones, degrees of freedom are
    those of Welch and Satterthwaite for as many even units as weigh the same (Kish 1965).
    """
    codes = strata.codes if strata else np.zeros(len(sums), dtype=np.int64)
    count = np.bincount(codes)
    held = np.stack([np.bincount(codes, column) for column in sums.T], axis=1)
    others = (held[codes] - count[codes, None] * sums) / np.maximum(count[codes, None] - 1, 1)
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found, parts = jackknifed(float(measure(total[None])[0]), measure(total + others), len(sums), strata)
    if sizes is not None and not found.missing:
        rates = np.sum(sizes**2, axis=0) / np.sum(sizes, axis=0) ** 2
        most = float(np.sum(rates) ** 2 / max(np.sum(rates**3 / np.maximum(1 - rates, 1e-9)), 1e-18))
        found = replace(found, freedom=max(1.0, min(found.freedom, most)))
    return found, parts


def mean_effect(
    scores: FloatArray, clusters: IntArray | None = None, weights: FloatArray | None = None, *, each: str = "score"
) -> Effect:
    """The mean of scores (n,) with its error; with `clusters` (n,), robust to dependence within them.

    Scores count by `weights` (n,), all above 0. `each` names one of them in reasons, if they are not scores.
    """
    if len(scores) == 0:
        return Effect(None, missing=Reason("there is no {each}", each=each))
    heavy = np.ones(len(scores)) if weights is None else weights
    value, codes = float(np.average(scores, weights=heavy)), cluster_codes(clusters, len(scores))
    sums = np.stack([cluster_sums(heavy * (scores - value), codes), cluster_sums(heavy, codes)], axis=1)
    found, _ = of_sums(lambda sums: value + sums[:, 0] / sums[:, 1], sums, sizes=sums[:, 1:])
    return _of_scores(found, value, scores, each)


def change_effect(apart: FloatArray, clusters: IntArray | None) -> Effect:
    """The mean change of (cases, 2) from the first column to the second; 9 digits, or equal ones would differ."""
    return mean_effect(np.round(apart[:, 1] - apart[:, 0], 9), clusters, each="difference")


def difference_effect(
    scores: FloatArray, inside: NDArray[np.bool_], clusters: IntArray | None = None, *, each: str = "score"
) -> Effect:
    """The mean of the scores (n,) inside less that of the others, with its error.

    With `clusters` (n,), which may reach into both sides, it is robust to dependence within them. `each` names one of
    the scores in reasons, if they are not scores.
    """
    own, rest = scores[inside], scores[~inside]
    if min(len(own), len(rest)) == 0:
        return Effect(None, missing="one side of the comparison has no case")
    value, codes = float(own.mean() - rest.mean()), cluster_codes(clusters, len(scores))
    apart = scores - np.where(inside, own.mean(), rest.mean())
    columns = (apart * inside, inside.astype(np.float64), apart * ~inside, (~inside).astype(np.float64))
    sums = np.stack([cluster_sums(column, codes) for column in columns], axis=1)
    found, _ = of_sums(
        lambda sums: value + sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3], sums, sizes=sums[:, 1::2]
    )
    return _of_scores(found, value, scores, each)


def _of_scores(found: Effect, value: float, scores: FloatArray, each: str) -> Effect:
    """The effect with its exact value. Scores that are all alike have no error: a zero width would claim certainty."""
    if found.missing == SAME and np.ptp(scores) == 0:
        found = replace(found, missing=Reason("every {each} is {value:g}", each=each, value=float(scores[0])))
    return replace(found, value=value)


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


def at_holm_levels(effects: Sequence[Effect]) -> list[Estimate]:
    """Each effect with its interval at Holm's level among all that have an error."""
    levels = iter(holm_levels([each.p_value for each in effects if not each.missing]))
    return [each.estimate(LEVEL if each.missing else next(levels)) for each in effects]
