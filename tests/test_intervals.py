import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from pathway_local.statistics.figure import Interval, Undefined, percent
from pathway_local.statistics.intervals import (
    LEVEL,
    difference_effect,
    linked_clusters,
    log_odds_interval,
    mean_effect,
    standing,
    tailed_freedom,
    wilson,
)


def test_the_plain_mean_has_students_interval() -> None:
    scores = np.array([3.0, 4, 4, 5, 2, 5, 1])
    found = mean_effect(scores).estimate()
    low, high = stats.t.interval(0.95, 6, scores.mean(), stats.sem(scores))
    assert found.value == pytest.approx(scores.mean())
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))


def test_groups_that_share_a_cluster_through_any_case_belong_together() -> None:
    groups, clusters = np.array([0, 0, 1, 1, 2, 3, 4, 4]), np.array([7, 8, 8, 9, 9, 5, 6, 4])
    first, second, third, *alone = linked_clusters(groups, clusters, 5).tolist()
    assert first == second == third and len({first, *alone}) == 3


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_even_clusters_match_statsmodels_cluster_robust_regression(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clusters = rng.permutation(np.repeat(np.arange(10, 16) * 7, 6))
    scores = rng.integers(1, 6, 36) + (clusters % 4)
    fit = sm.OLS(scores, np.ones(36)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    found = mean_effect(scores.astype(float), clusters).estimate()
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(fit.conf_int()[0]))
    assert found.interval.clusters == len(np.unique(clusters))


def test_one_large_cluster_does_not_make_the_interval_too_short() -> None:
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(20), [60] + [3] * 19)
    wrong = 0
    for _ in range(1000):
        scores = rng.normal(size=20)[clusters] + rng.normal(size=len(clusters))
        interval = mean_effect(scores, clusters).estimate().interval
        wrong += not interval.low <= 0 <= interval.high
    assert wrong < 80  # 264 with C/(C - 1) and C - 1 degrees of freedom


def test_means_without_an_interval_say_why() -> None:
    assert mean_effect(np.empty(0)).estimate().value == Undefined("there is no score")
    assert mean_effect(np.array([4.0])).estimate().interval == Undefined("there is only one case")
    assert mean_effect(np.array([4.0, 3]), np.array([8, 8])).estimate().interval == Undefined(
        "there is only one cluster"
    )
    assert mean_effect(np.array([4.0, 4])).estimate().interval == Undefined("every score is 4")
    assert mean_effect(np.array([4.0, 2, 4, 2]), np.array([1, 1, 2, 2])).estimate().interval == Undefined(
        "every cluster has the same mean"
    )


def test_differences_without_an_interval_say_why() -> None:
    side, pairs = np.array([True, True, False, False]), np.array([1, 2, 1, 2])

    def missing(*scores: float, clusters: np.ndarray | None = None) -> str:
        return difference_effect(np.array(scores), side, clusters).missing

    assert missing(5, 5, 5, 5) == "every score is 5"
    assert missing(5, 5, 1, 1) == "every score of a side is the same"
    assert missing(5, 3, 4, 2, clusters=pairs) == "the difference does not vary between clusters"
    assert not missing(5, 3, 4, 1, clusters=pairs)


@pytest.mark.parametrize(("successes", "cases"), [(0, 10), (1, 7), (35, 40), (40, 40)])
def test_a_share_has_wilsons_interval(successes: int, cases: int) -> None:
    found = wilson(successes, cases)
    assert (found.low, found.high) == pytest.approx(proportion_confint(successes, cases, method="wilson"), abs=1e-12)


def test_the_log_odds_interval_keeps_on_the_scale_and_leans_to_the_middle() -> None:
    found = log_odds_interval(4.8, 0.1, 40, 41, (1, 5))
    assert 1 < found.low < 4.8 < found.high < 5
    assert 4.8 - found.low > found.high - 4.8
    centred = log_odds_interval(3.0, 0.01, 1e6, 99, (1, 5))
    assert (centred.low, centred.high) == pytest.approx((3 - 0.0196, 3 + 0.0196), abs=1e-5)
    assert log_odds_interval(5.01, 0.1, 40, 41, (1, 5)).high == 5


def test_long_tails_cost_degrees_of_freedom() -> None:
    normal = stats.norm.ppf(np.linspace(0.01, 0.99, 99))
    tailed = np.concatenate([np.zeros(95), [-4.0, -3, -4, 3]])
    assert tailed_freedom(normal) > 90
    assert 3 <= tailed_freedom(tailed) < 15
    assert tailed_freedom(np.array([1.0, 2.0])) == 1


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.01, 0.2, "better"),
        (-0.04, 0.2, "not worse"),
        (-0.04, -0.01, "not worse"),
        (-0.2, -0.01, "worse"),
        (-0.2, 0.2, "can't tell"),
    ],
)
def test_standing_reads_the_interval_against_the_margin(low: float, high: float, word: str) -> None:
    assert standing(Interval(low, high, "t", 50, LEVEL), 0.05) == word


def test_no_interval_no_standing() -> None:
    assert standing(Undefined("there is only one case"), 0.05) == "can't tell"


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        ((0.95,), "95%"),
        ((0.987,), "98.7%"),
        ((1 - 0.05 / 3,), "98.3%"),
        ((0.9999,), "99.99%"),
        ((0.999246,), "99.92%"),
        ((0.9999999999,), "99.999999%"),
        ((0.95, 0.95 + 1e-12), "95%"),
        ((0.999246, 0.95), "95–99.92%"),
        ((0.98712, 0.98741), "98.71–98.74%"),
    ],
)
def test_a_level_has_as_few_digits_as_tell_it_from_100_percent_and_from_another(
    levels: tuple[float, ...], shown: str
) -> None:
    assert percent(*levels) == shown
