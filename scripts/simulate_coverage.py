"""Simulates how often the 95% intervals of `calibrate`, `compare`, `agreement` and `summary` cover the truth.

    .venv/bin/python scripts/simulate_coverage.py [REPLICATIONS]

Every row draws from a stream of random numbers that its own name seeds.

In the first table, each replication makes a file of 2,000 cases. People's scores come from a known distribution; the
judge errs by 0.7 of a level, is 0.3 too generous, and fails on 2% of the cases; n cases, drawn at random, have labels.
"file" compares with the mean of that file, "population" with the mean of the distribution. "warned" is the share of
replications in which the command warns that the interval may be too short.

In the second table, students ask different numbers of questions, and a share of the variance of the scores (or of the
differences of two chatbots) lies between students. "as one size" is the usual interval for clusters of one size, C - 1
degrees of freedom and the factor C/(C - 1), for comparison.

The other tables show our interval (or test) beside the usual one; each function below says what is drawn.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.corrected_difference import corrected_difference
from pathway_local.statistics.figure import Estimate, Interval
from pathway_local.statistics.intervals import mean, mean_effect, scale_mean, t_interval
from pathway_local.statistics.prediction_powered import Correction, Survey, Target, corrected_mean, unseen_errors
from pathway_local.statistics.resampling import Statistic, counted_rows
from pathway_local.statistics.subgroups import group_errors

CASES = 2000
LEVELS = np.arange(1.0, 6.0)
SHARES: Mapping[str, tuple[float, ...]] = {
    "flat": (0.2, 0.2, 0.2, 0.2, 0.2),
    "typical": (0.05, 0.1, 0.2, 0.35, 0.3),
    "85% fives": (0.03, 0.03, 0.03, 0.06, 0.85),
    "rare lows": (0.01, 0.01, 0.03, 0.10, 0.85),
}
SIZES = (50, 100, 200)
TARGETS: tuple[Target, ...] = ("file", "population")
Scores = NDArray[np.float64]


def a_file(rng: np.random.Generator, shares: tuple[float, ...], labels: int) -> tuple[Scores, Scores, Scores]:
    """Return people's scores of all cases, the judge's scores, and the labels of a random draw."""
    truth = rng.choice(LEVELS, p=shares, size=CASES)
    judge = np.clip(np.round(truth + 0.3 + rng.normal(0, 0.7, CASES)), 1, 5)
    judge[rng.random(CASES) < 0.02] = np.nan
    people = np.full(CASES, np.nan)
    drawn = rng.permutation(CASES)[:labels]
    people[drawn] = truth[drawn]
    return truth, judge, people


def stream(*name: object) -> np.random.Generator:
    """Return random numbers of a row's own, which share nothing with those of other rows."""
    return np.random.default_rng(list(repr(name).encode()))


def holds(estimate: Estimate, mean: float) -> bool:
    """Return whether the interval covers the mean; an undefined one does not."""
    interval = estimate.interval
    return isinstance(interval, Interval) and interval.low <= mean <= interval.high


def coverage(shares: tuple[float, ...], labels: int, target: Target, replications: int) -> tuple[float, float, float]:
    """Return the shares of replications whose corrected and plain interval cover the mean, and that warn."""
    rng = stream("calibrate", shares, labels, target)
    counts = np.zeros(3)
    for _ in range(replications):
        truth, judge, people = a_file(rng, shares, labels)
        mean = float(truth.mean()) if target == "file" else float(LEVELS @ np.array(shares))
        found = corrected_mean(judge, people, (1, 5), Survey(target))
        if isinstance(found, Correction):
            counts += (holds(found.corrected, mean), holds(found.labels_only, mean), bool(found.warnings))
    corrected, plain, warned = counts / replications
    return float(corrected), float(plain), float(warned)


STUDENTS: Mapping[str, Sequence[int]] = {
    "20 with 6": [6] * 20,
    "1 with 60, 19 with 3": [60] + [3] * 19,
    "10 with 1 to 40": [1, 1, 2, 2, 3, 4, 6, 10, 20, 40],
}
BETWEEN = (0.0, 0.1, 0.3, 1.0)


def clustered_coverage(sizes: Sequence[int], between: float, replications: int) -> tuple[float, float]:
    """Return the shares of replications whose interval covers the mean: ours, and that for clusters of one size."""
    rng = stream("clusters", sizes, between)
    students = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.zeros(2)
    for _ in range(replications):
        apart, own = rng.normal(size=len(sizes)), rng.normal(size=len(students))
        scores = np.sqrt(between) * apart[students] + np.sqrt(1 - between) * own
        totals = np.bincount(students, (scores - scores.mean()) / len(scores))
        error = float(np.sqrt(len(totals) / (len(totals) - 1) * np.sum(totals**2)))
        usual = t_interval(float(scores.mean()), error, len(totals) - 1, len(totals))
        counts += (holds(mean(scores, students), 0.0), usual.low <= 0 <= usual.high)
    ours, plain = counts / replications
    return float(ours), float(plain)


def picked_coverage(picked: int, labels: int, replications: int) -> tuple[float, float]:
    """Labels of the cases that the judge overrates most, as complaints find them, and then of a sample that was drawn.

    Return how often the mean of a file of 1,000 typical cases is covered with all labels as one sample, and as
    `calibrate` takes them: the picked ones for themselves alone.
    """
    rng, counts = stream("picked", picked, labels), np.zeros(2)
    for _ in range(replications):
        truth = rng.choice(LEVELS, p=SHARES["typical"], size=1000)
        judge = np.clip(np.round(truth + 0.3 + rng.normal(0, 0.7, 1000)), 1, 5)
        older, drawn = np.zeros(1000, dtype=np.bool_), np.zeros(1000, dtype=np.bool_)
        older[np.argsort(truth - judge + rng.random(1000))[:picked]] = True
        drawn[rng.permutation(1000)[:labels]] = True
        people = np.where(older | drawn, truth, np.nan)
        for place, survey in enumerate((Survey(), Survey(strata=older.astype(np.int64)))):
            found = corrected_mean(judge, people, (1, 5), survey)
            counts[place] += isinstance(found, Correction) and holds(found.corrected, float(truth.mean()))
    together, ours = counts / replications
    return float(together), float(ours)


def difference_coverage(questions: int, labels: int, taste: float, replications: int) -> tuple[float, float]:
    """Two chatbots that differ by 0.2, and a judge who likes the second by `taste` more; each question has 5 siblings.

    Return how often the difference people would see is covered by the judge's own interval, and by the corrected one.
    """
    rng, counts = stream("difference", questions, labels, taste), np.zeros(2)
    first, asked = np.arange(2 * questions) < questions, np.tile(np.arange(questions), 2)
    for _ in range(replications):
        hard = np.repeat(rng.normal(0, 0.5, questions // 5), 5) + rng.normal(0, 0.6, questions)
        people = 3.2 + hard[asked] + np.where(first, 0.2, 0.0) + rng.normal(0, 0.6, 2 * questions)
        judge = np.round(people + np.where(first, 0.0, taste) + rng.normal(0, 0.7, 2 * questions))
        drawn = rng.permutation(2 * questions)[:labels]
        given = np.where(np.isin(np.arange(2 * questions), drawn), people, np.nan)
        even, once = np.full(2 * questions, 1 / questions), np.ones(2 * questions)
        ours = corrected_difference(judge, given, first, even, once, asked // 5)
        alone = mean_effect(judge[first] - judge[~first], np.arange(questions) // 5)
        counts += (holds(alone.estimate(), 0.2), holds(ours.corrected.estimate(), 0.2))
    alone_share, corrected = counts / replications
    return float(alone_share), float(corrected)


def rated(rng: np.random.Generator, shares: Sequence[float], cases: int) -> Scores:
    """Return two raters' scores of cases with such shares of levels, (cases, 2)."""
    truth = rng.choice(LEVELS, p=shares, size=cases)
    errors = rng.normal((0.0, 0.2), (0.6, 0.8), (cases, 2))
    return np.clip(np.round(truth[:, None] + errors), 1, 5)


def few_cases_coverage(figure: str, name: str, cases: int, replications: int) -> tuple[float, float]:
    """Return how often a mean or a coefficient of few cases is covered by the usual interval, and by ours.

    The usual one is Student's t for a mean, and percentiles of a bootstrap for a coefficient.
    """
    rng, counts = stream("few", figure, name, cases), np.zeros(2)
    if figure == "mean":
        truth = float(LEVELS @ np.array(SHARES[name]))
        for _ in range(replications):
            scores = rng.choice(LEVELS, p=SHARES[name], size=cases)
            counts += (holds(mean(scores), truth), holds(scale_mean(scores, (1, 5)), truth))
    else:
        truth = _figure(figure, rated(rng, SHARES[name], 1_000_000))
        for _ in range(replications):
            rows = counted_rows(rated(rng, SHARES[name], cases))
            statistic = COEFFICIENTS[figure].of(rows.rows, tuple(LEVELS))
            assert isinstance(statistic, Statistic)
            drawn = statistic.measure(rng.multinomial(cases, rows.counts / cases, size=999).astype(np.float64))
            low, high = np.nanquantile(drawn, (0.025, 0.975))
            counts += (low <= truth <= high, holds(rows.estimate({"": statistic}, resamples=999)[""], truth))
    usual, ours = counts / replications
    return float(usual), float(ours)


def _figure(figure: str, scores: Scores) -> float:
    rows = counted_rows(scores)
    statistic = COEFFICIENTS[figure].of(rows.rows, tuple(LEVELS))
    assert isinstance(statistic, Statistic)
    return float(statistic.measure(rows.counts[None, :])[0])


def icc_coverage(raters: int, severity: float, replications: int) -> tuple[float, float]:
    """Return how often ICC(2,1) over all raters is covered by an interval for these raters, and by ours; 60 cases.

    Cases vary by an SD of 0.8, raters by `severity`, and scores otherwise by 0.6.
    """
    rng, counts = stream("icc", raters, severity), np.zeros(2)
    truth = 0.64 / (0.64 + severity**2 + 0.36)
    for _ in range(replications):
        scores = rng.normal(0, 0.8, (60, 1)) + rng.normal(0, severity, (1, raters)) + rng.normal(0, 0.6, (60, raters))
        rows = counted_rows(scores)
        ours = COEFFICIENTS["icc_2_1"].of(rows.rows)
        assert isinstance(ours, Statistic)
        found = rows.estimate({"fixed": replace(ours, any_raters=None), "ours": ours})
        counts += (holds(found["fixed"], truth), holds(found["ours"], truth))
    fixed, varied = counts / replications
    return float(fixed), float(varied)


def unfair_flags(cases: int, unfair: float, replications: int) -> tuple[float, float]:
    """A judge who draws scores to the middle, and scores one of two groups lower by `unfair`; groups differ by 1.4.

    Return how often the mean error in a group, and the mean error at equal scores, excludes zero.
    """
    rng, counts = stream("unfair", cases, unfair), np.zeros(2)
    for _ in range(replications):
        group = rng.integers(0, 2, cases)
        people = np.clip(np.round(np.where(group, 4.2, 2.8) + rng.normal(0, 0.8, cases)), 1, 5)
        judge = np.clip(np.round(3 + 0.6 * (people - 3) + rng.normal(0, 0.5, cases) - unfair * group), 1, 5)
        found = group_errors(judge, people, group)
        counts += (
            not all(holds(each.signed, 0.0) for each in found),
            not all(holds(each.unequal, 0.0) for each in found),
        )
    plain, equal = counts / replications
    return float(plain), float(equal)


def missed_coverage(labels: int, replications: int) -> tuple[float, float]:
    """A good judge who gives a 4 or 5 to one failure in 25 cases. Return the coverage with and without a warning."""
    rng, held, warned = stream("missed", labels), np.zeros(2), np.zeros(2)
    for _ in range(replications):
        truth = rng.choice(LEVELS, p=(0, 0, 0.1, 0.3, 0.6), size=CASES)
        judge = np.clip(np.round(truth + 0.1 + rng.normal(0, 0.3, CASES)), 1, 5)
        missed = rng.random(CASES) < 0.04
        truth[missed], judge[missed] = 1, rng.choice([4.0, 5.0], size=int(missed.sum()))
        drawn = rng.permutation(CASES)[:labels]
        people = np.where(np.isin(np.arange(CASES), drawn), truth, np.nan)
        found = corrected_mean(judge, people, (1, 5))
        told = int(bool(unseen_errors(judge, people, (1, 5))))
        warned[told] += 1
        held[told] += isinstance(found, Correction) and holds(found.corrected, float(truth.mean()))
    return float(held.sum() / replications), float(held[0] / max(warned[0], 1))


def further_tables(replications: int) -> Iterator[str]:
    """Yield the lines of the tables with two shares each."""
    yield f"\n{replications:,} replications from here on"
    yield f"\n{'picked first, then drawn':<34}{'as one sample':>15}{'ours':>8}"
    for picked, labels in ((40, 60), (40, 120), (120, 120)):
        yield _line(f"{picked} picked, {labels} drawn", picked_coverage(picked, labels, replications), 15)
    yield f"\n{'two chatbots, a judge with a taste':<34}{'judge alone':>15}{'ours':>8}"
    for questions, labels, taste in ((150, 60, 0.0), (150, 60, 0.3), (150, 120, 0.3), (500, 120, 0.3)):
        row = f"{questions} questions, {labels} labels, {taste:g}"
        yield _line(row, difference_coverage(questions, labels, taste, replications), 15)
    yield f"\n{'few cases':<34}{'usual':>15}{'ours':>8}"
    for figure in ("mean", "kappa_quadratic", "ac2_quadratic"):
        for name in ("typical", "85% fives"):
            for cases in (30, 60):
                row = f"{figure}, {cases} {name}"
                yield _line(row, few_cases_coverage(figure, name, cases, replications), 15)
    yield f"\n{'ICC(2,1) of 60 cases':<34}{'these raters':>15}{'ours':>8}"
    for raters, severity in ((3, 0.3), (6, 0.3), (3, 0.6), (6, 0.6)):
        yield _line(f"{raters} raters, severity {severity}", icc_coverage(raters, severity, replications), 15)
    yield f"\n{'one group is said to differ':<34}{'mean error':>15}{'ours':>8}"
    for cases, unfair in ((60, 0.0), (300, 0.0), (300, 0.4)):
        row = f"{cases} cases, unfair by {unfair:g}"
        yield _line(row, unfair_flags(cases, unfair, replications), 15)
    yield f"\n{'one failure in 25 is missed':<34}{'all files':>15}{'without warning':>17}"
    for labels in (60, 120, 240):
        yield _line(f"{labels} labels", missed_coverage(labels, replications), 15, 17)


def _line(name: str, shares: tuple[float, float], *widths: int) -> str:
    first, second = (*widths, 8)[:2]
    return f"{name:<34}{shares[0]:>{first}.3f}{shares[1]:>{second}.3f}"


def main(replications: int) -> None:
    """Print all tables."""
    print(f"{replications:,} replications, each share within about {1.96 * (0.95 * 0.05 / replications) ** 0.5:.3f}")
    print(f"{'scores':<10}{'labels':>7}{'target':>12}{'corrected':>11}{'labels only':>13}{'warned':>8}")
    for name, shares in SHARES.items():
        for labels in SIZES:
            for target in TARGETS:
                corrected, plain, warned = coverage(shares, labels, target, replications)
                print(f"{name:<10}{labels:>7}{target:>12}{corrected:>11.3f}{plain:>13.3f}{warned:>8.0%}", flush=True)
    print(f"\n{'students with questions':<24}{'between students':>17}{'interval':>10}{'as one size':>13}")
    for name, sizes in STUDENTS.items():
        for between in BETWEEN:
            ours, plain = clustered_coverage(sizes, between, replications)
            print(f"{name:<24}{between:>17.0%}{ours:>10.3f}{plain:>13.3f}", flush=True)
    for line in further_tables(max(replications // 5, 1)):
        print(line, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
