"""Means and differences of means with the jackknife's error, against textbook formulas and statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pathway_local.statistics.effect import SAME, difference_effect, mean_effect


def test_the_plain_mean_has_students_interval() -> None:
    scores = np.array([3.0, 4, 4, 5, 2, 5, 1])
    found = mean_effect(scores).estimate()
    low, high = stats.t.interval(0.95, 6, scores.mean(), stats.sem(scores))
    assert found.value == pytest.approx(scores.mean())
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_even_clusters_match_statsmodels_cluster_robust_regression(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clusters = rng.permutation(np.repeat(np.arange(10, 16) * 7, 6))
    scores = rng.integers(1, 6, 36) + (clusters % 4)
    fit = sm.OLS(scores, np.ones(36)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    found = mean_effect(scores.astype(float), clusters)
    assert found.error == pytest.approx(fit.bse[0])
    assert found.clusters == 6 and 1 <= found.freedom <= 5


def test_one_large_cluster_does_not_make_the_interval_too_short() -> None:
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(20), [60] + [3] * 19)
    wrong = 0
    for _ in range(1000):
        scores = rng.normal(size=20)[clusters] + rng.normal(size=len(clusters))
        interval = mean_effect(scores, clusters).estimate().interval
        wrong += not interval.low <= 0 <= interval.high
    assert wrong < 80  # 264 with C/(C - 1) and C - 1 degrees of freedom


def test_a_side_of_two_clusters_has_one_degree_of_freedom() -> None:
    rng = np.random.default_rng(6)
    clusters = np.repeat(np.arange(8), 6)
    found = difference_effect(rng.normal(size=48), clusters < 2, clusters)
    assert 1 <= found.freedom < 2


def test_what_has_no_interval_says_why() -> None:
    side, pairs = np.array([True, True, False, False]), np.array([1, 2, 1, 2])
    single = "there is only one case, or only one cluster of cases"

    def missing(*scores: float, apart: bool = False, clusters: np.ndarray | None = None) -> str:
        effect = (
            difference_effect(np.array(scores), side, clusters) if apart else mean_effect(np.array(scores), clusters)
        )
        return effect.missing

    assert missing() == "there is no score"
    assert missing(4) == missing(4, 3, clusters=np.array([8, 8])) == single
    assert missing(4, 4) == missing(4, 4, 4, 4, apart=True) == "every score is 4"
    assert missing(4, 2, 4, 2, clusters=np.array([1, 1, 2, 2])) == SAME
    assert missing(5, 5, 1, 1, apart=True) == missing(5, 3, 4, 2, apart=True, clusters=pairs) == SAME
    assert not missing(5, 3, 4, 1, apart=True, clusters=pairs)
