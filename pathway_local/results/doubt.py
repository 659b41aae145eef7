"""A judge's doubt: where people say that it is wrong, and what tells how sure it is."""

from collections.abc import Mapping, Sequence
from statistics import fmean, median_high, median_low, multimode
from typing import Literal

import numpy as np

from pathway_local.results.analysis import OptionError, as_given
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.statistics.figure import FloatArray
from pathway_local.verdict import Number, Score, Verdict

By = Literal["confidence", "distance"]
"""What tells how sure a judge is: its likeliest score's probability, or how near the possible scores lie to it."""


def wrong_by(matrix: RatingsMatrix, judge: int, given: FloatArray, within: int) -> FloatArray:
    """Whether a judge is wrong by people's `given` scores, (cases,): 1 or 0, NaN where either gave none."""
    wrong, there = np.full(len(given), np.nan), np.isfinite(given)
    for place in np.flatnonzero(there.any(axis=1) & np.isfinite(matrix.given[:, judge])):
        scores = given[place][there[place]].tolist()
        wrong[place] = differs(matrix, float(matrix.given[place, judge]), scores, within)
    return wrong


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


def sureness(run: RunFile, matrix: RatingsMatrix, judge: int, by: By) -> FloatArray:
    """How sure the judge is of each case, (cases,), NaN where nothing tells. Raises OptionError if nothing does."""
    sure, name = np.full(len(matrix.case_ids), np.nan), matrix.raters[judge].name
    rows = {case: row for row, case in enumerate(matrix.case_ids)}
    place = {} if matrix.nominal else {level: at for at, level in enumerate(matrix.levels)}
    for record in run.records(name, matrix.rubric):
        score = record.outcome.scores.get(matrix.score) if isinstance(record.outcome, Verdict) else None
        if score is not None and record.case_id in rows:
            found = score.confidence if by == "confidence" else _nearness(score, place)
            sure[rows[record.case_id]] = np.nan if found is None else found
    if not np.isfinite(sure).any():
        hint = "Probabilities come from local judges alone; {by} distance needs a score with an order, too."
        raise OptionError(f"{{by}} {by}: {as_given(name)} has none", hint)
    return sure


def _nearness(score: Score, place: Mapping[Number, int]) -> float | None:
    """Minus the expected distance from the score in levels; None without probabilities, or off the scale."""
    if not score.probabilities or score.value not in place:
        return None
    shares = [(share, place[value]) for value, share in score.probabilities.items() if value in place]
    return -sum(share * abs(at - place[score.value]) for share, at in shares) / max(sum(s for s, _ in shares), 1e-9)
