"""The register of coefficients: every figure of agreement with its name, its scale and how to read it.

A further coefficient is one function and its entry here. Tables, JSON, figure files and `--figure` read the register;
a test holds the table of docs/agreement.md against it. Correlations treat ties as the ties they are: ranks are taken
anew for all weights, and nothing is approximated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pathway_local.statistics.figure import (
    FloatArray,
    IntArray,
    Reason,
    Undefined,
    why_constant,
)
from pathway_local.statistics.reliability import (
    Weights,
    alpha_interval,
    alpha_nominal,
    alpha_ordinal,
    gwet,
    icc,
    kappa,
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


Build = Callable[[FloatArray, Sequence[float]], Statistic | Undefined]
"""Makes the figure of rows of scores (rows, raters), given the ascending levels of the scale."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One figure of agreement.

    `scale` is the poorest scale that it makes sense for. One that `needs_levels` is refused where a score is no level
    of the scale. `better` is the end at which raters agree better; a figure without one can't rank raters.
    One `by_level` counts in levels of the scale even where others count half points as levels, too.
    `cases` says which cases it uses: those of a "pair" of raters that both scored, or, for any number of raters, those
    that one rater scored, two or more ("shared"), or all ("complete"). `reading` is one sentence for laymen.
    """

    name: str
    label: str
    scale: Literal["nominal", "ordinal", "interval"]
    better: Literal["higher", "lower", ""]
    reading: str
    build: Build
    needs_levels: bool = True
    cases: Literal["pair", "scored", "shared", "complete"] = "pair"
    by_level: bool = False

    def of(self, rows: FloatArray, values: Sequence[float] = (), levels: Sequence[float] = ()) -> Statistic | Undefined:
        """The figure for rows of scores; Undefined if it needs levels and some scores are not among the `values`.

        `levels` are those of the scale, where the values have half points as well.
        """
        off = off_scale(rows, values) if self.needs_levels else ""
        return Undefined(off) if off else self.build(rows, levels if self.by_level and levels else values)


def off_scale(scores: FloatArray, values: Sequence[float]) -> str:
    """Say why scores are not on the scale, naming the first that is not; empty if all are."""
    if list(values) != sorted(set(values)):
        raise ValueError(f"the levels of a scale ascend, each once: {values}")
    strange = scores[np.isfinite(scores) & ~np.isin(scores, np.asarray(values, dtype=np.float64))]
    if strange.size == 0:
        return ""
    scale = ", ".join(f"{value:g}" for value in values)
    return Reason("{value:g} is not on the scale {scale}", value=float(strange[0]), scale=scale)


def _within(most: int) -> Build:
    """The share of cases whose two scores are at most that many levels apart; a half point lies between two."""

    def build(rows: FloatArray, values: Sequence[float]) -> Statistic:
        apart = np.abs(np.diff(np.interp(rows, values, range(len(values))), axis=1)[:, 0])
        return _mean_of_rows((np.round(apart, 9) <= most).astype(np.float64), 0.0, 1.0, is_share=True)

    return build


def _kappa(weights: Weights) -> Build:
    def build(rows: FloatArray, values: Sequence[float]) -> Statistic:
        first, second = np.searchsorted(np.asarray(values, dtype=np.float64), rows).T
        return kappa(first, second, values, weights)

    return build


def _mean_difference(rows: FloatArray, _values: Sequence[float]) -> Statistic:
    return _mean_of_rows(rows[:, 0] - rows[:, 1])


def _mean_absolute_error(rows: FloatArray, values: Sequence[float]) -> Statistic:
    return _mean_of_rows(np.abs(rows[:, 0] - rows[:, 1]), 0.0, values[-1] - values[0] if values else np.inf)


def _mean_of_rows(
    amounts: FloatArray, least: float = -np.inf, most: float = np.inf, *, is_share: bool = False
) -> Statistic:
    """The mean of an amount per row between `least` and `most`; a share where the amounts are 0 and 1."""

    def measure(weights: FloatArray) -> FloatArray:
        cases = weights.sum(axis=1)
        return np.where(cases > 0, weights @ amounts / np.where(cases > 0, cases, 1.0), np.nan)

    return Statistic(measure, "there is no case to compare", least=least, most=most, share=is_share)


def _of_pair(build: Callable[[FloatArray, FloatArray], Statistic]) -> Build:
    return lambda rows, _values: build(rows[:, 0], rows[:, 1])


_REGISTERED = (
    Coefficient(
        "exact", "exact", "nominal", "higher",
        "The share of cases with the same score: 1 is all, 0 is none; high by itself where nearly every answer is a"
        " 5.",
        _within(0),
    ),
    Coefficient(
        "within_one", "within one", "ordinal", "higher",
        "The share of cases whose scores are at most one level apart: 1 is all, 0 is none; on five levels it is high"
        " even for raters who hardly agree.",
        _within(1), by_level=True,
    ),
    Coefficient(
        "kappa", "kappa", "nominal", "higher",
        "Exact agreement beyond chance: 1 is perfect, 0 is what the raters' own habits bring by chance, below 0 is "
        "worse than chance.",
        _kappa("none"),
    ),
    Coefficient(
        "kappa_quadratic", "kappa quadratic", "ordinal", "higher",
        "Kappa in which a difference counts by its square, so that large ones weigh most: 1 is perfect, 0 is "
        "chance, below 0 is worse than chance.",
        _kappa("quadratic"),
    ),
    Coefficient(
        "pearson", "Pearson", "interval", "higher",
        "How closely the scores follow a straight line: 1 is exactly, 0 is not at all, below 0 one rater's scores "
        "fall where the other's rise.",
        _of_pair(pearson), needs_levels=False,
    ),
    Coefficient(
        "spearman", "Spearman", "ordinal", "higher",
        "How alike the raters order the cases: 1 is the same order, 0 is no relation, below 0 is rather the "
        "opposite order.",
        _of_pair(spearman), needs_levels=False,
    ),
    Coefficient(
        "kendall", "Kendall tau-b", "ordinal", "higher",
        "The share of pairs of cases in the same order less those in opposite order, ties allowed for: 1 is the "
        "same order, 0 is as many of either, below 0 more are in opposite order.",
        _of_pair(kendall), needs_levels=False,
    ),
    Coefficient(
        "mean_difference", "mean difference", "interval", "",
        "The first rater's scores minus the second's, on average: above 0 the second is stricter, below 0 the first"
        " is, and 0 may hide differences in both directions.",
        _mean_difference, needs_levels=False,
    ),
    Coefficient(
        "mean_absolute_error", "mean abs. error", "interval", "lower",
        "How many points the scores are apart, on average: 0 is never, 1 is one point, and it is never below 0.",
        _mean_absolute_error, needs_levels=False,
    ),
    Coefficient(
        "alpha_nominal", "alpha nominal", "nominal", "higher",
        "Krippendorff's alpha for kinds without an order: 1 is perfect agreement, 0 is chance, below 0 the raters "
        "disagree more than by chance.",
        alpha_nominal, cases="shared",
    ),
    Coefficient(
        "alpha_ordinal", "alpha ordinal", "ordinal", "higher",
        "Krippendorff's alpha for levels in order: 1 is perfect agreement, 0 is chance, below 0 the raters disagree"
        " more than by chance.",
        alpha_ordinal, cases="shared",
    ),
    Coefficient(
        "alpha_interval", "alpha interval", "interval", "higher",
        "Krippendorff's alpha for levels at equal distances: 1 is perfect agreement, 0 is chance, below 0 the "
        "raters disagree more than by chance.",
        alpha_interval, needs_levels=False, cases="shared",
    ),
    Coefficient(
        "ac1", "AC1", "nominal", "higher",
        "Gwet's exact agreement beyond chance, which stays high where nearly all scores are the same, even for raters "
        "who have nothing in common: 1 is perfect, 0 is chance, below 0 is worse than chance.",
        gwet("none"), cases="scored",
    ),
    Coefficient(
        "ac2_quadratic", "AC2 quadratic", "ordinal", "higher",
        "AC1 in which a difference counts by its square: 1 is perfect, 0 is chance, below 0 is worse than chance.",
        gwet("quadratic"), cases="scored",
    ),
    Coefficient(
        "icc_2_1", "ICC(2,1)", "interval", "higher",
        "How reliable one rater's score is, over raters like these: 1 is fully, 0 or below is not at all.",
        icc(average=False), needs_levels=False, cases="complete",
    ),
    Coefficient(
        "icc_2_k", "ICC(2,k)", "interval", "higher",
        "How reliable the mean of all these raters is: 1 is fully, 0 or below is not at all.",
        icc(average=True), needs_levels=False, cases="complete",
    ),
)  # fmt: skip

COEFFICIENTS = {each.name: each for each in _REGISTERED}
"""By name, in the order of tables and files."""


def coefficients(*, of_pairs: bool, nominal: bool, levels: bool = True) -> list[Coefficient]:
    """The coefficients of two raters, or of more, that the scale allows; without `levels`, those that need none."""
    return [
        each
        for each in COEFFICIENTS.values()
        if (each.cases == "pair") == of_pairs
        and (not nominal or each.scale == "nominal")
        and (levels or not each.needs_levels)
    ]


def comparable() -> list[str]:
    """The names of the coefficients of two raters that can say which of two raters agrees better."""
    return [name for name, each in COEFFICIENTS.items() if each.cases == "pair" and each.better]
