"""Simulates how often the 95% intervals of `agreement`, `compare` and `summary` cover the truth.

    .venv/bin/python scripts/simulate_coverage.py [REPLICATIONS]

Every row draws from a stream of random numbers that its own name seeds.

In the first table, each replication makes a file of 2,000 cases. People's scores come from a known distribution; the
judge errs by 0.7 of a level, is 0.3 too generous, and fails on 2% of the cases; n cases, drawn at random, have labels.
"warned" is the share of replications in which the command warns that the interval may be too short.

In the second table, students ask different numbers of questions, and a share of the variance of the scores (or of the
differences of two chatbots) lies between students. "as one size" is the usual interval for clusters of one size, C - 1
degrees of freedom and the factor C/(C - 1), for comparison.

The other tables show our interval (or test) beside the usual one; each function below says what is drawn.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from pathway_local.statistics.equal_judge import People, people_like, power

from pathway_local.results.stand_in import TENTATIVE
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.corrected import corrected_difference
from pathway_local.statistics.figure import Estimate, Interval, Undefined
from pathway_local.statistics.human_benchmark import human_benchmark, mean_of_people
from pathway_local.statistics.intervals import (
    Effect,
    difference_effect,
    mean_effect,
    scale_mean,
    t_interval,
)
from pathway_local.statistics.needed import Goal, needed
from pathway_local.statistics.prediction_powered import (
    Correction,
    Survey,
    corrected_mean,
    label_noise,
)
from pathway_local.statistics.resampling import Statistic, counted_rows

CASES = 2000
LEVELS = np.arange(1.0, 6.0)
SHARES: Mapping[str, tuple[float, ...]] = {
    "flat": (0.2, 0.2, 0.2, 0.2, 0.2),
    "typical": (0.05, 0.1, 0.2, 0.35, 0.3),
    "85% fives": (0.03, 0.03, 0.03, 0.06, 0.85),
    "rare lows": (0.01, 0.01, 0.03, 0.10, 0.85),
}
SIZES = (50, 100, 200)
STAND_INS = ((100, 3, 0.8), (300, 3, 0.7), (300, 3, 0.8), (300, 10, 0.7), (600, 2, 0.7), (600, 2, 0.8), (600, 5, 0.7))
Scores = NDArray[np.float64]
Shares = tuple[float, ...]
Once = Callable[[np.random.Generator], tuple[bool, ...]]
Row = tuple[str, Callable[..., Shares], tuple[object, ...]]
"""A row's name, to be filled with the values that follow, and what gives its two shares for these."""


def a_file(rng: np.random.Generator, shares: tuple[float, ...], labels: int) -> tuple[Scores, Scores, Scores]:
    """Return people's scores of all cases, the judge's scores, and the labels of a random draw."""
    truth = rng.choice(LEVELS, p=shares, size=CASES)
    judge = judged(rng, truth)
    judge[rng.random(CASES) < 0.02] = np.nan
    people = np.full(CASES, np.nan)
    drawn = rng.permutation(CASES)[:labels]
    people[drawn] = truth[drawn]
    return truth, judge, people


def corrects(found: Correction | Undefined, truth: Scores) -> bool:
    """Return whether the corrected mean's interval covers the mean of these scores."""
    return isinstance(found, Correction) and holds(found.corrected, float(truth.mean()))


def stream(*name: object) -> np.random.Generator:
    """Return random numbers of a row's own, which share nothing with those of other rows."""
    return np.random.default_rng(list(repr(name).encode()))


def holds(estimate: Estimate, mean: float) -> bool:
    """Return whether the interval covers the mean; an undefined one does not."""
    interval = estimate.interval
    return isinstance(interval, Interval) and interval.low <= mean <= interval.high


def coverage(shares: tuple[float, ...], labels: int, replications: int) -> Shares:
    """Return the shares of replications whose corrected and plain interval cover the mean, and that warn."""

    def once(rng: np.random.Generator) -> tuple[bool, ...]:
        truth, judge, people = a_file(rng, shares, labels)
        mean = float(truth.mean())
        found = corrected_mean(judge, people, (1, 5))
        if isinstance(found, Undefined):
            return False, False, False
        return holds(found.corrected, mean), holds(found.labels_only, mean), bool(found.warnings)

    return how_often(stream("calibrate", shares, labels, "file"), replications, once)


STUDENTS: Mapping[str, Sequence[int]] = {
    "20 with 6": [6] * 20,
    "1 with 60, 19 with 3": [60] + [3] * 19,
    "10 with 1 to 40": [1, 1, 2, 2, 3, 4, 6, 10, 20, 40],
}
BETWEEN = (0.0, 0.1, 0.3, 1.0)


def clustered_coverage(sizes: Sequence[int], between: float, replications: int) -> Shares:
    """Return the shares of replications whose interval covers the mean: ours, and that for clusters of one size."""
    students = np.repeat(np.arange(len(sizes)), sizes)

    def once(rng: np.random.Generator) -> tuple[bool, ...]:
        apart, own = rng.normal(size=len(sizes)), rng.normal(size=len(students))
        scores = np.sqrt(between) * apart[students] + np.sqrt(1 - between) * own
        totals = np.bincount(students, (scores - scores.mean()) / len(scores))
        error = float(np.sqrt(len(totals) / (len(totals) - 1) * np.sum(totals**2)))
        usual = t_interval(float(scores.mean()), error, len(totals) - 1, len(totals))
        return holds(mean_effect(scores, students).estimate(), 0.0), usual.low <= 0 <= usual.high

    return how_often(stream("clusters", sizes, between), replications, once)


def how_often(rng: np.random.Generator, replications: int, once: Once) -> Shares:
    """Return how often each of the things that `once` looks at is true."""
    return tuple(np.mean([once(rng) for _ in range(replications)], axis=0).tolist())


def judged(rng: np.random.Generator, truth: Scores) -> Scores:
    """Return the scores of a judge who errs by 0.7 of a level and is 0.3 too generous."""
    return np.clip(np.round(truth + 0.3 + rng.normal(0, 0.7, len(truth))), 1, 5)


def drawn_of(rng: np.random.Generator, cases: int, labels: int) -> NDArray[np.bool_]:
    """Return which cases have a label, drawn at random."""
    return np.isin(np.arange(cases), rng.permutation(cases)[:labels])


def two_chatbots(
    rng: np.random.Generator, questions: int, difference: float, taste: float
) -> tuple[Scores, Scores, NDArray[np.bool_], NDArray[np.int64]]:
    """Return the judge's and people's scores of two answers to each question, which is the first, and its question.

    The first is better by `difference`, the judge likes the second by `taste` more; each question has 5 siblings.
    """
    first, asked = np.arange(2 * questions) < questions, np.tile(np.arange(questions), 2)
    hard = np.repeat(rng.normal(0, 0.5, questions // 5), 5) + rng.normal(0, 0.6, questions)
    people = 3.2 + hard[asked] + np.where(first, difference, 0.0) + rng.normal(0, 0.6, 2 * questions)
    judge = np.round(people + np.where(first, 0.0, taste) + rng.normal(0, 0.7, 2 * questions))
    return judge, people, first, asked


def by_labels(judge: Scores, people: Scores, first: NDArray[np.bool_], clusters: NDArray[np.int64]) -> Effect:
    """Return the difference that people would see, by labels of some answers; all questions count the same."""
    even, once = np.full(len(judge), 2 / len(judge)), np.ones(len(judge))
    return corrected_difference(judge, people, first, even, once, clusters).corrected


def difference_coverage(questions: int, labels: int, taste: float, replications: int) -> Shares:
    """Two chatbots that differ by 0.2, and a judge with a taste.

    Return how often the difference people would see is covered by the judge's own interval, and by the corrected one.
    """

    def once(rng: np.random.Generator) -> tuple[bool, bool]:
        judge, people, first, asked = two_chatbots(rng, questions, 0.2, taste)
        given = np.where(drawn_of(rng, 2 * questions, labels), people, np.nan)
        alone = mean_effect(judge[first] - judge[~first], np.arange(questions) // 5)
        return holds(alone.estimate(), 0.2), holds(by_labels(judge, given, first, asked // 5).estimate(), 0.2)

    return how_often(stream("difference", questions, labels, taste), replications, once)


def groups_coverage(cases: int, labels: int, taste: float, replications: int) -> Shares:
    """Two groups of students with 5 cases each, who share no questions; they differ by 0.2, and the judge has a taste.

    Return how often the difference people would see is covered by the judge's own interval, and by the corrected one.
    """
    first, students = np.arange(cases) < cases // 2, np.arange(cases) // 5

    def once(rng: np.random.Generator) -> tuple[bool, bool]:
        people = 3.2 + np.repeat(rng.normal(0, 0.5, cases // 5), 5) + np.where(first, 0.2, 0.0)
        people = people + rng.normal(0, 0.8, cases)
        judge = np.round(people + np.where(first, 0.0, taste) + rng.normal(0, 0.7, cases))
        given = np.where(drawn_of(rng, cases, labels), people, np.nan)
        alone = difference_effect(judge, first, students)
        return holds(alone.estimate(), 0.2), holds(by_labels(judge, given, first, students).estimate(), 0.2)

    return how_often(stream("groups", cases, labels, taste), replications, once)


def rated(rng: np.random.Generator, shares: Sequence[float], cases: int) -> Scores:
    """Return two raters' scores of cases with such shares of levels, (cases, 2)."""
    truth = rng.choice(LEVELS, p=shares, size=cases)
    errors = rng.normal((0.0, 0.2), (0.6, 0.8), (cases, 2))
    return np.clip(np.round(truth[:, None] + errors), 1, 5)


def few_cases_coverage(figure: str, name: str, cases: int, replications: int) -> Shares:
    """Return how often a mean or a coefficient of few cases is covered by the usual interval, and by ours.

    The usual one is Student's t for a mean, and percentiles of a bootstrap for a coefficient.
    """

    def of_mean(rng: np.random.Generator) -> tuple[bool, bool]:
        scores = rng.choice(LEVELS, p=SHARES[name], size=cases)
        return holds(mean_effect(scores).estimate(), middle), holds(scale_mean(scores, (1, 5)), middle)

    def of_figure(rng: np.random.Generator) -> tuple[bool, bool]:
        rows = counted_rows(rated(rng, SHARES[name], cases))
        statistic = COEFFICIENTS[figure].of(rows.rows, tuple(LEVELS))
        assert isinstance(statistic, Statistic)
        drawn = statistic.measure(rng.multinomial(cases, rows.counts / cases, size=999).astype(np.float64))
        low, high = np.nanquantile(drawn, (0.025, 0.975))
        return bool(low <= truth <= high), holds(rows.estimate({"": statistic})[""], truth)

    middle, truth = float(LEVELS @ np.array(SHARES[name])), 0.0
    rng = stream("few", figure, name, cases)
    if figure == "mean":
        return how_often(rng, replications, of_mean)
    truth = _figure(figure, rated(rng, SHARES[name], 1_000_000))
    return how_often(rng, replications, of_figure)


def _figure(figure: str, scores: Scores) -> float:
    rows = counted_rows(scores)
    statistic = COEFFICIENTS[figure].of(rows.rows, tuple(LEVELS))
    assert isinstance(statistic, Statistic)
    return float(statistic.measure(rows.counts[None, :])[0])


def icc_coverage(raters: int, severity: float, replications: int) -> Shares:
    """Return how often ICC(2,1) over all raters is covered by an interval for these raters, and by ours; 60 cases.

    Cases vary by an SD of 0.8, raters by `severity`, and scores otherwise by 0.6.
    """
    truth = 0.64 / (0.64 + severity**2 + 0.36)

    def once(rng: np.random.Generator) -> tuple[bool, bool]:
        scores = rng.normal(0, 0.8, (60, 1)) + rng.normal(0, severity, (1, raters)) + rng.normal(0, 0.6, (60, raters))
        rows = counted_rows(scores)
        ours = COEFFICIENTS["icc_2_1"].of(rows.rows)
        assert isinstance(ours, Statistic)
        found = rows.estimate({"fixed": replace(ours, any_raters=None), "ours": ours})
        return holds(found["fixed"], truth), holds(found["ours"], truth)

    return how_often(stream("icc", raters, severity), replications, once)


def on_scale(scores: Scores) -> Scores:
    """Return the nearest levels."""
    return np.clip(np.round(scores), 1, 5)


def planned_width(name: str, pilot: int, points: float, replications: int) -> Shares:
    """A number of labels is planned after so many, to reach a half-width of so many points, and then given.

    Return how often the interval is as narrow: with the number at which its expected width is, and with ours.
    """

    def once(rng: np.random.Generator) -> tuple[bool, bool]:
        truth, judge, people = a_file(rng, SHARES[name], pilot)
        spread = corrected_mean(judge, people, (1, 5)).spread  # type: ignore[union-attr]
        expected = int(np.ceil(spread.each / ((points / 1.96) ** 2 - spread.fixed)))
        reached = []
        for count in (expected, needed(Goal("half-width", points), spread)):
            assert isinstance(count, int)
            order = np.argsort(np.isnan(people) + rng.random(CASES))
            given = np.where(np.isin(np.arange(CASES), order[: max(count, pilot)]), truth, np.nan)
            interval = corrected_mean(judge, given, (1, 5)).corrected.interval  # type: ignore[union-attr]
            reached.append(isinstance(interval, Interval) and interval.high - interval.low <= 2 * points)
        return reached[0], reached[1]

    return how_often(stream("planned", name, pilot, points), replications, once)


def repeated_coverage(labelled: int, twice: int, replications: int) -> Shares:
    """Two people who differ in severity label some of 400 cases once, and a few twice; half of the spread is noise.

    Return how often the mean that they would give, without the noise, is covered without allowing for it, and by ours.
    """
    severe = np.array([-0.2, 0.2])

    def once(rng: np.random.Generator) -> tuple[bool, bool]:
        quality, scores = rng.normal(3.4, 0.7, 400), np.full((400, 2), np.nan)
        drawn, who = rng.permutation(400)[:labelled], np.arange(labelled) % 2
        for which, person in ((drawn, who), (drawn[:twice], 1 - who[:twice])):
            scores[which, person] = quality[which] + severe[person] + rng.normal(0, 0.7, len(which))
        judge, people = judged(rng, quality), mean_of_people(scores)
        surveys = (Survey(), Survey(noise=label_noise(scores)))
        plain, ours = (corrects(corrected_mean(judge, people, (1, 5), survey), quality) for survey in surveys)
        return plain, ours

    return how_often(stream("repeated", labelled, twice), replications, once)


def stand_in_shown(cases: int, people: int, rank: float, margin: float, replications: int) -> Shares:
    """People of whom two have that rank correlation rate some cases, and so does a judge who is one more of them.

    Return the planned chance that `agreement` shows that the judge can stand in, and how often it does.
    """
    shares = np.repeat(LEVELS, [round(1000 * share) for share in SHARES["typical"]])[:, None]
    like = people_like(shares, tuple(LEVELS), rank)
    assert isinstance(like, People)
    rated = like.drawn(np.random.default_rng(2), 100_000, 2)
    alpha = _figure("alpha_ordinal", rated)
    like = replace(like, alpha=alpha)
    planned = power(like, np.ones((1, people), dtype=np.bool_), margin, TENTATIVE).chance(cases)
    names = [str(each) for each in range(people + 1)]

    def once(rng: np.random.Generator) -> tuple[bool, ...]:
        scores = like.drawn(rng, cases, people + 1)
        [found] = human_benchmark(scores[:, :people], scores[:, people:], "spearman", margin, names).averages
        return (
            found.standing in ("better", "not worse") and _figure("alpha_ordinal", scores[:, :people]) >= TENTATIVE,
        )

    return planned, *how_often(stream("stand in", cases, people, rank, margin), replications, once)


def further_tables() -> Iterator[tuple[str, str, int, str, list[Row]]]:
    """Yield each further table: its title, the heads of its two shares with the width of the first, and its rows."""
    paired = ((150, 60, 0.0), (150, 60, 0.3), (150, 120, 0.3), (500, 120, 0.3))
    rows: list[Row] = [("{} questions, {} labels, {:g}", difference_coverage, each) for each in paired]
    yield "two chatbots, a judge with a taste", "judge alone", 15, "ours", rows
    apart = ((300, 120, 0.0), (300, 120, 0.3), (1000, 120, 0.3))
    rows = [("{} cases, {} labels, {:g}", groups_coverage, each) for each in apart]
    yield "two groups that share no question", "judge alone", 15, "ours", rows
    few = product(("mean", "kappa_quadratic", "ac2_quadratic"), ("typical", "85% fives"), (30, 60))
    rows = [("{0}, {2} {1}", few_cases_coverage, each) for each in few]
    yield "few cases", "usual", 15, "ours", rows
    rows = [("{} raters, severity {}", icc_coverage, each) for each in ((3, 0.3), (6, 0.3), (3, 0.6), (6, 0.6))]
    yield "ICC(2,1) of 60 cases", "these raters", 15, "ours", rows
    twice = ((40, 0), (100, 0), (100, 20), (200, 0), (200, 20), (200, 40), (400, 0), (400, 40))
    rows = [("{}, of them {} twice", repeated_coverage, each) for each in twice]
    yield "labels of 400 cases", "of these labels", 17, "ours", rows
    planned = (("typical", 60, 0.1), ("typical", 120, 0.08), ("85% fives", 60, 0.07))
    rows = [("{}, {} labels, {}", planned_width, each) for each in planned]
    yield "half-width as planned", "expected width", 17, "ours", rows
    rows = [("{}, {}, {:g}", stand_in_shown, (*each, 0.05)) for each in STAND_INS]
    yield "stands in: cases, people, rank", "planned", 15, "shown", rows


def main(replications: int) -> None:
    """Print all tables."""
    print(f"{replications:,} replications, each share within about {1.96 * (0.95 * 0.05 / replications) ** 0.5:.3f}")
    print(f"{'scores':<10}{'labels':>7}{'corrected':>11}{'labels only':>13}{'warned':>8}")
    for name, shares in SHARES.items():
        for labels in SIZES:
            corrected, plain, warned = coverage(shares, labels, replications)
            print(f"{name:<10}{labels:>7}{corrected:>11.3f}{plain:>13.3f}{warned:>8.0%}", flush=True)
    heads = f"{'between students':>17}{'interval':>10}{'as one size':>13}"
    print(f"\n{'students with questions':<24}{heads}")
    for name, sizes in STUDENTS.items():
        for between in BETWEEN:
            ours, plain = clustered_coverage(sizes, between, replications)
            print(f"{name:<24}{between:>17.0%}{ours:>10.3f}{plain:>13.3f}", flush=True)
    fewer = max(replications // 5, 1)
    print(f"\n{fewer:,} replications from here on")
    for title, first, width, second, rows in further_tables():
        print(f"\n{title:<34}{first:>{width}}{second:>8}")
        for form, shares_of, given in rows:
            one, other = shares_of(*given, fewer)
            print(f"{form.format(*given):<34}{one:>{width}.3f}{other:>8.3f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
