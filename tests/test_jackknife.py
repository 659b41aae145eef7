"""The interval engine, against textbook formulas and by what it refuses."""

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pathway_local.statistics import jackknife
from pathway_local.statistics.coefficients import agreement_figures
from pathway_local.statistics.effect import SAME
from pathway_local.statistics.figure import Estimate, Interval, Undefined
from pathway_local.statistics.intervals import share
from pathway_local.statistics.jackknife import Rows, rare

SCALE = (1, 2, 3, 4, 5)
Scores = NDArray[np.float64]


def clustered_pair(seed: int, cases: int, clusters: int) -> tuple[Scores, Scores, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, clusters, cases)
    first = rng.integers(1, 6, cases).astype(float)
    second = np.clip(first + rng.integers(-1, 2, cases) + (codes % 3 == 0), 1, 5)
    return first, second, codes


def two(first: Scores, second: Scores, clusters: NDArray[np.int64] | None = None) -> dict[str, Estimate]:
    return agreement_figures(np.stack([first, second], axis=1), SCALE, of_pairs=True, clusters=clusters)


def ends(estimate: Estimate) -> tuple[float, float]:
    assert isinstance(estimate.interval, Interval), estimate
    return estimate.interval.low, estimate.interval.high


def test_distinct_rows_are_counted_and_missing_scores_kept_alike() -> None:
    rows = Rows.of(np.array([[1.0, 2], [np.nan, 2], [1, 2], [np.nan, 2]]), np.array([7, 7, 9, 9]))
    assert rows.cases == 4 and rows.clusters == 2 and sorted(rows.counts) == [2, 2] and len(rows.scores) == 2
    assert [each.tolist() for each in np.concatenate(list(rows.left_out()))] == [[1, 1], [1, 1]]


def test_the_jackknife_of_few_clusters_is_the_textbook_one() -> None:
    first, second, codes = clustered_pair(1, 90, 12)
    found = two(first, second, clusters=codes)["mean_difference"]
    left = np.array([np.mean((first - second)[codes != c]) for c in range(12)])
    error = np.sqrt(11 / 12 * np.sum((left - left.mean()) ** 2))
    reach = stats.t.ppf(0.975, 11) * error
    assert isinstance(found.interval, Interval) and found.interval.method == "jackknife with t"
    assert found.interval.clusters == 12
    assert ends(found) == pytest.approx((found.value - reach, found.value + reach))  # type: ignore[operator]


def test_a_figure_with_bounds_has_its_jackknife_in_fishers_z() -> None:
    first, second, codes = clustered_pair(1, 300, 60)
    found = two(first, second, clusters=codes)["spearman"]
    value = stats.spearmanr(first, second).statistic
    left = np.array([stats.spearmanr(first[codes != c], second[codes != c]).statistic for c in range(60)])
    parts = 60 * value - 59 * left
    error = stats.sem(parts) / (1 - value**2)
    # Satterthwaite's degrees of freedom of a variance whose parts have that kurtosis.
    freedom = 2 * 60 / (stats.kurtosis(parts, fisher=False) - 1 + 2 / 59)
    reach = stats.t.ppf(0.975, min(59, max(3, freedom))) * error
    assert isinstance(found.interval, Interval) and found.interval.method == "jackknife with log-odds and t"
    assert np.arctanh(ends(found)) == pytest.approx([np.arctanh(value) - reach, np.arctanh(value) + reach])


def test_the_jackknife_of_many_clusters_is_over_groups_and_as_wide_as_over_single_ones() -> None:
    first, second, codes = clustered_pair(2, 3000, 400)
    found = two(first, second, clusters=codes)["mean_difference"].interval
    left = np.array([np.mean((first - second)[codes != c]) for c in range(400)])
    error = np.sqrt(399 / 400 * np.sum((left - left.mean()) ** 2))
    assert isinstance(found, Interval)
    assert found.clusters == 400
    assert (found.high - found.low) / 2 == pytest.approx(stats.t.ppf(0.975, 99) * error, rel=0.25)


def test_the_groups_are_the_same_in_steps_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, codes = clustered_pair(3, 600, 130)
    rows = Rows.of(np.stack([first, second], axis=1), codes)
    whole = np.concatenate(list(rows.left_out()))
    assert len(whole) == jackknife.GROUPS
    for size, steps in ((1, 100), (7, 15), (100, 1)):
        monkeypatch.setattr(jackknife, "TOGETHER", size * len(rows.scores))
        left = list(rows.left_out())
        assert len(left) == steps and np.concatenate(left) == pytest.approx(whole)


def test_a_jackknife_that_loses_the_figure_makes_no_interval() -> None:
    for cases, said in ((10, "(1 of 10 parts)"), (400, "(1 of 100 parts)")):
        first, second = (np.array([4.0] * (cases - 1) + [other]) for other in (2.0, 3.0))
        found = two(first, second)["spearman"].interval
        assert isinstance(found, Undefined) and found.reason.endswith(said)


@pytest.mark.parametrize("clustered", [False, True])
def test_a_share_has_wilsons_interval_for_as_many_cases_as_clusters_leave(clustered: bool) -> None:
    first, second, codes = clustered_pair(4, 300, 30)
    own = codes if clustered else None
    found = two(first, second, clusters=own)["exact"]
    assert isinstance(found.interval, Interval) and found.interval.method == "Wilson"
    assert found == share((first == second).astype(float), own)
    whole = two(first, first, clusters=own)
    assert ends(whole["exact"])[1] == 1.0 > ends(whole["exact"])[0] > 0.85
    assert whole["kappa"].interval == Undefined(SAME)


def test_few_cases_on_the_rarer_side_make_no_interval_of_kappa_and_alpha() -> None:
    for fails, shown in ((9, False), (10, True)):
        first = np.repeat([0.0, 1.0], [fails, 60 - fails])
        second = np.where(np.arange(60) % 30 == 3, 1 - first, first)
        second[:fails] = first[:fails]
        second[-1] = first[-1]
        both = np.stack([first, first], axis=1)
        figures = {
            name: each for of in (True, False) for name, each in agreement_figures(both, (0, 1), of_pairs=of).items()
        }
        reasons = [str(figures[name].interval) for name in ("kappa", "kappa_quadratic", "alpha_ordinal")]
        assert all(("under 10 cases are on the rarer side of the scale" in each) is not shown for each in reasons)
        assert all(figures[name].value == 1.0 for name in ("kappa", "alpha_ordinal"))


def test_the_rarer_side_is_that_of_the_most_even_cut() -> None:
    scores, counts = np.array([[1.0, 1], [2, 2], [3, 3], [5, np.nan]]), np.array([3.0, 6, 10, 7])
    assert rare(scores, counts, nominal=False) == pytest.approx(26 * 18 / 45)
    assert rare(scores, counts, nominal=True) == pytest.approx(26 * 20 / 45)


def test_many_cases_take_little_memory() -> None:
    first, second, codes = clustered_pair(8, 100_000, 2000)
    tracemalloc.start()
    found = two(first, second, clusters=codes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    interval = found["spearman"].interval
    assert isinstance(interval, Interval) and interval.clusters == 2000
    assert peak < 1e9
