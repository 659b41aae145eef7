"""Strengths of contestants from comparisons of two at a time, by the model of Bradley and Terry (1952)."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from pathway_local.statistics.effect import Effect, jackknifed
from pathway_local.statistics.figure import FloatArray, IntArray, Reason, Undefined
from pathway_local.statistics.jackknife import Rows

MOST_STEPS = 100
PRECISE = 1e-10
"""Newton's steps end when no strength moves by more than this."""


def strength_differences(
    first: IntArray, second: IntArray, wins: FloatArray, names: Sequence[str], clusters: IntArray | None = None
) -> tuple[FloatArray, dict[tuple[int, int], Effect]] | Undefined:
    """The strengths, and how much stronger each contestant is than each after it, with errors by the jackknife.

    `first` and `second` (n,) are codes of `names`, `wins` (n,) is 1 if the first won, 0 if it lost, 0.5 for a tie.
    """
    whole = bradley_terry(first, second, wins, names)
    if isinstance(whole, Undefined):
        return whole
    rows = Rows.of(np.column_stack([first, second, wins]).astype(np.float64), clusters)
    one, other = (rows.scores[:, place].astype(np.int64) for place in (0, 1))
    weighed = [own for some in rows.left_out() for own in some] if rows.clusters > 1 else []
    fits = [bradley_terry(one, other, rows.scores[:, 2], names, own) for own in weighed]
    left = np.array([np.full(len(names), np.nan) if isinstance(each, Undefined) else each for each in fits])
    found = {}
    for place in range(len(names)):
        for below in range(place + 1, len(names)):
            apart = left[:, place] - left[:, below] if len(left) else np.empty(0)
            found[place, below], _ = jackknifed(float(whole[place] - whole[below]), apart, rows.clusters)
    return whole, found


def bradley_terry(
    first: IntArray, second: IntArray, wins: FloatArray, names: Sequence[str], weights: FloatArray | None = None
) -> FloatArray | Undefined:
    """Log-odds strengths (k,), which sum to 0, by maximum likelihood; comparisons (n,) count as often as `weights` say.

    The first wins with 1 / (1 + exp(s_second - s_first)). There is a maximum only if no group of contestants won all
    comparisons with the others (Ford 1957).
    """
    count = len(names)
    if count < 2 or not len(first):
        return Undefined("fewer than two were compared")
    each = np.ones(len(first)) if weights is None else weights
    credit = np.zeros((count, count))
    np.add.at(credit, (first, second), each * wins)
    np.add.at(credit, (second, first), each * (1 - wins))
    reason = _unbounded(credit, names)
    if reason:
        return Undefined(reason)
    games = credit + credit.T
    strengths = np.zeros(count)
    for _ in range(MOST_STEPS):
        chance = expit(strengths[:, None] - strengths[None, :])
        held = games * chance * (1 - chance)
        step = np.linalg.pinv(np.diag(held.sum(axis=1)) - held) @ (credit - games * chance).sum(axis=1)
        # A full step from afar can miss the maximum; the likelihood is concave, so a shorter one climbs.
        while _likelihood(credit, strengths + step) < _likelihood(credit, strengths) - PRECISE:
            step = step / 2
        strengths = strengths + step
        if np.max(np.abs(step)) < PRECISE:
            break
    centred: FloatArray = strengths - strengths.mean()
    return centred


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
