"""Tests: p-values of claims that a self-test has to show, and families of tests, whose intervals allow for several."""

from collections.abc import Sequence

import numpy as np

from pathway_local.statistics.figure import Estimate, FloatArray
from pathway_local.statistics.intervals import LEVEL, Effect


def holm_levels(p_values: Sequence[float], level: float = LEVEL) -> list[float]:
    """The confidence level for each test's interval under Holm's step-down procedure (Holm 1979).

    The smallest of m p-values is held to alpha/m, the next to alpha/(m-1), and so on until one is not
    rejected; all from there on are held to that one's level. Each interval then leaves out zero exactly where
    the procedure rejects.
    """
    alpha = 1 - level
    levels = [level] * len(p_values)
    step = 0
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        levels[place] = 1 - alpha / (len(p_values) - step)
        if step == rank and p_values[place] <= alpha / (len(p_values) - rank):
            step = rank + 1
    return levels


def family_levels(effects: Sequence[Effect], level: float = LEVEL) -> list[float]:
    """Holm's level for each effect among all that have an error."""
    tested = [place for place, effect in enumerate(effects) if not effect.missing]
    levels = dict(zip(tested, holm_levels([effects[place].p_value for place in tested], level), strict=True))
    return [levels.get(place, level) for place in range(len(effects))]


def at_holm_levels(effects: Sequence[Effect], level: float = LEVEL) -> list[Estimate]:
    """Each effect with its interval at Holm's level among all that have an error."""
    return [effect.estimate(own) for effect, own in zip(effects, family_levels(effects, level), strict=True)]


def share_above(successes: int, cases: int, share: float) -> float:
    """The exact one-sided p-value of the test that more than this share passes: P(X >= successes), X binomial."""
    from scipy import special  # scipy takes long to import, and most commands need none of this

    return float(special.bdtrc(successes - 1, cases, share)) if successes else 1.0


def share_below(successes: int, cases: int, share: float) -> float:
    """The exact one-sided p-value of the test that less than this share passes: P(X <= successes), X binomial."""
    from scipy import special

    return float(special.bdtr(successes, cases, share))


def within(effect: Effect, margin: float) -> float:
    """The p-value of the two one-sided tests that a mean lies within +-margin (Schuirmann 1987): the larger of both.

    A mean without an error, because all values are alike, lies there or not.
    """
    if effect.missing:
        return 0.0 if abs(effect.value or 0.0) < margin else 1.0
    return effect.tail(margin - abs(effect.value or 0.0))


def beyond(effect: Effect, margin: float) -> float:
    """The p-value of the test that a mean lies outside of +-margin, on the side where it is; 1 without an error."""
    return 1.0 if effect.missing else effect.tail(abs(effect.value or 0.0) - margin)


def falling(rows: FloatArray) -> float:
    """The p-value of Page's test (1963) that the values of each row (n, k) fall from the first column to the last.

    Values are ranked within their row, ties get the middle rank. Two columns have the exact sign test, where a tie
    counts against the claim.
    """
    from scipy import stats

    if rows.shape[1] == 2:
        return share_above(int((rows[:, 1] < rows[:, 0]).sum()), len(rows), 0.5)
    if len(rows) < 2 or rows.shape[1] < 2:
        return 1.0
    return float(stats.page_trend_test(-rows, method="asymptotic").pvalue)
