"""Intervals from an error or a count, against textbook formulas, and their standing to a margin."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from pathway_local.statistics.figure import Estimate, Interval, Undefined
from pathway_local.statistics.intervals import (
    LEVEL,
    interval_on,
    linked_clusters,
    share,
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


def ends(found: Estimate) -> tuple[float, float]:
    assert isinstance(found.interval, Interval)
    return found.interval.low, found.interval.high


def test_a_simple_share_is_that_of_wilson_also_at_both_ends() -> None:
    for hits, cases in ((0, 300), (19, 20), (300, 300), (7, 40)):
        found = share(np.repeat([1.0, 0.0], [hits, cases - hits]))
        assert found.value == hits / cases
        np.testing.assert_allclose(ends(found), proportion_confint(hits, cases, method="wilson"), atol=1e-9)


def test_answers_of_one_student_count_as_one_where_they_are_all_alike() -> None:
    """Six answers of each of 40 students: the interval is that of 40 cases, with Student's t."""
    hits = np.repeat([1.0, 0.0], [60, 180])
    low, high = ends(share(hits, np.repeat(np.arange(40), 6)))
    simple = proportion_confint(10, 40, method="wilson")
    assert simple[1] - simple[0] < high - low < 1.1 * (simple[1] - simple[0])
    assert ends(share(hits, np.arange(240))) == ends(share(hits))


def test_uneven_weights_leave_fewer_cases() -> None:
    hits, weights = np.tile([1.0, 0.0], 50), np.repeat([1.0, 9.0], 50)
    np.testing.assert_allclose(
        ends(share(hits, weights=weights)), proportion_confint(0.5 * 60.98, 60.98, method="wilson"), atol=1e-3
    )


def test_few_students_leave_fewer_cases_by_students_t() -> None:
    """Six students with 10 answers each: the variance of a mean of six, and the quantile of five degrees of freedom."""
    hits = np.concatenate([np.repeat([1.0, 0.0], [many, 10 - many]) for many in (2, 5, 4, 7, 3, 6)])
    rates = hits.reshape(6, 10).mean(axis=1)
    cases = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 5)) ** 2 * min(60, 0.45 * 0.55 / (rates.var(ddof=1) / 6))
    expected = proportion_confint(0.45 * cases, cases, method="wilson")
    np.testing.assert_allclose(ends(share(hits, np.repeat(np.arange(6), 10))), expected, atol=1e-9)
