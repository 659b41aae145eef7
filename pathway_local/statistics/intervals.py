"""Intervals without resampling: of a mean, of a mean over clusters, of a share; and their standing to a margin."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

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

Standing = Literal["better", "not worse", "worse", "can't tell"]

LEVEL = 0.95
"""The confidence level of every interval but those that Holm's procedure makes wider."""


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


def effective_clusters(codes: IntArray) -> float:
    """How many clusters of equal size weigh as these do: (sum of n_g)^2 / sum of n_g^2 (Kish 1965)."""
    sizes = np.bincount(codes).astype(np.float64)
    return float(sizes.sum() ** 2 / max(np.sum(sizes**2), 1.0))


def t_quantile(level: float, freedom: Any) -> Any:
    """Student's quantile for a two-sided interval of that level (Student 1908), or those for several freedoms."""
    from scipy import special  # scipy.stats would take seconds to import, and most commands need no interval

    return special.stdtrit(freedom, (1 + level) / 2)


def t_interval(value: float, error: float, freedom: float, clusters: int, level: float = LEVEL) -> Interval:
    """value +- t * error, where t is Student's quantile (Student 1908)."""
    reach = float(t_quantile(level, freedom)) * error
    return Interval(value - reach, value + reach, "t", clusters, level)


def log_odds_interval(
    value: float, error: float, freedom: float, clusters: int, scale: tuple[float, float], level: float = LEVEL
) -> Interval:
    """The t interval of log((m - low)/(high - m)) for a mean m on a scale from low to high, taken back to the scale.

    The error of the log-odds follows by the delta method. It stays on the scale and reaches further towards
    the middle than towards the near end, as the mean of skewed scores does. A value at or beyond an end has
    no log-odds: it gets the plain t interval, cut at the ends.
    """
    from scipy.special import expit

    low, high = scale
    reach = float(t_quantile(level, freedom)) * error
    place = (value - low) / (high - low)
    if not 0 < place < 1:
        return Interval(max(low, value - reach), min(high, value + reach), "t", clusters, level)
    odds, reach = float(np.log(place / (1 - place))), reach / (high - low) / (place * (1 - place))
    ends = low + (high - low) * expit(np.array([odds - reach, odds + reach]))
    return Interval(float(ends[0]), float(ends[1]), "log-odds with t", clusters, level)


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
        return 2 * self.tail(abs(self.value or 0.0))

    def tail(self, distance: float) -> float:
        """Return the probability that an estimate lies more than `distance` above the truth, by Student's t."""
        from scipy import special

        return float(special.stdtr(self.freedom, -distance / self.error))

    def estimate(self, level: float = LEVEL) -> Estimate:
        """The figure with its t interval of that level."""
        if self.value is None:
            return undefined_estimate(self.missing)
        if self.missing:
            return Estimate(self.value, Undefined(self.missing))
        return Estimate(self.value, t_interval(self.value, self.error, self.freedom, self.clusters, level))


def mean_effect(scores: FloatArray, clusters: IntArray | None = None, *, each: str = "score") -> Effect:
    """The mean of scores (n,) with its error; with `clusters` (n,), robust to dependence within them.

    Scores that are all alike have a mean but no error: a zero width would claim certainty. `each` names one of them in
    reasons, if they are not scores.
    """
    if len(scores) == 0:
        return Effect(None, missing=Reason("there is no {each}", each=each))
    value = float(np.mean(scores))
    codes = cluster_codes(clusters, len(scores))
    count = int(codes.max()) + 1
    if count < 2:
        return Effect(value, missing="there is only one case" if clusters is None else "there is only one cluster")
    if np.ptp(scores) == 0:
        return Effect(value, missing=Reason("every {each} is {value:g}", each=each, value=float(scores[0])))
    error, freedom = contrast_error(np.ones((len(scores), 1)), scores - value, np.ones(1), codes)
    if error <= 1e-12:
        return Effect(value, missing="every cluster has the same mean")
    return Effect(value, error, freedom, count)


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
    sides = np.column_stack([inside, ~inside]).astype(np.float64)
    residuals = scores - np.where(inside, own.mean(), rest.mean())
    error, freedom = contrast_error(sides, residuals, np.array([1.0, -1.0]), codes)
    if not freedom:
        return Effect(value, missing="one side of the comparison has only one cluster")
    if error <= 1e-12:
        if np.ptp(scores) == 0:
            return Effect(value, missing=Reason("every {each} is {value:g}", each=each, value=float(scores[0])))
        if np.ptp(own) == np.ptp(rest) == 0:
            return Effect(value, missing=Reason("every {each} of a side is the same", each=each))
        return Effect(value, missing="the difference does not vary between clusters")
    return Effect(value, error, freedom, int(codes.max()) + 1)


def wilson(successes: float, cases: float) -> Interval:
    """Wilson's interval for a share of `cases` > 0 independent units.

    Wilson (1927): the shares p for which |p_hat - p| <= z sqrt(p(1-p)/n). It keeps inside 0 to 1 and has
    width at 0 of n and n of n.
    """
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    rate = successes / cases
    middle = (rate + z**2 / (2 * cases)) / (1 + z**2 / cases)
    reach = z * np.sqrt(rate * (1 - rate) / cases + z**2 / (4 * cases**2)) / (1 + z**2 / cases)
    low, high = float(middle - reach), float(middle + reach)
    return Interval(0.0 if successes == 0 else low, 1.0 if successes == cases else high, "Wilson", round(cases), LEVEL)


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


WHOLE = 1 - 1e-9
"""A direction of the design of which a cluster has this share is known from that cluster alone."""


def contrast_error(
    design: FloatArray, residuals: FloatArray, contrast: FloatArray, codes: IntArray
) -> tuple[float, float]:
    """The standard error of contrast @ coefficients, and its degrees of freedom.

    The design X is (cases, columns), residuals and cluster codes are (cases,). The bias-reduced linearization of Bell
    and McCaffrey (2002), as Pustejovsky and Tipton (2018) define it: the residuals of a cluster are multiplied by
    (I - H_gg)^(-1/2) and added up before they are squared, because large clusters pull the fit towards themselves.
    Degrees of freedom are Satterthwaite's for independent cases of one variance. For weighted cases, give rows and
    residuals times the root of the weight; for two-stage least squares, the design of the second stage. Not defined,
    with 0 degrees of freedom, if the contrast is known from one cluster alone.
    """
    values, vectors = np.linalg.eigh(design.T @ design)
    kept = values > 1e-10 * values[-1]
    turn = vectors[:, kept] / np.sqrt(values[kept])
    basis, wanted = design @ turn, contrast @ turn  # of orthonormal columns: all that follows is of their size
    # With B = basis_g.T @ basis_g, (I - H_gg)^(-1/2) basis_g is basis_g (I - B)^(-1/2): no matrix is cases x cases.
    inside = np.array([[np.bincount(codes, one * other) for other in basis.T] for one in basis.T])
    shares, axes = np.linalg.eigh(inside.transpose(2, 0, 1))
    along, whole = wanted @ axes, shares > WHOLE
    if np.any(whole & (np.abs(along) > 1e-9 * np.linalg.norm(wanted))):
        return float("nan"), 0.0
    along = np.where(whole, 0.0, along / np.sqrt(np.where(whole, 1.0, 1 - shares)))
    parts = np.bincount(codes, np.sum(basis * np.einsum("gij,gj->gi", axes, along)[codes], axis=1) * residuals)
    # Under independence the products of parts have these expectations: `own` on the diagonal, -pull_g pull_h beside it.
    pull = np.einsum("gij,gj->gi", axes, shares * along)
    lost = np.sum(pull**2, axis=1)
    own = np.sum(shares * along**2, axis=1) - lost
    beside = np.sum((pull.T @ pull) ** 2) - np.sum(lost**2)
    return float(np.sqrt(np.sum(parts**2))), float(np.sum(own) ** 2 / (np.sum(own**2) + beside))
