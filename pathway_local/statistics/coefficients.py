"""The register of coefficients: every figure of agreement with its name, its scale and how to read it; and confusion.

A further coefficient is one function and its entry here. Tables, JSON and figure files read the register;
a test holds the table of docs/agreement.md against it. A function takes ratings (rows, raters), NaN where a rater has
none, weights (R, rows), which say how often each row counts, and the ascending levels of the scale, and returns (R,)
numbers, NaN where there is none. Special values are taken out beforehand. Figures obey the declared scale: its levels,
not those that happen to occur. The first rater minus the second: a positive mean difference means that the second is
stricter.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Reason, undefined_estimate
from pathway_local.statistics.jackknife import Coefficient, Levels, estimates


def spearman(ratings: FloatArray, weights: FloatArray, _levels: Levels = ()) -> FloatArray:
    """The product-moment correlation of ranks, where tied scores share the mean of their ranks (Spearman 1904)."""
    x, y = (_centred_ranks(weights, scores) for scores in ratings.T)
    together, first, second = (np.sum(weights * one * other, axis=1) for one, other in ((x, y), (x, x), (y, y)))
    defined = (first > 1e-9) & (second > 1e-9)
    scale = np.sqrt(np.where(defined, first, 1.0)) * np.sqrt(np.where(defined, second, 1.0))
    return np.where(defined, np.clip(together / scale, -1, 1), np.nan)


def _centred_ranks(weights: FloatArray, scores: FloatArray) -> FloatArray:
    """Each row's shared rank less the mean rank, (R, rows)."""
    groups = np.unique(scores, return_inverse=True)[1].reshape(-1)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    held = np.add.reduceat(weights[:, order], starts, axis=1)  # the weight of each group of tied scores
    ranks: FloatArray = np.cumsum(held, axis=1) - held / 2 - held.sum(axis=1, keepdims=True) / 2
    return ranks[:, groups]


def _mean(amounts: FloatArray, weights: FloatArray) -> FloatArray:
    """The mean of an amount per row."""
    cases = weights.sum(axis=1)
    return np.where(cases > 0, weights @ amounts / np.where(cases > 0, cases, 1.0), np.nan)


def _within(most: int, ratings: FloatArray, weights: FloatArray, levels: Levels) -> FloatArray:
    """The share of cases whose two scores are at most that many levels apart."""
    apart = np.abs(np.diff(np.searchsorted(levels, ratings), axis=1)[:, 0])
    return _mean((apart <= most).astype(np.float64), weights)


def _mean_difference(ratings: FloatArray, weights: FloatArray, _levels: Levels = ()) -> FloatArray:
    return _mean(ratings[:, 0] - ratings[:, 1], weights)


def _mean_absolute_error(ratings: FloatArray, weights: FloatArray, _levels: Levels = ()) -> FloatArray:
    return _mean(np.abs(ratings[:, 0] - ratings[:, 1]), weights)


def one_minus(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """1 - observed / expected disagreement; NaN where chance brings none."""
    defined = expected > 1e-9
    return np.where(defined, 1 - observed / np.where(defined, expected, 1.0), np.nan)


def kappa(power: int, ratings: FloatArray, weights: FloatArray, levels: Levels) -> FloatArray:
    """1 - sum(d o) / sum(d e) with disagreement d, observed shares o and expected shares e, the raters' own shares.

    With power 0 two levels are the same or not (Cohen 1960); with 2, d is the square of the levels between them (Cohen
    1968; Fleiss and Cohen 1973). Levels count by their position on the declared scale, so unused ones keep their place.
    """
    place = np.arange(len(levels))
    apart = np.abs(place[:, None] - place)
    distance = (apart > 0) * apart.astype(np.float64) ** power
    first, second = np.searchsorted(levels, ratings).T
    held = np.eye(len(levels))
    expected = np.sum((weights @ held[first] @ distance) * (weights @ held[second]), axis=1)
    return one_minus(weights.sum(axis=1) * (weights @ distance[first, second]), expected)


def alpha_nominal(ratings: FloatArray, weights: FloatArray, _levels: Levels = ()) -> FloatArray:
    """Krippendorff's alpha where two levels are either the same or not.

    Krippendorff (2011): 1 - D_o/D_e over pairable scores, in coincidences o_ck that count each pair of scores of a case
    with m scores by 1/(m - 1). D_o = sum_{c != k} o_ck / n and D_e = sum_{c != k} n_c n_k / (n (n-1)).
    """
    levels = _level_counts(ratings)
    scored = levels.sum(axis=1)
    # Ordered pairs of a row's scores that differ: all m^2 less those of equal levels.
    apart = (scored**2 - np.sum(levels**2, axis=1)) / np.maximum(scored - 1, 1)
    total, held = weights @ scored, weights @ levels
    return one_minus(weights @ apart, (total**2 - np.sum(held**2, axis=1)) / (total - 1))


def alpha_ordinal(ratings: FloatArray, weights: FloatArray, _levels: Levels = ()) -> FloatArray:
    """Krippendorff's alpha where levels are as far apart as there are scores between them.

    The distance |sum_{g=c..k} n_g - (n_c + n_k)/2| is the difference of the levels' mid-ranks among all pairable
    scores, so scores between levels need nothing else. Over a case's ordered pairs, sum (x_i - x_j)^2 is
    2 (m sum x^2 - (sum x)^2).
    """
    levels = _level_counts(ratings)
    scored = levels.sum(axis=1)
    held = weights @ levels
    total = held.sum(axis=1)
    # Mid-ranks less the middle of all ranks, which keeps their squares small.
    ranks = np.cumsum(held, axis=1) - held / 2 - total[:, None] / 2
    first, second = ranks @ levels.T, ranks**2 @ levels.T
    apart = np.sum(weights * 2 * (scored * second - first**2) / np.maximum(scored - 1, 1), axis=1)
    spread = total * np.sum(held * ranks**2, axis=1) - np.sum(held * ranks, axis=1) ** 2
    return one_minus(apart, 2 * spread / (total - 1))


def _level_counts(ratings: FloatArray) -> FloatArray:
    """Count the raters who gave each row each score that occurs, (rows, scores)."""
    values = np.unique(ratings[np.isfinite(ratings)])
    return np.stack([np.sum(ratings == value, axis=1) for value in values], axis=1).astype(np.float64)


def off_scale(scores: FloatArray, values: Levels) -> str:
    """Say why scores are not on the scale, naming the first that is not; empty if all are."""
    if list(values) != sorted(set(values)):
        raise ValueError(f"the levels of a scale ascend, each once: {values}")
    strange = scores[np.isfinite(scores) & ~np.isin(scores, np.asarray(values, dtype=np.float64))]
    if strange.size == 0:
        return ""
    scale = ", ".join(f"{value:g}" for value in values)
    return Reason("{value:g} is not on the scale {scale}", value=float(strange[0]), scale=scale)


def _unbounded(_levels: Levels) -> tuple[float, float]:
    return -np.inf, np.inf


def _as_share(_levels: Levels) -> tuple[float, float]:
    return 0.0, 1.0


_REGISTERED = (
    Coefficient(
        "exact", "exact", "nominal",
        "The share of cases with the same score: 1 is all, 0 is none; high by itself where nearly every answer is a"
        " 5.",
        partial(_within, 0), bounds=_as_share, needs=1, share=True,
    ),
    Coefficient(
        "within_one", "within one", "ordinal",
        "The share of cases whose scores are at most one level apart: 1 is all, 0 is none; on five levels it is high"
        " even for raters who hardly agree.",
        partial(_within, 1), bounds=_as_share, needs=1, share=True,
    ),
    Coefficient(
        "kappa", "kappa", "nominal",
        "Exact agreement beyond chance: 1 is perfect, 0 is what the raters' own habits bring by chance, below 0 is "
        "worse than chance.",
        partial(kappa, 0), chance=True,
    ),
    Coefficient(
        "kappa_quadratic", "kappa quadratic", "ordinal",
        "Kappa in which a difference counts by its square, so that large ones weigh most: 1 is perfect, 0 is "
        "chance, below 0 is worse than chance.",
        partial(kappa, 2), chance=True,
    ),
    Coefficient(
        "spearman", "Spearman", "ordinal",
        "How alike the raters order the cases: 1 is the same order, 0 is no relation, below 0 is rather the "
        "opposite order.",
        spearman, needs_levels=False,
    ),
    Coefficient(
        "mean_difference", "mean difference", "interval",
        "The first rater's scores minus the second's, on average: above 0 the second is stricter, below 0 the first"
        " is, and 0 may hide differences in both directions.",
        _mean_difference, needs_levels=False, bounds=_unbounded, needs=1,
    ),
    Coefficient(
        "mean_absolute_error", "mean abs. error", "interval",
        "How many points the scores are apart, on average: 0 is never, 1 is one point, and it is never below 0.",
        _mean_absolute_error, needs_levels=False, needs=1,
        bounds=lambda levels: (0.0, levels[-1] - levels[0] if levels else np.inf),
    ),
    Coefficient(
        "alpha_nominal", "alpha nominal", "nominal",
        "Krippendorff's alpha for kinds without an order: 1 is perfect agreement, 0 is chance, below 0 the raters "
        "disagree more than by chance.",
        alpha_nominal, of_pairs=False, chance=True,
    ),
    Coefficient(
        "alpha_ordinal", "alpha ordinal", "ordinal",
        "Krippendorff's alpha for levels in order: 1 is perfect agreement, 0 is chance, below 0 the raters disagree"
        " more than by chance.",
        alpha_ordinal, needs_levels=False, of_pairs=False, chance=True,
    ),
)  # fmt: skip

COEFFICIENTS = {each.name: each for each in _REGISTERED}
"""By name, in the order of tables and files."""


def coefficients(*, of_pairs: bool, nominal: bool, levels: int = 3) -> list[Coefficient]:
    """The coefficients of two raters, or of more, that the scale allows; without `levels`, those that need none.

    An ordinal scale has the ordinal alpha, and one of two levels no share within one.
    """
    wrong = {"" if nominal else "alpha_nominal", "within_one" if levels == 2 else ""}
    return [
        each
        for each in COEFFICIENTS.values()
        if each.of_pairs == of_pairs
        and (not nominal or each.scale == "nominal")
        and (levels or not each.needs_levels)
        and each.name not in wrong
    ]


def agreement_figures(
    scores: FloatArray,
    levels: Sequence[float],
    *,
    of_pairs: bool,
    nominal: bool = False,
    no_levels: str = "",
    clusters: IntArray | None = None,
) -> dict[str, Estimate]:
    """All figures of scores (cases, raters) that the scale with these ascending levels allows, with 95% intervals.

    They are those of two raters, or of any number, on the cases with two scores or more. `clusters` (cases,) holds
    codes of what depends on each other, such as students or conversations. Scores off the scale, or the reason
    `no_levels`, leave figures that need no levels.
    """
    off = no_levels or off_scale(scores.reshape(-1), levels)
    wanted = coefficients(of_pairs=of_pairs, nominal=nominal, levels=len(levels))
    used = np.isfinite(scores).sum(axis=1) >= 2
    found = {each.name: undefined_estimate(off) for each in wanted if off and each.needs_levels}
    usable = {each.name: each for each in wanted if each.name not in found}
    own = None if clusters is None else clusters[used]
    found |= estimates(usable, scores[used], levels, own, nominal=nominal)
    return {each.name: found[each.name] for each in wanted}


def confusion(first: FloatArray, second: FloatArray, levels: Sequence[float]) -> IntArray:
    """Count the cases with each pair of levels, (k, k): rows are the first rater's, columns the second's."""
    both, size = np.isfinite(first) & np.isfinite(second), len(levels)
    rows, columns = (np.searchsorted(np.asarray(levels, dtype=np.float64), each[both]) for each in (first, second))
    return np.bincount(rows * size + columns, minlength=size**2).reshape(size, size).astype(np.int64)
