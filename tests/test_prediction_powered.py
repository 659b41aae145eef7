import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pathway_local.statistics.figure import Estimate, Interval, Undefined
from pathway_local.statistics.human_benchmark import mean_of_people
from pathway_local.statistics.prediction_powered import (
    Correction,
    Noise,
    Survey,
    corrected_mean,
    cross_fitted_slopes,
    label_noise,
    unseen_errors,
)

SCALE = (1, 5)
Scores = NDArray[np.float64]


def file_of(seed: int, cases: int, labels: int) -> tuple[Scores, Scores, Scores]:
    """A judge's scores, everybody's true labels and the labels of a random sample."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([1.0, 2, 3, 4, 5], p=[0.05, 0.1, 0.2, 0.3, 0.35], size=cases)
    judge = np.clip(0.7 * truth + 1 + rng.normal(0, 0.5, cases), 1, 5)
    people = np.full(cases, np.nan)
    drawn = rng.permutation(cases)[:labels]
    people[drawn] = truth[drawn]
    return judge, truth, people


def correct(judge: Scores, people: Scores, strata: NDArray[np.int64] | None = None) -> Correction:
    found = corrected_mean(judge, people, SCALE, Survey(strata=strata))
    assert isinstance(found, Correction)
    return found


def width(estimate: Estimate) -> float:
    assert isinstance(estimate.interval, Interval)
    return estimate.interval.high - estimate.interval.low


def implied_error(estimate: Estimate, freedom: float) -> float:
    """The standard error behind a log-odds interval."""
    interval = estimate.interval
    assert isinstance(interval, Interval) and isinstance(estimate.value, float)
    place = (estimate.value - 1) / 4
    low, high = ((end - 1) / 4 for end in (interval.low, interval.high))
    reach = (np.log(high / (1 - high)) - np.log(low / (1 - low))) / 2
    return float(reach * 4 * place * (1 - place) / stats.t.ppf(0.975, freedom))


def leave_one_out_slopes(y: Scores, f: Scores) -> Scores:
    return np.array([np.polyfit(np.delete(f, i), np.delete(y, i), 1)[0] for i in range(len(y))])


def test_slopes_are_regressions_on_all_other_labels() -> None:
    judge, _, people = file_of(1, 300, 40)
    labelled = np.isfinite(people)
    nothing = np.zeros(300, dtype=np.int64)
    found = cross_fitted_slopes(judge, people, nothing, np.arange(300))
    assert found[labelled] == pytest.approx(leave_one_out_slopes(people[labelled], judge[labelled]))
    assert not found[~labelled].any()


def test_slopes_leave_the_whole_cluster_out() -> None:
    judge, _, people = file_of(2, 300, 60)
    clusters = np.arange(300) % 50
    found = cross_fitted_slopes(judge, people, np.zeros(300, dtype=np.int64), clusters)
    case = int(np.flatnonzero(np.isfinite(people))[0])
    rest = np.isfinite(people) & (clusters != clusters[case])
    assert found[case] == pytest.approx(np.polyfit(judge[rest], people[rest], 1)[0])


def test_the_mean_of_a_file_follows_its_formula() -> None:
    judge, _, people = file_of(3, 400, 80)
    labelled = np.isfinite(people)
    y, f = people[labelled], judge[labelled]
    residuals = y - leave_one_out_slopes(y, f) * (f - judge.mean())
    found = correct(judge, people)
    assert found.corrected.value == pytest.approx(residuals.mean())
    spread = residuals - residuals.mean()
    kurtosis = 80 * np.sum(spread**4) / np.sum(spread**2) ** 2
    freedom = min(79.0, 160 / (kurtosis - 1 + 2 / 79))
    assert implied_error(found.corrected, freedom) ** 2 == pytest.approx((1 - 80 / 400) * residuals.var(ddof=1) / 80)
    plain = y.mean() + np.polyfit(f, y, 1)[0] * (judge.mean() - f.mean())
    assert found.corrected.value == pytest.approx(plain, abs=0.01)
    assert found.slope == pytest.approx(np.polyfit(f, y, 1)[0], abs=0.01)


def test_a_good_judge_shortens_the_interval_and_a_useless_one_hardly_lengthens_it() -> None:
    judge, _, people = file_of(5, 2000, 100)
    assert width(correct(judge, people).corrected) < 0.6 * width(correct(judge, people).labels_only)
    chance = np.random.default_rng(1).uniform(1, 5, 2000)
    useless = correct(chance, people)
    assert width(useless.corrected) < 1.05 * width(useless.labels_only)
    assert useless.judge_mean == pytest.approx(chance.mean())


def test_a_judge_that_is_one_point_off_does_not_move_the_result() -> None:
    judge, _, people = file_of(6, 500, 60)
    found, moved = correct(judge, people), correct(judge - 1, people)
    assert moved.corrected.value == pytest.approx(found.corrected.value)
    assert moved.judge_mean == pytest.approx(judge.mean() - 1)


def test_cases_without_a_verdict_stay_in() -> None:
    judge, _, people = file_of(7, 400, 80)
    judge[:50] = np.nan
    filled = np.where(np.isfinite(judge), judge, np.nanmean(judge))
    found = correct(judge, people)
    assert (found.cases, found.labelled, found.without_verdict) == (400, 80, 50)
    assert found.judge_mean == pytest.approx(np.nanmean(judge))
    assert found.corrected.value == pytest.approx(correct(filled, people).corrected.value)
    silent = correct(np.full(400, np.nan), people)
    assert silent.corrected.value == pytest.approx(np.nanmean(people))
    assert silent.judge_mean == Undefined("no case has a verdict")


def test_when_every_case_is_labelled_the_file_has_no_uncertainty_left() -> None:
    judge, truth, _ = file_of(8, 100, 10)
    found = correct(judge, truth)
    assert isinstance(found.corrected.interval, Interval)
    assert found.corrected.interval.low == found.corrected.interval.high == pytest.approx(truth.mean())
    assert found.more_labels == Undefined("every case is labelled")


def test_labels_drawn_unequally_by_stratum_are_weighted_back() -> None:
    rng = np.random.default_rng(10)
    strata = np.repeat([0, 1], [900, 100])
    truth = np.where(strata == 0, rng.choice([4.0, 5], 1000), rng.choice([1.0, 2], 1000))
    judge = truth + rng.normal(0, 0.3, 1000)
    people = np.full(1000, np.nan)
    drawn = np.concatenate([rng.permutation(900)[:50], 900 + rng.permutation(100)[:50]])
    people[drawn] = truth[drawn]
    assert correct(judge, people).labels_only.value == pytest.approx(3.0, abs=0.2)
    found = correct(judge, people, strata)
    assert found.labels_only.value == pytest.approx(truth.mean(), abs=0.2)
    assert found.corrected.value == pytest.approx(truth.mean(), abs=0.1)
    parts = [(0.9, people[:900], 900), (0.1, people[900:], 100)]
    variance = sum(w**2 * (1 - 50 / size) * np.nanvar(part, ddof=1) / 50 for w, part, size in parts)
    assert implied_error(found.labels_only, 99) ** 2 == pytest.approx(variance, rel=0.1)


def test_groups_share_the_slope_and_one_without_labels_gets_the_reason() -> None:
    judge, truth, people = file_of(11, 3000, 300)
    assert corrected_mean(judge, people, SCALE, Survey(inside=np.isnan(people))) == Undefined(
        "no case of the group is labelled"
    )
    groups = np.arange(3000) % 2 + 1
    for name in (1, 2):
        inside = groups == name
        own = corrected_mean(judge, people, SCALE, Survey(inside=inside))
        assert isinstance(own, Correction)
        assert own.cases == inside.sum()
        assert own.corrected.value == pytest.approx(truth[inside].mean(), abs=0.2)
        subset = correct(judge[inside], people[inside])
        assert own.corrected.value == pytest.approx(subset.corrected.value, abs=0.01)
        assert width(own.corrected) == pytest.approx(width(subset.corrected), rel=0.05)


def test_that_many_more_labels_do_halve_the_interval() -> None:
    judge, truth, people = file_of(12, 20_000, 100)
    before = correct(judge, people)
    assert isinstance(before.more_labels, int)
    unlabelled = np.random.default_rng(3).permutation(np.flatnonzero(np.isnan(people)))[: before.more_labels]
    people[unlabelled] = truth[unlabelled]
    assert width(correct(judge, people).corrected) == pytest.approx(width(before.corrected) / 2, rel=0.15)


def test_noise_of_labels_may_make_an_interval_impossible_to_halve_within_the_file() -> None:
    judge, _, people = file_of(13, 150, 100)
    found = corrected_mean(judge, people, SCALE, Survey(noise=Noise(4.0, 99)))
    assert isinstance(found, Correction)
    assert isinstance(found.more_labels, Undefined) and "all 150 cases" in found.more_labels.reason


def test_few_dissenting_labels_are_warned_of_and_none_make_no_interval() -> None:
    judge, _, people = file_of(14, 500, 60)
    labelled = np.flatnonzero(np.isfinite(people))
    people[labelled] = 5
    found = correct(judge, people)
    assert found.corrected.interval == Undefined("every label is 5")
    people[labelled[:4]] = 4
    (few,) = correct(judge, people).warnings
    assert (few.key, few.values) == ("few_dissenters", {"count": 4, "labels": 60, "commonest": 5.0})
    people[labelled[:15]] = 4
    assert correct(judge, people).warnings == ()


def test_too_few_labels_say_so() -> None:
    judge, _, people = file_of(15, 50, 1)
    assert corrected_mean(judge, people, SCALE) == Undefined("1 of 50 cases are labelled, under 2")
    people = np.where(np.arange(50) < 10, 4.0, np.nan)
    strata = np.repeat([0, 1], 25)
    assert corrected_mean(judge, people, SCALE, Survey(strata=strata)) == Undefined("1 of 2 strata have no label")


def test_the_interval_covers_the_mean_of_skewed_scores_as_often_as_it_says() -> None:
    rng = np.random.default_rng(16)
    shares = np.array([0.02, 0.02, 0.03, 0.08, 0.85])
    hits = 0
    for _ in range(400):
        truth = rng.choice([1.0, 2, 3, 4, 5], p=shares, size=1000)
        judge = np.where(rng.random(1000) < 0.75, truth, np.clip(truth + rng.choice([-1, 1], 1000), 1, 5))
        people = np.where(np.arange(1000) < 100, truth, np.nan)
        interval = correct(judge, people).corrected.interval
        hits += isinstance(interval, Interval) and interval.low <= truth.mean() <= interval.high
    assert 0.91 <= hits / 400 <= 0.985


def test_errors_that_no_label_shows_are_warned_of_until_there_are_enough_labels() -> None:
    judge = np.full(200, 4.0)
    (said,) = unseen_errors(judge[:60], np.full(60, 3.0), (1, 5))
    assert said.values == {"points": 2.0, "labels": 60, "share": pytest.approx(0.0487, abs=1e-4)}
    assert stats.binom.pmf(0, 60, 0.0487) == pytest.approx(0.05, abs=0.001)
    assert unseen_errors(judge[:149], np.full(149, 3.0), (1, 5)) == ()
    assert unseen_errors(judge[:60], np.array([2.0] + [4.0] * 59), (1, 5)) == ()
    assert unseen_errors(judge[:60], np.full(60, np.nan), (1, 5)) == ()


def test_the_noise_of_labels_is_what_cases_and_people_leave_over() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(3, 1, (4000, 1)) + np.array([0.0, 0.5, -0.3]) + rng.normal(0, 0.6, (4000, 3))
    everyone = label_noise(scores)
    assert everyone and everyone.variance == pytest.approx(0.36 / 3, rel=0.05) and everyone.freedom == 3999 * 2
    scores[:, 2] = np.nan
    pair = label_noise(scores)
    assert pair and pair.variance == pytest.approx(0.36 / 2, rel=0.05)
    scores[1000:, 1] = np.nan  # a quarter is labelled twice, the rest once
    scores[:1000, 0] += 1
    some = label_noise(scores)
    assert some and some.variance == pytest.approx(0.36 * (0.25 / 2 + 0.75), rel=0.1) and some.freedom == 999
    few = scores[981:]
    assert label_noise(few) is None and label_noise(scores[980:]) is not None
    assert label_noise(scores[:, :1]) is label_noise(np.empty((0, 2))) is None


def test_the_noise_of_labels_where_each_case_has_two_people_of_its_own() -> None:
    """Nothing tells these people apart, so what sets them apart is noise too."""
    rng, cases = np.random.default_rng(5), 400
    scores = np.full((cases, 2 * cases), np.nan)
    for case in range(cases):
        scores[case, 2 * case : 2 * case + 2] = rng.normal(3, 1) + rng.normal(0, 0.6, 2)
    found = label_noise(scores)
    assert found and found.variance == pytest.approx(0.36 / 2, rel=0.15) and found.freedom == cases


def test_people_who_agree_on_every_case_leave_no_interval() -> None:
    labels = np.tile([1.0, 2.0, 4.0, 5.0], 10)
    noise = label_noise(np.column_stack([labels, labels]))
    assert noise and noise.variance == 0
    found = corrected_mean(np.full(40, 3.0), labels, (1, 5), Survey(noise=noise))
    assert isinstance(found, Correction)
    assert found.corrected.interval == Undefined("every case is labelled, and its people agree")


@pytest.mark.parametrize("labelled", [200, 400])
def test_a_share_labelled_twice_shows_what_second_ratings_would_change(labelled: int) -> None:
    """Taken for labels that nobody would give otherwise, they hold the truth in 88% and in none of these files."""
    rng, held = np.random.default_rng(3), np.zeros(2)
    for _ in range(300):
        quality, scores = rng.normal(3.4, 0.7, 400), np.full((400, 2), np.nan)
        drawn = rng.permutation(400)[:labelled]
        scores[drawn, 0] = quality[drawn] + rng.normal(0, 0.7, labelled)
        scores[drawn[:40], 1] = quality[drawn[:40]] + rng.normal(0, 0.7, 40)
        judge, people = quality + rng.normal(0, 0.7, 400), mean_of_people(scores)
        for place, noise in enumerate((None, label_noise(scores))):
            found = corrected_mean(judge, people, (-2, 9), Survey(noise=noise))
            assert isinstance(found, Correction) and isinstance(found.corrected.interval, Interval)
            held[place] += found.corrected.interval.low <= quality.mean() <= found.corrected.interval.high
    assert held[0] < 280
    assert stats.binomtest(int(held[1]), 300, 0.95).pvalue > 0.001


def test_labels_that_people_would_not_repeat_leave_doubt_when_all_cases_are_labelled() -> None:
    rng = np.random.default_rng(3)
    truth, held = rng.normal(3, 0.5, 80), 0
    for _ in range(400):
        people = truth + rng.normal(0, 0.4, 80)
        found = corrected_mean(np.full(80, 3.0), people, (0, 6), Survey(noise=Noise(0.16, 79)))
        assert isinstance(found, Correction) and isinstance(found.corrected.interval, Interval)
        held += found.corrected.interval.low <= truth.mean() <= found.corrected.interval.high
    assert stats.binomtest(held, 400, 0.95).pvalue > 0.001
