import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pathway_local.statistics.coefficients import pearson, spearman

FIGURES = (
    (pearson, stats.pearsonr),
    (spearman, stats.spearmanr),
)
weighted = st.lists(
    st.tuples(st.integers(1, 5), st.floats(-3, 9).map(lambda x: round(x, 1)), st.integers(0, 3)),
    min_size=2,
    max_size=25,
)


@settings(deadline=None, max_examples=60)
@given(weighted)
def test_a_weighted_figure_is_the_plain_one_of_repeated_cases(rows: list[tuple[int, float, int]]) -> None:
    first, second, times = np.array(rows, dtype=float).T
    a, b = np.repeat(first, times.astype(int)), np.repeat(second, times.astype(int))
    for build, plain in FIGURES:
        value = build(np.column_stack([first, second]), times[None, :])[0]
        if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(plain(a, b).statistic, abs=1e-7)


def test_large_offsets_lose_no_digits() -> None:
    rng = np.random.default_rng(5)
    first = rng.normal(size=50)
    second = first + rng.normal(size=50)
    shifted = pearson(np.column_stack([first + 1e9, second]), np.ones((1, 50)))[0]
    assert shifted == pytest.approx(stats.pearsonr(first, second).statistic, abs=1e-6)
