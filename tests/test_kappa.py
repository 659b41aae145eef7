import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.stats.inter_rater import cohens_kappa

from pathway_local.statistics.coefficients import kappa

tables = st.lists(st.integers(0, 30), min_size=16, max_size=16).map(lambda cells: np.array(cells).reshape(4, 4))


def _kappa(table: NDArray[np.int64], power: int = 0) -> float:
    """Kappa of a confusion matrix; NaN where it is not defined."""
    ratings = np.argwhere(table).astype(np.float64)
    counts = table[np.nonzero(table)].astype(np.float64)[None, :]
    return float(kappa(power, ratings, counts, range(len(table)))[0])


@settings(deadline=None, max_examples=80)
@given(tables, st.sampled_from([0, 2]))
def test_kappa_matches_statsmodels(table: NDArray[np.int64], power: int) -> None:
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    if rows.max() == columns.max() == table.sum() and rows.argmax() == columns.argmax():
        assert np.isnan(_kappa(table, power)), "every score is the same"
        return
    apart = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    apart = apart**2 if power else (apart > 0).astype(int)
    expected = cohens_kappa(table, weights=apart, return_results=False)
    assert _kappa(table, power) == pytest.approx(expected, abs=1e-9)


def test_a_table_worked_by_hand() -> None:
    # 70 of 100 alike; margins 60 30 10 against 65 25 10 make 47.5 by chance: (70 - 47.5) / (100 - 47.5) = 3/7.
    table = np.array([[53, 5, 2], [11, 14, 5], [1, 6, 3]])
    assert _kappa(table) == pytest.approx(3 / 7)
