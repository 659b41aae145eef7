"""The human benchmark: how well a person agrees with the other people, and how a judge does on the same test.

The mean of the *other* people does not contain the person who is left out, so it is a fair target for that person and
for each judge; both are compared with it on the same cases.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathway_local.statistics.coefficients import COEFFICIENTS, Coefficient, off_scale
from pathway_local.statistics.figure import (
    Estimate,
    FloatArray,
    IntArray,
    undefined_estimate,
    why_constant,
    with_names,
)
from pathway_local.statistics.intervals import LEVEL, Standing, standing
from pathway_local.statistics.jackknife import Figure, estimates

OTHERS, PEOPLE = "the mean of the other people", "the people"
SIDES = ("first", "second")


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two agreements with the same people and their difference on the same cases.

    The difference is positive if `first` agrees better. `standing` relates its interval to the preset margin.
    """

    first: Estimate
    second: Estimate
    difference: Estimate
    standing: Standing


def human_benchmark(
    people: FloatArray, judges: FloatArray, margin: float, names: Sequence[str], *, clusters: IntArray | None = None
) -> tuple[Contrast, ...]:
    """Each judge (first) against the people (second) by Spearman, averaged over every person left out in turn.

    `judges` are (cases, judges) and `people` (cases, people), NaN for no score.
    A case counts for a left-out person if that person, some other person and every judge scored it, so all are compared
    on the same cases. Averages are over the people for whom the figure is defined; their differences are one family, so
    several judges share the error (Bonferroni). `names` are those of the judges, then of the people, for reasons.
    """
    size, persons = judges.shape[1], range(people.shape[1])
    used = (np.isfinite(people).sum(axis=1) >= 2) & np.isfinite(judges).all(axis=1)
    own, level = None if clusters is None else clusters[used], 1 - (1 - LEVEL) / max(size, 1)
    averages = []
    for judge in range(size):
        scores = np.column_stack([judges[:, judge], people])[used]
        compared = _Compared(COEFFICIENTS["spearman"], (), scores, own, (names[judge], *names[size:]), OTHERS)
        averages.append(compared.contrast([(0, 1 + person, _others(person)) for person in persons], margin, level))
    return tuple(averages)


def compare_judges(
    judges: FloatArray,
    people: FloatArray,
    figure: str,
    margin: float,
    names: Sequence[str],
    levels: Sequence[float] = (),
    *,
    clusters: IntArray | None = None,
) -> Contrast:
    """Agreement of judges (cases, 2) with people (cases, people), on the cases that both judged and a person scored.

    Figures that need the scale with these `levels` are taken with each person and averaged over those for whom they
    are defined; the others are taken with the mean of the people. `names` are those of the judges, for reasons.
    """
    used = np.isfinite(judges).all(axis=1) & (np.isfinite(people).sum(axis=1) > 0)
    scores, own = np.column_stack([judges, people])[used], None if clusters is None else clusters[used]
    targets: list[Target] = [lambda rows: mean_of_people(rows[:, 2:])]
    if COEFFICIENTS[figure].needs_levels:
        targets = [_column(2 + person) for person in range(people.shape[1])]
    compared = _Compared(COEFFICIENTS[figure], levels, scores, own, tuple(names), PEOPLE)
    return compared.contrast([(0, 1, target) for target in targets], margin)


Target = Callable[[FloatArray], FloatArray]
"""Makes the scores to agree with, (rows,), of rows of scores (rows, raters)."""


def _column(place: int) -> Target:
    return lambda rows: rows[:, place]


def _others(person: int) -> Target:
    """The mean of the other people where this one scored; the first column is a judge's."""

    def target(rows: FloatArray) -> FloatArray:
        mean = mean_of_people(np.delete(rows[:, 1:], person, axis=1))
        return np.where(np.isfinite(rows[:, 1 + person]), mean, np.nan)

    return target


def mean_of_people(scores: FloatArray) -> FloatArray:
    """The mean of those who scored each case (cases, people), NaN where nobody did.

    Rounded to nine decimals, so that equal means tie whatever order they were added in.
    """
    given = np.isfinite(scores)
    many = given.sum(axis=1)
    total = np.where(given, scores, 0.0).sum(axis=1)
    return np.where(many > 0, np.round(total / np.maximum(many, 1), 9), np.nan)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Two raters' columns of scores (cases, raters) by a coefficient; `names` and `against` are for reasons."""

    coefficient: Coefficient
    levels: Sequence[float]
    scores: FloatArray
    clusters: IntArray | None
    names: Sequence[str]
    against: str

    def contrast(self, tests: Sequence[tuple[int, int, Target]], margin: float, level: float = LEVEL) -> Contrast:
        """Two raters' figures with the same target, averaged over tests; the difference's interval is at this level."""
        pairs = [[(first, target), (second, target)] for first, second, target in tests]
        reasons = [[self._why_missing(*each) for each in pair] for pair in pairs] or [["there are no people"] * 2]
        both = [not any(own) for own in reasons]
        figures, missing = dict[str, Figure](), list[str]()
        for side in (0, 1):
            # A side without a counterpart still has a figure of its own.
            usable = both if any(both) else [not own[side] for own in reasons]
            missing.append("" if any(usable) else reasons[0][side])
            if any(usable):
                own = [pair[side] for pair, used in zip(pairs, usable, strict=True) if used]
                figures[SIDES[side]] = self._mean(own)
        found = estimates(figures, self.scores, self.clusters)
        if len(figures) == len(SIDES):
            # Both leave out the same cases: only then is a difference's interval narrower than those of its sides.
            less = {"difference": _less(*figures.values())}
            found = {**found, **estimates(less, self.scores, self.clusters, level)}
        why = zip((*SIDES, "difference"), (*missing, missing[0] or missing[1]), strict=True)
        first, second, apart = (found.get(name) or undefined_estimate(reason) for name, reason in why)
        return Contrast(first, second, apart, standing(apart.interval, margin))

    def _mean(self, tests: Sequence[tuple[int, Target]]) -> Figure:
        """The figure averaged over these tests."""

        def measure(rows: FloatArray, weights: FloatArray) -> FloatArray:
            found: FloatArray = np.mean([self._measured(*each, rows, weights) for each in tests], axis=0)
            return found

        one = self.coefficient.of(self.levels)
        return replace(one, measure=measure, needs=1, share=False, chance="", reason="the scores do not vary enough")

    def _measured(self, rater: int, target: Target, rows: FloatArray, weights: FloatArray) -> FloatArray:
        both = np.column_stack([rows[:, rater], target(rows)])
        kept = np.isfinite(both).all(axis=1)
        return self.coefficient.measure(both[kept], weights[:, kept], self.levels)

    def _why_missing(self, rater: int, target: Target) -> str:
        """Why a rater has no value; empty if it has one."""
        both = np.column_stack([self.scores[:, rater], target(self.scores)])
        both = both[np.isfinite(both).all(axis=1)]
        off = off_scale(both, self.levels) if self.coefficient.needs_levels else ""
        if off or len(both) < max(self.coefficient.needs, 1):
            return off or ("there is only one case" if len(both) else "there is no case to compare")
        if np.isfinite(self.coefficient.measure(both, np.ones((1, len(both))), self.levels)[0]):
            return ""
        return with_names(why_constant(list(both.T)), self.names[rater], self.against)


def _less(first: Figure, second: Figure) -> Figure:
    def measure(rows: FloatArray, weights: FloatArray) -> FloatArray:
        return first.measure(rows, weights) - second.measure(rows, weights)

    return replace(first, measure=measure, least=-np.inf, most=np.inf)
