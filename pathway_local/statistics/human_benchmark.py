"""The human benchmark: how well a person agrees with the other people, and how a judge does on the same test.

The mean of the *other* people does not contain the person who is left out, so it is a fair target for that person and
for each judge; both are compared with it on the same cases.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathway_local.statistics.coefficients import COEFFICIENTS, off_scale
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined, undefined_estimate, with_names
from pathway_local.statistics.intervals import LEVEL, UNBOUNDED, Standing, standing
from pathway_local.statistics.jackknife import Coefficient, Levels, Rows, estimates, value_of

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
    size, persons = judges.shape[1], people.shape[1]
    means = [mean_of_people(np.delete(people, person, axis=1)) for person in range(persons)]
    others = np.where(np.isfinite(people), np.stack(means, axis=1), np.nan) if means else people
    used = (np.isfinite(people).sum(axis=1) >= 2) & np.isfinite(judges).all(axis=1)
    level = 1 - (1 - LEVEL) / max(size, 1)
    tests = [(0, 1 + person, 1 + persons + person) for person in range(persons)]
    found = []
    for judge in range(size):
        scores = np.column_stack([judges[:, judge], people, others])[used]
        compared = _Compared(COEFFICIENTS["spearman"], (), scores, (names[judge], *names[size:]), OTHERS)
        found.append(compared.contrast(tests, None if clusters is None else clusters[used], margin, level))
    return tuple(found)


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
    targets = people if COEFFICIENTS[figure].needs_levels else mean_of_people(people)[:, None]
    compared = _Compared(COEFFICIENTS[figure], levels, np.column_stack([judges, targets])[used], names, PEOPLE)
    tests = [(0, 1, 2 + target) for target in range(targets.shape[1])]
    return compared.contrast(tests, None if clusters is None else clusters[used], margin)


def mean_of_people(scores: FloatArray) -> FloatArray:
    """The mean of those who scored each case (cases, people), NaN where nobody did.

    Rounded to nine decimals, so that equal means tie whatever order they were added in.
    """
    many = np.isfinite(scores).sum(axis=1)
    return np.where(many > 0, np.round(np.nansum(scores, axis=1) / np.maximum(many, 1), 9), np.nan)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Columns of scores (cases, columns) by a coefficient; `names` of the first ones and `against` are for reasons."""

    coefficient: Coefficient
    levels: Sequence[float]
    scores: FloatArray
    names: Sequence[str]
    against: str

    def contrast(
        self, tests: Sequence[tuple[int, int, int]], clusters: IntArray | None, margin: float, level: float = LEVEL
    ) -> Contrast:
        """Two columns' figures with the same target column, averaged over tests, each the places of these three.

        Both sides leave out the same tests: only then is a difference's interval narrower than those of its sides. A
        side without a counterpart still has a figure of its own. The difference's interval is at this level.
        """
        reasons = [[self._why_missing(rater, target) for rater in raters] for *raters, target in tests]
        both, found = [not any(own) for own in reasons], dict[str, Coefficient]()
        for side, name in enumerate(SIDES):
            usable = both if any(both) else [not own[side] for own in reasons]
            pairs = [(test[side], test[2]) for test, used in zip(tests, usable, strict=True) if used]
            found |= {name: self._mean(pairs)} if pairs else {}
        shown = estimates(found, self.scores, self.levels, clusters)
        if len(found) == len(SIDES):
            shown |= estimates({"difference": _less(*found.values())}, self.scores, self.levels, clusters, level)
        why = [reasons[0][side] if reasons else "there are no people" for side in range(len(SIDES))]
        missing = zip((*SIDES, "difference"), (*why, why[0] or why[1]), strict=True)
        first, second, apart = (shown.get(name) or undefined_estimate(reason) for name, reason in missing)
        return Contrast(first, second, apart, standing(apart.interval, margin))

    def _mean(self, pairs: Sequence[tuple[int, int]]) -> Coefficient:
        """The figure averaged over these pairs of columns."""

        def measure(rows: FloatArray, weights: FloatArray, levels: Levels) -> FloatArray:
            found = []
            for both in (rows[:, pair] for pair in pairs):
                kept = np.isfinite(both).all(axis=1)
                found.append(self.coefficient.measure(both[kept], weights[:, kept], levels))
            mean: FloatArray = np.mean(found, axis=0)
            return mean

        return replace(self.coefficient, measure=measure, needs=1, share=False, chance=False)

    def _why_missing(self, rater: int, target: int) -> str:
        """Why a column has no figure; empty if it has one."""
        both = self.scores[:, [rater, target]]
        both = both[np.isfinite(both).all(axis=1)]
        if off := off_scale(both, self.levels) if self.coefficient.needs_levels else "":
            return off
        value = value_of(self.coefficient, Rows.of(both), self.levels)
        return with_names(value.reason, self.names[rater], self.against) if isinstance(value, Undefined) else ""


def _less(first: Coefficient, second: Coefficient) -> Coefficient:
    def measure(rows: FloatArray, weights: FloatArray, levels: Levels) -> FloatArray:
        return first.measure(rows, weights, levels) - second.measure(rows, weights, levels)

    return replace(first, measure=measure, bounds=lambda _levels: UNBOUNDED)
