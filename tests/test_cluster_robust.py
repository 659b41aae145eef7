import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathway_local.statistics.intervals import contrast_error


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 4), st.booleans())
def test_uneven_clusters_get_the_error_and_freedom_of_bell_and_mccaffrey(seed: int, columns: int, alone: bool) -> None:
    """Held against matrices over all cases, as Pustejovsky and Tipton (2018, section 2) define it.

    A column of one cluster alone, such as a level that occurs nowhere else, costs only what that cluster tells of it.
    """
    rng = np.random.default_rng(seed)
    codes = np.unique(np.minimum(rng.geometric(0.2, 40), 9), return_inverse=True)[1]
    codes[:30] = np.resize(np.arange(6), 30)
    design = np.column_stack([np.ones(40), rng.normal(size=(40, 3)) + codes[:, None] % 3])[:, :columns]
    contrast = rng.normal(size=columns)
    if alone:
        design, contrast = np.column_stack([design, codes == 2]), np.append(contrast, 0.0)
        contrast[0] = 0.0 if columns > 1 else contrast[0]
    inverse = np.linalg.inv(design.T @ design)
    rest = np.eye(40) - design @ inverse @ design.T
    residuals = rest @ (rng.normal(size=40) + codes)
    parts = np.zeros((codes.max() + 1, 40))
    for one in range(len(parts)):
        own = codes == one
        values, vectors = np.linalg.eigh(rest[np.ix_(own, own)])
        root = np.where(values > 1e-9, 1 / np.sqrt(np.maximum(values, 1e-9)), 0)
        parts[one, own] = contrast @ inverse @ design[own].T @ (vectors * root @ vectors.T)
    gram = parts @ rest @ parts.T
    error, freedom = contrast_error(design, residuals, contrast, codes)
    assert error == pytest.approx(np.sqrt(np.sum((parts @ residuals) ** 2)))
    assert freedom == pytest.approx(np.trace(gram) ** 2 / np.sum(gram**2))


def test_a_contrast_known_from_one_cluster_has_no_error() -> None:
    codes = np.repeat(np.arange(8), 5)
    design = np.column_stack([np.ones(40), codes == 2]).astype(float)
    error, freedom = contrast_error(design, np.ones(40), np.array([0.0, 1]), codes)
    assert np.isnan(error) and freedom == 0
