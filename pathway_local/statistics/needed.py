"""How many labels, questions or clusters an aim needs, from how the variance of an estimate falls with their number."""

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from pathway_local.statistics.figure import Reason, Undefined
from pathway_local.statistics.intervals import LEVEL, t_quantile

Aim = Literal["half-width", "detect", "margin"]

POWER = 0.8
"""The chance to reach an aim: the width, a difference as large as named, or to show that equal chatbots are equal."""

LEAST = 20
"""Units below which nothing is planned: intervals of fewer rest on a spread that is hardly known."""

MANY = 10_000_000
"""Units that nobody has: an aim that asks for more can't be reached."""

SURE = 1e-12
"""A variance at which nothing is left to chance: every case is labelled, and the mean is about these very cases."""

ROUNDS = 6
"""After these the number does not change any more."""

NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of an estimate: `fixed` + `each` / n from n units; there are `now` units, and can be `most`.

    `each` is estimated from those that are there, with so many degrees of `freedom`; without a number, it is assumed.
    """

    fixed: float
    each: float
    now: int
    most: int | None = None
    freedom: float | None = None

    def scaled(self, factor: float) -> "Spread":
        """Return the same with variances multiplied."""
        return replace(self, fixed=self.fixed * factor, each=self.each * factor)


@dataclass(frozen=True, slots=True)
class Goal:
    """An `aim` in `points` of the scale, and the error `alpha`.

    Each holds in 80% of the files. "half-width": the interval reaches at most so far to either side. "detect": it
    excludes zero if the difference is so large. "margin": it lies between minus and plus so many points if nothing
    differs (two one-sided tests: Schuirmann 1987).
    """

    aim: Aim
    points: float
    alpha: float = 1 - LEVEL


def needed(goal: Goal, spread: Spread) -> int | Undefined:
    """The least number of units that reaches the goal.

    The interval's factor is Student's, with one degree of freedom less than there are units.
    """
    least = LEAST if spread.most is None else min(LEAST, spread.most)
    count = MANY
    for _ in range(ROUNDS):  # the factor depends on the number, but hardly
        rest = (goal.points / _reach(goal, count)) ** 2 - spread.fixed
        each = spread.each * (_chance(spread, count) if goal.aim == "half-width" else 1.0)
        count = max(least, int(np.ceil(min(each / rest, MANY)))) if rest > 0 else MANY
        if count >= (MANY if spread.most is None else spread.most + 1):
            if spread.most is None:
                return Undefined("no number of them is enough")
            if spread.fixed + spread.each / spread.most <= SURE:
                return spread.most
            return Undefined(Reason("even labels of all {cases:,} are too few", cases=spread.most))
    return count


def _reach(goal: Goal, count: int) -> float:
    """Return the number of standard errors that fit into the aim."""
    beyond = {"half-width": 0.0, "detect": NORMAL.inv_cdf(POWER), "margin": NORMAL.inv_cdf((1 + POWER) / 2)}
    return t_quantile(1 - goal.alpha, count - 1) + beyond[goal.aim]


def _chance(spread: Spread, count: int) -> float:
    """Return the factor below which the spread that `count` units will show stays in 80% of the files.

    Widths vary because spreads do (Kupper and Hafner 1989): that of the units to come is to that of those that are
    there as F, with as many degrees of freedom for each unit as these have.
    """
    from scipy import special

    if spread.freedom is None:
        return float(special.chdtri(count, 1 - POWER)) / count
    more = max(count - spread.now, 0)
    freedom = more * spread.freedom / max(spread.now, 1)
    return 1 + more / count * (float(special.fdtri(freedom, spread.freedom, POWER)) - 1) if more else 1.0
