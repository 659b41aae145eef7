import numpy as np
import pytest
from scipy import stats

from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.statistics.intervals import (
    LEVEL,
    interval_on,
    linked_clusters,
    standing,
    tailed_freedom,
)


def test_groups_that_share_a_cluster_through_any_case_belong_together() -> None:
    groups, clusters = np.array([0, 0, 1, 1, 2, 3, 4, 4]), np.array([7, 8, 8, 9, 9, 5, 6, 4])
    first, second, third, *alone = linked_clusters(groups, clusters, 5).tolist()
    assert first == second == third and len({first, *alone}) == 3


def test_the_interval_on_keeps_on_the_scale_and_leans_to_the_middle() -> None:
    found = interval_on((1, 5), 4.8, 0.1, 40, 41)
    assert 1 < found.low < 4.8 < found.high < 5
    assert 4.8 - found.low > found.high - 4.8
    centred = interval_on((1, 5), 3.0, 0.01, 1e6, 99)
    assert (centred.low, centred.high) == pytest.approx((3 - 0.0196, 3 + 0.0196), abs=1e-5)
    assert interval_on((1, 5), 5.01, 0.1, 40, 41).high == 5


def test_long_tails_cost_degrees_of_freedom() -> None:
    normal = stats.norm.ppf(np.linspace(0.01, 0.99, 99))
    tailed = np.concatenate([np.zeros(95), [-4.0, -3, -4, 3]])
    assert tailed_freedom(normal) > 90
    assert 3 <= tailed_freedom(tailed) < 15
    assert tailed_freedom(np.array([1.0, 2.0])) == 1


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.01, 0.2, "better"), (-0.04, 0.2, "not worse"), (-0.04, -0.01, "not worse"), (-0.2, -0.01, "worse"),
        (-0.2, 0.2, "can't tell"),
    ],
)  # fmt: skip
def test_standing_reads_the_interval_against_the_margin(low: float, high: float, word: str) -> None:
    assert standing(Interval(low, high, "t", 50, LEVEL), 0.05) == word


def test_no_interval_no_standing() -> None:
    assert standing(Undefined("there is only one case"), 0.05) == "can't tell"
