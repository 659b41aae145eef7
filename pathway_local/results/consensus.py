"""The one score that several people's scores of a case make, and whether a judge's differs from it."""

from collections.abc import Sequence
from statistics import fmean, median_high, median_low, multimode

import numpy as np

from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.statistics.figure import FloatArray


def people_say(matrix: RatingsMatrix, labels: Sequence[float]) -> list[float]:
    """The scores that count as people's of one case; the first is theirs where only one can be stored.

    Of a nominal score these are the most frequent ones. Otherwise the middle of the levels counts, or both middles, if
    at least half of the people gave a level, and the most frequent special scores if at least half gave one. Levels
    come before special scores, and the lower before the higher.
    """
    if matrix.nominal:
        return sorted(multimode(labels), key=lambda each: (each in matrix.special, each))
    levels = [each for each in labels if each not in matrix.special]
    special = [each for each in labels if each in matrix.special]
    middles = sorted({median_low(levels), median_high(levels)}) if len(levels) >= len(special) else []
    return middles + (sorted(multimode(special)) if len(special) >= len(levels) else [])


def differs(matrix: RatingsMatrix, own: float, labels: Sequence[float], within: int) -> bool:
    """Whether a judge's score is more than `within` levels from the middle of people's, where half a level is equal.

    Nominal and special scores are right if people say one of them.
    """
    said = people_say(matrix, labels)
    middles = [each for each in said if each not in matrix.special]
    if matrix.nominal or own in matrix.special or not middles:
        return own not in said
    levels = list(map(float, matrix.levels))
    middle = fmean(np.interp(middles, levels, range(len(levels))))
    return bool(abs(float(np.interp(own, levels, range(len(levels)))) - middle) > within + 0.5 + 1e-9)


def wrong_by(matrix: RatingsMatrix, judge: int, given: FloatArray, within: int) -> FloatArray:
    """Whether a judge is wrong by people's `given` scores, (cases,): 1 or 0, NaN where either gave none."""
    wrong, there = np.full(len(given), np.nan), np.isfinite(given)
    for place in np.flatnonzero(there.any(axis=1) & np.isfinite(matrix.given[:, judge])):
        scores = given[place][there[place]].tolist()
        wrong[place] = differs(matrix, float(matrix.given[place, judge]), scores, within)
    return wrong
