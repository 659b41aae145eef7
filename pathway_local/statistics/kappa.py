"""Cohen's kappa: agreement of two raters beyond the chance that their own habits bring."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from pathway_local.statistics.figure import FloatArray, IntArray, Number, Undefined, why_constant
from pathway_local.statistics.resampling import Statistic

Weights = Literal["none", "quadratic"]


def disagreement(size: int, weights: Weights) -> FloatArray:
    """Return the distance at which two of `size` levels count, (size, size).

    "none": 0 for the same level, else 1. "quadratic": levels apart, squared. Levels count by their position on the
    declared scale, so unused ones keep their place.
    """
    place = np.arange(size)
    apart = np.abs(place[:, None] - place).astype(np.float64)
    if weights == "none":
        return (apart > 0).astype(np.float64)
    return apart**2


def one_minus(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """1 - observed / expected disagreement; NaN where chance brings none."""
    defined = expected > 1e-9
    return np.where(defined, 1 - observed / np.where(defined, expected, 1.0), np.nan)


def kappa(first: IntArray, second: IntArray, values: Sequence[float], weights: Weights) -> Statistic:
    """Kappa for rows of positions on the declared scale `values`.

    1 - sum(d o) / sum(d e) with disagreement d, observed shares o and expected shares e, the products of the
    two raters' own shares. Unweighted: Cohen (1960). Weighted: Cohen (1968), with the quadratic weights of Fleiss
    and Cohen (1973).
    """
    apart = disagreement(len(values), weights)
    levels = np.eye(len(values))
    observed = apart[first, second]

    def measure(counts: FloatArray) -> FloatArray:
        cases = counts.sum(axis=1)
        expected = np.sum((counts @ levels[first] @ apart) * (counts @ levels[second]), axis=1)
        return one_minus(cases * (counts @ observed), expected)

    scale = np.asarray(values, dtype=np.float64)
    return Statistic(measure, why_constant((scale[first], scale[second])), needs=2, least=-1.0, most=1.0)


def cohen_kappa(table: IntArray, values: Sequence[float], weights: Weights = "none") -> Number:
    """Kappa of a confusion matrix (k, k) over the declared scale `values`; see `kappa`."""
    if table.shape != (len(values), len(values)):
        raise ValueError(f"a table of shape {table.shape} for {len(values)} levels")
    first, second = np.nonzero(table)
    counts = table[first, second].astype(np.float64)
    if counts.sum() < 2:
        return Undefined("there is only one case" if counts.sum() else "there is no case to compare")
    statistic = kappa(first, second, values, weights)
    value = float(statistic.measure(counts[None, :])[0])
    return value if np.isfinite(value) else Undefined(statistic.reason)
