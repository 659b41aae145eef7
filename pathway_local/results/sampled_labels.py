"""People's labels of a sample: which sample they belong to, what missing ones could change, and what they correct."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathway_local.results.label_design import own_design
from pathway_local.results.ratings_matrix import RatingsMatrix
from pathway_local.statistics.corrected import Placed, corrected_domain_mean
from pathway_local.statistics.families import level_of_looks
from pathway_local.statistics.figure import FloatArray, IntArray, Interval, Undefined, percent
from pathway_local.statistics.human_benchmark import mean_of_people
from pathway_local.statistics.intervals import difference_effect
from pathway_local.statistics.prediction_powered import TWICE, Survey, Target, corrected_mean, label_noise
from pathway_local.verdict import Number

ONCE = 0.1
"""The share of cases that may be labelled once without a warning: the interval is then at most 5% too short."""

RETURNED = 0.8
"""The share of a sample below which a warning says what the labels that are missing could change."""


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """Corrects `judges` (empty: all) by the labels of `against`, for the file or the population behind it.

    `assume_random` takes all labels as a random sample of all cases; `sample` names the seed of the sample that they
    belong to, if it is not the one with most labels. `by` is a column of groups; groups under
    `smallest` cases are left out if it `hides` them. Cases with the same value of the column `cluster` depend on each
    other, which counts for a population. So many `looks` at growing data share the
    error.
    """

    against: str
    judges: Sequence[str] = ()
    target: Target = "file"
    assume_random: bool = False
    sample: int | None = None
    cluster: str = ""
    by: str = ""
    smallest: int = 10
    hides: bool = True
    looks: int = 1


class SampledLabels:
    """People's labels of the cases from which they were drawn, (cases of that population,) each."""

    def __init__(self, matrix: RatingsMatrix, people: Sequence[int], plan: CalibrationPlan) -> None:
        columns = list(people)
        given = np.isfinite(matrix.given[:, columns])
        found = None if plan.assume_random else own_design(matrix, people, plan.against, plan.sample)
        counted = given if found is None else found.labels
        on_scale = np.where(counted, matrix.on_scale[:, columns], np.nan)
        labelled: NDArray[np.bool_] = np.asarray(counted.any(axis=1))
        scores = mean_of_people(on_scale)
        inside = np.ones(len(labelled), np.bool_) if found is None else np.asarray(found.design.probability > 0)
        self.plan = plan
        self.inside: NDArray[np.bool_] = inside
        self.sample = found.design.sample if found else None
        self.scores: FloatArray = scores[inside]
        self.special: NDArray[np.bool_] = (labelled & ~np.isfinite(scores))[inside]
        self.noise = label_noise(on_scale[inside & labelled])
        self.strata: IntArray | None = None
        self.clusters = matrix.clusters(plan.cluster)[inside] if plan.cluster else None
        self.rated, self.count = int(given.any(axis=1).sum()), int(labelled.sum())
        codes, self.names = matrix.codes(plan.by) if plan.by else (np.full(len(labelled), -1, dtype=np.int64), ())
        self.groups: IntArray = codes[inside]
        self.notices: list[str] = []
        if found is None:
            self.notices.append("--assume-random: you state that the labels are a random sample of all cases")
            return
        design = found.design
        if design.sample.strata:
            self.strata = design.strata[inside]
        if len(matrix.designs) > 1:
            self.notices.append(f"the labels are taken as those of the sample with seed {design.sample.seed}")
        if self.count < self.rated:
            self.notices.append(
                f"{self.count:,} of {plan.against}'s {self.rated:,} rated cases count: the others did not come back on "
                f"a sheet or page of the sample with seed {design.sample.seed}"
            )
        if left_out := int(np.sum(~inside)):
            self.notices.append(f"{left_out:,} cases are left out: the sample was not drawn from them")
        self._missing: NDArray[np.bool_] = (design.drawn & ~labelled)[inside]
        weights = np.where(design.drawn, 1 / np.where(design.drawn, design.probability, 1), 0)
        self._weights: FloatArray = weights[inside]

    def on_missing(self, judge: FloatArray, levels: Sequence[Number]) -> tuple[list[str], list[str]]:
        """Notes and warnings about drawn cases without a label, whose labels could change the mean."""
        if self.sample is None or not self._missing.any():
            return [], []
        missing, drawn = int(self._missing.sum()), self.sample.drawn
        said = f"{missing:,} of {drawn:,} drawn cases have no label; we assume that they are like the labelled ones"
        given = np.isfinite(self.scores)
        unlike = _unlike(judge, given, self._missing)
        if missing <= (1 - RETURNED) * drawn or not given.any():
            return [said], unlike
        counted = given | self._missing
        filled = (np.where(given, self.scores, end)[counted] for end in (levels[0], levels[-1]))
        lowest, highest = (float(np.average(each, weights=self._weights[counted])) for each in filled)
        bounds = (
            f"{said}. If people gave all of these {levels[0]} or all {levels[-1]}, the mean of the labels would be "
            f"{lowest:.2f} or {highest:.2f}"
        )
        return [], [bounds, *unlike]

    def correct(
        self,
        judge: FloatArray,
        special: NDArray[np.bool_],
        scale: tuple[float, float],
        group: NDArray[np.bool_] | None = None,
    ) -> Placed:
        """The correction of the judge's mean and share of special levels, over all cases or those of the group."""
        labelled = np.isfinite(self.scores) | self.special
        if group is not None and np.sum(labelled & group) < self.plan.smallest:
            few = Undefined(f"under {self.plan.smallest} of its cases are labelled")
            return Placed(few, few)
        # Labels were drawn case by case, so for the mean of these very cases it does not matter which belong together.
        clusters = self.clusters if self.plan.target == "population" else None
        level = level_of_looks(self.plan.looks)
        survey = Survey(self.plan.target, self.strata, clusters, group, self.noise, level)
        if special.any() or self.special.any():
            return corrected_domain_mean(judge, self.scores, special, self.special, scale, survey)
        return Placed(corrected_mean(judge, self.scores, scale, survey), Undefined("nobody gave a special level"))

    def on_noise(self) -> list[str]:
        """A warning if the interval leaves out how people's labels vary among repetitions, where that counts."""
        if self.plan.target != "file" or self.noise is not None or self.count <= ONCE * len(self.scores):
            return []
        return [
            f"too few cases have labels by two people to tell how much a label depends on who gave it: the interval is "
            f"about the labels that {self.plan.against} gave, not about what a second rating of the same cases would "
            f"give. Have {TWICE} of the labelled cases or more, drawn at random, labelled by a second person"
        ]


def _unlike(judge: FloatArray, given: NDArray[np.bool_], missing: NDArray[np.bool_]) -> list[str]:
    """A warning if the judge scores drawn cases without a label higher or lower than those with one.

    The difference has no interval if scores do not vary on either side, or if one side has a single case.
    """
    used = (missing | given) & np.isfinite(judge)
    without = missing[used]
    effect = difference_effect(judge[used], without)
    apart, found = effect.value or 0.0, effect.estimate().interval
    if isinstance(found, Interval):
        clear = not found.low <= 0 <= found.high
        reach = f" ({percent(found.level)} interval of the difference: {found.low:.2f} to {found.high:.2f})"
    else:
        clear, reach = min(int(without.sum()), int((~without).sum())) > 1 and abs(apart) >= 0.005, ""
    if not clear:
        return []
    return [
        f"the judge scores the drawn cases without a label {abs(apart):.2f} points "
        f"{'higher' if apart > 0 else 'lower'} than the others{reach}, so the labels may not stand for all cases"
    ]
