"""Agreement of raters: each figure of two raters, or of any number, with its interval; and their confusion.

Scores are NaN where a rater has none. Special values are taken out beforehand. Figures obey the declared scale: its
levels, not those that happen to occur. The first rater minus the second: a positive mean difference means that the
second is stricter.
"""

from collections.abc import Sequence

import numpy as np

from pathway_local.statistics.coefficients import coefficients, off_scale
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, undefined_estimate
from pathway_local.statistics.jackknife import estimates


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
    usable = {each.name: each.of(levels, nominal=nominal) for each in wanted if each.name not in found}
    found |= estimates(usable, scores[used], None if clusters is None else clusters[used])
    return {each.name: found[each.name] for each in wanted}


def confusion(first: FloatArray, second: FloatArray, levels: Sequence[float]) -> IntArray:
    """Count the cases with each pair of levels, (k, k): rows are the first rater's, columns the second's."""
    both, size = np.isfinite(first) & np.isfinite(second), len(levels)
    rows, columns = (np.searchsorted(np.asarray(levels, dtype=np.float64), each[both]) for each in (first, second))
    return np.bincount(rows * size + columns, minlength=size**2).reshape(size, size).astype(np.int64)
