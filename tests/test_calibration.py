import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathway_local.statistics.calibration import reliability_bins

pairs = st.lists(st.tuples(st.floats(1, 5).map(lambda x: round(x, 2)), st.integers(1, 5)), min_size=2, max_size=40)


@settings(deadline=None, max_examples=60)
@given(pairs)
def test_bins_hold_every_case_once_in_order_and_keep_equals_together(cases: list[tuple[float, int]]) -> None:
    expected, people = np.array(cases, dtype=float).T
    bins = reliability_bins(np.append(expected, np.nan), np.append(people, 3.0))
    assert sum(each.cases for each in bins) == len(cases) and len(bins) <= max(1, len(cases) // 10)
    assert [each.expected for each in bins] == sorted(each.expected for each in bins)
    weights = [each.cases for each in bins]
    assert np.average([each.expected for each in bins], weights=weights) == pytest.approx(expected.mean())
    assert np.average([float(str(each.people.value)) for each in bins], weights=weights) == pytest.approx(people.mean())


def test_bins_are_of_equal_size_where_no_scores_are_equal() -> None:
    expected = np.random.default_rng(3).permutation(200) / 50
    bins = reliability_bins(expected, np.round(expected))
    assert [each.cases for each in bins] == [20] * 10
    assert bins[0].expected == pytest.approx(np.sort(expected)[:20].mean())
    assert reliability_bins(np.array([np.nan]), np.array([1.0])) == ()
