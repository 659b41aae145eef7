"""A judge's difference of two chatbots, corrected by people's labels of a sample of their answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathway_local.results.label_design import LabelDesign, label_designs, stratum_weights
from pathway_local.results.ratings_matrix import RatingsMatrix
from pathway_local.statistics.corrected import CorrectedDifference, corrected_difference
from pathway_local.statistics.families import at_holm_levels
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined
from pathway_local.statistics.human_benchmark import mean_of_people
from pathway_local.statistics.prediction_powered import BoolArray


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
    worked_on = [each for each in label_designs(matrix, people) if each.worked_on]
    if not worked_on:
        return Undefined("people labelled no random sample of the answers")
    labels = worked_on[0]
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


def as_one_family(found: Sequence[CorrectedComparison], level: float) -> list[CorrectedComparison]:
    """The same with intervals at Holm's levels, for a family of that confidence level."""
    effects = [each.found.corrected for each in found]
    family = sum(not effect.missing for effect in effects)
    estimates = at_holm_levels(effects, level)
    return [replace(each, difference=own, family=family) for each, own in zip(found, estimates, strict=True)]
