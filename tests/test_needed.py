"""Planned numbers, against power and simulated widths."""

import numpy as np
from scipy import stats

from pathway_local.statistics.figure import Undefined
from pathway_local.statistics.needed import LEAST, Pilot, labels_for_width, units_to_detect


def test_as_many_are_needed_as_the_power_says() -> None:
    count = units_to_detect(0.3, 1.0, 0.05)
    assert isinstance(count, int)

    def power(cases: int) -> float:
        return float(stats.nct.sf(stats.t.ppf(0.975, cases - 1), cases - 1, 0.3 * np.sqrt(cases)))

    assert power(count - 2) < 0.8 <= power(count + 2)
    assert isinstance(units_to_detect(1e-9, 1.0, 0.05), Undefined)


def test_a_plan_is_at_least_the_least_and_at_most_the_file() -> None:
    apart = np.random.default_rng(1).normal(size=300)
    assert labels_for_width(Pilot(3.0, apart, 0, 1000, (1, 5)), 3.0) == LEAST
    assert labels_for_width(Pilot(3.0, apart[:15], 0, 15, (1, 5)), 3.0) == 15, "a file may have fewer than the least"
    assert labels_for_width(Pilot(3.0, apart[:60], 60, 60, (1, 5)), 0.01) == 60, "labels of all leave nothing to chance"


def test_three_labels_alike_divide_nothing_by_zero() -> None:
    with np.errstate(all="raise"):
        assert labels_for_width(Pilot(5.0, np.zeros(3), 3, 3, (1, 5)), 0.3) == 3
