"""Correlation of two raters: Pearson, Spearman and Kendall tau-b, under any weights of the cases.

Each function takes the scores of the two raters, (rows,) each and without missing ones, and gives the `Statistic` of
counted rows. Ties are treated as the ties they are: ranks are taken anew for all weights, and nothing is approximated.
"""

from collections.abc import Callable

import numpy as np

from pathway_local.statistics.figure import (
    FloatArray,
    IntArray,
    Reason,
    why_constant,
)
from pathway_local.statistics.resampling import Statistic

MATRIX_ROWS = 2000
"""The matrix of pairs takes 32 MB at this size and grows with the square of the rows."""


def pearson(first: FloatArray, second: FloatArray) -> Statistic:
    """Product-moment correlation, cov(x, y) / (s_x s_y) (Pearson 1895)."""
    x, y = _standard(first), _standard(second)
    products = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)

    def measure(weights: FloatArray) -> FloatArray:
        n, sx, sy, sxx, syy, sxy = (weights @ products).T
        with np.errstate(invalid="ignore", divide="ignore"):
            return _ratio(sxy - sx * sy / n, sxx - sx**2 / n, syy - sy**2 / n, 1e-12 * n)

    return Statistic(measure, why_constant((first, second)), needs=2, least=-1.0, most=1.0)


def spearman(first: FloatArray, second: FloatArray) -> Statistic:
    """Pearson's correlation of ranks, where tied scores share the mean of their ranks (Spearman 1904)."""
    x, y = _groups(first), _groups(second)

    def measure(weights: FloatArray) -> FloatArray:
        x_ranks, x_spread = _centred_ranks(weights, x)
        y_ranks, y_spread = _centred_ranks(weights, y)
        together = np.sum(weights * x_ranks * y_ranks, axis=1)
        return _ratio(together, x_spread, y_spread, np.float64(1e-9))

    return Statistic(measure, why_constant((first, second)), needs=2, least=-1.0, most=1.0)


def kendall(first: FloatArray, second: FloatArray) -> Statistic:
    """Kendall's tau-b (Kendall 1945): (C - D) / sqrt(P_x P_y).

    C and D count the pairs of cases that the raters order alike and oppositely, P_x and P_y the pairs that
    each rater does not tie. Up to 2,000 rows the counts are quadratic forms in the weights; above, each weighting is
    sorted by itself.
    """
    reason = why_constant((first, second))
    if len(first) > MATRIX_ROWS:
        # Weightings repeat whole rows here, so a case can't count as a fraction of one.
        many = Reason("cases weigh differently and have over {rows:,} pairs of scores", rows=MATRIX_ROWS)
        slow = _sorted_kendall(first, second)
        return Statistic(slow, reason, needs=2, least=-1.0, most=1.0, unweighted=many)
    order = np.sign(first[:, None] - first) * np.sign(second[:, None] - second)
    x, y = _groups(first), _groups(second)

    def measure(weights: FloatArray) -> FloatArray:
        pairs = weights.sum(axis=1) ** 2
        excess = np.sum((weights @ order) * weights, axis=1)
        x_untied = pairs - np.sum(_group_weights(weights, x) ** 2, axis=1)
        y_untied = pairs - np.sum(_group_weights(weights, y) ** 2, axis=1)
        return _ratio(excess, x_untied, y_untied, np.float64(1e-9))

    return Statistic(measure, reason, needs=2, least=-1.0, most=1.0)


def _ratio(together: FloatArray, first: FloatArray, second: FloatArray, floor: FloatArray | np.float64) -> FloatArray:
    """together / sqrt(first * second) within -1 to 1; NaN where a rater's own spread is no more than `floor`."""
    defined = (first > floor) & (second > floor)
    scale = np.sqrt(np.where(defined, first, 1.0)) * np.sqrt(np.where(defined, second, 1.0))
    return np.where(defined, np.clip(together / scale, -1, 1), np.nan)


def _standard(scores: FloatArray) -> FloatArray:
    """Scores moved and scaled to reach from about -1 to 1, so that sums of squares keep their digits."""
    if scores.size == 0 or np.ptp(scores) == 0:
        return np.zeros_like(scores)
    standard: FloatArray = (scores - scores.mean()) / np.ptp(scores)
    return standard


def _groups(scores: FloatArray) -> IntArray:
    """The rank of each score among the distinct scores, from 0."""
    return np.unique(scores, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _group_weights(weights: FloatArray, groups: IntArray) -> FloatArray:
    """The weight of each group of tied scores, (R, groups)."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    held: FloatArray = np.add.reduceat(weights[:, order], starts, axis=1)
    return held


def _centred_ranks(weights: FloatArray, groups: IntArray) -> tuple[FloatArray, FloatArray]:
    """Each row's shared rank less the mean rank, (R, rows), and the weighted sum of their squares, (R,)."""
    held = _group_weights(weights, groups)
    ranks = np.cumsum(held, axis=1) - held / 2 - held.sum(axis=1, keepdims=True) / 2
    return ranks[:, groups], np.sum(held * ranks**2, axis=1)


def _sorted_kendall(first: FloatArray, second: FloatArray) -> Callable[[FloatArray], FloatArray]:
    from scipy import stats  # it takes a second to import, and few files have so many pairs of scores

    def measure(weights: FloatArray) -> FloatArray:
        taus = np.empty(len(weights))
        for row, own in enumerate(weights):
            drawn = np.repeat(np.arange(len(first)), own.astype(np.int64))
            taus[row] = stats.kendalltau(first[drawn], second[drawn]).statistic
        return taus

    return measure
