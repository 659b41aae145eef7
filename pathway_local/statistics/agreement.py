"""Agreement of raters: each figure of two raters, or of any number, with its interval; confusion and special levels.

Scores are (cases,) arrays with NaN where a rater has none. Special values are taken out beforehand; whether
both gave one is another question: `special_agreement`. Figures obey the declared scale: its levels, not
those that happen to occur. The first rater minus the second: a positive mean difference means that the
second is stricter.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathway_local.statistics.coefficients import Coefficient, coefficients, off_scale
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined, undefined_estimate
from pathway_local.statistics.resampling import CountedRows, Statistic, counted_rows

Weighting = Callable[[int], FloatArray]
"""Weights of cases, (cases,), for a figure of cases that so many of the raters rated."""


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
class Reliability:
    """All raters at once: `shared` cases have two scores or more, `complete` cases one from every rater.

    Alpha rests on the shared cases, AC on all cases with a score, ICC on the complete ones.
    """

    raters: int
    cases: int
    shared: int
    complete: int
    figures: Mapping[str, Estimate]


def pair_agreement(
    first: FloatArray,
    second: FloatArray,
    values: Sequence[float],
    *,
    nominal: bool = False,
    no_levels: str = "",
    clusters: IntArray | None = None,
    weights: FloatArray | None = None,
    levels: Sequence[float] = (),
) -> PairAgreement:
    """All figures of two raters on the ascending scale `values`, with 95% intervals.

    `levels` are those of the scale, where the values have half points as well.

    `clusters` (cases,) holds codes of what depends on each other, such as students or conversations. Scores off the
    scale, or the reason `no_levels`, leave the correlations, the mean difference and the mean absolute error, and
    refuse the rest. With `weights` (cases,) each case stands for so many; the table counts each once.
    """
    both = np.isfinite(first) & np.isfinite(second)
    cases = counted_rows(np.stack([first, second], axis=1), clusters, weights, kept=both)
    off = no_levels or off_scale(first, values) or off_scale(second, values)
    wanted = coefficients(of_pairs=True, nominal=nominal)
    table = Undefined(off) if off else confusion(first, second, values)
    return PairAgreement(cases.cases, table, _figures(wanted, cases, values, off, levels))


def reliability(
    scores: FloatArray,
    values: Sequence[float],
    *,
    nominal: bool = False,
    no_levels: str = "",
    clusters: IntArray | None = None,
    weights: Weighting | None = None,
) -> Reliability:
    """All figures of scores (cases, raters) that the scale allows, on the ascending scale `values`, with intervals.

    The reason `no_levels` refuses those that need levels. With `weights` each case stands for so many, and AC rests on
    the shared cases, too.
    """
    given = np.isfinite(scores).sum(axis=1)
    least = {"scored": 1 if weights is None else 2, "shared": 2, "complete": max(scores.shape[1], 1)}
    off = no_levels or off_scale(scores.reshape(-1), values)
    wanted = coefficients(of_pairs=False, nominal=nominal)
    figures: dict[str, Estimate] = {}
    for kind, few in least.items():
        cases = counted_rows(scores, clusters, weights and weights(few), kept=given >= few)
        figures |= _figures([each for each in wanted if each.cases == kind], cases, values, off)
    counts = {kind: int(np.sum(given >= few)) for kind, few in (least | {"scored": 1}).items()}
    ordered = {each.name: figures[each.name] for each in wanted}
    return Reliability(scores.shape[1], counts["scored"], counts["shared"], counts["complete"], ordered)


def _figures(
    wanted: Sequence[Coefficient],
    cases: CountedRows,
    values: Sequence[float],
    no_levels: str,
    levels: Sequence[float] = (),
) -> dict[str, Estimate]:
    built = {
        each.name: Undefined(no_levels) if no_levels and each.needs_levels else each.of(cases.rows, values, levels)
        for each in wanted
    }
    return estimates(built, cases)


def estimates(built: Mapping[str, Statistic | Undefined], cases: CountedRows) -> dict[str, Estimate]:
    """All figures of counted rows with intervals, in order; those that could not be built keep their reason."""
    usable = {name: statistic for name, statistic in built.items() if isinstance(statistic, Statistic)}
    found = cases.estimate(usable)
    refused = {name: undefined_estimate(why.reason) for name, why in built.items() if isinstance(why, Undefined)}
    return {name: (found | refused)[name] for name in built}


def confusion(first: FloatArray, second: FloatArray, values: Sequence[float]) -> IntArray:
    """Count the cases with each pair of levels, (k, k): rows are the first rater's, columns the second's."""
    both, size = np.isfinite(first) & np.isfinite(second), len(values)
    rows, columns = (np.searchsorted(np.asarray(values, dtype=np.float64), each[both]) for each in (first, second))
    return np.bincount(rows * size + columns, minlength=size**2).reshape(size, size).astype(np.int64)


def special_agreement(
    first: FloatArray,
    second: FloatArray,
    special: Collection[float],
    *,
    clusters: IntArray | None = None,
    weights: FloatArray | None = None,
) -> dict[str, int | Estimate]:
    """Agreement on special levels alone: each score, special values included, counts as special or not.

    Four counts of who gave such a level to the same cases, and two figures of them, by name.
    """
    marks = [np.where(np.isfinite(rater), np.isin(rater, list(special)), np.nan) for rater in (first, second)]
    pair = pair_agreement(marks[0], marks[1], (0, 1), nominal=True, clusters=clusters, weights=weights)
    (neither, second_only), (first_only, all_special) = np.asarray(pair.table).tolist()
    alike = pair.figures["kappa"]
    if isinstance(alike.value, Undefined) and pair.cases > 1:
        alike = undefined_estimate("every case is special to both" if all_special else "no case is special to either")
    counts = {"both": all_special, "first_only": first_only, "second_only": second_only, "neither": neither}
    return {**counts, "exact": pair.figures["exact"], "kappa": alike}
