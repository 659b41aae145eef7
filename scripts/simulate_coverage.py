"""Simulates how often the 95% intervals of `pathway-local calibrate`, `compare` and `summary` cover the true mean.

    .venv/bin/python scripts/simulate_coverage.py [REPLICATIONS]

In the first table, each replication makes a file of 2,000 cases. People's scores come from a known distribution; the
judge errs by 0.7 of a level, is 0.3 too generous, and fails on 2% of the cases; n cases, drawn at random, have labels.
"file" compares with the mean of that file, "population" with the mean of the distribution. "warned" is the share of
replications in which the command warns that the interval may be too short.

In the second table, students ask different numbers of questions, and a share of the variance of the scores (or of the
differences of two chatbots) lies between students. "as one size" is the usual interval for clusters of one size, C - 1
degrees of freedom and the factor C/(C - 1), for comparison.
"""

import sys
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pathway_local.statistics.figure import Estimate, Interval
from pathway_local.statistics.intervals import mean, t_interval
from pathway_local.statistics.prediction_powered import Correction, Survey, Target, corrected_mean

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


def holds(estimate: Estimate, mean: float) -> bool:
    """Return whether the interval covers the mean; an undefined one does not."""
    interval = estimate.interval
    return isinstance(interval, Interval) and interval.low <= mean <= interval.high


def coverage(shares: tuple[float, ...], labels: int, target: Target, replications: int) -> tuple[float, float, float]:
    """Return the shares of replications whose corrected and plain interval cover the mean, and that warn."""
    rng = np.random.default_rng([labels, TARGETS.index(target), round(1000 * shares[-1])])
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
    rng = np.random.default_rng([*sizes, round(100 * between)])
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


def main(replications: int) -> None:
    """Print both tables."""
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


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
