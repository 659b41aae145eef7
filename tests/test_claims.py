"""The p-values of a self-test's claims agree with those of other libraries, and hold their level."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from pathway_local.statistics.families import beyond, falling, share_above, share_below, within
from pathway_local.statistics.intervals import mean_effect, wilson


@pytest.mark.parametrize(("successes", "cases"), [(0, 10), (10, 10), (88, 100), (95, 100), (70, 100)])
def test_shares_are_tested_exactly(successes: int, cases: int) -> None:
    for ours, side in ((share_above, "greater"), (share_below, "less")):
        other = stats.binomtest(successes, cases, 0.8, alternative=side).pvalue
        assert ours(successes, cases, 0.8) == pytest.approx(other)


@pytest.mark.parametrize("shift", [0.0, 0.1, -0.2, 0.25, 0.6])
def test_equivalence_is_that_of_two_one_sided_tests(shift: float) -> None:
    values = np.random.default_rng(3).normal(shift, 0.3, 60)
    other, *_ = ttost_paired(values, np.zeros(60), -0.25, 0.25)
    effect = mean_effect(values)
    assert within(effect, 0.25) == pytest.approx(other)
    assert within(effect, 0.25) + beyond(effect, 0.25) == pytest.approx(1)


def test_a_mean_without_an_error_lies_within_the_margin_or_not() -> None:
    same, far = mean_effect(np.zeros(9)), mean_effect(np.ones(9))
    assert (within(same, 0.25), beyond(same, 0.25)) == (0, 1)
    assert (within(far, 0.25), beyond(far, 0.25)) == (1, 1)  # the share of cases shows it


def test_equivalence_at_the_margin_is_claimed_in_one_of_twenty_samples() -> None:
    draws = np.random.default_rng(0).normal(0.25, 0.5, (2000, 40))
    claimed = np.mean([within(mean_effect(row), 0.25) <= 0.05 for row in draws])
    assert 0.035 < claimed < 0.065


def test_falling_scores_have_a_trend_and_others_have_none() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 1, (40, 4))
    assert falling(noise + np.array([3, 2, 1, 0])) < 1e-9
    assert falling(noise + np.array([0, 1, 2, 3])) > 0.99
    assert falling(np.zeros((20, 4))) > 0.05
    assert falling(noise[:1]) == 1
    two = np.array([[2.0, 1.0]] * 8 + [[1.0, 1.0], [1.0, 2.0]])
    assert falling(two) == pytest.approx(stats.binomtest(8, 10, alternative="greater").pvalue)
    claimed = np.mean([falling(rng.normal(0, 1, (30, 4))) <= 0.05 for _ in range(1000)])
    assert 0.03 < claimed < 0.07


def test_the_arithmetic_of_the_page_about_judges() -> None:
    found = wilson(95, 100)
    assert (round(found.low, 3), round(found.high, 3)) == (0.888, 0.978)
