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


def test_the_bootstrap_agrees_with_drawing_whole_clusters_by_hand() -> None:
    first, second, codes = clustered_pair(2, 1200, 120)
    cases = counted_rows(np.stack([first, second], axis=1), codes)
    found = cases.estimate(statistics(cases, "mean_difference"), resamples=20_000)["mean_difference"].interval
    members = [np.flatnonzero(codes == c) for c in range(120)]
    rng = np.random.default_rng(99)
    by_hand = []
    for _ in range(4000):
        drawn = np.concatenate([members[c] for c in rng.integers(0, 120, 120)])
        by_hand.append(np.mean(first[drawn] - second[drawn]))
    outside = stats.norm.cdf(-np.sqrt(120 / 119) * stats.t.ppf(0.975, 119))
    assert 0.022 < outside < 0.025
    low, high = np.quantile(by_hand, [outside, 1 - outside])
    assert found.method == "bootstrap"
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)


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


def test_single_cases_as_rows_give_a_bootstrap_of_the_same_width(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, codes = clustered_pair(4, 600, 120)
    cases = counted_rows(np.stack([first, second], axis=1), codes)
    monkeypatch.setattr(resampling, "DENSE_CELLS", 0)
    single = counted_rows(np.stack([first, second], axis=1), codes)
    a, b = (each.estimate(statistics(each, "kappa"), resamples=4000)["kappa"].interval for each in (cases, single))
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=0.01)


def test_the_seed_decides_the_resamples() -> None:
    first, second, codes = clustered_pair(5, 600, 120)
    cases = counted_rows(np.stack([first, second], axis=1), codes)
    runs = [cases.estimate(statistics(cases, "kappa"), seed=s, resamples=500) for s in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_resamples_without_a_value_are_counted() -> None:
    first = np.array([4.0] * 39 + [2.0])
    second = np.array([4.0] * 39 + [3.0])
    found = pair_agreement(first, second, SCALE, resamples=2000).figures["pearson"]
    assert found.value == pytest.approx(1.0)
    assert found.interval == resampling.SAME_EVERYWHERE
    kappa = pair_agreement(first, second, SCALE, resamples=2000).figures["kappa"].interval
    assert 600 < kappa.undefined < 900  # the one other case is missing from (39/40)^40 = 36% of the resamples


def test_mostly_undefined_resamples_make_no_interval() -> None:
    sometimes = Statistic(lambda weights: np.where(weights[:, 0] == weights.sum(axis=1), 1.0, np.nan), "no reason")
    found = counted_rows(np.repeat([[1.0], [2.0]], 20, axis=0)).estimate({"it": sometimes}, resamples=100)["it"]
    assert found.value == Undefined("no reason")
    now_and_then = Statistic(lambda weights: np.where(weights[:, 0] == 20, 1.0, np.nan), "no reason")
    found = counted_rows(np.repeat([[1.0], [2.0]], 20, axis=0)).estimate({"it": now_and_then}, resamples=100)["it"]
    assert found.value == 1.0
    assert "of 100 resamples leave it undefined" in found.interval.reason


def test_a_jackknife_that_loses_the_figure_makes_no_interval() -> None:
    first, second = np.array([4.0] * 9 + [2.0]), np.array([4.0] * 9 + [3.0])
    found = pair_agreement(first, second, SCALE).figures["pearson"]
    assert "leaving out one of 10 clusters leaves it undefined" in found.interval.reason


@pytest.mark.parametrize("cases", [12, 60])
def test_full_agreement_has_wilsons_interval_over_clusters_and_no_zero_width(cases: int) -> None:
    scores = np.arange(cases) % 5 + 1.0
    found = pair_agreement(scores, scores, SCALE, resamples=200).figures
    assert found["exact"].interval.method == "Wilson"
    assert found["exact"].interval.high == 1.0 and found["exact"].interval.low < 1
    assert found["kappa"].interval == resampling.SAME_EVERYWHERE


def test_costly_figures_take_a_jackknife_over_groups() -> None:
    first, second, codes = clustered_pair(6, 600, 150)
    cases = counted_rows(np.stack([first, second], axis=1), codes)
    plain = statistics(cases, "kendall")["kendall"]
    costly = Statistic(plain.measure, plain.reason, needs=2, costly=True)
    found = cases.estimate({"plain": plain, "costly": costly}, resamples=4000)
    a, b = found["plain"].interval, found["costly"].interval
    assert b.method == "jackknife over 100 groups with t"
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=0.02)


def test_one_cluster_makes_no_interval() -> None:
    first, second, _ = clustered_pair(7, 50, 1)
    found = pair_agreement(first, second, SCALE, clusters=np.zeros(50, dtype=int)).figures["exact"]
    assert found.interval == Undefined("there is only one case, or only one cluster of cases")


def test_many_resamples_of_many_cases_take_little_memory() -> None:
    first, second, codes = clustered_pair(8, 100_000, 2000)
    tracemalloc.start()
    pair = pair_agreement(first, second, SCALE, clusters=codes, resamples=10_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pair.figures["pearson"].interval.clusters == 2000
    assert peak < 1e9
