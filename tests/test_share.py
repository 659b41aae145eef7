"""Shares with Wilson's interval: as in statsmodels for simple samples, and as often right as they say for others."""

import numpy as np
from scipy.stats import norm, t
from statsmodels.stats.proportion import proportion_confint

from pathway_local.statistics.figure import Estimate, Interval
from pathway_local.statistics.intervals import share


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
    cases = (norm.ppf(0.975) / t.ppf(0.975, 5)) ** 2 * min(60, 0.45 * 0.55 / (rates.var(ddof=1) / 6))
    expected = proportion_confint(0.45 * cases, cases, method="wilson")
    np.testing.assert_allclose(ends(share(hits, np.repeat(np.arange(6), 10))), expected, atol=1e-9)
