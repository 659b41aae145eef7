import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pathway_local.statistics import resampling
from pathway_local.statistics.agreement import pair_agreement
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.figure import Undefined
from pathway_local.statistics.resampling import CountedRows, Statistic, counted_rows

SCALE = (1, 2, 3, 4, 5)
Scores = NDArray[np.float64]


def clustered_pair(seed: int, cases: int, clusters: int) -> tuple[Scores, Scores, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, clusters, cases)
    first = rng.integers(1, 6, cases).astype(float)
    second = np.clip(first + rng.integers(-1, 2, cases) + (codes % 3 == 0), 1, 5)
    return first, second, codes


def statistics(cases: CountedRows, *names: str) -> dict[str, Statistic]:
    built = {name: COEFFICIENTS[name].of(cases.rows, SCALE) for name in names}
    return {name: statistic for name, statistic in built.items() if isinstance(statistic, Statistic)}


def test_distinct_rows_are_counted_and_missing_scores_kept_alike() -> None:
    cases = counted_rows(np.array([[1.0, 2], [np.nan, 2], [1, 2], [np.nan, 2]]), np.array([7, 7, 9, 9]))
    assert cases.cases == 4 and cases.clusters == 2
    assert sorted(cases.counts) == [2, 2]
    assert len(cases.rows) == 2


def test_the_jackknife_of_few_clusters_is_the_textbook_one() -> None:
    first, second, codes = clustered_pair(1, 90, 12)
    cases = counted_rows(np.stack([first, second], axis=1), codes)
    found = cases.estimate(statistics(cases, "mean_difference"))["mean_difference"]
    left = np.array([np.mean((first - second)[codes != c]) for c in range(12)])
    error = np.sqrt(11 / 12 * np.sum((left - left.mean()) ** 2))
    reach = stats.t.ppf(0.975, 11) * error
    assert found.interval.method == "jackknife with t"
    assert found.interval.clusters == 12
    assert (found.interval.low, found.interval.high) == pytest.approx((found.value - reach, found.value + reach))


def test_a_figure_with_bounds_has_its_jackknife_in_fishers_z() -> None:
    first, second, codes = clustered_pair(1, 300, 60)
    cases = counted_rows(np.stack([first, second], axis=1), codes)
    found = cases.estimate(statistics(cases, "pearson"))["pearson"]
    value = stats.pearsonr(first, second).statistic
    left = np.array([stats.pearsonr(first[codes != c], second[codes != c]).statistic for c in range(60)])
    parts = 60 * value - 59 * left
    error = stats.sem(parts) / (1 - value**2)
    # Satterthwaite's degrees of freedom of a variance whose parts have that kurtosis.
    freedom = 2 * 60 / (stats.kurtosis(parts, fisher=False) - 1 + 2 / 59)
    reach = stats.t.ppf(0.975, min(59, max(3, freedom))) * error
    assert found.interval.method == "jackknife with log-odds and t"
    assert np.arctanh([found.interval.low, found.interval.high]) == pytest.approx(
        [np.arctanh(value) - reach, np.arctanh(value) + reach]
    )


def test_the_jackknife_of_many_clusters_is_over_groups_and_as_wide_as_over_single_ones() -> None:
    first, second, codes = clustered_pair(2, 3000, 400)
    cases = counted_rows(np.stack([first, second], axis=1), codes)
    found = cases.estimate(statistics(cases, "mean_difference"))["mean_difference"].interval
    left = np.array([np.mean((first - second)[codes != c]) for c in range(400)])
    error = np.sqrt(399 / 400 * np.sum((left - left.mean()) ** 2))
    assert found.method == "jackknife over 100 groups with t"
    assert found.clusters == 400
    assert (found.high - found.low) / 2 == pytest.approx(stats.t.ppf(0.975, 99) * error, rel=0.25)


def test_single_cases_as_rows_give_the_same_figures_as_counted_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, codes = clustered_pair(3, 200, 20)
    names = ("kappa_quadratic", "spearman", "kendall", "mean_absolute_error")
    cases = counted_rows(np.stack([first, second], axis=1), codes)
    monkeypatch.setattr(resampling, "DENSE_CELLS", 0)
    single = counted_rows(np.stack([first, second], axis=1), codes)
    assert single.sums is None and cases.sums is not None
    a, b = (each.estimate(statistics(each, *names)) for each in (cases, single))
    for name in names:
        assert a[name].value == pytest.approx(b[name].value)
        assert (a[name].interval.low, a[name].interval.high) == pytest.approx(
            (b[name].interval.low, b[name].interval.high)
        )


def test_the_groups_are_the_same_in_steps_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, codes = clustered_pair(3, 600, 130)
    cases = counted_rows(np.stack([first, second], axis=1), codes, np.where(codes % 2, 1.0, 1.7))
    whole = np.concatenate(list(cases._leave_outs()))
    assert len(whole) == resampling.GROUPS and len(cases.times) > len(cases.rows)
    for size, steps in ((1, 100), (7, 15), (100, 1)):
        monkeypatch.setattr(resampling, "TOGETHER", size * len(cases.times))
        left = list(cases._leave_outs())
        assert len(left) == steps and np.concatenate(left) == pytest.approx(whole)


def test_a_jackknife_that_loses_the_figure_makes_no_interval() -> None:
    first, second = np.array([4.0] * 9 + [2.0]), np.array([4.0] * 9 + [3.0])
    found = pair_agreement(first, second, SCALE).figures["pearson"]
    assert "leaving out one of 10 clusters leaves it undefined" in found.interval.reason
    first, second = np.array([4.0] * 399 + [2.0]), np.array([4.0] * 399 + [3.0])
    found = pair_agreement(first, second, SCALE).figures["pearson"]
    assert "leaving out one of 100 groups of clusters leaves it undefined" in found.interval.reason


@pytest.mark.parametrize("cases", [12, 60])
def test_full_agreement_has_wilsons_interval_over_clusters_and_no_zero_width(cases: int) -> None:
    scores = np.arange(cases) % 5 + 1.0
    found = pair_agreement(scores, scores, SCALE).figures
    assert found["exact"].interval.method == "Wilson"
    assert found["exact"].interval.high == 1.0 and found["exact"].interval.low < 1
    assert found["kappa"].interval == resampling.SAME_EVERYWHERE


def test_one_cluster_makes_no_interval() -> None:
    first, second, _ = clustered_pair(7, 50, 1)
    found = pair_agreement(first, second, SCALE, clusters=np.zeros(50, dtype=int)).figures["exact"]
    assert found.interval == Undefined("there is only one case, or only one cluster of cases")


def test_many_cases_take_little_memory() -> None:
    first, second, codes = clustered_pair(8, 100_000, 2000)
    tracemalloc.start()
    pair = pair_agreement(first, second, SCALE, clusters=codes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pair.figures["pearson"].interval.clusters == 2000
    assert peak < 1e9
