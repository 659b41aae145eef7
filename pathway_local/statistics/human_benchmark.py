"""The human benchmark: how well a person agrees with the other people, and how a judge does on the same test.

The mean of the *other* people does not contain the person who is left out, so it is a fair target for that person and
for each judge; both are compared with it on the same cases.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathway_local.statistics.coefficients import COEFFICIENTS, off_scale
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


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two agreements with the same people and their difference on the same cases.

    The difference is positive if `first` agrees better, also for figures of which the smaller is the better one.
    `standing` relates its interval to the preset margin.
    """

    first: Estimate
    second: Estimate
    difference: Estimate
    standing: Standing


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One person left out: how each judge (first) and this person (second) agree with the mean of the others."""

    person: int
    cases: int
    judges: tuple[Contrast, ...]


@dataclass(frozen=True, slots=True)
class HumanBenchmark:
    """Every person left out in turn, and each judge (first) against the people (second) averaged over them."""

    figure: str
    left_out: tuple[LeftOut, ...]
    averages: tuple[Contrast, ...]


@dataclass(frozen=True, slots=True)
class _Test:
    """A rater's column against a target made of the columns of people; `name` and `against` are for reasons."""

    rater: int
    target: Callable[[FloatArray], FloatArray]
    name: str
    against: str


def human_benchmark(
    people: FloatArray,
    judges: FloatArray,
    figure: str,
    margin: float,
    names: Sequence[str],
    *,
    clusters: IntArray | None = None,
) -> HumanBenchmark:
    """Leave-one-out comparison of judges (cases, judges) with people (cases, people), NaN for no score.

    `figure` is one that needs no scale (a mean of people is off it), such as "spearman". A case counts for a
    left-out person if that person, some other person and every judge scored it, so all are compared on the
    same cases. Averages are over the people for whom the figure is defined; their differences are one family, so
    several judges share the error (Bonferroni). `names` are those of the judges, then of the people, for reasons.
    """
    if COEFFICIENTS[figure].needs_levels:
        raise ValueError(f"{figure} needs scores on the scale, which a mean of people is not")
    size, persons = judges.shape[1], range(people.shape[1])
    used = (np.isfinite(people).sum(axis=1) >= 2) & np.isfinite(judges).all(axis=1)
    scores, own = np.concatenate([judges, people], axis=1)[used], None if clusters is None else clusters[used]

    def others(person: int) -> Callable[[FloatArray], FloatArray]:
        def target(rows: FloatArray) -> FloatArray:
            mean = mean_of_people(np.delete(rows[:, size:], person, axis=1))
            return np.where(np.isfinite(rows[:, size + person]), mean, np.nan)

        return target

    tests = {
        (person, judge): [
            _Test(rater, others(person), names[rater], OTHERS) for rater in (judge, size + person)
        ]
        for person in persons
        for judge in range(size)
    }  # fmt: skip
    compared = _Compared(figure, margin, scores, own, ())
    found = compared.contrasts({f"{p} {j}": [sides] for (p, j), sides in tests.items()})
    together = {str(judge): [tests[person, judge] for person in persons] for judge in range(size)}
    averages = compared.contrasts(together, 1 - (1 - LEVEL) / max(size, 1))
    scored = np.isfinite(people[used]).sum(axis=0).tolist()
    left_out = tuple(LeftOut(p, scored[p], tuple(found[f"{p} {j}"] for j in range(size))) for p in persons)
    return HumanBenchmark(figure, left_out, tuple(averages.values()))


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
    scores, own = np.concatenate([judges, people], axis=1)[used], None if clusters is None else clusters[used]
    targets: list[Callable[[FloatArray], FloatArray]] = [lambda rows: mean_of_people(rows[:, 2:])]
    if COEFFICIENTS[figure].needs_levels:
        targets = [_column(2 + person) for person in range(people.shape[1])]
    tests = [[_Test(judge, target, names[judge], PEOPLE) for judge in (0, 1)] for target in targets]
    return _Compared(figure, margin, scores, own, levels).contrasts({"": tests})[""]


def _column(place: int) -> Callable[[FloatArray], FloatArray]:
    return lambda rows: rows[:, place]


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
    """Compares raters by a figure on scores (cases, raters)."""

    figure: str
    margin: float
    scores: FloatArray
    clusters: IntArray | None
    levels: Sequence[float]

    def contrasts(self, tests: Mapping[str, Sequence[Sequence[_Test]]], level: float = LEVEL) -> dict[str, Contrast]:
        """Each comparison of two raters, averaged over its tests; intervals of differences are at this level."""
        built: dict[str, Figure] = {}
        missing: dict[str, list[str]] = {}
        for name, pairs in tests.items():
            reasons = [[self._why_missing(each) for each in pair] for pair in pairs] or [["there are no people"] * 2]
            both = [not any(own) for own in reasons]
            # A side without a counterpart still has a figure of its own.
            usable = [both if any(both) else [not own[side] for own in reasons] for side in (0, 1)]
            missing[name] = ["" if any(usable[side]) else reasons[0][side] for side in (0, 1)]
            for side in (0, 1):
                if any(usable[side]):
                    own = [pair[side] for pair, used in zip(pairs, usable[side], strict=True) if used]
                    built[f"{side} {name}"] = self._mean(own)
        flip = -1.0 if COEFFICIENTS[self.figure].better == "lower" else 1.0
        known = [name for name in tests if not any(missing[name])]
        apart = {f"- {name}": _less(built[f"0 {name}"], built[f"1 {name}"], flip) for name in known}
        # All leave out the same cases: only then is a difference's interval narrower than those of its two sides.
        found = estimates(built, self.scores, self.clusters) | estimates(apart, self.scores, self.clusters, level)
        contrasts = {}
        for name, why in missing.items():
            told = [*why, why[0] or why[1]]
            sides = [found.get(f"{side} {name}") or undefined_estimate(told[at]) for at, side in enumerate((0, 1, "-"))]
            contrasts[name] = Contrast(sides[0], sides[1], sides[2], standing(sides[2].interval, self.margin))
        return contrasts

    def _mean(self, tests: Sequence[_Test]) -> Figure:
        """The figure averaged over these tests."""
        one, scores = COEFFICIENTS[self.figure].of(self.levels), list(tests)

        def measure(rows: FloatArray, weights: FloatArray) -> FloatArray:
            found: FloatArray = np.mean([self._measured(each, rows, weights) for each in scores], axis=0)
            return found

        return replace(one, measure=measure, needs=1, share=False, chance="", reason="the scores do not vary enough")

    def _measured(self, test: _Test, rows: FloatArray, weights: FloatArray) -> FloatArray:
        both = np.column_stack([rows[:, test.rater], test.target(rows)])
        kept = np.isfinite(both).all(axis=1)
        return COEFFICIENTS[self.figure].measure(both[kept], weights[:, kept], self.levels)

    def _why_missing(self, test: _Test) -> str:
        """Why a rater has no value; empty if it has one."""
        coefficient = COEFFICIENTS[self.figure]
        both = np.column_stack([self.scores[:, test.rater], test.target(self.scores)])
        both = both[np.isfinite(both).all(axis=1)]
        off = off_scale(both, self.levels) if coefficient.needs_levels else ""
        if off or len(both) < max(coefficient.needs, 1):
            return off or ("there is only one case" if len(both) else "there is no case to compare")
        if np.isfinite(coefficient.measure(both, np.ones((1, len(both))), self.levels)[0]):
            return ""
        return with_names(why_constant(list(both.T)), test.name, test.against)


def _less(first: Figure, second: Figure, flip: float) -> Figure:
    def measure(rows: FloatArray, weights: FloatArray) -> FloatArray:
        return flip * (first.measure(rows, weights) - second.measure(rows, weights))

    return replace(first, measure=measure, least=-np.inf, most=np.inf)
