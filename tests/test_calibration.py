import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathway_local.statistics.calibration import reliability_points

pairs = st.lists(st.tuples(st.floats(1, 5).map(lambda x: round(x, 2)), st.integers(1, 5)), min_size=2, max_size=40)


@settings(deadline=None, max_examples=60)
@given(pairs)
def test_bins_hold_every_case_once_in_order_and_keep_equals_together(cases: list[tuple[float, int]]) -> None:
    expected, people = np.array(cases, dtype=float).T
    points = reliability_points(np.append(expected, np.nan), np.append(people, 3.0))
    counts, middles, means = zip(*points, strict=True)
    assert sum(counts) == len(cases) and len(counts) <= max(1, len(cases) // 10)
    assert [*middles] == sorted(middles)
    assert np.average(middles, weights=counts) == pytest.approx(expected.mean())
    assert np.average([float(str(each.value)) for each in means], weights=counts) == pytest.approx(people.mean())


def test_bins_are_of_equal_size_where_no_scores_are_equal() -> None:
    expected = np.random.default_rng(3).permutation(200) / 50
    points = [*reliability_points(expected, np.round(expected))]
    assert [cases for cases, *_ in points] == [20] * 10
    assert points[0][1] == pytest.approx(np.sort(expected)[:20].mean())
    assert [*reliability_points(np.array([np.nan]), np.array([1.0]))] == []
