"""Two answers to the same question, scored by one rater: which chatbot does better?"""

from dataclasses import dataclass

import numpy as np

from pathway_local.statistics.figure import Estimate, FloatArray, IntArray
from pathway_local.statistics.intervals import mean


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Pairs in which the first scored higher, the same and lower, and the mean of first minus second."""

    pairs: int
    wins: int
    ties: int
    losses: int
    difference: Estimate


def paired_comparison(first: FloatArray, second: FloatArray, *, clusters: IntArray | None = None) -> PairedComparison:
    """Compare scores (pairs,) of the same questions; pairs with a score missing (NaN) are left out.

    The paired t interval of the mean difference (Student 1908), robust to dependence within `clusters`.
    """
    both = np.isfinite(first) & np.isfinite(second)
    differences = np.round((first - second)[both], 9)
    return PairedComparison(
        pairs=len(differences),
        wins=int(np.sum(differences > 0)),
        ties=int(np.sum(differences == 0)),
        losses=int(np.sum(differences < 0)),
        difference=mean(differences, None if clusters is None else clusters[both], each="difference"),
    )
