"""Planned numbers, against power and simulated widths."""

import numpy as np
import pytest
from scipy import stats

from pathway_local.statistics.corrected import Correction, corrected_mean
from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.statistics.needed import LEAST, Pilot, labels_for_width, units_to_detect


def test_as_many_are_needed_as_the_power_says() -> None:
    count = units_to_detect(0.3, 1.0, 0.05)
    assert isinstance(count, int)

    def power(cases: int) -> float:
        return float(stats.nct.sf(stats.t.ppf(0.975, cases - 1), cases - 1, 0.3 * np.sqrt(cases)))

    assert power(count - 2) < 0.8 <= power(count + 2)
    assert isinstance(units_to_detect(1e-9, 1.0, 0.05), Undefined)


@pytest.mark.parametrize(("shares", "pilot"), [((0.05, 0.1, 0.2, 0.35, 0.3), 60), ((0.03, 0.03, 0.03, 0.06, 0.85), 60)])
def test_the_width_is_reached_in_as_many_files_as_it_says(shares: tuple[float, ...], pilot: int) -> None:
    """The share of 100 files whose interval is as narrow with the planned number of labels."""
    rng, reached = np.random.default_rng(5), 0
    for _ in range(100):
        truth = rng.choice(np.arange(1.0, 6.0), p=shares, size=1000)
        judge, order = np.clip(np.round(truth + rng.normal(0.3, 0.7, 1000)), 1, 5), rng.permutation(1000)
        first, second = (np.full(1000, np.nan) for _ in range(2))
        first[order[:pilot]] = truth[order[:pilot]]
        found = corrected_mean(judge, first, (1, 5))
        assert isinstance(found, Correction)
        count = labels_for_width(found.pilot, 0.1)
        assert isinstance(count, int)
        second[order[:count]] = truth[order[:count]]
        again = corrected_mean(judge, second, (1, 5))
        assert isinstance(again, Correction) and isinstance(again.corrected.interval, Interval)
        reached += again.corrected.interval.high - again.corrected.interval.low <= 0.2
    assert reached >= 75


def test_what_labels_can_not_change_may_be_too_much() -> None:
    apart = np.random.default_rng(1).normal(size=300)
    assert labels_for_width(Pilot(3.0, apart, 0, 1000, (1, 5)), 3.0) == LEAST
    assert labels_for_width(Pilot(3.0, apart[:15], 0, 15, (1, 5)), 3.0) == 15, "a file may have fewer than the least"
    assert labels_for_width(Pilot(3.0, apart[:60], 60, 60, (1, 5)), 0.01) == 60, "labels of all leave nothing to chance"
    beyond = labels_for_width(Pilot(3.0, apart, 0, 300, (1, 5), noise=5.0), 0.1)
    assert isinstance(beyond, Undefined) and "300" in beyond.reason


def test_three_labels_alike_divide_nothing_by_zero() -> None:
    with np.errstate(all="raise"):
        assert labels_for_width(Pilot(5.0, np.zeros(3), 3, 3, (1, 5)), 0.3) == 3
