"""A run's scores counted: each rater's levels, choices and failures under each rubric, in all and by group."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pathway_local.results.case_weights import case_weights
from pathway_local.results.choices import choices_of
from pathway_local.results.table import Cell
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.pair import Pair
from pathway_local.rubrics.rubric import Rubric
from pathway_local.scores.matrix import HELD, TO_FIRST, TURNED, RatingsMatrix, Trouble
from pathway_local.scores.scores import Scores
from pathway_local.statistics.effect import scale_mean
from pathway_local.statistics.figure import BoolArray, Estimate, FloatArray, IntArray, undefined_estimate
from pathway_local.statistics.intervals import share
from pathway_local.verdict import Number

SHOWN_FAILURES = 10

LOW_MASS = 0.5
"""Below this, the judge would rather have written something that is no legal value."""


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """One score of one rater under one rubric, in `n` verdicts: how often each value was given, and the mean on scale.

    `between` counts people's numbers between levels. `confident` verdicts have a confidence, the largest probability,
    with this mean. The judge gave all legal values together the `masses` (known,), where that is known.
    """

    name: str
    declared: ScoreField
    n: int
    counts: dict[Number, int]
    mean: Estimate
    confident: int
    confidence: float | None
    masses: FloatArray

    @property
    def between(self) -> int:
        """Scores that are no values of the scale: numbers between levels by people."""
        return self.n - sum(self.counts.values())

    @property
    def special_share(self) -> float | None:
        """The share of verdicts with a special value; None where the scale has none."""
        special = self.declared.special
        return sum(self.counts[value] for value in special) / self.n if special and self.n else None


@dataclass(frozen=True, slots=True)
class Group:
    """One rater under one rubric, or the part of its cases with one value in a metadata column.

    `failed` has its first failures with their cases' ids, `other_texts` counts the verdicts that are left out because
    their cases have other texts by now. `choices` has the counts and shares of those of a
    comparison of two responses.
    """

    rater: str
    rubric: str
    group: str
    scores: dict[str, ScoreSummary]
    verdicts: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    failed: Sequence[tuple[str, Trouble]] = ()
    marks: Counter[str] = field(default_factory=Counter)
    choices: Mapping[str, Cell] = field(default_factory=dict)
    other_texts: int = 0

    @property
    def cases(self) -> int:
        """Cases with an outcome; a verdict may lack some of the scores."""
        return self.verdicts + self.failures.total()


def tally(data: Scores, by: str = "", cluster: str = "", weight: str = "") -> list[Group]:
    """Count every rater's outcomes under each rubric, for each value of the column `by` if one is given.

    A case without the column is in the empty group. Cases with the same value of the column `cluster` depend on each
    other; one without a value is alone. Means count cases by the column `weight`, if one is given. Raises UsageError.
    """
    rubrics = [(rubric, [*data.matrices([rubric])]) for rubric in data.rubrics.values()]
    found = [group for rubric, every in rubrics if every for group in _groups(rubric, every, by, cluster, weight)]
    return sorted(found, key=lambda group: (group.rater, group.rubric, group.group))


def _groups(rubric: Rubric, matrices: Sequence[RatingsMatrix], by: str, cluster: str, weight: str) -> Iterator[Group]:
    first = matrices[0]
    values = [kept.get(by, "") for kept in first.metadata]
    names = {name: code for code, name in enumerate(dict.fromkeys(values))}
    codes = np.array([names[value] for value in values], dtype=np.int64)
    clusters = first.clusters(cluster) if cluster else None
    weights = case_weights(matrices, weight)
    judged = np.any([np.isfinite(matrix.given) for matrix in matrices], axis=0)
    troubles: dict[tuple[int, int], list[Trouble]] = {}
    for each in sorted(first.troubles, key=lambda each: each.case):
        troubles.setdefault((each.rater, int(codes[each.case])), []).append(each)
    for place, rater in enumerate(first.raters):
        for name, code in names.items():
            inside, own = codes == code, troubles.get((place, code), [])
            verdicts, failed = int(judged[inside, place].sum()), [each for each in own if each.failure]
            if not (verdicts or failed or (rater.other_texts and not by)):
                continue
            yield Group(
                rater.name, rubric.name, name,
                {matrix.score: _summary(matrix, rubric, place, inside, weights, clusters) for matrix in matrices},
                verdicts,
                Counter(each.failure.kind for each in failed if each.failure),
                [(first.case_ids[each.case], each) for each in failed[:SHOWN_FAILURES]],
                Counter(mark for each in own for mark in each.marks),
                _choices(matrices, rubric.pair, place, inside, weights, clusters) if rubric.pair else {},
                rater.other_texts,
            )  # fmt: skip


def _summary(
    matrix: RatingsMatrix,
    rubric: Rubric,
    place: int,
    inside: BoolArray,
    weights: FloatArray,
    clusters: IntArray | None,
) -> ScoreSummary:
    declared, scored = rubric.format.scores[matrix.score], inside & np.isfinite(matrix.given[:, place])
    given, sure, mass = (each[scored, place] for each in (matrix.given, matrix.confidence, matrix.mass))
    confident, mean = int(np.isfinite(sure).sum()), undefined_estimate("the scale is nominal")
    if not matrix.nominal:
        kept = scored & ~np.isin(matrix.given[:, place], matrix.special) & (weights > 0)
        own = None if clusters is None else clusters[kept]
        mean = scale_mean(matrix.given[kept, place], matrix.scale, own, weights[kept])
    counts = {value: int(np.sum(given == value)) for value in declared.values}
    confidence = float(np.nanmean(sure)) if confident else None
    return ScoreSummary(
        matrix.score, declared, len(given), counts, mean, confident, confidence, mass[np.isfinite(mass)]
    )


def _choices(
    matrices: Sequence[RatingsMatrix],
    pair: Pair,
    place: int,
    inside: BoolArray,
    weights: FloatArray,
    clusters: IntArray | None,
) -> dict[str, Cell]:
    """How often A won, tied and lost, and A's share, a tie as half of one; and what a second order changed.

    Of the cases judged in both orders, the orders disagree in the flips, which count as ties; in some of these the
    response that was read first won. With halves a share varies less than one of ones and zeros, so its interval is
    rather too wide.
    """
    matrix = next(each for each in matrices if each.score == pair.score)
    chosen = choices_of(matrix, pair)[:, place]
    kept = inside & np.isfinite(chosen)
    won, orders = chosen[kept], matrix.orders[kept, place]
    both, own, heavy = orders >= HELD, None if clusters is None else clusters[kept], weights[kept] > 0
    rate = share(won[heavy], None if own is None else own[heavy], weights[kept][heavy])
    counts = {name: int(np.sum(won == result)) for name, result in (("wins", 1), ("ties", 0.5), ("losses", 0))}
    found: dict[str, Cell] = {"n": len(won), **counts, "win_rate": rate}
    if not both.any():
        return found
    flips = orders[both] >= TURNED
    found |= {"flips": int(flips.sum()), "both_orders": int(both.sum()), "read_first": int(np.sum(orders == TO_FIRST))}
    return found | {"flip_rate": share(flips.astype(np.float64), None if own is None else own[both])}
