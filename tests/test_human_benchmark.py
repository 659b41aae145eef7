import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.statistics.human_benchmark import compare_judges, human_benchmark, mean_of_people

SCALE = (1, 2, 3, 4, 5)
NAMES = ("judge", "ann", "bob", "cy")
Scores = NDArray[np.float64]


def raters(seed: int, cases: int, noises: tuple[float, ...]) -> Scores:
    """Scores of raters who see the same truth with their own noise."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(1, 5, cases)
    noisy = [truth + rng.normal(0, noise, cases) for noise in noises]
    return np.clip(np.round(np.column_stack(noisy)), 1, 5)


def test_each_person_and_judge_meets_the_mean_of_the_others_on_the_same_cases() -> None:
    scores = raters(1, 80, (0.5, 0.7, 0.9, 0.3))
    people, judge = scores[:, :3], scores[:, 3:]
    people[:10, 0] = np.nan
    people[5:8, 1] = np.nan
    judge[20] = np.nan
    found = human_benchmark(people, judge, 0.05, NAMES)
    sides = []
    for person in range(3):
        others = np.delete(people, person, axis=1)
        given = np.isfinite(people[:, person]) & np.isfinite(judge[:, 0]) & np.isfinite(others).any(axis=1)
        target = np.nanmean(others[given], axis=1)
        sides.append([stats.spearmanr(each[given], target).statistic for each in (judge[:, 0], people[:, person])])
    (average,) = found
    assert (average.first.value, average.second.value) == pytest.approx(tuple(np.mean(sides, axis=0)))
    assert average.difference.value == pytest.approx(np.subtract(*np.mean(sides, axis=0)))


def test_a_steady_judge_passes_the_benchmark_and_a_random_one_does_not() -> None:
    scores = raters(2, 300, (0.9, 0.9, 0.9, 0.1))
    chance = np.random.default_rng(3).integers(1, 6, 300).astype(float)
    judges, names = np.column_stack([scores[:, 3], chance]), ("judge", *NAMES)
    found = human_benchmark(scores[:, :3], judges, 0.05, names)
    assert [contrast.standing for contrast in found] == ["better", "worse"]


def test_the_difference_uses_the_same_cases() -> None:
    scores = raters(5, 200, (0.5, 0.4))
    same = compare_judges(scores[:, [1, 1]], scores[:, :1], "kappa_quadratic", 0.05, NAMES, SCALE)
    assert same.difference.value == 0.0
    assert isinstance(same.difference.interval, Undefined)
    nearly = scores[:, 1].copy()
    nearly[:3] = np.where(nearly[:3] > 3, nearly[:3] - 1, nearly[:3] + 1)
    two = np.stack([scores[:, 1], nearly], axis=1)
    close = compare_judges(two, scores[:, :1], "kappa_quadratic", 0.05, NAMES, SCALE)
    widths = [side.interval.high - side.interval.low for side in (close.first, close.difference)]  # type: ignore[union-attr]
    assert widths[1] < widths[0] / 2


def test_figures_on_the_scale_are_averaged_over_people() -> None:
    scores = raters(6, 120, (0.5, 0.8, 0.4, 0.6))
    scores[:30, 1] = np.nan
    found = compare_judges(scores[:, 2:], scores[:, :2], "kappa_quadratic", 0.05, NAMES, SCALE)
    kappas = [
        cohen_kappa_score(scores[rows, 2], scores[rows, person], labels=SCALE, weights="quadratic")
        for person, rows in ((0, slice(0, None)), (1, slice(30, None)))
    ]
    assert found.first.value == pytest.approx(np.mean(kappas))


def test_other_figures_meet_the_mean_of_the_people() -> None:
    scores = raters(7, 120, (0.5, 0.8, 0.4, 0.6))
    found = compare_judges(scores[:, 2:], scores[:, :2], "spearman", 0.05, NAMES)
    assert found.first.value == pytest.approx(stats.spearmanr(scores[:, 2], scores[:, :2].mean(axis=1)).statistic)


def test_people_for_whom_it_is_undefined_leave_the_average() -> None:
    scores = raters(8, 60, (0.5, 0.7, 0.3))
    people = np.column_stack([scores[:, :2], np.full(60, 4.0)])
    found = human_benchmark(people, scores[:, 2:], 0.05, NAMES)
    whole = human_benchmark(scores[:, :2], scores[:, 2:], 0.05, NAMES)
    assert isinstance(found[0].difference.value, float)
    assert found[0].second.value == pytest.approx(whole[0].second.value, abs=0.02)


def test_nothing_to_compare_says_so() -> None:
    gaps = np.full((5, 2), np.nan)
    found = human_benchmark(gaps, np.ones((5, 1)), 0.05, NAMES)
    assert found[0].first.value == Undefined("there is no case to compare")
    assert found[0].standing == "can't tell"
    single = compare_judges(np.array([[1.0, 2.0]]), np.array([[3.0]]), "spearman", 0.05, NAMES)
    assert single.difference.value == Undefined("there is only one case")


def test_clusters_widen_the_interval() -> None:
    scores = np.repeat(raters(9, 50, (0.8, 0.8, 0.5, 0.9)), 6, axis=0)
    alone = compare_judges(scores[:, 2:], scores[:, :2], "spearman", 0.05, NAMES)
    clusters = np.repeat(np.arange(50), 6)
    together = compare_judges(scores[:, 2:], scores[:, :2], "spearman", 0.05, NAMES, clusters=clusters)
    narrow, wide = alone.difference.interval, together.difference.interval
    assert isinstance(narrow, Interval) and isinstance(wide, Interval)
    assert wide.high - wide.low > 1.8 * (narrow.high - narrow.low)


def test_a_mean_of_people_ties_with_an_equal_mean() -> None:
    means = mean_of_people(np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [np.nan, 0.2, np.nan], [np.nan] * 3]))
    assert means[0] == means[1] == means[2]
    assert np.isnan(means[3])


def test_reasons_name_the_rater_who_gave_one_score() -> None:
    scores = raters(8, 60, (0.5, 0.7, 0.3))
    flat = np.full((60, 1), 4.0)
    found = human_benchmark(scores[:, :2], flat, 0.05, NAMES)
    assert found[0].difference.value == Undefined("judge gave 4 every time")
    assert isinstance(found[0].second.value, float), "people's figure needs no judge"
    two = compare_judges(np.hstack([scores[:, 2:], flat]), scores[:, :2], "spearman", 0.05, ("a", "b"))
    assert two.second.value == Undefined("b gave 4 every time")
