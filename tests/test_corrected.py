"""Corrected means, shares and differences: textbook formulas, and how often their intervals hold the truth."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pathway_local.statistics.corrected import (
    Correction,
    corrected_difference,
    corrected_mean,
    corrected_share,
    cross_fitted_slopes,
)
from pathway_local.statistics.effect import Effect, difference_effect
from pathway_local.statistics.figure import BoolArray, Estimate, FloatArray, Interval, Undefined

SCALE = (1, 5)


def file_of(seed: int, cases: int, labels: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A judge's scores, everybody's true labels and the labels of a random sample."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([1.0, 2, 3, 4, 5], p=[0.05, 0.1, 0.2, 0.3, 0.35], size=cases)
    judge = np.clip(0.7 * truth + 1 + rng.normal(0, 0.5, cases), 1, 5)
    people = np.full(cases, np.nan)
    drawn = rng.permutation(cases)[:labels]
    people[drawn] = truth[drawn]
    return judge, truth, people


def correct(judge: FloatArray, people: FloatArray, strata: NDArray[np.int64] | None = None) -> Correction:
    found = corrected_mean(judge, people, SCALE, strata=strata)
    assert isinstance(found, Correction)
    return found


def ends(estimate: Estimate) -> tuple[float, float]:
    assert isinstance(estimate.interval, Interval), estimate
    return estimate.interval.low, estimate.interval.high


def width(estimate: Estimate) -> float:
    low, high = ends(estimate)
    return high - low


def holds(estimate: Estimate, truth: float) -> bool:
    low, high = ends(estimate)
    return low <= truth <= high


def implied_error(estimate: Estimate, freedom: float) -> float:
    """The standard error behind a log-odds interval."""
    assert isinstance(estimate.value, float)
    place = (estimate.value - 1) / 4
    low, high = ((end - 1) / 4 for end in ends(estimate))
    reach = (np.log(high / (1 - high)) - np.log(low / (1 - low))) / 2
    return float(reach * 4 * place * (1 - place) / stats.t.ppf(0.975, freedom))


def leave_one_out_slopes(y: FloatArray, f: FloatArray) -> FloatArray:
    return np.array([np.polyfit(np.delete(f, i), np.delete(y, i), 1)[0] for i in range(len(y))])


def test_slopes_are_regressions_on_all_other_labels_or_clusters() -> None:
    judge, _, people = file_of(1, 300, 40)
    labelled, nothing = np.isfinite(people), np.zeros(300, dtype=np.int64)
    found = cross_fitted_slopes(judge, people, nothing, np.arange(300))
    assert found[labelled] == pytest.approx(leave_one_out_slopes(people[labelled], judge[labelled]))
    assert not found[~labelled].any()
    clusters = np.arange(300) % 30
    found, case = cross_fitted_slopes(judge, people, nothing, clusters), int(np.flatnonzero(labelled)[0])
    rest = labelled & (clusters != clusters[case])
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
    assert correct(judge - 1, people).corrected.value == pytest.approx(found.corrected.value)


def test_a_good_judge_shortens_the_interval_and_a_useless_one_hardly_lengthens_it() -> None:
    judge, _, people = file_of(5, 2000, 100)
    good = correct(judge, people)
    assert width(good.corrected) < 0.6 * width(good.labels_only)
    chance = np.random.default_rng(1).uniform(1, 5, 2000)
    useless = correct(chance, people)
    assert width(useless.corrected) < 1.05 * width(useless.labels_only)
    assert useless.judge_mean == pytest.approx(chance.mean())


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
    assert silent.judge_mean == Undefined("no case has a verdict on the scale")


def test_when_every_case_is_labelled_the_file_has_no_uncertainty_left() -> None:
    judge, truth, _ = file_of(8, 100, 10)
    found = correct(judge, truth).corrected
    assert found.value == pytest.approx(truth.mean()) and found.interval == Undefined("every case is labelled")


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
    nobody = Undefined("no case of the group is labelled")
    assert corrected_mean(judge, people, SCALE, inside=np.isnan(people)) == nobody
    groups = np.arange(3000) % 2 + 1
    for name in (1, 2):
        inside = groups == name
        own = corrected_mean(judge, people, SCALE, inside=inside)
        assert isinstance(own, Correction)
        assert own.cases == inside.sum()
        assert own.corrected.value == pytest.approx(truth[inside].mean(), abs=0.2)
        subset = correct(judge[inside], people[inside])
        assert own.corrected.value == pytest.approx(subset.corrected.value, abs=0.01)
        assert width(own.corrected) == pytest.approx(width(subset.corrected), rel=0.05)


def test_too_few_labels_say_so() -> None:
    judge, _, people = file_of(15, 50, 1)
    assert corrected_mean(judge, people, SCALE) == Undefined("1 of 50 cases are labelled, under 2")
    people = np.where(np.arange(50) < 10, 4.0, np.nan)
    strata = np.repeat([0, 1], 25)
    assert corrected_mean(judge, people, SCALE, strata=strata) == Undefined("1 of 2 strata have no label")
    special = tuple(np.arange(50) < few for few in (0, 9))
    one = corrected_mean(judge, np.where(special[1], np.nan, people), SCALE, special=(special[0], special[1]))
    assert one == Undefined("1 of the labels has a place on the scale, under 2")
    people[40] = 3
    found = correct(judge, people, strata)
    assert found.corrected.interval == Undefined("a stratum, or the group, has only one label")


def test_any_small_file_has_a_mean_on_the_scale_or_says_why_not() -> None:
    rng = np.random.default_rng(0)
    for trial in range(600):
        cases = int(rng.integers(1, 14))
        judge, people = (rng.choice([1.0, 2, 5, np.nan], cases) for _ in range(2))
        judge = np.full(cases, rng.choice([1.0, np.nan])) if trial % 5 == 0 else judge
        special = tuple(np.isnan(each) & (rng.random(cases) < 0.4) for each in (judge, people))
        strata = rng.choice([0, 2, 5], cases).astype(np.int64) if trial % 2 else None
        inside = rng.random(cases) < 0.7 if trial % 3 else None
        both = special[0], special[1]
        found = corrected_mean(judge, people, SCALE, strata=strata, inside=inside, special=both)
        if isinstance(found, Undefined):
            assert found.reason
            continue
        for estimate in (found.corrected, found.labels_only):
            if isinstance(estimate.interval, Interval):
                low, high = ends(estimate)
                assert isinstance(estimate.value, float)
                assert 1 <= low <= estimate.value + 1e-9 and estimate.value - 1e-9 <= high <= 5


CASES = 1500


def draw(seed: int, labels: int) -> tuple[FloatArray, FloatArray, tuple[BoolArray, BoolArray], float]:
    """Judge, people's labels, where either says special, and the true mean on the scale."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([1.0, 2, 4, 5], p=[0.1, 0.2, 0.3, 0.4], size=CASES)
    # Low answers are special more often, and the judge misses a fifth of them.
    special = rng.random(CASES) < np.where(truth < 3, 0.5, 0.15)
    judge = np.clip(truth + 1.0 + rng.normal(0, 0.7, CASES), 1, 5)
    judged_special = np.where(special, rng.random(CASES) < 0.8, rng.random(CASES) < 0.1)
    judge[judged_special] = np.nan
    drawn = np.zeros(CASES, np.bool_)
    drawn[rng.permutation(CASES)[:labels]] = True
    people = np.where(drawn & ~special, truth, np.nan)
    return judge, people, (judged_special, drawn & special), float(truth[~special].mean())


def test_intervals_hold_the_mean_of_cases_that_have_a_place_on_the_scale() -> None:
    held = np.zeros(2)
    misses, plain = [], []
    for seed in range(200):
        judge, people, special, truth = draw(seed, 80)
        mean = corrected_mean(judge, people, SCALE, special=special)
        assert isinstance(mean, Correction)
        held += holds(mean.corrected, truth), holds(mean.labels_only, truth)
        assert isinstance(mean.corrected.value, float) and isinstance(mean.judge_mean, float)
        misses.append(mean.corrected.value - truth)
        plain.append(mean.judge_mean - truth)
    assert held.min() / 200 > 0.9
    assert abs(np.mean(misses)) < 0.03
    assert np.mean(plain) > 0.2


def test_a_corrected_share_holds_the_truth_as_often_as_it_says() -> None:
    """Few bad answers, of which the judge finds some, all or hardly any."""
    rng, everyone = np.random.default_rng(2), np.ones(1000, dtype=np.bool_)
    for rate, finds, wrong in ((0.05, 0.6, 0.05), (0.15, 0.1, 0.02), (0.15, 0.95, 0.01)):
        held = 0
        for _ in range(150):
            bad = (rng.random(1000) < rate).astype(float)
            judge = (rng.random(1000) < np.where(bad, finds, wrong)).astype(float)
            labels = np.full(1000, np.nan)
            drawn = rng.choice(1000, 80, replace=False)
            labels[drawn] = bad[drawn]
            held += holds(corrected_share(judge, labels, everyone), float(bad.mean()))
        assert held >= 0.91 * 150, (rate, finds, held)


@pytest.mark.parametrize("by_all", [0.0, 0.5])
def test_labels_that_people_shared_out_leave_doubt_when_all_cases_have_one(by_all: float) -> None:
    """The variance s^2 (1/n - 1/N) is s^2 (1/n - b/N) where a share b of the labels is by all of the people."""
    judge, truth, people = file_of(4, 200, 120)
    bad, called, everyone = np.where(np.isnan(people), np.nan, people <= 3), (judge <= 4) * 1.0, np.ones(200, np.bool_)
    more = (1 / 120 - by_all / 200) / (1 / 120 - 1 / 200)
    whole, shared = (corrected_mean(judge, people, SCALE, by_all=each) for each in (1.0, by_all))
    assert isinstance(whole, Correction) and isinstance(shared, Correction)
    for one, other in ((whole.corrected, shared.corrected), (whole.labels_only, shared.labels_only)):
        assert one.value == other.value
        assert implied_error(other, 90) == pytest.approx(more**0.5 * implied_error(one, 90))
    found = [corrected_share(called, bad, everyone, by_all=each) for each in (1.0, by_all)]
    rate = found[0].value
    assert isinstance(rate, float) and found[1].value == rate
    # The number of cases behind Wilson's interval follows from its middle.
    middles = [sum(ends(each)) / 2 for each in found]
    one, other = ((0.5 - middle) / (middle - rate) for middle in middles)
    assert one == pytest.approx(more * other)
    every = corrected_mean(judge, truth, SCALE, by_all=by_all)
    assert isinstance(every, Correction) and width(every.corrected) > 0


QUESTIONS = 200
ASKED = np.tile(np.arange(QUESTIONS), 2)
FIRST = np.arange(2 * QUESTIONS) < QUESTIONS
EVEN, ONCE = np.full(2 * QUESTIONS, 1 / QUESTIONS), np.ones(2 * QUESTIONS)
FLAT = np.full(2 * QUESTIONS, 4.0)
"""The scores of a judge that says nothing."""


def difference(judge: FloatArray, people: FloatArray, clusters: NDArray[np.int64] = ASKED) -> Effect:
    return corrected_difference(judge, people, FIRST, EVEN, ONCE, clusters)[0]


def scores(seed: int) -> tuple[FloatArray, FloatArray]:
    """People's scores of both answers to each question, and those of a judge who follows them."""
    rng = np.random.default_rng(seed)
    people = np.tile(rng.normal(3, 0.8, QUESTIONS), 2) + rng.normal(0, 0.4, 2 * QUESTIONS) + np.where(FIRST, 0.2, 0)
    return people, people + rng.normal(0, 0.3, 2 * QUESTIONS)


def labelled(people: FloatArray, seed: int, count: int) -> FloatArray:
    drawn = np.random.default_rng(seed).permutation(len(people))[:count]
    return np.where(np.isin(np.arange(len(people)), drawn), people, np.nan)


def test_with_every_answer_labelled_a_difference_is_the_paired_t_test() -> None:
    people, judge = scores(1)
    each = people[FIRST] - people[~FIRST]
    alone = difference(FLAT, people)
    assert alone.value == pytest.approx(each.mean())
    assert alone.error == pytest.approx(stats.sem(each))
    corrected = difference(judge, people)
    assert corrected.value == pytest.approx(each.mean(), abs=0.01)  # slopes are those of all other questions


def test_a_judge_that_says_nothing_leaves_the_difference_of_two_means() -> None:
    people, _ = scores(2)
    places = np.random.default_rng(2).permutation(QUESTIONS)[:80]
    given = np.full(2 * QUESTIONS, np.nan)
    for place in (places[:40], QUESTIONS + places[40:]):  # no question has both answers labelled
        given[place] = people[place]
    result = difference(FLAT, given)
    first, second = given[FIRST & np.isfinite(given)], given[~FIRST & np.isfinite(given)]
    assert corrected_difference(FLAT, given, FIRST, EVEN, ONCE, ASKED)[1] == (40, 40)
    assert result.value == pytest.approx(first.mean() - second.mean())
    welch = np.sqrt(first.var(ddof=1) / 40 + second.var(ddof=1) / 40)
    assert result.error == pytest.approx(welch, rel=0.02)


def test_what_the_judge_likes_does_not_move_it_and_what_it_knows_makes_it_surer() -> None:
    people, judge = scores(3)
    given = labelled(people, 3, 120)
    fair, biased = difference(judge, given), difference(judge + np.where(FIRST, 1.0, 0.0), given)
    assert fair.value == pytest.approx(biased.value)
    assert fair.error < 0.6 * difference(FLAT, given).error


def test_uneven_students_get_the_error_of_a_difference_of_means() -> None:
    people, _ = scores(5)
    students = np.random.default_rng(5).permutation(np.repeat(np.arange(20), [210] + [10] * 19))
    alone, plain = difference(FLAT, people, students), difference_effect(people, FIRST, students)
    assert alone.error == pytest.approx(plain.error)
    assert alone.freedom == pytest.approx(plain.freedom) and plain.freedom < 6  # of 20 students


def test_few_labels_make_no_difference_and_say_why() -> None:
    people, judge = scores(4)
    given = np.where(FIRST, people, np.nan)
    given[-9:] = people[-9:]
    assert difference(judge, given).missing == "one side has 9 labels, under 10"
    given[-10:] = people[-10:]
    result = difference(judge, given, np.zeros(2 * QUESTIONS, dtype=np.int64))
    assert result.missing == "the labels come from 1 clusters, under 10"
