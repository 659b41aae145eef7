"""How likely people's ratings show that a judge as good as one of them can stand in for a person.

The test is the human benchmark's: the judge's agreement with the mean of the other people may fall short of a person's
by less than a margin. Its power follows from how the interval's error shrinks with cases. That error is measured in a
large file that is drawn: people see the same quality, each with errors of their own, and choose levels as often as
given. The judge is one more of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np

from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Interval, Undefined
from pathway_local.statistics.human_benchmark import mean_of_people
from pathway_local.statistics.intervals import LEVEL, t_quantile
from pathway_local.statistics.needed import LEAST, MANY, POWER
from pathway_local.statistics.prediction_powered import BoolArray
from pathway_local.statistics.resampling import GROUPS, counted_rows

CASES, FEWER = 20_000, 500
"""Cases that are drawn: the number of cases that is needed then varies by 2% from one draw to the next. Of alpha, whose
error a jackknife finds, fewer."""

ROUNDS = 30
"""Halvings of the range in which a correlation or a number of cases lies."""

NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class People:
    """The levels that people give, the share of each, and the correlation of what two of them see in a case.

    `rank` is the rank correlation of two people's scores, which goes with it, and `alpha` their reliability, if known,
    by the figure `reliability`. Its interval ends at `at_most`.
    """

    levels: FloatArray
    shares: FloatArray
    seen: float
    rank: float
    alpha: float | None
    at_most: float = 1.0
    reliability: str = "alpha_ordinal"

    def drawn(self, rng: np.random.Generator, cases: int, people: int) -> FloatArray:
        """Return scores of so many people, (cases, people)."""
        found: FloatArray = self.levels[_places(rng, self.shares, self.seen, (cases, people))]
        return found


def people_like(scores: FloatArray, scale: Sequence[float], assumed: float | None = None) -> People | Undefined:
    """Return people who score as these (cases, people) do; with an `assumed` rank correlation in place of their own.

    Without one, `scale` has the levels of the score, which ordinal alpha needs; scores that are off it have none.
    """
    levels, counts = np.unique(scores[np.isfinite(scores)], return_counts=True)
    if len(levels) < 2:
        return Undefined("the rater's scores do not vary")
    shares, rank, alpha, at_most = counts / counts.sum(), assumed, None, 1.0
    figure = "alpha_ordinal" if scale else "alpha_interval"
    if rank is None:
        rank = _rank_correlation(scores)
        found = _alpha(figure, scores[np.isfinite(scores).sum(axis=1) >= 2], scale)
        alpha = None if isinstance(found.value, Undefined) else found.value
        at_most = found.interval.high if isinstance(found.interval, Interval) else 1.0
    middle, low, high = np.cumsum(shares) - shares / 2, 0.0, 1.0
    for _ in range(ROUNDS):
        seen = (low + high) / 2
        ranks = middle[_places(np.random.default_rng(0), shares, seen, (CASES, 2))]
        low, high = (seen, high) if np.corrcoef(ranks.T)[0, 1] < rank else (low, seen)
    return People(levels, shares, low, rank, alpha, at_most, figure)


def _alpha(figure: str, scores: FloatArray, scale: Sequence[float]) -> Estimate:
    """The reliability of scores of cases that have two or more of them, (cases, people)."""
    rows = counted_rows(scores)
    built = COEFFICIENTS[figure].of(rows.rows, scale)
    return Estimate(built, built) if isinstance(built, Undefined) else rows.estimate({"": built})[""]


def _places(rng: np.random.Generator, shares: FloatArray, seen: float, size: tuple[int, int]) -> IntArray:
    """The places of the levels that people choose, (cases, people), by what they see in cases of some quality."""
    bounds = [NORMAL.inv_cdf(place) for place in np.cumsum(shares)[:-1].tolist()]
    quality, own = rng.normal(size=(size[0], 1)), rng.normal(size=size)
    found: IntArray = np.searchsorted(bounds, np.sqrt(seen) * quality + np.sqrt(1 - seen) * own)
    return found


def _rank_correlation(scores: FloatArray) -> float:
    """The mean of the rank correlations of any two people, by the cases that they share; 0 if there are none."""
    found = [(0.0, 0)]
    for pair in combinations(scores.T, 2):
        both = np.column_stack(pair)[np.isfinite(pair).all(axis=0)]
        if len(both) > 1:
            rows = counted_rows(both)
            built = COEFFICIENTS["spearman"].of(rows.rows)
            value = built if isinstance(built, Undefined) else rows.value(built)
            found += [] if isinstance(value, Undefined) else [(value, len(both))]
    every = sum(count for _, count in found)
    return sum(value * count for value, count in found) / every if every else 0.0


@dataclass(frozen=True, slots=True)
class Power:
    """The chance that the test shows it within `margin`: `error` and `apart` times the root of the cases are errors.

    These are the errors of the difference, and of the people's alpha. `alpha` must reach `least`, too, where it is
    known.
    """

    margin: float
    error: float
    apart: float
    alpha: float | None
    least: float

    def chance(self, cases: int) -> float:
        """Return the chance with so many cases."""
        root = float(np.sqrt(cases))
        reach = t_quantile(LEVEL, max(min(cases, GROUPS) - 1, 1))
        found = NORMAL.cdf(self.margin * root / self.error - reach) if self.error else 1.0
        if self.alpha is not None:
            found *= NORMAL.cdf((self.alpha - self.least) * root / max(self.apart, 1e-9))
        return found

    @property
    def cases(self) -> int | None:
        """The least number of cases with which the chance is 80%; None if there is none."""
        low, high = LEAST - 1, MANY
        if self.chance(high) < POWER:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.chance(middle) >= POWER else (middle, high)
        return high


def power(people: People, given: BoolArray, margin: float, least: float) -> Power:
    """Return the power of the test where people rate as `given` (cases, people) says, which repeats as often as needed.

    `least` is the alpha below which agreement of people says too little.
    """
    rng, size = np.random.default_rng(1), given.shape[1]
    scores = people.drawn(rng, CASES, size + 1)
    rated = np.where(given[rng.integers(0, len(given), CASES)], scores[:, :size], np.nan)
    influence, compared = np.zeros(CASES), 0
    for person in range(size):
        target = mean_of_people(np.delete(rated, person, axis=1))
        used = np.isfinite(rated[:, person] + target)
        if used.any():
            judge, own = (_influence(each[used], target[used]) for each in (scores[:, size], rated[:, person]))
            influence[used] += (judge - own) / used.mean()
            compared += 1
    apart = 0.0
    if people.alpha is not None:
        several = rated[:FEWER][np.isfinite(rated[:FEWER]).sum(axis=1) >= 2]
        interval = _alpha(people.reliability, several, people.levels.tolist()).interval
        if isinstance(interval, Interval):
            apart = (interval.high - interval.low) / 2 / t_quantile(LEVEL, GROUPS - 1) * float(np.sqrt(FEWER))
    return Power(margin, float(influence.std()) / max(compared, 1), apart, people.alpha, least)


def _influence(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return what each case adds to the rank correlation of two columns of scores, (cases,).

    The correlation is E[a b] over the root of E[a a] E[b b], with mid-ranks a and b. A case adds its own product to
    such a mean, and shifts the ranks of all cases above it.
    """

    def centred(scores: FloatArray) -> tuple[FloatArray, IntArray]:
        place = np.unique(scores, return_inverse=True)[1].reshape(-1)
        counts = np.bincount(place) / len(scores)
        ranks: FloatArray = (np.cumsum(counts) - counts / 2 - 0.5)[place]
        return ranks, place

    def above(place: IntArray, ranks: FloatArray) -> FloatArray:
        sums = np.bincount(place, ranks) / len(ranks)
        shift: FloatArray = (sums.sum() - np.cumsum(sums) + sums / 2)[place]
        return shift

    (a, at), (b, bt) = centred(first), centred(second)
    both, one, other = (float(np.mean(each)) for each in (a * b, a * a, b * b))
    added = a * b + above(at, b) + above(bt, a) - 3 * both
    spread = (a**2 + 2 * above(at, a)) / one + (b**2 + 2 * above(bt, b)) / other - 6
    found: FloatArray = (added - both * spread / 2) / np.sqrt(one * other)
    return found
