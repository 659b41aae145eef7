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
from pathway_local.statistics.intervals import LEVEL, cluster_codes

LOOKS = 20
"""Thresholds that are tested: fewer leave out good ones, more have a lower level each."""

ROUNDS = 40
"""Halvings of the range in which the level of a test lies."""

POWER = 0.8
"""The chance with which a threshold that is planned should pass."""

FEWEST_CLUSTERS = 40
"""Clusters with labels below which nothing is promised about others: with 8 to 15, simulated promises broke in 10%."""


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
    """The thresholds, the surest first, the `level` of each test, and the share of wrong cases that was promised."""

    looks: tuple[Look, ...]
    level: float
    error: float

    @property
    def chosen(self) -> Look | None:
        """The threshold that keeps most cases of those that keep the promise."""
        return next((look for look in reversed(self.looks) if look.passes), None)


def hand_over(
    sure: FloatArray,
    wrong: FloatArray,
    error: float,
    clusters: IntArray | None = None,
    outside: FloatArray | None = None,
) -> Handover:
    """Find the threshold of a file of N cases that keeps most and holds the promise at 95% confidence.

    `sure` (N,) orders the cases, and is NaN for those that the judge can't keep. `wrong` (N,) is 1 or 0 where people
    rated, a random sample, and NaN elsewhere. `outside` (N,) is that where people rated cases outside of it, however
    these were picked. The promise is about the kept cases of the file that nobody rated, of which at most a share
    `error` is wrong. With `clusters` (N,) it is about cases of further clusters.
    """
    known, able = np.isfinite(wrong) & np.isfinite(sure), np.isfinite(sure)
    order = np.argsort(-sure[known], kind="stable")
    values, errors = sure[known][order], wrong[known][order]
    counts = _counts(values, error)
    codes = None if clusters is None else cluster_codes(clusters[known][order], len(values))
    if not len(counts) or (codes is not None and int(codes.max()) + 1 < FEWEST_CLUSTERS):
        return Handover((), 1 - LEVEL, error)
    found, every = np.cumsum(errors)[counts - 1].astype(np.int64), np.sort(-sure[able])
    marks = values[counts - 1]
    picked = np.full(len(sure), np.nan) if outside is None else np.where(known, np.nan, outside)
    rated, amiss = (np.sum(sure[some] >= marks[:, None], axis=1) for some in (np.isfinite(picked), picked == 1))
    kept = np.searchsorted(every, -marks, side="right") - counts - rated
    if codes is None:
        passes, level = _decided(counts, found, kept, error, rated, amiss)
    else:
        chances = np.array([_chance_of_clusters(errors[:count], codes[:count], error) for count in counts])
        passes, level = passing(counts, chances, error)
    columns = (each.tolist() for each in (marks, kept, counts, found, passes))
    return Handover(tuple(map(Look, *columns)), level, error)


def _decided(
    counts: IntArray, wrong: IntArray, kept: IntArray, error: float, rated: IntArray, amiss: IntArray
) -> tuple[NDArray[np.bool_], float]:
    """Which thresholds of a file pass, by the labels above each, and the level of the last that were tested."""
    told = np.column_stack([wrong, counts, kept, rated, amiss]).tolist()
    return passing(counts, np.array([chance_in_file(w, c, k, error, r, a) for w, c, k, r, a in told]), error)


def passing(counts: IntArray, chances: FloatArray, error: float) -> tuple[NDArray[np.bool_], float]:
    """Which thresholds pass, by the chances of so few wrong labels, and the level of the last that were tested."""
    passes = np.zeros(len(counts), np.bool_)
    while True:
        level = level_of(tuple(counts[~passes].tolist()), error)
        more = passes | (chances <= level)
        if more.all() or np.array_equal(more, passes):
            return more, level
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


def _chance_of_clusters(errors: FloatArray, codes: IntArray, error: float) -> float:
    """The chance of so few wrong labels if the share `error` of further cases is wrong, for clusters of cases.

    Numbers are divided by the design effect: how much more the clusters' wrong cases vary than single cases would, and
    at least 1 (Rao and Scott 1992).
    """
    from scipy import special

    apart = np.bincount(codes, errors - error)
    clusters = int(np.count_nonzero(np.bincount(codes)))
    effect = max(1.0, float(apart @ apart) / (len(errors) * error * (1 - error)) * clusters / max(clusters - 1, 1))
    wrong, labelled = float(errors.sum()) / effect, len(errors) / effect
    return float(special.betainc(labelled - wrong, wrong + 1, 1 - error))


def prospects(found: Handover, labels: Sequence[int], cases: int) -> list[float]:
    """The share of the unrated of so many cases that the judge keeps with each of these numbers of labels, or 0.

    The same tests decide, on labels as often wrong as those that are there and one as often as promised, at the
    upper end of what chance makes of them in 80% of the files.
    """
    from scipy import special

    if not found.looks:
        return [0.0] * len(labels)
    now = np.array([look.labelled for look in found.looks])
    rates = np.array([look.wrong + found.error for look in found.looks]) / (now + 1)
    made = list[float]()
    for count in labels:
        counts = np.unique(np.maximum(np.round(now / now[-1] * count), 1).astype(np.int64), return_index=True)
        above, rate = counts[0], np.minimum(rates[counts[1]], 1.0)
        most = np.arange(count + 1)
        wrong = np.sum(special.bdtr(most, above[:, None], rate[:, None]) < POWER, axis=1)
        kept = np.round(above / count * (cases - count)).astype(np.int64)
        nobody = np.zeros_like(kept)
        passes, _ = _decided(above, np.minimum(wrong, above), kept, found.error, nobody, nobody)
        made.append(float(kept[passes].max(initial=0) / max(cases - count, 1)))
    return made
