"""Which sample people's labels belong to, and which of them chance chose."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathway_local.note import Note
from pathway_local.scores.matrix import ANY_SHEET, Design, RatingsMatrix
from pathway_local.statistics.figure import BoolArray, FloatArray, IntArray

WORKED_ON = 0.5
"""The share of a sample that needs labels; fewer may be of cases that were picked."""

EVEN = 1.1
"""Chances of being drawn that differ by less count as even."""


@dataclass(frozen=True, slots=True)
class LabelDesign:
    """The sample that some people's labels belong to.

    `rated` cases (cases,) have a rating of these people. Of their ratings, only `labels` (cases, people) are of the
    sample: those of drawn cases that came back on one of its sheets or pages. The others' cases may have been picked.
    """

    design: Design
    rated: BoolArray
    labels: BoolArray

    @classmethod
    def of(cls, matrix: RatingsMatrix, people: Sequence[int], design: Design) -> "LabelDesign":
        """The labels of these columns as part of a sample."""
        given, sheets = np.isfinite(matrix.given[:, list(people)]), matrix.sheets[:, list(people)]
        of_sample = np.isin(sheets, [ANY_SHEET, *design.sample.jobs]) & design.drawn[:, None]
        return cls(design, np.asarray(given.any(axis=1)), np.asarray(given & of_sample))

    @property
    def random(self) -> BoolArray:
        """The drawn cases with a label of the sample."""
        return np.asarray(self.labels.any(axis=1))

    @property
    def by_all(self) -> float:
        """The share of the labelled cases that have a label by each of these people who labelled any."""
        given = self.labels[:, self.labels.any(axis=0)]
        return float(given[self.random].all(axis=1).mean()) if self.random.any() else 1.0

    @property
    def worked_on(self) -> bool:
        """Whether these people labelled enough of the sample."""
        return bool(self.random.any() and self.random.sum() >= WORKED_ON * self.design.drawn.sum())


def label_designs(matrix: RatingsMatrix, people: Sequence[int]) -> list[LabelDesign]:
    """Each sample with these people's labels, the one with most random labels first; of equals, the oldest."""
    found = [LabelDesign.of(matrix, people, design) for design in matrix.designs]
    return sorted(found, key=lambda each: -int(each.random.sum()))


def own_design(matrix: RatingsMatrix, people: Sequence[int], who: str | Note) -> LabelDesign | Note:
    """The sample with most labels of those that these people worked on, or a note that says why there is none."""
    ranked = label_designs(matrix, people)
    if found := next((each for each in ranked if each.worked_on), None):
        return found
    rated = [each for each in ranked if np.any(each.rated & each.design.drawn)]
    if not rated:
        return Note("labels_of_no_sample", {"people": who}, "warning")
    sample, count = rated[0].design.sample, int(rated[0].random.sum())
    told = {"people": who, "labels": count, "drawn": sample.drawn, "seed": str(sample.seed)}
    return Note("few_labels_of_sample" if count else "no_labels_of_sample", told, "warning")


def stratum_weights(strata: IntArray, whole: BoolArray, part: BoolArray) -> FloatArray:
    """How many of the whole's cases each of the part stands for within its stratum; all are (cases,)."""
    size = int(strata.max()) + 1
    cases, counted = (np.bincount(strata[each], minlength=size) for each in (whole, part))
    weights: FloatArray = (cases / np.maximum(counted, 1))[strata]
    return weights


def uneven_strata(matrix: RatingsMatrix) -> Iterator[str]:
    """The columns of strata from which labels were drawn with chances that differ by more than a tenth."""
    people = matrix.scoring("human")
    for each in label_designs(matrix, people) if people else ():
        if each.worked_on and is_uneven(each.design):
            yield each.design.sample.strata


def is_uneven(design: Design) -> bool:
    """Whether groups were drawn with chances that differ by more than a tenth."""
    chances = design.probability[design.probability > 0]
    return bool(design.sample.strata and chances.max() > EVEN * chances.min())


def without_picked(matrix: RatingsMatrix) -> tuple[RatingsMatrix, list[Note]]:
    """The matrix without labels from outside the samples that people worked on, and notes about them.

    A person's samples are those that this person, or all people together, worked on.
    """
    given, raters, said = matrix.given.copy(), list(matrix.raters), list[Note]()
    people = matrix.of_kind("human") if matrix.designs else []
    shared = {each.design.sample.id for each in label_designs(matrix, people) if each.worked_on}
    for place in people:
        rater, own = raters[place], [each for each in label_designs(matrix, [place]) if each.random.any()]
        own = [each for each in own if each.worked_on or each.design.sample.id in shared]
        if not own:
            if not np.isfinite(given[:, place]).all():
                said.append(Note("worked_on_no_sample", {"rater": rater.name}, "note"))
            continue
        picked = own[0].rated & ~np.any([each.random for each in own], axis=0)
        if count := int(picked.sum()):
            given[picked, place] = np.nan
            raters[place] = replace(rater, verdicts=rater.verdicts - count, picked=count)
            told = {"rater": rater.name, "kept": rater.verdicts - count, "rated": rater.verdicts}
            said.append(Note("picked_left_out", told, "note"))
    said += [Note("uneven_strata", {"column": column}, "note") for column in dict.fromkeys(uneven_strata(matrix))]
    return replace(matrix, given=given, raters=tuple(raters)), said
