"""People's labels of a random sample: what they correct of a judge's mean, and what they may miss."""

from collections.abc import Iterator, Sequence

import numpy as np

from pathway_local.note import Note
from pathway_local.results.label_design import LabelDesign
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.statistics.corrected import Correction, corrected_mean
from pathway_local.statistics.effect import difference_effect
from pathway_local.statistics.figure import BoolArray, FloatArray, Interval, Undefined
from pathway_local.statistics.human_benchmark import mean_of_people

RETURNED = 0.8
"""The share of a sample below which a warning says what the labels that are missing could change."""

UNSEEN = 0.02
"""The share of cases in which labels may miss large errors without a warning; 149 labels are enough for it."""


class SampledLabels:
    """People's labels of the cases from which they were drawn, (cases of that population,) each."""

    def __init__(self, matrix: RatingsMatrix, people: Sequence[int], labels: LabelDesign) -> None:
        design, on_scale = labels.design, np.where(labels.labels, matrix.on_scale[:, list(people)], np.nan)
        scores, self.inside = mean_of_people(on_scale), np.asarray(design.probability > 0)
        self.matrix, self.sample = matrix, design.sample
        self.scale = (float(matrix.levels[0]), float(matrix.levels[-1]))
        self.scores: FloatArray = scores[self.inside]
        self.special: BoolArray = (labels.random & ~np.isfinite(scores))[self.inside]
        self.strata = design.strata[self.inside] if design.sample.strata else None
        self.rated, self.by_all = int(labels.rated.sum()), labels.by_all
        self._missing: BoolArray = (design.drawn & ~labels.random)[self.inside]
        self._chances: FloatArray = design.probability[self.inside]

    def correct(self, judge: int, group: BoolArray | None = None) -> Correction | Undefined:
        """The correction of a judge's mean, over all cases or those of the group."""
        special = np.isin(self.matrix.given[self.inside, judge], self.matrix.special), self.special
        return corrected_mean(
            self._expected(judge), self.scores, self.scale, strata=self.strata, inside=group, special=special,
            by_all=self.by_all,
        )  # fmt: skip

    def _expected(self, judge: int) -> FloatArray:
        return np.asarray(self.matrix.expected_or_given[self.inside, judge])

    def missing(self, judges: Sequence[int]) -> Iterator[Note]:
        """Say how many drawn cases lack a label, and warn of each judge that scores them unlike the others."""
        if self._missing.any():
            yield self._on_missing()
            for judge in judges:
                name = self.matrix.raters[judge].name
                yield from unlike(self._expected(judge), np.isfinite(self.scores), self._missing, name)

    def _on_missing(self) -> Note:
        missing, drawn, given = int(self._missing.sum()), self.sample.drawn, np.isfinite(self.scores)
        told: dict[str, object] = {"missing": missing, "drawn": drawn}
        if missing <= (1 - RETURNED) * drawn or not given.any():
            return Note("labels_missing", told, "note")
        counted = given | self._missing
        filled = (np.where(given, self.scores, end)[counted] for end in self.scale)
        lowest, highest = (float(np.average(each, weights=1 / self._chances[counted])) for each in filled)
        told |= {"low": self.scale[0], "high": self.scale[1], "lowest": lowest, "highest": highest}
        return Note("many_labels_missing", told, "warning")

    def unseen(self, judges: Sequence[int]) -> Iterator[Note]:
        """Warn if no label shows a large error of these judges, but so few labels can miss such errors.

        Errors in a share p of all cases are absent from n labels with the chance (1 - p)^n, which is 5% for the share
        named (Hanley and Lippman-Hand 1983). Where a judge misses one failure in 25, samples of 60 labels without any
        of them make up nearly all intervals that miss the truth. An expected score of 4.9999 counts as 5.
        """
        large, found = (self.scale[1] - self.scale[0]) / 2, dict[str, int]()
        for judge in judges:
            apart = np.abs(self._expected(judge) - self.scores)
            known = apart[np.isfinite(apart)]
            if len(known) and known.max().round(1) < large:
                found[self.matrix.raters[judge].name] = len(known)
        labels = min(found.values(), default=0)
        if found and (share := 1 - 0.05 ** (1 / labels)) >= UNSEEN:
            told = {"points": large, "labels": labels, "share": share, "judges": [*found]}
            yield Note("unseen_errors", told, "warning")


def unlike(judge: FloatArray, given: BoolArray, missing: BoolArray, name: str) -> Iterator[Note]:
    """Warn if the judge scores drawn cases without a label higher or lower than those with one.

    The difference has no interval if scores do not vary on either side, or if one side has a single case.
    """
    used = (missing | given) & np.isfinite(judge)
    without = missing[used]
    effect = difference_effect(judge[used], without)
    apart, found = effect.value or 0.0, effect.estimate().interval
    if isinstance(found, Interval):
        clear = not found.low <= 0 <= found.high
    else:
        clear = min(int(without.sum()), int((~without).sum())) > 1 and abs(apart) >= 0.005
    if clear:
        reach = Note("with_interval", {"interval": found}) if isinstance(found, Interval) else ""
        told = {"judge": name, "points": abs(apart), "interval": reach}
        yield Note("missing_scored_higher" if apart > 0 else "missing_scored_lower", told, "warning")
