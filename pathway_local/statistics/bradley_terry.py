"""Strengths of contestants from comparisons of two at a time, by the model of Bradley and Terry (1952)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Interval, Reason, Undefined
from pathway_local.statistics.intervals import LEVEL, Effect, cluster_codes

MOST_STEPS = 100
PRECISE = 1e-10
"""Newton's steps end when no strength moves by more than this."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """Log-odds strengths (k,), which sum to 0, with their covariance (k, k), from so many independent units."""

    values: FloatArray
    covariance: FloatArray
    clusters: int

    def above(self, one: int, other: int | None = None) -> Effect:
        """The strength of `one` less that of `other`, or without it of an average contestant."""
        weights = np.zeros(len(self.values))
        weights[one] += 1
        if other is not None:
            weights[other] -= 1
        error = max(0.0, float(weights @ self.covariance @ weights)) ** 0.5
        missing = "" if self.clusters > 1 and error else "there is too little to estimate an error from"
        return Effect(float(weights @ self.values), error, self.clusters - 1, self.clusters, missing)

    def chance(self, one: int, other: int | None = None, level: float = LEVEL) -> Estimate:
        """The chance that `one` beats `other`, or without it an average contestant: 1 / (1 + exp(-difference)).

        Its interval is the t interval of the difference in strength at this level, taken to chances.
        """
        found = self.above(one, other).estimate(level)
        assert isinstance(found.value, float), "a strength always has a value"
        if isinstance(found.interval, Undefined):
            return Estimate(float(expit(found.value)), found.interval)
        low, chance, high = map(float, expit(np.array([found.interval.low, found.value, found.interval.high])))
        return Estimate(chance, Interval(low, high, "log-odds with t", self.clusters, level))


def bradley_terry(
    first: IntArray, second: IntArray, wins: FloatArray, names: Sequence[str], clusters: IntArray | None = None
) -> Strengths | Undefined:
    """Fit strengths by maximum likelihood: the first of a comparison wins with 1 / (1 + exp(s_second - s_first)).

    `first` and `second` (n,) are codes of `names`, `wins` (n,) is 1 if the first won, 0 if it lost, 0.5 for a tie.
    There is a maximum only if no group of contestants won all comparisons with the others (Ford 1957). The covariance
    is the sandwich estimator, robust to ties and to dependence within clusters (Liang and Zeger 1986).
    """
    count = len(names)
    if count < 2 or not len(first):
        return Undefined("fewer than two were compared")
    credit = np.zeros((count, count))
    np.add.at(credit, (first, second), wins)
    np.add.at(credit, (second, first), 1 - wins)
    reason = _unbounded(credit, names)
    if reason:
        return Undefined(reason)
    games = credit + credit.T
    strengths = np.zeros(count)
    for _ in range(MOST_STEPS):
        step = np.linalg.pinv(_information(games, strengths)) @ _gradient(credit, games, strengths)
        # A full step from afar can miss the maximum; the likelihood is concave, so a shorter one climbs.
        while _likelihood(credit, strengths + step) < _likelihood(credit, strengths) - PRECISE:
            step = step / 2
        strengths = strengths + step
        if np.max(np.abs(step)) < PRECISE:
            break
    strengths = strengths - strengths.mean()
    bread = np.linalg.pinv(_information(games, strengths))
    residuals = wins - expit(strengths[first] - strengths[second])
    codes = cluster_codes(clusters, len(first))
    units = int(codes.max()) + 1
    scores = np.zeros((units, count))
    np.add.at(scores, (codes, first), residuals)
    np.add.at(scores, (codes, second), -residuals)
    small = units / (units - 1) if units > 1 else 1.0
    return Strengths(strengths, small * bread @ (scores.T @ scores) @ bread, units)


def _unbounded(credit: FloatArray, names: Sequence[str]) -> str:
    """The reason why the likelihood has no maximum; empty if it has one."""
    links, apart = connected_components(coo_array(credit > 0), directed=True, connection="weak")
    if links > 1:
        alone = names[int(np.argmax(apart))]
        return Reason("{alone} was never compared with {other}, not even through others", alone=alone, other=names[0])
    groups, members = connected_components(coo_array(credit > 0), directed=True, connection="strong")
    if groups == 1:
        return ""
    # Groups that never lost to each other in a circle are in an order, so one lost to no other group.
    parts = (members == group for group in range(groups))
    inside = next(part for part in parts if not credit[np.ix_(~part, part)].any())
    listed = ", ".join(name for name, is_in in zip(names, inside, strict=True) if is_in)
    said = "{names} won every comparison with the others, so the data do not show by how much they are better"
    return Reason(said, names=listed)


def _likelihood(credit: FloatArray, strengths: FloatArray) -> float:
    return -float(np.sum(credit * np.logaddexp(0, strengths[None, :] - strengths[:, None])))


def _gradient(credit: FloatArray, games: FloatArray, strengths: FloatArray) -> FloatArray:
    expected = games * expit(strengths[:, None] - strengths[None, :])
    gradient: FloatArray = (credit - expected).sum(axis=1)
    return gradient


def _information(games: FloatArray, strengths: FloatArray) -> FloatArray:
    chance = expit(strengths[:, None] - strengths[None, :])
    weights = games * chance * (1 - chance)
    information: FloatArray = np.diag(weights.sum(axis=1)) - weights
    return information
