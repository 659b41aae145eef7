import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from pathway_local.statistics.calibration import MapCheck, MonotoneMap, check_map, fit_map, reliability_bins
from pathway_local.statistics.figure import Undefined

pairs = st.lists(st.tuples(st.floats(1, 5).map(lambda x: round(x, 2)), st.integers(1, 5)), min_size=2, max_size=40)


@settings(deadline=None, max_examples=60)
@given(pairs)
def test_the_map_matches_scikit_learn(cases: list[tuple[float, int]]) -> None:
    expected, people = np.array(cases, dtype=float).T
    fitted = fit_map(expected, people)
    assert isinstance(fitted, MonotoneMap)
    reference = IsotonicRegression(out_of_bounds="clip").fit(expected, people)
    grid = np.linspace(0.5, 5.5, 60)
    assert fitted(grid) == pytest.approx(reference.predict(grid), abs=1e-6)


def test_cases_without_both_scores_are_left_out() -> None:
    fitted = fit_map(np.array([1.0, 2, np.nan, 4]), np.array([1.0, np.nan, 5, 2]))
    assert isinstance(fitted, MonotoneMap)
    assert list(fitted.knots) == [1, 4]
    assert isinstance(fit_map(np.array([np.nan]), np.array([1.0])), Undefined)


def test_a_bent_scale_is_straightened_on_cases_that_the_map_did_not_see() -> None:
    rng = np.random.default_rng(1)
    people = rng.integers(1, 6, 400).astype(float)
    expected = 1 + (people - 1) ** 2 / 8 + rng.normal(0, 0.1, 400)
    found = check_map(expected, people)
    assert isinstance(found, MapCheck)
    assert found.folds == 10 and found.cases == 400
    unmapped, mapped = found.absolute.unmapped.value, found.absolute.mapped.value
    assert isinstance(unmapped, float) and isinstance(mapped, float)
    assert mapped < 0.3 * unmapped
    assert found.absolute.gain.value == pytest.approx(unmapped - mapped)


def test_a_map_of_noise_shows_no_gain_over_the_best_constant() -> None:
    rng = np.random.default_rng(2)
    expected, people = rng.uniform(1, 5, 300), rng.integers(1, 6, 300).astype(float)
    found = check_map(expected, people)
    assert isinstance(found, MapCheck) and isinstance(found.squared.mapped.value, float)
    assert found.squared.mapped.value > 0.97 * people.var()


def test_clusters_stay_whole() -> None:
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(30), 4)
    expected = np.repeat(rng.uniform(1, 5, 30), 4)
    people = np.repeat(rng.integers(1, 6, 30), 4).astype(float)
    whole, torn = check_map(expected, people, clusters=clusters), check_map(expected, people)
    assert isinstance(whole, MapCheck) and isinstance(torn, MapCheck)
    # Expected scores mean nothing here: only a fit that saw the other cases of a cluster gets closer.
    assert whole.squared.mapped.value > 1.1 * torn.squared.mapped.value  # type: ignore[operator]


def test_too_few_cases_make_no_check() -> None:
    few = np.arange(19.0)
    assert check_map(few, few) == Undefined("19 cases have both scores, under 20")
    many = np.arange(25.0)
    assert check_map(many, many, clusters=np.zeros(25, dtype=int)) == Undefined("there is only one cluster")


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
