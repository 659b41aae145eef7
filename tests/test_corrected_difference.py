"""A difference corrected by labels follows people, uses pairs, and is as sure as it says."""

import numpy as np
import pytest
from scipy import stats

from pathway_local.statistics.corrected import CorrectedDifference, corrected_difference
from pathway_local.statistics.figure import FloatArray, Interval
from pathway_local.statistics.intervals import difference_effect

QUESTIONS = 200
ASKED = np.tile(np.arange(QUESTIONS), 2)
FIRST = np.arange(2 * QUESTIONS) < QUESTIONS
EVEN, ONCE = np.full(2 * QUESTIONS, 1 / QUESTIONS), np.ones(2 * QUESTIONS)


def found(judge: FloatArray, people: FloatArray) -> CorrectedDifference:
    return corrected_difference(judge, people, FIRST, EVEN, ONCE, ASKED)


def scores(seed: int) -> tuple[FloatArray, FloatArray]:
    """People's scores of both answers to each question, and those of a judge who follows them."""
    rng = np.random.default_rng(seed)
    people = np.tile(rng.normal(3, 0.8, QUESTIONS), 2) + rng.normal(0, 0.4, 2 * QUESTIONS) + np.where(FIRST, 0.2, 0)
    return people, people + rng.normal(0, 0.3, 2 * QUESTIONS)


def labelled(people: FloatArray, seed: int, count: int) -> FloatArray:
    drawn = np.random.default_rng(seed).permutation(len(people))[:count]
    return np.where(np.isin(np.arange(len(people)), drawn), people, np.nan)


def test_with_every_answer_labelled_it_is_the_paired_t_test() -> None:
    people, judge = scores(1)
    each = people[FIRST] - people[~FIRST]
    alone = found(judge, people).labels_only
    assert alone.value == pytest.approx(each.mean())
    assert alone.error == pytest.approx(stats.sem(each))
    corrected = found(judge, people).corrected
    assert corrected.value == pytest.approx(each.mean(), abs=0.01)  # slopes are those of all other questions


def test_a_judge_that_says_nothing_leaves_the_difference_of_two_means() -> None:
    people, _ = scores(2)
    places = np.random.default_rng(2).permutation(QUESTIONS)[:80]
    given = np.full(2 * QUESTIONS, np.nan)
    for place in (places[:40], QUESTIONS + places[40:]):  # no question has both answers labelled
        given[place] = people[place]
    result = found(np.full(2 * QUESTIONS, 4.0), given)
    first, second = given[FIRST & np.isfinite(given)], given[~FIRST & np.isfinite(given)]
    assert result.labels == (40, 40) and result.slope == 0
    assert result.corrected.value == pytest.approx(first.mean() - second.mean())
    assert result.corrected.error == pytest.approx(np.sqrt(first.var(ddof=1) / 40 + second.var(ddof=1) / 40))


def test_what_the_judge_likes_does_not_move_it_and_what_it_knows_makes_it_surer() -> None:
    people, judge = scores(3)
    given = labelled(people, 3, 120)
    fair, biased = found(judge, given), found(judge + np.where(FIRST, 1.0, 0.0), given)
    assert fair.corrected.value == pytest.approx(biased.corrected.value)
    assert fair.corrected.error < 0.6 * fair.labels_only.error


def test_uneven_students_get_the_error_of_a_difference_of_means() -> None:
    people, judge = scores(5)
    students = np.repeat(np.arange(20), [210] + [10] * 19)
    students = np.random.default_rng(5).permutation(students)
    alone = corrected_difference(judge, people, FIRST, EVEN, ONCE, students).labels_only
    plain = difference_effect(people, FIRST, students)
    assert alone.error == pytest.approx(plain.error)
    assert alone.freedom == pytest.approx(plain.freedom) and plain.freedom < 4  # of 20 students


def test_few_labels_make_no_difference_and_say_why() -> None:
    people, judge = scores(4)
    given = np.where(FIRST, people, np.nan)
    given[-9:] = people[-9:]
    assert found(judge, given).corrected.missing == "one side has 9 labels, under 10"
    given[-10:] = people[-10:]
    alike = np.zeros(2 * QUESTIONS, dtype=np.int64)
    result = corrected_difference(judge, given, FIRST, EVEN, ONCE, alike)
    assert result.corrected.missing == "the labels come from 1 clusters, under 10"


def test_the_interval_covers_the_difference_as_often_as_it_says() -> None:
    held, replications = 0, 400
    for seed in range(replications):
        people, judge = scores(1000 + seed)
        interval = found(judge + np.where(FIRST, 0.5, 0), labelled(people, seed, 60)).corrected.estimate().interval
        assert isinstance(interval, Interval)
        held += interval.low <= 0.2 <= interval.high
    assert stats.binomtest(held, replications, 0.95).pvalue > 0.001


def test_groups_that_share_no_question_are_compared_by_their_means() -> None:
    people, judge = scores(5)
    given = labelled(people, 5, 120)
    alone = np.arange(2 * QUESTIONS)
    pairs, groups = found(judge, given), corrected_difference(judge, given, FIRST, EVEN, ONCE, alone)
    assert groups.corrected.value == pytest.approx(pairs.corrected.value, abs=0.01)
    assert groups.corrected.error > 1.3 * pairs.corrected.error, "hard questions no longer cancel"
