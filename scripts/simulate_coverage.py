"""Simulates how often the 95% intervals of `pathway-local calibrate` cover the true mean.

    .venv/bin/python scripts/simulate_coverage.py [REPLICATIONS]

Each replication makes a file of 2,000 cases. People's scores come from a known distribution; the judge errs by 0.7 of
a level, is 0.3 too generous, and fails on 2% of the cases; n cases, drawn at random, have labels. "file" compares with
the mean of that file, "population" with the mean of the distribution. "warned" is the share of replications in which
the command warns that the interval may be too short.
"""

import sys
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pathway_local.statistics.figure import Estimate, Interval
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


def main(replications: int) -> None:
    """Print the table."""
    print(f"{replications:,} replications, each share within about {1.96 * (0.95 * 0.05 / replications) ** 0.5:.3f}")
    print(f"{'scores':<10}{'labels':>7}{'target':>12}{'corrected':>11}{'labels only':>13}{'warned':>8}")
    for name, shares in SHARES.items():
        for labels in SIZES:
            for target in TARGETS:
                corrected, plain, warned = coverage(shares, labels, target, replications)
                print(f"{name:<10}{labels:>7}{target:>12}{corrected:>11.3f}{plain:>13.3f}{warned:>8.0%}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
