"""Agreement of raters: each figure of two raters, or of any number, with its interval; confusion and special levels.

Scores are (cases,) arrays with NaN where a rater has none. Special values are taken out beforehand; whether
both gave one is another question: `special_agreement`. Figures obey the declared scale: its levels, not
those that happen to occur. The first rater minus the second: a positive mean difference means that the
second is stricter.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathway_local.statistics.coefficients import Coefficient, coefficients, off_scale
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined, undefined_estimate
from pathway_local.statistics.jackknife import estimates


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

    Alpha rests on the shared cases, AC1 on all cases with a score, ICC on the complete ones.
    """

    raters: int
    cases: int
    shared: int
    complete: int
    figures: Mapping[str, Estimate]


def pair_agreement(
    first: FloatArray,
    second: FloatArray,
    levels: Sequence[float],
    *,
    nominal: bool = False,
    no_levels: str = "",
    clusters: IntArray | None = None,
) -> PairAgreement:
    """All figures of two raters on a scale with these ascending levels, with 95% intervals.

    `clusters` (cases,) holds codes of what depends on each other, such as students or conversations. Scores off the
    scale, or the reason `no_levels`, leave the correlations, the mean difference and the mean absolute error, and
    refuse the rest.
    """
    both = np.isfinite(first) & np.isfinite(second)
    off = no_levels or off_scale(first, levels) or off_scale(second, levels)
    table = Undefined(off) if off else confusion(first, second, levels)
    wanted = coefficients(of_pairs=True, nominal=nominal, levels=len(levels))
    scores, own = np.stack([first, second], axis=1)[both], None if clusters is None else clusters[both]
    return PairAgreement(int(both.sum()), table, _figures(wanted, scores, levels, nominal, off, own))


def reliability(
    scores: FloatArray,
    levels: Sequence[float],
    *,
    nominal: bool = False,
    no_levels: str = "",
    clusters: IntArray | None = None,
) -> Reliability:
    """All figures of scores (cases, raters) that the scale with these ascending levels allows, with intervals.

    The reason `no_levels` refuses those that need levels.
    """
    given = np.isfinite(scores).sum(axis=1)
    least = {"scored": 1, "shared": 2, "complete": max(scores.shape[1], 2)}
    off = no_levels or off_scale(scores.reshape(-1), levels)
    wanted = coefficients(of_pairs=False, nominal=nominal, levels=len(levels))
    figures: dict[str, Estimate] = {}
    for kind, few in least.items():
        used = given >= few
        own, some = None if clusters is None else clusters[used], [each for each in wanted if each.cases == kind]
        figures |= _figures(some, scores[used], levels, nominal, off, own)
    cases, shared, complete = (int(np.sum(given >= few)) for few in (1, 2, max(scores.shape[1], 1)))
    ordered = {each.name: figures[each.name] for each in wanted}
    return Reliability(scores.shape[1], cases, shared, complete, ordered)


def _figures(
    wanted: Sequence[Coefficient],
    scores: FloatArray,
    levels: Sequence[float],
    nominal: bool,
    no_levels: str,
    clusters: IntArray | None,
) -> dict[str, Estimate]:
    """The figures by name, in order; those that need levels keep the reason why there are none."""
    usable = {each.name: each.of(levels, nominal=nominal) for each in wanted if not (no_levels and each.needs_levels)}
    found = estimates(usable, scores, clusters)
    return {each.name: found.get(each.name) or undefined_estimate(no_levels) for each in wanted}


def confusion(first: FloatArray, second: FloatArray, levels: Sequence[float]) -> IntArray:
    """Count the cases with each pair of levels, (k, k): rows are the first rater's, columns the second's."""
    both, size = np.isfinite(first) & np.isfinite(second), len(levels)
    rows, columns = (np.searchsorted(np.asarray(levels, dtype=np.float64), each[both]) for each in (first, second))
    return np.bincount(rows * size + columns, minlength=size**2).reshape(size, size).astype(np.int64)


def special_agreement(
    first: FloatArray, second: FloatArray, special: Collection[float], *, clusters: IntArray | None = None
) -> dict[str, int | Estimate]:
    """Agreement on special levels alone: each score, special values included, counts as special or not.

    Four counts of who gave such a level to the same cases, and two figures of them, by name.
    """
    marks = [np.where(np.isfinite(rater), np.isin(rater, list(special)), np.nan) for rater in (first, second)]
    pair = pair_agreement(marks[0], marks[1], (0, 1), nominal=True, clusters=clusters)
    (neither, second_only), (first_only, all_special) = np.asarray(pair.table).tolist()
    alike = pair.figures["kappa"]
    if isinstance(alike.value, Undefined) and pair.cases > 1:
        alike = undefined_estimate("every case is special to both" if all_special else "no case is special to either")
    counts = {"both": all_special, "first_only": first_only, "second_only": second_only, "neither": neither}
    return {**counts, "exact": pair.figures["exact"], "kappa": alike}
