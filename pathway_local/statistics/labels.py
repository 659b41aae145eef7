"""People's labels of some cases: how noisy they are, and what so few of them can miss."""

from dataclasses import dataclass

import numpy as np

from pathway_local.note import Note
from pathway_local.statistics.figure import FloatArray

UNSEEN = 0.02
"""The share of cases in which labels may miss large errors without a warning; 149 labels are enough for it."""

FEW_DISSENTERS = 15
"""With fewer labels unlike the commonest one, a sample may miss most of the tail, and the interval is too short."""

TWICE = 20
"""The least number of cases with several labels from which the noise of a label is estimated."""


@dataclass(frozen=True, slots=True)
class Noise:
    """The variance of a label if the same people scored again, and the degrees of freedom of its estimate."""

    variance: float
    freedom: float


def label_noise(scores: FloatArray) -> Noise | None:
    """The noise of a label, the mean of a case's scores (cases, people); None if too few cases have several.

    The noise of one score is what cases and people leave over, by least squares, of the cases with several scores; it
    is what cases alone leave over if nobody has enough cases in common with others to tell people apart. A label of m
    scores has a mth of it.
    """
    given = np.isfinite(scores)
    times = given.sum(axis=1)
    cases, people = np.nonzero(given & (times >= 2)[:, None])
    several, cases = np.unique(cases, return_inverse=True)
    if len(several) < TWICE:
        return None
    columns = np.column_stack([scores[several[cases], people], people[:, None] == np.arange(scores.shape[1])])
    # Within cases: each score, and who gave it, less the mean of its case.
    within = columns - np.stack([np.bincount(cases, column) / times[several] for column in columns.T], axis=1)[cases]
    slopes, _, rank, _ = np.linalg.lstsq(within[:, 1:], within[:, 0], rcond=None)
    left = within[:, 0] - within[:, 1:] @ slopes
    freedom = len(cases) - len(several) - int(rank)
    if freedom < 1:
        left, freedom = within[:, 0], len(cases) - len(several)
    return Noise(float(left @ left / freedom * np.mean(1 / times[times > 0])), freedom)


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
