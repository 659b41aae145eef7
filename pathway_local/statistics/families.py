"""Families of tests, whose intervals allow for several."""

from collections.abc import Sequence

import numpy as np

from pathway_local.statistics.effect import Effect
from pathway_local.statistics.figure import Estimate
from pathway_local.statistics.intervals import LEVEL


def holm_levels(p_values: Sequence[float]) -> list[float]:
    """The confidence level for each test's interval under Holm's step-down procedure (Holm 1979).

    The smallest of m p-values is held to alpha/m, the next to alpha/(m-1), and so on until one is not
    rejected; all from there on are held to that one's level. Each interval then leaves out zero exactly where
    the procedure rejects.
    """
    alpha = 1 - LEVEL
    levels = [LEVEL] * len(p_values)
    step = 0
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        levels[place] = 1 - alpha / (len(p_values) - step)
        if step == rank and p_values[place] <= alpha / (len(p_values) - rank):
            step = rank + 1
    return levels


def at_holm_levels(effects: Sequence[Effect]) -> list[Estimate]:
    """Each effect with its interval at Holm's level among all that have an error."""
    levels = iter(holm_levels([each.p_value for each in effects if not each.missing]))
    return [each.estimate(LEVEL if each.missing else next(levels)) for each in effects]
