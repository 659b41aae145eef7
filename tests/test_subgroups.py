import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from pathway_local.statistics.families import holm_levels
from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.statistics.subgroups import drift, group_errors


@settings(deadline=None, max_examples=12)
@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=8))
def test_an_interval_at_holms_level_leaves_zero_out_exactly_where_holm_rejects(p_values: list[float]) -> None:
    rejected = multipletests(p_values, alpha=0.05, method="holm")[0]
    levels = holm_levels(p_values)
    assert [p <= 1 - level + 1e-15 for p, level in zip(p_values, levels, strict=True)] == list(rejected)


def test_errors_per_group() -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat([3, 5], 60)
    reference = rng.integers(1, 6, 120).astype(float)
    rater = reference + rng.integers(-1, 2, 120) + np.where(groups == 5, 1, 0)
    reference[0] = np.nan
    even, harsh = group_errors(rater, reference, groups)
    errors = (rater - reference)[1:60]
    assert (even.group, even.cases, harsh.cases) == (3, 59, 60)
    assert even.signed.value == pytest.approx(errors.mean())
    assert even.absolute.value == pytest.approx(abs(errors).mean())
    others = abs(rater - reference)[60:]
    assert harsh.excess.value == pytest.approx(others.mean() - abs(errors).mean())
    low, high = stats.t.interval(0.975, 59, others.mean(), stats.sem(others))
    interval = harsh.absolute.interval
    assert isinstance(interval, Interval)
    assert (interval.low, interval.high) == pytest.approx((low, high))
    assert isinstance(harsh.signed.interval, Interval) and harsh.signed.interval.low > 0


def test_the_first_step_is_held_to_the_strictest_level_and_the_next_to_a_milder_one() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat([0, 1], 40)
    errors = rng.normal(0, 1, 80) + np.where(groups == 1, 3.0, 0.1)
    mild, strict = group_errors(errors, np.zeros(80), groups)
    for found, level in ((strict, 0.975), (mild, 0.95)):
        own = errors[groups == found.group]
        expected = stats.t.interval(level, 39, own.mean(), stats.sem(own))
        assert isinstance(found.signed.interval, Interval)
        assert (found.signed.interval.low, found.signed.interval.high) == pytest.approx(expected)


def test_small_groups_get_the_reason_and_do_not_count() -> None:
    rng = np.random.default_rng(3)
    groups = np.array([0] * 9 + [1] * 30)
    errors = rng.normal(0, 1, 39)
    small, large = group_errors(errors, np.zeros(39), groups)
    assert small.signed.value == small.absolute.value == Undefined("the group has 9 cases, under 10")
    own = errors[9:]
    assert isinstance(large.signed.interval, Interval)
    assert large.signed.interval.low == pytest.approx(stats.t.interval(0.95, 29, own.mean(), stats.sem(own))[0])


def test_clusters_count_once() -> None:
    rng = np.random.default_rng(4)
    errors = np.repeat(rng.normal(0, 1, 40), 5)
    groups = np.repeat([0, 1], 100)
    clusters = np.repeat(np.arange(40), 5)
    found = group_errors(errors, np.zeros(200), groups, clusters=clusters)[0].signed.interval
    plain = group_errors(errors[::5], np.zeros(40), groups[::5])[0].signed.interval
    assert isinstance(found, Interval) and isinstance(plain, Interval)
    assert found.clusters == 20
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


def test_what_can_not_be_compared_says_so() -> None:
    errors = np.array([1.0] * 12)
    alone = group_errors(errors, np.zeros(12), np.zeros(12, dtype=int))[0]
    assert alone.signed.interval == Undefined("every error is 1")
    assert alone.excess.value == Undefined("one side of the comparison has no case")
    one = group_errors(np.arange(24.0), np.zeros(24), np.repeat([0, 1], 12), clusters=np.repeat([0, 1], 12))
    assert one[0].signed.interval == Undefined("there is only one cluster")
    assert one[0].excess.interval == Undefined("one side of the comparison has only one cluster")


def test_at_equal_scores_it_is_the_coefficient_of_the_group_in_a_regression() -> None:
    rng = np.random.default_rng(8)
    people, groups = rng.integers(1, 6, 200).astype(float), rng.integers(0, 3, 200)
    judge = 3 + 0.5 * (people - 3) + 0.3 * (groups == 1) + rng.normal(0, 0.5, 200)
    design = np.column_stack([groups == 1, *(people == level for level in range(1, 6))]).astype(float)
    fit = sm.OLS(judge - people, design).fit(cov_type="HC1")
    found = group_errors(judge, people, groups)[1].unequal
    assert found.value == pytest.approx(fit.params[0])
    interval = found.interval
    assert isinstance(interval, Interval)
    reach = (interval.high - interval.low) / 2
    assert 1.9 * fit.bse[0] < reach < 2.6 * fit.bse[0]  # 95% or Holm's wider level, and C/(C - 1)


@pytest.mark.parametrize("scale", [1.0, 0.01], ids=["0 to 100", "0 to 1"])
def test_scores_between_0_and_1_are_levels_of_their_own(scale: float) -> None:
    """Rounded to whole numbers, all good cases would be one level and all bad ones another."""
    rng, flagged = np.random.default_rng(19), 0
    for _ in range(40):
        groups = rng.integers(0, 2, 300)
        people = np.clip(np.where(groups, 70.0, 40.0) + rng.normal(0, 20, 300), 0, 100).round(1)
        middling = 50 + 0.6 * (people - 50) + rng.normal(0, 8, 300)
        interval = group_errors(middling * scale, people * scale, groups)[1].unequal.interval
        assert isinstance(interval, Interval)
        flagged += not interval.low < 0 < interval.high
    assert flagged <= 6


def test_a_judge_that_draws_scores_to_the_middle_is_not_unfair() -> None:
    rng = np.random.default_rng(9)
    groups = rng.integers(0, 2, 300)
    people = np.clip(np.round(np.where(groups, 4.2, 2.8) + rng.normal(0, 0.8, 300)), 1, 5)
    middling = np.clip(np.round(3 + 0.6 * (people - 3) + rng.normal(0, 0.5, 300)), 1, 5)
    good = group_errors(middling, people, groups)[1]
    assert isinstance(good.signed.interval, Interval) and good.signed.interval.high < 0
    assert isinstance(good.unequal.interval, Interval) and good.unequal.interval.low < 0 < good.unequal.interval.high
    unfair = group_errors(middling - 0.5 * groups, people, groups)[1].unequal
    assert isinstance(unfair.interval, Interval) and unfair.interval.high < 0
    apart = group_errors(middling, np.where(groups, 5.0, 1.0), groups)[1].unequal
    assert "hardly any other case" in str(apart.value)


def test_drift_is_the_coefficient_of_the_order_at_equal_scores() -> None:
    rng = np.random.default_rng(6)
    reference, position = rng.integers(1, 6, 300).astype(float), rng.integers(0, 5, 300) / 4
    rater = 3 + 0.6 * (reference - 3) + 0.4 * position + rng.normal(0, 0.5, 300)
    reference[0], position[1] = np.nan, np.nan
    cases, found = drift(rater, reference, position)
    known = slice(2, None)
    levels = (reference[known, None] == np.arange(1, 6)).astype(float)
    errors = (rater - reference)[known]
    model = sm.OLS(errors, np.column_stack([position[known], levels])).fit(cov_type="HC1")
    assert cases == 298 and found.value == pytest.approx(model.params[0])
    assert found.error == pytest.approx(model.bse[0], rel=0.02)
    assert found.p_value < 0.001 < drift(rater - 0.4 * np.nan_to_num(position), reference, position)[1].p_value
    assert drift(rater, reference, np.zeros(300))[1].missing.startswith("cases with the same score lie")
    assert drift(rater[:3], reference[:3], position[:3])[1].missing.startswith("fewer than two cases")
