import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.stats.inter_rater import cohens_kappa

from pathway_local.statistics.figure import Undefined
from pathway_local.statistics.kappa import Weights, cohen_kappa, disagreement

SCALE = (1, 2, 3, 4)
tables = st.lists(st.integers(0, 30), min_size=16, max_size=16).map(lambda cells: np.array(cells).reshape(4, 4))


@settings(deadline=None, max_examples=80)
@given(tables, st.sampled_from(["none", "quadratic"]))
def test_kappa_matches_statsmodels(table: NDArray[np.int64], weights: Weights) -> None:
    found = cohen_kappa(table, SCALE, weights)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    if table.sum() < 2 or (rows.max() == columns.max() == table.sum() and rows.argmax() == columns.argmax()):
        assert isinstance(found, Undefined)
        return
    expected = cohens_kappa(table, weights=disagreement(4, weights), return_results=False)
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_table_worked_by_hand() -> None:
    # 70 of 100 alike; margins 60 30 10 against 65 25 10 make 47.5 by chance: (70 - 47.5) / (100 - 47.5) = 3/7.
    table = np.array([[53, 5, 2], [11, 14, 5], [1, 6, 3]])
    assert cohen_kappa(table, (1, 2, 3)) == pytest.approx(3 / 7)


def test_undefined_tables_say_why() -> None:
    only = np.zeros((4, 4), dtype=int)
    assert cohen_kappa(only, SCALE) == Undefined("there is no case to compare")
    only[3, 3] = 1
    assert cohen_kappa(only, SCALE) == Undefined("there is only one case")
    only[3, 3] = 9
    assert cohen_kappa(only, SCALE, "quadratic") == Undefined("every score is 4")


def test_a_table_of_another_size_than_the_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="4 levels"):
        cohen_kappa(np.zeros((3, 3), dtype=int), SCALE)
