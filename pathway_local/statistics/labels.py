"""People's labels of some cases: what so few of them can miss."""

import numpy as np

from pathway_local.note import Note
from pathway_local.statistics.figure import FloatArray

UNSEEN = 0.02
"""The share of cases in which labels may miss large errors without a warning; 149 labels are enough for it."""

FEW_DISSENTERS = 15
"""With fewer labels unlike the commonest one, a sample may miss most of the tail, and the interval is too short."""


def unseen_errors(judge: FloatArray, people: FloatArray, scale: tuple[float, float]) -> tuple[Note, ...]:
    """A warning if no label shows a large error of the judge, but so few labels can miss such errors.

    Errors in a share p of all cases are absent from n labels with the chance (1 - p)^n, which is 5% for the share named
    (Hanley and Lippman-Hand 1983). Where a judge misses one failure in 25, samples of 60 labels without any of them
    make up nearly all intervals that miss the truth. An expected score of 4.9999 counts as 5.
    """
    apart = np.abs(judge - people)[np.isfinite(judge) & np.isfinite(people)]
    large = (scale[1] - scale[0]) / 2
    share = 1 - 0.05 ** (1 / max(len(apart), 1))
    if not len(apart) or apart.max().round(1) >= large or share < UNSEEN:
        return ()
    return (Note("unseen_errors", {"points": large, "labels": len(apart), "share": share}, "warning"),)


def few_dissenters(labels: FloatArray) -> tuple[Note, ...]:
    """A warning if so few labels differ from the commonest one that intervals may be too short."""
    scores, counts = np.unique(labels, return_counts=True)
    common = int(counts.argmax())
    apart = len(labels) - int(counts[common])
    if apart >= FEW_DISSENTERS:
        return ()
    told = {"count": apart, "labels": len(labels), "commonest": float(scores[common])}
    return (Note("few_dissenters", told, "warning"),)
