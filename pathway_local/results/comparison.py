"""Chatbots on the same questions, two at a time: how a rater's scores of one differ from those of the other.

A judge's difference is also corrected by people's labels of a sample of the answers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from pathway_local.note import Note
from pathway_local.rater import JUDGES
from pathway_local.results import MIN_GROUP
from pathway_local.results.analysis import (
    Bad,
    Between,
    Cluster,
    MinGroup,
    PairBy,
    Raters,
    Rubric,
)
from pathway_local.results.label_design import LabelDesign, own_design, stratum_weights
from pathway_local.results.pairing import Pairing
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.statistics.corrected import CorrectedDifference, corrected_difference
from pathway_local.statistics.effect import Effect, difference_effect, mean_effect
from pathway_local.statistics.families import at_holm_levels
from pathway_local.statistics.figure import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    Reason,
    Undefined,
    undefined_estimate,
)
from pathway_local.statistics.human_benchmark import mean_of_people
from pathway_local.statistics.intervals import linked_clusters
from pathway_local.statistics.share import scale_mean
from pathway_local.system.options import Options, Says


class CompareOptions(Options):
    """The values to compare, or the columns of a choice between two."""

    between: Between = ""
    pair_by: PairBy = ""
    pairs: Annotated[
        str, Says("A,B", "Rank chatbots by choices between two: the columns that name A's and B's chatbot.")
    ] = ""
    rubric: Rubric = ""
    rater: Raters = ()
    cluster: Cluster = ""
    min_group: MinGroup = MIN_GROUP
    bad: Bad = ""


@dataclass(frozen=True, slots=True)
class CorrectedComparison:
    """The difference that people would see, by their labels of the sample with this seed.

    It is about so many `questions`, or cases where they are not paired; `rated` counts the cases among them that people
    rated, in the sample or not. `difference` has its interval at Holm's level among all corrected differences of a
    command, `family` of them.
    """

    seed: int
    questions: int
    found: CorrectedDifference
    difference: Estimate
    rated: int
    family: int = 1


def corrected_comparison(
    matrix: RatingsMatrix, judge: int, sides: Sequence[BoolArray], questions: IntArray | None, clusters: IntArray
) -> CorrectedComparison | Undefined | None:
    """The judge's difference corrected by the labels of all people; None if nobody labelled anything.

    `sides` and `clusters` are (cases,). With `questions` (cases,), only those with the judge's scores on both sides
    count, each the same; without, every case does.
    """
    people = matrix.scoring("human")
    if not people:
        return None
    labels = own_design(matrix, people, "")
    if isinstance(labels, Note):
        return Undefined("people labelled no random sample of the answers")
    own = np.where(labels.labels, matrix.on_scale[:, people], np.nan)
    if np.any(labels.random & ~np.isfinite(own).any(axis=1)):
        return Undefined("people gave some answers a special level, which has no place in a mean")
    scores = matrix.on_scale[:, judge]
    kept = np.isfinite(scores) & (labels.design.probability > 0) & (sides[0] | sides[1])
    asked = np.where(sides[0], 0, 1) if questions is None else questions
    counts = [np.bincount(asked[side & kept], minlength=int(asked.max()) + 1) for side in sides]
    if questions is not None:
        kept &= ((counts[0] > 0) & (counts[1] > 0))[asked]
    if not kept.any():
        if questions is None:
            return Undefined("no case is among those from which the sample was drawn")
        return Undefined("no question with scores of both is among the cases from which the sample was drawn")
    number = int(kept.sum()) if questions is None else len(np.unique(asked[kept]))
    first, asked = sides[0][kept], asked[kept]
    # Several answers of one side to a question share that question's weight.
    shares: FloatArray = 1 / np.where(first, counts[0][asked], counts[1][asked])
    shares /= 1 if questions is None else number
    target = mean_of_people(own)[kept]
    found = corrected_difference(scores[kept], target, first, shares, _weights(labels)[kept], clusters[kept])
    return CorrectedComparison(
        labels.design.sample.seed, number, found, found.corrected.estimate(), int(labels.rated[kept].sum())
    )


def _weights(labels: LabelDesign) -> FloatArray:
    """How many cases each label stands for: those of its stratum."""
    whole = labels.design.probability > 0
    return np.where(labels.random, stratum_weights(labels.design.strata, whole, labels.random), 1.0)


def as_one_family(found: Sequence[CorrectedComparison]) -> list[CorrectedComparison]:
    """The same with intervals at Holm's levels."""
    effects = [each.found.corrected for each in found]
    family = sum(not effect.missing for effect in effects)
    estimates = at_holm_levels(effects)
    return [replace(each, difference=own, family=family) for each, own in zip(found, estimates, strict=True)]


NO_MEAN = undefined_estimate("there is no score")


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """Compares cases with each two of the `values` in the column `between`, question by question.

    `pairing` says which cases answer the same question, or that they are groups. `without` counts the cases that have
    none of the column's values. `raters` are named (none: all);
    pairs with the same value of `cluster` depend on each other.
    Comparisons of fewer pairs than `smallest` are not shown.
    """

    between: str
    values: tuple[str, ...]
    pairing: Pairing
    raters: Sequence[str] = ()
    cluster: str = ""
    smallest: int = 10
    without: int = 0

    @property
    def pair_by(self) -> str:
        """The column or input by which cases are paired; empty if they are not."""
        return self.pairing.name


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Pairs in which the first scored higher, the same and lower, and the mean of first minus second.

    The interval of `difference` is at Holm's level among all comparisons of a command.
    """

    pairs: int
    wins: int
    ties: int
    losses: int
    effect: Effect
    difference: Estimate


@dataclass(frozen=True, slots=True)
class Side:
    """One chatbot: how many cases it has, how many of them got a score on the scale, their variance and their mean."""

    name: str
    cases: int
    scored: int
    variance: float = 0.0
    mean: Estimate = NO_MEAN


@dataclass(frozen=True, slots=True)
class Comparison:
    """One rater's scores of both. `unpaired` questions have a score on one side only, `several` more than one.

    `family` is how many differences were tested together with this one. `corrected` is the difference by people's
    labels; None if the rater is no judge or nobody labelled anything.
    """

    rubric: str
    score: str
    rater: str
    first: Side
    second: Side
    unpaired: int
    several: int
    found: PairedComparison | Undefined
    corrected: CorrectedComparison | Undefined | None = None
    family: int = 1

    @property
    def names(self) -> tuple[str, str]:
        """The names of both sides."""
        return self.first.name, self.second.name


def comparisons(matrices: Iterable[RatingsMatrix], plan: ComparisonPlan) -> list[Comparison]:
    """Each rater's scores of each two, for each of these scores, as one family of tests; corrected ones are another.

    Without Holm's levels, 15 comparisons of equal chatbots show a difference about half the time; with them, in 5% of
    the files. Raises UsageError for columns.
    """
    found = []
    for matrix in matrices:
        compared = _Compared(matrix, plan)
        for place in matrix.places(plan.raters) or matrix.scoring():
            found += [compared.comparison(place, names) for names in combinations(plan.values, 2)]
    return _one_family(found)


def _one_family(found: Sequence[Comparison]) -> list[Comparison]:
    paired = [each.found for each in found if isinstance(each.found, PairedComparison)]
    estimates = iter(at_holm_levels([each.effect for each in paired]))
    family = sum(not each.effect.missing for each in paired)
    by_people = [each.corrected for each in found if isinstance(each.corrected, CorrectedComparison)]
    corrected = iter(as_one_family(by_people))
    return [
        replace(
            each,
            found=replace(each.found, difference=next(estimates)),
            family=family,
            corrected=next(corrected) if isinstance(each.corrected, CorrectedComparison) else each.corrected,
        )
        if isinstance(each.found, PairedComparison)
        else each
        for each in found
    ]


@dataclass(frozen=True, slots=True)
class _Sides:
    """Which cases are on which side, their clusters, and what came out."""

    own: Sequence[NDArray[np.bool_]]
    clusters: IntArray
    found: PairedComparison
    unpaired: int = 0
    several: int = 0


class _Compared:
    """Compares a matrix's raters by the plan: each case has its value, question and cluster as codes.

    Without clusters, each question depends on itself alone, or each case where they are not paired.
    """

    def __init__(self, matrix: RatingsMatrix, plan: ComparisonPlan) -> None:
        self.matrix, self.plan, self.scores = matrix, plan, matrix.on_scale
        self.sides, self.names = matrix.codes(plan.between)
        self.questions: IntArray | None = None
        self.known = 0
        if plan.pair_by:
            self.questions, self.known = plan.pairing.codes(matrix)
        self.clusters = matrix.clusters(plan.cluster) if plan.cluster else None

    def comparison(self, place: int, names: tuple[str, str]) -> Comparison:
        """How a rater's scores of one value differ from those of the other."""
        matrix, scores = self.matrix, self.scores[:, place]
        own = [self.sides == (self.names.index(name) if name in self.names else len(self.names)) for name in names]
        both = self._apart(scores, own) if self.questions is None else self._by_questions(scores, own, self.questions)
        found: PairedComparison | Undefined = both.found
        if matrix.nominal:
            found = Undefined("the scale is nominal, so no score is above another")
        elif both.found.pairs < self.plan.smallest:
            found = Undefined(_too_few(both.found.pairs, self.plan))
        corrected = None
        if isinstance(found, PairedComparison) and matrix.raters[place].kind in JUDGES:
            corrected = corrected_comparison(matrix, place, both.own, self.questions, both.clusters)
        first, second = (self._side(name, side, scores) for name, side in zip(names, both.own, strict=True))
        rater = matrix.raters[place].name
        return Comparison(
            matrix.rubric, matrix.score, rater, first, second, both.unpaired, both.several, found, corrected
        )

    def _by_questions(self, scores: FloatArray, own: Sequence[NDArray[np.bool_]], questions: IntArray) -> _Sides:
        """Compare the sides question by question."""
        # A case with an empty cell or text belongs to no question, so it has no partner.
        own = [(questions >= 0) & side for side in own]
        means, counts = zip(*(_by_question(scores, questions, side, self.known) for side in own), strict=True)
        both = np.isfinite(means[0]) & np.isfinite(means[1])
        clusters = None
        if self.clusters is not None and self.known:
            # Questions that share a value on either side, through others too, belong together.
            used = own[0] | own[1]
            clusters = linked_clusters(questions[used], self.clusters[used], self.known)
        return _Sides(
            own,
            questions if clusters is None else clusters[questions],
            paired_comparison(means[0], means[1], clusters=clusters),
            int(np.sum(np.isfinite(means[0]) != np.isfinite(means[1]))),
            int(np.sum(both & ((counts[0] > 1) | (counts[1] > 1)))),
        )

    def _apart(self, scores: FloatArray, own: Sequence[NDArray[np.bool_]]) -> _Sides:
        """Compare the means of the sides as two groups; a cluster may reach into both."""
        clusters = np.arange(len(scores), dtype=np.int64) if self.clusters is None else self.clusters
        return _Sides(own, clusters, unpaired_comparison(scores, own, clusters))

    def _side(self, name: str, side: NDArray[np.bool_], scores: FloatArray) -> Side:
        kept = side & np.isfinite(scores)
        scored = scores[kept]
        if not len(scored) or self.matrix.nominal:
            return Side(name, int(side.sum()), len(scored))
        clusters = self.questions if self.clusters is None else self.clusters
        mean = scale_mean(scored, self.matrix.scale, None if clusters is None else clusters[kept])
        return Side(name, int(side.sum()), len(scored), float(scored.var(ddof=1)) if len(scored) > 1 else 0.0, mean)


def _too_few(pairs: int, plan: ComparisonPlan) -> str:
    if not plan.pair_by:
        return Reason("under {smallest} cases of one side got a score", smallest=plan.smallest)
    few = Reason("under {smallest} questions got a score on both sides", smallest=plan.smallest)
    return few if pairs else "no question got scores of both"


def paired_comparison(first: FloatArray, second: FloatArray, *, clusters: IntArray | None = None) -> PairedComparison:
    """Compare scores (pairs,) of the same questions; pairs with a score missing (NaN) are left out.

    The paired t interval of the mean difference (Student 1908), robust to dependence within `clusters`.
    """
    both = np.isfinite(first) & np.isfinite(second)
    differences = np.round((first - second)[both], 9)
    own = None if clusters is None else clusters[both]
    effect = mean_effect(differences, own, each="difference")
    return PairedComparison(
        pairs=len(differences),
        wins=int(np.sum(differences > 0)),
        ties=int(np.sum(differences == 0)),
        losses=int(np.sum(differences < 0)),
        effect=effect,
        difference=effect.estimate(),
    )


def unpaired_comparison(scores: FloatArray, own: Sequence[NDArray[np.bool_]], clusters: IntArray) -> PairedComparison:
    """Compare the means of scores (cases,) on two sides, with an interval robust to dependence within `clusters`.

    `pairs` are the scores of the side that has fewer; nothing is won or lost.
    """
    first, second = (side & np.isfinite(scores) for side in own)
    used = first | second
    effect = difference_effect(scores[used], first[used], clusters[used])
    fewest = min(int(first.sum()), int(second.sum()))
    return PairedComparison(fewest, 0, 0, 0, effect, effect.estimate())


def _by_question(
    scores: FloatArray, questions: IntArray, side: NDArray[np.bool_], size: int
) -> tuple[FloatArray, IntArray]:
    """The mean score of each question on one side, NaN where it has none, and how many it has, (questions,) each."""
    used = side & np.isfinite(scores)
    counts = np.bincount(questions[used], minlength=size).astype(np.int64)
    sums = np.bincount(questions[used], scores[used], minlength=size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), counts
