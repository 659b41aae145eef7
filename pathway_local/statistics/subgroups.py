"""In which groups a rater errs: signed error per group of cases.

Errors are used because a kappa falls by itself where a group's scores span little of the scale.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pathway_local.statistics.figure import FloatArray, IntArray, Reason
from pathway_local.statistics.intervals import Effect, cluster_codes, contrast_error, mean_effect

STRONG = 10.0
"""The least F of the first stage: with less, an instrument's estimate is biased and its interval too short (Staiger and
Stock 1997)."""

NO_SECOND = (
    "it needs two people or more to compare with, who rated the same cases on their own: one person's noise looks like "
    "a bias"
)

ONE_SIDE = "under two cases, or clusters of cases, on one side were rated by two people"

TOO_LITTLE = "people agree too little on these cases to tell their noise from quality"


@dataclass(frozen=True, slots=True)
class GroupError:
    """The errors of a rater in one group, by name.

    `mean_difference` is the mean error. `excess_mean_at_equal_scores` is how much higher the rater scores the group
    than other cases that are as good by people: a rater who gives everybody middling scores errs in a group of good
    answers, but does not treat it otherwise than equally good ones elsewhere.
    """

    group: int
    cases: int
    effects: Mapping[str, Effect]


def group_errors(
    rater: FloatArray,
    people: FloatArray,
    reference: FloatArray,
    groups: IntArray,
    *,
    clusters: IntArray | None = None,
    smallest: int = 10,
) -> tuple[GroupError, ...]:
    """Errors rater - reference of cases (cases,) by group code, on the cases with both scores, by group code.

    `people` (cases, people) are the scores behind the reference, where people rated on their own. Intervals are
    Student's t, robust to dependence within `clusters`. Groups under `smallest` cases get a reason instead of figures.
    """
    both = np.isfinite(rater) & np.isfinite(reference)
    errors, own = (rater - reference)[both], groups[both]
    codes = cluster_codes(None if clusters is None else clusters[both], len(errors))

    found = []
    for name in np.unique(groups):
        inside = own == name
        size = int(inside.sum())
        small = Reason("the group has {cases} cases, under {smallest}", cases=size, smallest=smallest)
        made = dict.fromkeys(("mean_difference", "excess_mean_at_equal_scores"), Effect(None, missing=small))
        if size >= smallest:
            made["mean_difference"] = mean_effect(errors[inside], codes[inside], each="error")
            side = inside.astype(np.float64)
            made["excess_mean_at_equal_scores"] = _at_equal_scores(rater[both], people[both], side, codes)
        found.append(GroupError(int(name), size, made))
    return tuple(found)


def _at_equal_scores(rater: FloatArray, people: FloatArray, inside: FloatArray, codes: IntArray) -> Effect:
    """How much higher a rater scores the cases `inside` (1, else 0) than others that are equally good by people.

    Two-stage least squares: the rater's scores on one person's, whose instrument is the mean of the other people's. A
    regression on the scores as they are takes their noise for quality, so that part of a difference in quality between
    groups looks like a bias (Fuller 1987, section 1.4). Each person takes each role in turn, with a severity of their
    own, in one regression in which a case counts once.
    """
    given = np.isfinite(people)
    times = given.sum(axis=1)
    given &= (times >= 2)[:, None]
    cases, person = np.nonzero(given)
    if not len(cases):
        return Effect(None, missing=NO_SECOND)
    own, codes, weights = people[given], codes[cases], 1 / times[cases]
    others = (np.nansum(people, axis=1)[cases] - own) / (times[cases] - 1)
    columns = np.column_stack([inside[cases], own, others, rater[cases]])
    # Each person's severity is taken out of all columns first: a column for each would take minutes with forty people.
    sums = np.stack([np.bincount(person, weights * column) for column in columns.T], axis=1)
    columns -= (sums / np.maximum(np.bincount(person, weights), 1e-9)[:, None])[person]
    columns *= np.sqrt(weights)[:, None]
    side, own, others, scores = columns.T
    few = len(cases) / max(len(cases) - len(np.unique(person)), 1)
    if not np.any(np.abs(side) > 1e-9):
        return Effect(None, missing=ONE_SIDE)
    first, weak = np.column_stack([others, side]), Effect(None, missing=TOO_LITTLE)
    if np.linalg.matrix_rank(first) < 2:
        return weak
    slopes, error, _ = _fit(first, first, own, 0, codes)
    if not slopes[0] > (STRONG * few) ** 0.5 * error:
        return weak
    slopes, error, freedom = _fit(
        np.column_stack([first @ slopes, side]), np.column_stack([own, side]), scores, 1, codes
    )
    if not freedom:
        return Effect(None, missing=ONE_SIDE)
    if error <= 1e-12:
        return Effect(float(slopes[1]), missing="errors at equal scores do not vary")
    return Effect(float(slopes[1]), few**0.5 * error, freedom, len(np.unique(codes)))


def _fit(
    design: FloatArray, columns: FloatArray, scores: FloatArray, place: int, codes: IntArray
) -> tuple[FloatArray, float, float]:
    """The coefficients of a design, and the error and freedom of the one at `place`, by residuals from the columns."""
    slopes = np.linalg.lstsq(design, scores, rcond=None)[0].astype(np.float64)
    return slopes, *contrast_error(design, scores - columns @ slopes, np.eye(len(slopes))[place], codes)
