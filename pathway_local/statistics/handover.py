"""Which cases a judge may keep, so that at most a share of them differs from people: thresholds that keep a promise.

The judge's cases are ordered by how sure it is. Each threshold keeps the cases above it, and the labels among them test
whether more than the promised share of the other kept cases is wrong (learn then test: Angelopoulos, Bates, Candès,
Jordan and Lei 2021). All thresholds are tested at one level. It is found exactly, from the walk that the number of
wrong labels makes along the order if every case is wrong with the promised chance (Pocock 1977, for looks over time):
that walk falls below one of its bounds in 5% of the files. Thresholds that pass leave the level to fewer others, which
are then tested at a higher one (step-down closed tests: Marcus, Peritz and Gabriel 1976). So any threshold that passes
may be taken, and the one that keeps most is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pathway_local.statistics.figure import FloatArray, IntArray
from pathway_local.statistics.intervals import LEVEL

LOOKS = 20
"""Thresholds that are tested: fewer leave out good ones, more have a lower level each."""

ROUNDS = 40
"""Halvings of the range in which the level of a test lies."""


@dataclass(frozen=True, slots=True)
class Look:
    """One threshold: the cases of which the judge is at least so `sure`.

    Nobody rated `kept` of them, and `labelled` of them test it; the judge is `wrong` on so many of these.
    """

    sure: float
    kept: int
    labelled: int
    wrong: int
    passes: bool


@dataclass(frozen=True, slots=True)
class Handover:
    """The thresholds, the surest first."""

    looks: tuple[Look, ...]

    @property
    def chosen(self) -> Look | None:
        """The threshold that keeps most cases of those that keep the promise."""
        return next((look for look in reversed(self.looks) if look.passes), None)


def hand_over(sure: FloatArray, wrong: FloatArray, error: float, outside: FloatArray | None = None) -> Handover:
    """Find the threshold of a file of N cases that keeps most and holds the promise at 95% confidence.

    `sure` (N,) orders the cases, and is NaN for those that the judge can't keep. `wrong` (N,) is 1 or 0 where people
    rated, a random sample, and NaN elsewhere. `outside` (N,) is that where people rated cases outside of it, however
    these were picked. The promise is about the kept cases of the file that nobody rated, of which at most a share
    `error` is wrong. It does not matter how cases depend on each other, since labels are drawn case by case.
    """
    known, able = np.isfinite(wrong) & np.isfinite(sure), np.isfinite(sure)
    order = np.argsort(-sure[known], kind="stable")
    values, errors = sure[known][order], wrong[known][order]
    counts = _counts(values, error)
    if not len(counts):
        return Handover(())
    found, every = np.cumsum(errors)[counts - 1].astype(np.int64), np.sort(-sure[able])
    marks = values[counts - 1]
    picked = np.full(len(sure), np.nan) if outside is None else np.where(known, np.nan, outside)
    rated, amiss = (np.sum(sure[some] >= marks[:, None], axis=1) for some in (np.isfinite(picked), picked == 1))
    kept = np.searchsorted(every, -marks, side="right") - counts - rated
    told = np.column_stack([found, counts, kept, rated, amiss]).tolist()
    chances = np.array([chance_in_file(w, c, k, error, r, a) for w, c, k, r, a in told])
    columns = (each.tolist() for each in (marks, kept, counts, found, _passing(counts, chances, error)))
    return Handover(tuple(map(Look, *columns)))


def _passing(counts: IntArray, chances: FloatArray, error: float) -> NDArray[np.bool_]:
    """Which thresholds pass, by the chances of so few wrong labels."""
    passes = np.zeros(len(counts), np.bool_)
    while True:
        more = passes | (chances <= level_of(tuple(counts[~passes].tolist()), error))
        if more.all() or np.array_equal(more, passes):
            return more
        passes = more


def _counts(values: FloatArray, error: float) -> IntArray:
    """The numbers of labels above each threshold: about as far apart, and cases alike in sureness stay together."""
    least = least_labels(error)
    if len(values) < least:
        return np.empty(0, dtype=np.int64)
    wanted = np.linspace(least, len(values), LOOKS).round().astype(np.int64)
    return np.unique(np.searchsorted(-values, -values[wanted - 1], side="right").astype(np.int64))


def least_labels(error: float) -> int:
    """The fewest labels with which a single test could pass, if none of them is wrong."""
    return int(np.ceil(np.log(1 - LEVEL) / np.log1p(-error)))


@lru_cache(maxsize=256)
def level_of(of: tuple[int, ...], error: float) -> float:
    """The level of each test, of so many labels, at which one or more of them fails to protect in 5% of the files.

    Then every case is wrong with the chance `error`. Other files in which thresholds break the promise make it less
    likely: those whose wrong cases come early keep the walk above its bounds, and uneven chances make it vary less
    (Hoeffding 1956 for one test; a search for worse files among all of them found none).
    """
    from scipy import special

    counts = np.array(of)
    most = np.arange(int(counts[-1] * error) + 2)
    chances = special.bdtr(most, counts[:, None], error)
    steps = np.diff(counts, prepend=0)
    drawn = [np.diff(special.bdtr(np.arange(each + 1), int(each), error), prepend=0.0) for each in steps]
    low, high = 0.0, 1 - LEVEL
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        bounds = np.sum(chances <= middle, axis=1) - 1
        low, high = (middle, high) if _crossing(drawn, bounds) <= 1 - LEVEL else (low, middle)
    return low


def _crossing(drawn: Sequence[FloatArray], bounds: IntArray) -> float:
    """The chance that a walk is at or below one of the bounds; `drawn` has the chances of its steps before each."""
    alive: FloatArray = np.ones(1)
    crossed = 0.0
    for steps, bound in zip(drawn, bounds, strict=True):
        alive = np.convolve(alive, steps).astype(np.float64)
        crossed += float(alive[: bound + 1].sum())
        alive[: bound + 1] = 0.0
    return crossed


def chance_in_file(wrong: int, labelled: int, kept: int, error: float, rated: int = 0, rated_wrong: int = 0) -> float:
    """The chance of so few wrong labels if more than the share `error` of the `kept` cases that nobody rated is wrong.

    Labels are drawn without replacement from these, themselves, and the cases that people `rated` outside of the
    sample, of which `rated_wrong` are known to be wrong; so this is exact (hypergeometric) for the very cases. Ratings
    never lower the chance: else those of handed over cases could move a threshold that a stored score was made by.
    """
    from scipy import special

    def ways(of: float, some: FloatArray) -> FloatArray:
        found: FloatArray = special.gammaln(of + 1) - special.gammaln(some + 1) - special.gammaln(of - some + 1)
        return found

    least = min(rated_wrong + int(error * kept + 1e-9), int(error * (kept + rated) + 1e-9))
    amiss, every = wrong + least + 1, labelled + rated + kept
    if amiss > wrong + rated + kept:
        return 0.0
    counts = np.arange(max(0, labelled + amiss - every), wrong + 1, dtype=np.float64)
    logs = ways(amiss, counts) + ways(every - amiss, labelled - counts) - ways(every, np.array([labelled]))
    return float(min(1.0, np.exp(logs).sum()))
