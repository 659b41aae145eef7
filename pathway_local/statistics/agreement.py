"""How far two raters agree: the confusion matrix, every figure of a pair with its interval, and special levels.

Scores are (cases,) arrays with NaN where a rater has none. Special values are taken out beforehand; whether
both gave one is a question of its own, `special_agreement`. Figures obey the declared scale: its levels, not
those that happen to occur. The first rater minus the second: a positive mean difference means that the
second is stricter.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathway_local.statistics.correlation import kendall, pearson, spearman
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined, undefined_estimate
from pathway_local.statistics.kappa import Weights, kappa
from pathway_local.statistics.resampling import CountedRows, Statistic, counted_rows

NOMINAL = ("exact", "kappa")
ON_SCALE = ("exact", "within_one", "kappa", "kappa_linear", "kappa_quadratic")
ANY_NUMBER = ("pearson", "spearman", "kendall", "mean_difference", "mean_absolute_error")
ORDINAL = ON_SCALE + ANY_NUMBER
SMALLER_IS_BETTER = ("mean_absolute_error",)


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters side by side, on the `cases` that both scored.

    `table` counts cases by the first rater's level (rows) and the second's (columns). `figures` holds those that
    the kind of scale allows, by name.
    """

    cases: int
    table: IntArray | Undefined
    figures: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class SpecialAgreement:
    """Whether two raters gave a special level to the same cases; four counts, and two figures of them."""

    both: int
    first_only: int
    second_only: int
    neither: int
    exact: Estimate
    kappa: Estimate


def pair_agreement(
    first: FloatArray,
    second: FloatArray,
    values: Sequence[float],
    *,
    nominal: bool = False,
    clusters: IntArray | None = None,
    seed: int = 0,
    resamples: int = 10_000,
) -> PairAgreement:
    """All figures of two raters on the ascending scale `values`, with 95% intervals from the same resamples.

    `clusters` (cases,) holds codes of what depends on each other, such as students or conversations. Scores
    off the scale leave the correlations, the mean difference and the mean absolute error, and refuse the rest.
    """
    both = np.isfinite(first) & np.isfinite(second)
    cases = counted_rows(np.stack([first[both], second[both]], axis=1), None if clusters is None else clusters[both])
    off = off_scale(first, values) or off_scale(second, values)
    built: dict[str, Statistic | Undefined] = {}
    for name in NOMINAL if nominal else ORDINAL:
        refused = bool(off) and name in ON_SCALE
        built[name] = Undefined(off) if refused else pair_statistic(name, cases.rows[:, 0], cases.rows[:, 1], values)
    return PairAgreement(
        cases=cases.cases,
        table=confusion(first, second, values),
        figures=estimates(built, cases, seed, resamples),
    )


def estimates(
    built: Mapping[str, Statistic | Undefined], cases: CountedRows, seed: int, resamples: int
) -> dict[str, Estimate]:
    """All figures of counted rows with intervals, in order; those that could not be built keep their reason."""
    usable = {name: statistic for name, statistic in built.items() if isinstance(statistic, Statistic)}
    found = cases.estimate(usable, seed=seed, resamples=resamples)
    refused = {name: undefined_estimate(why.reason) for name, why in built.items() if isinstance(why, Undefined)}
    return {name: (found | refused)[name] for name in built}


def pair_statistic(
    name: str, first: FloatArray, second: FloatArray, values: Sequence[float] = ()
) -> Statistic | Undefined:
    """The figure of that name for rows (rows,) of two raters' scores, none missing.

    Undefined where it needs scores on the scale and some are off it.
    """
    if name in ANY_NUMBER:
        return _FREE[name](first, second)
    off = off_scale(first, values) or off_scale(second, values)
    if off:
        return Undefined(off)
    scale = np.asarray(values, dtype=np.float64)
    return _LEVELLED[name](np.searchsorted(scale, first), np.searchsorted(scale, second), values)


def off_scale(scores: FloatArray, values: Sequence[float]) -> str:
    """Why scores are not on the scale, naming the first that is not; empty where all are."""
    if list(values) != sorted(set(values)):
        raise ValueError(f"the levels of a scale ascend, each once: {values}")
    strange = scores[np.isfinite(scores) & ~np.isin(scores, np.asarray(values, dtype=np.float64))]
    if strange.size == 0:
        return ""
    return f"{strange[0]:g} is not on the scale {', '.join(f'{value:g}' for value in values)}"


def confusion(first: FloatArray, second: FloatArray, values: Sequence[float]) -> IntArray | Undefined:
    """How many cases got each pair of levels, (k, k): rows are the first rater's, columns the second's."""
    off = off_scale(first, values) or off_scale(second, values)
    if off:
        return Undefined(off)
    both = np.isfinite(first) & np.isfinite(second)
    scale = np.asarray(values, dtype=np.float64)
    return _crossed(np.searchsorted(scale, first[both]), np.searchsorted(scale, second[both]), len(scale))


def _crossed(first: IntArray, second: IntArray, size: int) -> IntArray:
    return np.bincount(first * size + second, minlength=size**2).reshape(size, size).astype(np.int64)


def special_agreement(
    first: FloatArray,
    second: FloatArray,
    special: Collection[float],
    *,
    clusters: IntArray | None = None,
    seed: int = 0,
    resamples: int = 10_000,
) -> SpecialAgreement:
    """Agreement on special levels alone: each score, special values included, counts as special or not."""
    marks = [np.where(np.isfinite(rater), np.isin(rater, list(special)), np.nan) for rater in (first, second)]
    pair = pair_agreement(marks[0], marks[1], (0, 1), nominal=True, clusters=clusters, seed=seed, resamples=resamples)
    both = np.isfinite(marks[0]) & np.isfinite(marks[1])
    table = _crossed(marks[0][both].astype(np.int64), marks[1][both].astype(np.int64), 2)
    (neither, second_only), (first_only, all_special) = table.tolist()
    alike = pair.figures["kappa"]
    if isinstance(alike.value, Undefined) and pair.cases > 1:
        alike = undefined_estimate("every case is special to both" if all_special else "no case is special to either")
    return SpecialAgreement(all_special, first_only, second_only, neither, pair.figures["exact"], alike)


def _mean_of_rows(amounts: FloatArray, least: float = -np.inf, *, is_share: bool = False) -> Statistic:
    """The mean of an amount per row; a share where the amounts are 0 and 1."""

    def measure(weights: FloatArray) -> FloatArray:
        cases = weights.sum(axis=1)
        return np.where(cases > 0, weights @ amounts / np.where(cases > 0, cases, 1.0), np.nan)

    most = 1.0 if is_share else np.inf
    return Statistic(measure, "there is no case to compare", least=least, most=most, share=is_share)


def _at_most(apart: int) -> Callable[[IntArray, IntArray, Sequence[float]], Statistic]:
    """The share of cases whose two levels are at most that many places apart."""
    return lambda first, second, _: _mean_of_rows(
        (np.abs(first - second) <= apart).astype(np.float64), 0.0, is_share=True
    )


def _kappa(weights: Weights) -> Callable[[IntArray, IntArray, Sequence[float]], Statistic]:
    return lambda first, second, values: kappa(first, second, values, weights)


_LEVELLED: Mapping[str, Callable[[IntArray, IntArray, Sequence[float]], Statistic]] = {
    "exact": _at_most(0),
    "within_one": _at_most(1),
    "kappa": _kappa("none"),
    "kappa_linear": _kappa("linear"),
    "kappa_quadratic": _kappa("quadratic"),
}
_FREE: Mapping[str, Callable[[FloatArray, FloatArray], Statistic]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
    "mean_difference": lambda first, second: _mean_of_rows(first - second),
    "mean_absolute_error": lambda first, second: _mean_of_rows(np.abs(first - second), 0.0),
}
