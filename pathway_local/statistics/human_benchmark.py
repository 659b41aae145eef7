"""The human benchmark: how well a person agrees with the other people, and how a judge does on the same test.

The mean of the *other* people does not contain the person who is left out, so it is a fair target for that person and
for each judge; both are compared with it on the same cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathway_local.statistics.agreement import estimates
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined, with_names
from pathway_local.statistics.intervals import Standing, standing
from pathway_local.statistics.resampling import CountedRows, Statistic, counted_rows


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


_Side = Statistic | Undefined
_Sides = tuple[_Side, _Side]

OTHERS = "the mean of the other people"
PEOPLE = "the people"


def human_benchmark(
    people: FloatArray,
    judges: FloatArray,
    figure: str,
    margin: float,
    names: Sequence[str],
    *,
    clusters: IntArray | None = None,
    weights: FloatArray | None = None,
) -> HumanBenchmark:
    """Leave-one-out comparison of judges (cases, judges) with people (cases, people), NaN for no score.

    `figure` is one that needs no scale (a mean of people is off it), such as "spearman". A case counts for a
    left-out person if that person, some other person and every judge scored it, so all are compared on the
    same cases. Averages are over the people for whom the figure is defined. `names` are those of the judges, then of
    the people, for reasons; with `weights` (cases,) each case stands for so many.
    """
    if COEFFICIENTS[figure].needs_levels:
        raise ValueError(f"{figure} needs scores on the scale, which a mean of people is not")
    size = judges.shape[1]
    used = (np.isfinite(people).sum(axis=1) >= 2) & np.isfinite(judges).all(axis=1)
    cases = counted_rows(np.concatenate([judges, people], axis=1), clusters, weights, kept=used)
    persons = range(people.shape[1])
    # All tests go through one call, so that all leave out the same cases: only then is a difference's interval narrower
    # than those of its two sides.
    sides: dict[str, _Sides] = {}
    for person in persons:
        target = mean_of_people(np.delete(cases.rows[:, size:], person, axis=1))
        target = np.where(np.isfinite(cases.rows[:, size + person]), target, np.nan)
        own = _against(figure, cases, size + person, target, (names[size + person], OTHERS))
        for judge in range(size):
            sides[f"{person} {judge}"] = _against(figure, cases, judge, target, (names[judge], OTHERS)), own
    for judge in range(size):
        sides[f"all {judge}"] = _averaged(cases, [sides[f"{person} {judge}"] for person in persons])
    found = _contrasts(cases, sides, figure, margin)
    scored = [int(np.isfinite(people[used, person]).sum()) for person in persons]
    left_out = tuple(LeftOut(p, scored[p], tuple(found[f"{p} {j}"] for j in range(size))) for p in persons)
    return HumanBenchmark(figure, left_out, tuple(found[f"all {judge}"] for judge in range(size)))


def compare_judges(
    judges: FloatArray,
    people: FloatArray,
    figure: str,
    margin: float,
    names: Sequence[str],
    values: Sequence[float] = (),
    *,
    clusters: IntArray | None = None,
    weights: FloatArray | None = None,
    levels: Sequence[float] = (),
) -> Contrast:
    """Agreement of judges (cases, 2) with people (cases, people), on the cases that both judged and a person scored.

    Figures that need the scale `values` (with its `levels`, if it has half points as well) are taken with each person
    and averaged over those for whom they are defined; the others are taken with the mean of the people.
    `names` are those of the judges, for reasons.
    """
    used = np.isfinite(judges).all(axis=1) & (np.isfinite(people).sum(axis=1) > 0)
    cases = counted_rows(np.concatenate([judges, people], axis=1), clusters, weights, kept=used)
    targets = cases.rows[:, 2:]
    if not COEFFICIENTS[figure].needs_levels:
        targets = mean_of_people(targets)[:, None]
    first, second = (
        [_against(figure, cases, judge, target, (names[judge], PEOPLE), values, levels) for target in targets.T]
        for judge in (0, 1)
    )
    sides = _averaged(cases, list(zip(first, second, strict=True)))
    return _contrasts(cases, {"": sides}, figure, margin)[""]


def mean_of_people(scores: FloatArray) -> FloatArray:
    """The mean of those who scored each case (cases, people), NaN where nobody did.

    Rounded to nine decimals, so that equal means tie whatever order they were added in.
    """
    given = np.isfinite(scores)
    many = given.sum(axis=1)
    total = np.where(given, scores, 0.0).sum(axis=1)
    return np.where(many > 0, np.round(total / np.maximum(many, 1), 9), np.nan)


def _against(
    figure: str,
    cases: CountedRows,
    rater: int,
    target: FloatArray,
    names: Sequence[str],
    values: Sequence[float] = (),
    levels: Sequence[float] = (),
) -> _Side:
    """The figure of a column of the rows and a target over all rows; it uses those that have both."""
    if not COEFFICIENTS[figure].better:
        raise ValueError(f"{figure} is no measure of agreement")
    scores = cases.rows[:, rater]
    kept = np.isfinite(scores) & np.isfinite(target)
    inner = COEFFICIENTS[figure].of(np.stack([scores[kept], target[kept]], axis=1), values, levels)
    if isinstance(inner, Undefined):
        return inner
    shared = int(cases.counts[kept].sum())
    if shared < inner.needs:
        return Undefined("there is only one case" if shared else "there is no case to compare")
    # The figure of some rows alone takes the weights of those rows: what is left out is drawn of all rows and shared.
    measure, reason = inner.measure, with_names(inner.reason, *names)
    return replace(inner, measure=lambda weights: measure(weights[:, kept]), reason=reason)


def _averaged(cases: CountedRows, tests: Sequence[_Sides]) -> _Sides:
    """Both sides averaged over the tests in which both are defined; of a single test, as they are."""
    if len(tests) == 1:
        return tests[0]
    usable: list[tuple[Statistic, Statistic]] = []
    missing = "there are no people"
    for first, second in tests:
        if isinstance(first, Undefined) or isinstance(second, Undefined):
            missing = next(side.reason for side in (first, second) if isinstance(side, Undefined))
            continue
        # A statistic that was built may still have no value, such as a correlation with a constant rater.
        gaps = [value.reason for value in map(cases.value, (first, second)) if isinstance(value, Undefined)]
        missing = gaps[0] if gaps else missing
        usable += [] if gaps else [(first, second)]
    if not usable:
        return Undefined(missing), Undefined(missing)
    return _average([first for first, _ in usable]), _average([second for _, second in usable])


def _average(statistics: Sequence[Statistic]) -> Statistic:
    return replace(
        _strictest(statistics),
        measure=lambda weights: np.mean([statistic.measure(weights) for statistic in statistics], axis=0),
    )


def _strictest(statistics: Sequence[Statistic]) -> Statistic:
    """One of the statistics of a figure that is refused with weights, if any of them is."""
    return max(statistics, key=lambda each: each.unweighted)


def _difference(figure: str, first: _Side, second: _Side) -> _Side:
    """The first less the second, or the other way round where a smaller figure is the better one."""
    if isinstance(first, Undefined) or isinstance(second, Undefined):
        return first if isinstance(first, Undefined) else second
    better, worse = (second, first) if COEFFICIENTS[figure].better == "lower" else (first, second)
    return replace(
        _strictest((first, second)),
        measure=lambda weights: better.measure(weights) - worse.measure(weights),
        least=-np.inf,
        most=np.inf,
        share=False,
    )


def _contrasts(cases: CountedRows, tests: Mapping[str, _Sides], figure: str, margin: float) -> dict[str, Contrast]:
    built: dict[str, _Side] = {}
    for name, (first, second) in tests.items():
        built |= {f"{name}/first": first, f"{name}/second": second}
        built[f"{name}/difference"] = _difference(figure, first, second)
    found = estimates(built, cases)
    contrasts = {}
    for name in tests:
        sides = found[f"{name}/first"], found[f"{name}/second"]
        # A difference is not defined where a side is not, for the reason of that side.
        difference = next((side for side in sides if isinstance(side.value, Undefined)), found[f"{name}/difference"])
        contrasts[name] = Contrast(*sides, difference, standing(difference.interval, margin))
    return contrasts
