from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from pathway_local.statistics.families import at_holm_levels, holm_levels
from pathway_local.statistics.figure import Estimate, Interval, Undefined
from pathway_local.statistics.human_benchmark import mean_of_people
from pathway_local.statistics.subgroups import GroupError, group_errors

SIGNED = "mean_difference"
Scores = NDArray[np.float64]


def held(found: Sequence[GroupError]) -> list[dict[str, Estimate]]:
    """The figures of each group, with intervals that allow for all groups at once."""
    names = list(found[0].effects) if found else []
    estimates = [at_holm_levels([each.effects[name] for each in found]) for name in names]
    return [dict(zip(names, own, strict=True)) for own in zip(*estimates, strict=True)]


def by_one(
    errors: Scores, groups: NDArray[np.int64], clusters: NDArray[np.int64] | None = None
) -> list[dict[str, Estimate]]:
    """Errors against one person, who gave every case the same score."""
    nothing = np.zeros(len(errors))
    return held(group_errors(errors, nothing, groups, clusters=clusters))


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
    found = group_errors(rater, reference, groups)
    even, harsh = (each[SIGNED] for each in held(found))
    errors = (rater - reference)[1:60]
    assert [(each.group, each.cases) for each in found] == [(3, 59), (5, 60)]
    assert even.value == pytest.approx(errors.mean())
    assert isinstance(harsh.interval, Interval) and harsh.interval.low > 0
    assert held(found)[0]["mean_absolute_error"].value == pytest.approx(np.abs(errors).mean())


def test_the_first_step_is_held_to_the_strictest_level_and_the_next_to_a_milder_one() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat([0, 1], 40)
    errors = rng.normal(0, 1, 80) + np.where(groups == 1, 3.0, 0.1)
    mild, strict = by_one(errors, groups)
    for group, found, level in ((1, strict, 0.975), (0, mild, 0.95)):
        own = errors[groups == group]
        expected = stats.t.interval(level, 39, own.mean(), stats.sem(own))
        assert isinstance(found[SIGNED].interval, Interval)
        assert (
            found[SIGNED].interval.low,
            found[SIGNED].interval.high,
        ) == pytest.approx(expected)


def test_small_groups_get_the_reason_and_do_not_count() -> None:
    rng = np.random.default_rng(3)
    groups = np.array([0] * 9 + [1] * 30)
    errors = rng.normal(0, 1, 39)
    small, large = by_one(errors, groups)
    assert small[SIGNED].value == Undefined("the group has 9 cases, under 10")
    own = errors[9:]
    assert isinstance(large[SIGNED].interval, Interval)
    assert large[SIGNED].interval.low == pytest.approx(stats.t.interval(0.95, 29, own.mean(), stats.sem(own))[0])


def test_clusters_count_once() -> None:
    rng = np.random.default_rng(4)
    errors = np.repeat(rng.normal(0, 1, 40), 5)
    groups = np.repeat([0, 1], 100)
    clusters = np.repeat(np.arange(40), 5)
    found = by_one(errors, groups, clusters)[0][SIGNED].interval
    plain = by_one(errors[::5], groups[::5])[0][SIGNED].interval
    assert isinstance(found, Interval) and isinstance(plain, Interval)
    assert found.clusters == 20
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


def test_what_can_not_be_compared_says_so() -> None:
    errors = np.array([1.0] * 12)
    alone = by_one(errors, np.zeros(12, dtype=int))[0]
    assert alone[SIGNED].interval == Undefined("every error is 1")
    one = by_one(np.arange(24.0), np.repeat([0, 1], 12), np.repeat([0, 1], 12))
    assert one[0][SIGNED].interval == Undefined("there is only one cluster")


def test_all_raters_and_scores_are_one_family() -> None:
    rng = np.random.default_rng(6)
    groups = np.repeat([0, 1], 60)
    people = rng.integers(1, 6, 120).astype(float)
    made = group_errors(people + rng.integers(-1, 2, 120), people, groups)
    alone, among = held(made), held([*made, *made])
    for name, narrow in alone[1].items():
        wide = among[1][name].interval
        assert isinstance(wide, Interval) and isinstance(narrow.interval, Interval)
        assert wide.low < narrow.interval.low and wide.high > narrow.interval.high, name


@settings(deadline=None, max_examples=150)
@given(st.integers(2, 14), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_any_small_table_gives_figures_or_reasons(cases: int, people: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.choice([1.0, 2.0, 4.0, np.nan], (cases, people + 1), p=[0.3, 0.3, 0.2, 0.2])
    reference = mean_of_people(scores[:, 1:])
    groups, clusters = rng.integers(0, 3, (2, cases))
    found = group_errors(scores[:, 0], reference, groups, clusters=clusters, smallest=1)
    for figure in (each for group in held(found) for each in group.values()):
        if isinstance(figure.value, Undefined):
            assert figure.value.reason
        elif isinstance(figure.interval, Interval):
            assert np.isfinite([figure.interval.low, figure.interval.high]).all()
