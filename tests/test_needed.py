"""Planned numbers, against power and simulated widths."""

import numpy as np
import pytest
from scipy import stats

from pathway_local.statistics.figure import Undefined
from pathway_local.statistics.needed import LEAST, Goal, Spread, needed


def test_as_many_are_needed_as_the_power_says() -> None:
    count = needed(Goal("detect", 0.3), Spread(0.0, 1.0, 10))
    assert isinstance(count, int)

    def power(cases: int) -> float:
        return float(stats.nct.sf(stats.t.ppf(0.975, cases - 1), cases - 1, 0.3 * np.sqrt(cases)))

    assert power(count - 2) < 0.8 <= power(count + 2)
    equal = needed(Goal("margin", 0.3), Spread(0.0, 1.0, 10))
    assert isinstance(equal, int)
    reach = 0.3 * np.sqrt(equal) - stats.t.ppf(0.975, equal - 1)
    assert 2 * stats.norm.cdf(reach) - 1 == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("pilot", [0, 30, 100])
def test_the_width_is_reached_in_as_many_files_as_it_says(pilot: int) -> None:
    """Planned for the width to expect, it is reached in about half of them."""
    rng, reached, plain = np.random.default_rng(5), 0, 0
    counts = np.arange(20, 999)
    factors = stats.t.ppf(0.975, counts - 1) / np.sqrt(counts)
    for _ in range(400):
        there = rng.normal(size=pilot)
        variance = float(there.var(ddof=1)) if pilot else 1.0
        count = needed(Goal("half-width", 0.15), Spread(0.0, variance, pilot, None, pilot - 1 if pilot else None))
        assert isinstance(count, int)
        expected = int(counts[np.argmax(factors * variance**0.5 <= 0.15)])
        fresh = rng.normal(size=max(count, expected))
        widths = [
            stats.t.ppf(0.975, n - 1) * stats.sem(np.append(there, fresh)[: max(n, pilot)]) for n in (count, expected)
        ]
        reached, plain = reached + (widths[0] <= 0.15), plain + (widths[1] <= 0.15)
    assert 0.74 < reached / 400 < 0.86
    assert plain / 400 < 0.65


def test_what_labels_can_not_change_may_be_too_much() -> None:
    assert needed(Goal("half-width", 3.0), Spread(0.0, 1.0, 10)) == LEAST
    assert isinstance(needed(Goal("half-width", 0.1), Spread(0.01, 1.0, 10)), Undefined)
    assert needed(Goal("half-width", 2.0), Spread(-0.07, 1.0, 0, 15)) == 15, "a file may have fewer than the least"
    assert needed(Goal("half-width", 0.01), Spread(-1 / 60, 1.0, 0, 60)) == 60, "labels of all leave nothing to chance"
    beyond = needed(Goal("half-width", 0.1), Spread(0.0, 1.0, 10, 300))
    assert isinstance(beyond, Undefined) and "300" in beyond.reason
