"""Chatbots on the same questions, two at a time: how a rater's scores of one differ from those of the other.

A judge's difference is also corrected by people's labels of a sample of the answers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated

import numpy as np

from pathway_local.note import Note
from pathway_local.rater import JUDGES, RaterKind
from pathway_local.results import MIN_GROUP
from pathway_local.results.analysis import Bad, Between, Cluster, MinGroup, PairBy, Raters, Rubric
from pathway_local.results.label_design import LabelDesign, own_design, stratum_weights
from pathway_local.results.pairing import Pairing
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.statistics.corrected import corrected_difference
from pathway_local.statistics.effect import Effect, at_holm_levels, difference_effect, mean_effect, scale_mean
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
from pathway_local.system.options import Options, Says


class CompareOptions(Options):
    """The values to compare, or the columns that name what a choice is between."""

    between: Between = ""
    pair_by: PairBy = ""
    pairs: Annotated[
        str, Says("A,B", "Compare chatbots by choices between two: the columns that name A's and B's chatbot.")
    ] = ""
    rubric: Rubric = ""
    rater: Raters = ()
    cluster: Cluster = ""
    min_group: MinGroup = MIN_GROUP
    bad: Bad = ""


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """Compares cases with each two of the `values` in the column `between`, question by question.

    `pairing` says which cases answer the same question, or that they are groups. `without` counts the cases that have
    none of the column's values. `raters` are named (none: all, or all of
    these `kinds`, if any has scored); cases with the same value of `cluster` depend on each
    other. Comparisons of fewer pairs than `smallest` are not shown. Of choices between two responses, `columns` name
    the chatbots; each is two answers to a question of its own, with what they got as scores.
    """

    between: str
    values: tuple[str, ...]
    pairing: Pairing
    raters: Sequence[str] = ()
    cluster: str = ""
    smallest: int = 10
    without: int = 0
    columns: tuple[str, ...] = ()
    kinds: tuple[RaterKind, ...] = ()

    @property
    def pair_by(self) -> str:
        """The column or input by which cases are paired; empty if they are not."""
        return self.pairing.name


NONE = undefined_estimate("there is no score")


@dataclass(frozen=True, slots=True)
class Difference:
    """First less second, over so many `pairs`: questions, or where they are not paired cases of the smaller side.

    The first scored higher, the same or lower in `wins`, `ties` and `losses` of the pairs; `flips` of the ties are
    choices that turned with the order. Corrected by people, it is over the questions or cases of the sample with this
    `seed`, by so many `labels` on each side of the cases that they `rated`. The interval of `estimate` is at Holm's
    level among the `family` of differences that a command shows.
    """

    pairs: int
    effect: Effect
    wins: int = 0
    ties: int = 0
    losses: int = 0
    flips: int = 0
    seed: int = 0
    labels: tuple[int, int] = (0, 0)
    rated: int = 0
    estimate: Estimate = NONE
    family: int = 1


@dataclass(frozen=True, slots=True)
class Side:
    """One chatbot: how many cases it has, how many of them got a score on the scale, and the mean of these."""

    name: str
    cases: int
    scored: int
    mean: Estimate = NONE


@dataclass(frozen=True, slots=True)
class Comparison:
    """One rater's scores of both. `unpaired` questions have a score on one side only, `several` more than one.

    `corrected` is the difference by people's labels; None if the rater is no judge or nobody labelled anything.
    """

    rubric: str
    score: str
    rater: str
    first: Side
    second: Side
    found: Difference | Undefined
    corrected: Difference | Undefined | None = None
    unpaired: int = 0
    several: int = 0

    @property
    def names(self) -> tuple[str, str]:
        """The names of both sides."""
        return self.first.name, self.second.name


def comparisons(matrices: Iterable[RatingsMatrix], plan: ComparisonPlan) -> list[Comparison]:
    """Each rater's scores of each two, for each of these scores, as one family of tests; corrected ones are another.

    Without Holm's levels, 15 comparisons of equal chatbots show a difference about half the time; with them, in 5% of
    the files. Raises UsageError for columns.
    """
    found, reaches = list[Comparison](), list[float]()
    for matrix in matrices:
        compared = _Compared(matrix, plan)
        for place in matrix.places(plan.raters) or matrix.scoring(*plan.kinds) or matrix.scoring():
            sides = [compared.side(name, place) for name in plan.values]
            found += [compared.comparison(place, *pair) for pair in combinations(sides, 2)]
        reaches += [matrix.scale[-1] - matrix.scale[0] if matrix.scale else 0.0] * (len(found) - len(reaches))
    own = _at_holm_levels([each.found for each in found], reaches)
    by_people = _at_holm_levels([each.corrected for each in found], reaches)
    return [
        replace(each, found=one or each.found, corrected=other or each.corrected)
        for each, one, other in zip(found, own, by_people, strict=True)
    ]


def _at_holm_levels(
    found: Sequence[Difference | Undefined | None], reaches: Sequence[float]
) -> list[Difference | None]:
    """The differences as one family of tests, None for others; no interval goes beyond what the scale `reaches`."""
    effects = [each.effect for each in found if isinstance(each, Difference)]
    family, estimates = sum(not each.missing for each in effects), iter(at_holm_levels(effects))
    return [
        replace(each, estimate=next(estimates).within(reach), family=family) if isinstance(each, Difference) else None
        for each, reach in zip(found, reaches, strict=True)
    ]


def _labels(matrix: RatingsMatrix) -> LabelDesign | Undefined | None:
    """Return the labels that people gave a sample; None if nobody labelled anything."""
    people = matrix.scoring("human")
    labels = own_design(matrix, people, "") if people else None
    if isinstance(labels, Note):
        return Undefined("people labelled no random sample of the answers")
    if labels and np.any(labels.random & ~np.isfinite(_given(matrix, labels)).any(axis=1)):
        return Undefined("people gave some answers a special level, which has no place in a mean")
    return labels


def _given(matrix: RatingsMatrix, labels: LabelDesign) -> FloatArray:
    """People's labels of the sample, (cases, people)."""
    return np.where(labels.labels, matrix.on_scale[:, matrix.scoring("human")], np.nan)


class _Compared:
    """Compares a matrix's raters by the plan: each case has its value, question and cluster as codes.

    Without clusters, each question depends on itself alone, or each case where they are not paired.
    """

    def __init__(self, matrix: RatingsMatrix, plan: ComparisonPlan) -> None:
        self.matrix, self.plan, self.labels = matrix, plan, _labels(matrix)
        values, names = matrix.codes(plan.between)
        self.questions: IntArray | None = None
        self.known = 0
        if plan.pair_by:
            self.questions, self.known = plan.pairing.codes(matrix)
        # A case with an empty cell or text belongs to no question, so it has no partner.
        asked = True if self.questions is None else self.questions >= 0
        self.own = {name: asked & (values == (names.index(name) if name in names else -2)) for name in plan.values}
        self.clusters = matrix.clusters(plan.cluster) if plan.cluster else None

    def side(self, name: str, place: int) -> Side:
        """One chatbot as a rater scores it."""
        own, scores = self.own[name], self.matrix.on_scale[:, place]
        kept = own & np.isfinite(scores)
        side = Side(name, int(own.sum()), int(kept.sum()))
        if not side.scored or self.matrix.nominal:
            return side
        clusters = self.questions if self.clusters is None else self.clusters
        mean = scale_mean(scores[kept], self.matrix.scale, None if clusters is None else clusters[kept])
        return replace(side, mean=mean)

    def comparison(self, place: int, first: Side, second: Side) -> Comparison:
        """How a rater's scores of one value differ from those of the other."""
        matrix, own = self.matrix, (self.own[first.name], self.own[second.name])
        found, clusters, *counts = self._paired(place, own) if self.plan.pair_by else self._apart(place, own)
        each = Comparison(matrix.rubric, matrix.score, matrix.raters[place].name, first, second, found, None, *counts)
        if matrix.nominal:
            return replace(each, found=Undefined("the scale is nominal, so no score is above another"))
        if found.pairs < self.plan.smallest:
            return replace(each, found=Undefined(_too_few(found.pairs, self.plan)))
        if matrix.raters[place].kind not in JUDGES or self.plan.columns:
            return each
        return replace(each, corrected=self._corrected(place, own, clusters))

    def _paired(self, place: int, own: Sequence[BoolArray]) -> tuple[Difference, IntArray, int, int]:
        """Compare the sides question by question; with the questions' clusters, those unpaired and those of several."""
        questions, scores = self.questions, self.matrix.on_scale[:, place]
        assert questions is not None
        (first, one), (second, other) = (_by_question(scores, questions, side, self.known) for side in own)
        clusters = None
        if self.clusters is not None and self.known:
            # Questions that share a value on either side, through others too, belong together.
            used = own[0] | own[1]
            clusters = linked_clusters(questions[used], self.clusters[used], self.known)
        both = (one > 0) & (other > 0)
        several, unpaired = int(np.sum(both & (one + other > 2))), int(np.sum((one > 0) != (other > 0)))
        flips = int(np.sum(self.matrix.flipped[:, place] & own[0] & both[questions])) if self.known else 0
        found = replace(paired_difference(first, second, clusters), flips=flips)
        return found, questions if clusters is None else clusters[questions], unpaired, several

    def _apart(self, place: int, own: Sequence[BoolArray]) -> tuple[Difference, IntArray]:
        """Compare the means of the sides as two groups; a cluster may reach into both."""
        scores = self.matrix.on_scale[:, place]
        clusters = np.arange(len(scores), dtype=np.int64) if self.clusters is None else self.clusters
        first, second = (side & np.isfinite(scores) for side in own)
        used = first | second
        effect = difference_effect(scores[used], first[used], clusters[used])
        return Difference(min(int(first.sum()), int(second.sum())), effect), clusters

    def _corrected(self, place: int, own: Sequence[BoolArray], clusters: IntArray) -> Difference | Undefined | None:
        """The judge's difference corrected by the labels of all people.

        Where cases are paired, only questions with the judge's scores on both sides count, each the same; else every
        case does.
        """
        labels, scores, first = self.labels, self.matrix.on_scale[:, place], own[0]
        if not isinstance(labels, LabelDesign):
            return labels
        within = np.asarray(labels.design.probability > 0)
        kept = np.isfinite(scores) & within & (first | own[1])
        asked = np.where(first, 0, 1) if self.questions is None else self.questions
        one, other = (np.bincount(asked[side & kept], minlength=int(asked.max()) + 1) for side in own)
        if self.questions is not None:
            kept &= ((one > 0) & (other > 0))[asked]
        if not kept.any():
            return Undefined(
                "no case, or no question with scores of both, is among those that the sample was drawn from"
            )
        number = int(kept.sum()) if self.questions is None else len(np.unique(asked[kept]))
        # Several answers of one side to a question share that question's weight.
        shares: FloatArray = 1 / np.where(first[kept], one[asked[kept]], other[asked[kept]])
        shares /= 1 if self.questions is None else number
        people = mean_of_people(_given(self.matrix, labels))[kept]
        # How many cases of its stratum a labelled one stands for.
        weights = np.where(labels.random, stratum_weights(labels.design.strata, within, labels.random), 1.0)[kept]
        effect, sides = corrected_difference(scores[kept], people, first[kept], shares, weights, clusters[kept])
        told, rated = labels.design.sample.seed, int(labels.rated[kept].sum())
        return Difference(number, effect, seed=told, labels=sides, rated=rated)


def _too_few(pairs: int, plan: ComparisonPlan) -> str:
    if plan.columns:
        return Reason("under {smallest} choices are between them", smallest=plan.smallest)
    if not plan.pair_by:
        return Reason("under {smallest} cases of one side got a score", smallest=plan.smallest)
    few = Reason("under {smallest} questions got a score on both sides", smallest=plan.smallest)
    return few if pairs else "no question got scores of both"


def paired_difference(first: FloatArray, second: FloatArray, clusters: IntArray | None = None) -> Difference:
    """Compare scores (pairs,) of the same questions; pairs with a score missing (NaN) are left out.

    The paired t interval of the mean difference (Student 1908), robust to dependence within `clusters`.
    """
    both = np.isfinite(first) & np.isfinite(second)
    differences = np.round((first - second)[both], 9)
    effect = mean_effect(differences, None if clusters is None else clusters[both], each="difference")
    wins, ties, losses = (int(np.sum(np.sign(differences) == sign)) for sign in (1, 0, -1))
    return Difference(len(differences), effect, wins, ties, losses)


def _by_question(scores: FloatArray, questions: IntArray, side: BoolArray, size: int) -> tuple[FloatArray, IntArray]:
    """The mean score of each question on one side, NaN where it has none, and how many it has, (questions,) each."""
    used = side & np.isfinite(scores)
    counts = np.bincount(questions[used], minlength=size).astype(np.int64)
    sums = np.bincount(questions[used], scores[used], minlength=size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), counts
