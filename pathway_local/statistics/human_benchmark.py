"""The human benchmark: how well a person agrees with the other people, and how a judge does on the same test.

The mean of the *other* people does not contain the person who is left out, so it is a fair target for that person and
for each judge; both are compared with it on the same cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathway_local.statistics.agreement import estimates
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined
from pathway_local.statistics.intervals import Standing, standing
from pathway_local.statistics.resampling import CountedRows, Statistic, counted_rows


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two agreements with the same people and their difference on identical resamples.

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


def human_benchmark(
    people: FloatArray,
    judges: FloatArray,
    figure: str,
    margin: float,
    *,
    clusters: IntArray | None = None,
    resamples: int = 10_000,
) -> HumanBenchmark:
    """Leave-one-out comparison of judges (cases, judges) with people (cases, people), NaN for no score.

    `figure` is one that needs no scale (a mean of people is off it), such as "spearman". A case counts for a
    left-out person if that person, some other person and every judge scored it, so all are compared on the
    same cases. Averages are over the people for whom the figure is defined.
    """
    if COEFFICIENTS[figure].needs_levels:
        raise ValueError(f"{figure} needs scores on the scale, which a mean of people is not")
    size = judges.shape[1]
    used = (np.isfinite(people).sum(axis=1) >= 2) & np.isfinite(judges).all(axis=1)
    scores = np.concatenate([judges, people], axis=1)[used]
    cases = counted_rows(scores, None if clusters is None else clusters[used])
    persons = range(people.shape[1])
    # All tests go through one call, so that all use the same resamples: only then is a difference's interval narrower
    # than those of its two sides.
    sides = {f"{p} {j}": _left_out_sides(figure, cases, size, p, j) for p in persons for j in range(size)}
    for judge in range(size):
        sides[f"all {judge}"] = _averaged(cases, [sides[f"{person} {judge}"] for person in persons])
    found = _contrasts(cases, sides, figure, margin, resamples)
    scored = [int(np.isfinite(people[used, person]).sum()) for person in persons]
    left_out = tuple(LeftOut(p, scored[p], tuple(found[f"{p} {j}"] for j in range(size))) for p in persons)
    return HumanBenchmark(figure, left_out, tuple(found[f"all {judge}"] for judge in range(size)))


def compare_judges(
    first: FloatArray,
    second: FloatArray,
    people: FloatArray,
    figure: str,
    margin: float,
    values: Sequence[float] = (),
    *,
    clusters: IntArray | None = None,
    resamples: int = 10_000,
) -> Contrast:
    """Two judges' agreement with people (cases, people), on the cases that both judged and a person scored.

    Figures that need the scale `values` are taken with each person and averaged over those for whom they
    are defined; the others are taken with the mean of the people.
    """
    used = np.isfinite(first) & np.isfinite(second) & np.isfinite(people).any(axis=1)
    scores = np.column_stack([first, second, people])[used]
    cases = counted_rows(scores, None if clusters is None else clusters[used])
    rows, targets = cases.rows, cases.rows[:, 2:]
    if not COEFFICIENTS[figure].needs_levels:
        targets = mean_of_people(targets)[:, None]
    tests = [
        (_against(figure, cases, rows[:, 0], target, values), _against(figure, cases, rows[:, 1], target, values))
        for target in targets.T
    ]
    sides = tests[0] if len(tests) == 1 else _averaged(cases, tests)
    return _contrasts(cases, {"": sides}, figure, margin, resamples)[""]


def mean_of_people(scores: FloatArray) -> FloatArray:
    """The mean of those who scored each case (cases, people), NaN where nobody did.

    Rounded to nine decimals, so that equal means tie whatever order they were added in.
    """
    given = np.isfinite(scores)
    many = given.sum(axis=1)
    total = np.where(given, scores, 0.0).sum(axis=1)
    return np.where(many > 0, np.round(total / np.maximum(many, 1), 9), np.nan)


def _left_out_sides(figure: str, cases: CountedRows, judges: int, person: int, judge: int) -> _Sides:
    people = cases.rows[:, judges:]
    target = mean_of_people(np.delete(people, person, axis=1))
    target = np.where(np.isfinite(people[:, person]), target, np.nan)
    return (
        _against(figure, cases, cases.rows[:, judge], target),
        _against(figure, cases, people[:, person], target),
    )


def _against(
    figure: str, cases: CountedRows, rater: FloatArray, target: FloatArray, values: Sequence[float] = ()
) -> _Side:
    """The figure of a rater and a target over all rows; it uses those that have both."""
    if not COEFFICIENTS[figure].better:
        raise ValueError(f"{figure} is no measure of agreement")
    kept = np.isfinite(rater) & np.isfinite(target)
    inner = COEFFICIENTS[figure].of(np.stack([rater[kept], target[kept]], axis=1), values)
    if isinstance(inner, Undefined):
        return inner
    shared = int(cases.counts[kept].sum())
    if shared < inner.needs:
        return Undefined("there is only one case" if shared else "there is no case to compare")
    # The figure of some rows alone takes the weights of those rows: resamples are drawn of all rows and shared.
    measure = inner.measure
    return replace(inner, measure=lambda weights: measure(weights[:, kept]))


def _averaged(cases: CountedRows, tests: Sequence[_Sides]) -> _Sides:
    """Both sides averaged over the tests in which both are defined."""
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
        statistics[0],
        measure=lambda weights: np.mean([statistic.measure(weights) for statistic in statistics], axis=0),
        costly=any(statistic.costly for statistic in statistics),
    )


def _difference(figure: str, first: _Side, second: _Side) -> _Side:
    """The first less the second, or the other way round where a smaller figure is the better one."""
    if isinstance(first, Undefined) or isinstance(second, Undefined):
        return first if isinstance(first, Undefined) else second
    better, worse = (second, first) if COEFFICIENTS[figure].better == "lower" else (first, second)
    return Statistic(
        lambda weights: better.measure(weights) - worse.measure(weights),
        f"{first.reason}, or {second.reason}" if first.reason != second.reason else first.reason,
        needs=first.needs,
        costly=first.costly or second.costly,
    )


def _contrasts(
    cases: CountedRows, tests: Mapping[str, _Sides], figure: str, margin: float, resamples: int
) -> dict[str, Contrast]:
    built: dict[str, _Side] = {}
    for name, (first, second) in tests.items():
        built |= {f"{name}/first": first, f"{name}/second": second}
        built[f"{name}/difference"] = _difference(figure, first, second)
    found = estimates(built, cases, resamples)
    contrasts = {}
    for name in tests:
        difference = found[f"{name}/difference"]
        word = standing(difference.interval, margin)
        contrasts[name] = Contrast(found[f"{name}/first"], found[f"{name}/second"], difference, word)
    return contrasts
