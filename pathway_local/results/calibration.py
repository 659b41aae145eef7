"""A judge's mean over all cases, corrected by people's labels of a sample of them."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pathway_local.errors import UsageError
from pathway_local.rater import JUDGES, raters_named
from pathway_local.ratings.samples import Sample
from pathway_local.results.alike_people import alike_people
from pathway_local.results.figure_row import FigureRow
from pathway_local.results.ratings_matrix import RatingsMatrix
from pathway_local.results.sampled_labels import CalibrationPlan, SampledLabels
from pathway_local.statistics.calibration import Bin, reliability_bins
from pathway_local.statistics.figure import Estimate, Undefined, undefined_estimate
from pathway_local.statistics.prediction_powered import Correction, unseen_errors
from pathway_local.verdict import Number, Value


@dataclass(frozen=True, slots=True)
class PartMean:
    """All cases (no name) or one group of them: the mean on the scale, and the share of special levels if any."""

    name: str
    cases: int
    mean: Correction | Undefined
    special: Correction | Undefined | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """One judge on one score. `sample` is that of the labels, None where it is only assumed. `rated` counts the
    cases that the people rated: more than those with a label of the sample if others were imported, too.

    `scale` has its lowest and highest level, `levels` all of them; `bins` are the points of a reliability diagram. A
    nominal score has no levels and no bins.
    """

    rubric: str
    score: str
    judge: str
    plan: CalibrationPlan
    sample: Sample | None
    parts: tuple[PartMean, ...]
    hidden: int
    notices: tuple[str, ...]
    warnings: tuple[str, ...]
    scale: tuple[float, float]
    levels: tuple[Number, ...]
    bins: tuple[Bin, ...]
    rated: int = 0

    def rows(self) -> Iterator[FigureRow]:
        """Every figure as a row."""
        for part in self.parts:
            yield from self._part_rows(part, part.mean, "")
            if part.special is not None:
                yield from self._part_rows(part, part.special, "special_")

    def _part_rows(self, part: PartMean, found: Correction | Undefined, what: str) -> Iterator[FigureRow]:
        names = (self.judge, self.plan.against, part.name)
        facts: dict[str, Value] = {"cases": part.cases, "target": self.plan.target}
        facts["assumed_random"] = self.sample is None
        if isinstance(found, Undefined):
            yield FigureRow("calibration", f"{what}corrected", undefined_estimate(found.reason), *names, facts=facts)
            return
        more = None if isinstance(found.more_labels, Undefined) else found.more_labels
        facts |= {"labelled": found.labelled, "without_verdict": found.without_verdict, "slope": found.slope}
        facts |= {"more_labels": more, "warnings": "; ".join(found.warnings)}
        own = Estimate(
            found.judge_mean, Undefined("it is the mean of the judge's expected scores, unchecked by people")
        )
        figures = (("judge_mean", own), ("labels_only", found.labels_only), ("corrected", found.corrected))
        for name, estimate in figures:
            yield FigureRow("calibration", f"{what}{name}", estimate, *names, facts=facts)

    def as_json(self) -> dict[str, Value]:
        """The same as plain values."""
        sample = self.sample
        drawn: Value = None
        if sample:
            drawn = {"seed": sample.seed, "strata": sample.strata, "cases": sample.cases, "drawn": sample.drawn}
        return {
            "rubric": self.rubric,
            "score": self.score,
            "judge": self.judge,
            "against": self.plan.against,
            "sample": drawn,
            "assumed_random": sample is None,
            "rated": self.rated,
            "cluster_by": self.plan.cluster or None,
            "figures": [row.as_json() for row in self.rows()],
            "notices": list(self.notices),
        }


def calibrate(matrices: Iterable[RatingsMatrix], plan: CalibrationPlan) -> list[Calibration]:
    """Each judge on each of these scores.

    Raises UsageError where labels are no probability sample, and if no judge has scored under any of the rubrics.
    """
    found, others = list[Calibration](), list[str]()
    for matrix in matrices:
        found += _score(matrix, plan)
        others += (matrix.raters[place].name for place in matrix.scoring(*JUDGES, "panel"))
    if not found:
        named = next((name for name in others if not raters_named(plan.against, [name])), "")
        hint = f"Name another rater, such as --judge {shlex.quote(named)}." if named else "Judge the cases first."
        raise UsageError(f"no local judge has scores that labels of {plan.against} could correct", hint)
    return found


def _score(matrix: RatingsMatrix, plan: CalibrationPlan) -> Iterator[Calibration]:
    people = matrix.columns(plan.against)
    judges = matrix.places(plan.judges) or matrix.of_kind("judge")
    judges = [place for place in judges if place not in people]
    if not judges:
        return
    labels = SampledLabels(matrix, people, plan)
    for judge in judges:
        yield _calibration(matrix, judge, labels, plan)


def _calibration(matrix: RatingsMatrix, judge: int, labels: SampledLabels, plan: CalibrationPlan) -> Calibration:
    inside = labels.inside
    parts: list[PartMean] = []
    bins: tuple[Bin, ...] = ()
    scale = (float(matrix.levels[0]), float(matrix.levels[-1]))
    hidden = 0
    notices, warnings = list[str](), list[str]()
    if matrix.nominal:
        parts.append(PartMean("", int(inside.sum()), Undefined("the scale is nominal, so it has no mean"), None))
    else:
        expected = matrix.expected_or_given[inside, judge]
        special = np.isin(matrix.given[inside, judge], matrix.special)
        groups = [(name or "(empty)", labels.groups == code) for code, name in enumerate(labels.names)]
        sizes = [int(np.sum(group)) for _, group in groups]
        least = plan.smallest if plan.hides else 1
        hidden = sum(1 for size in sizes if 0 < size < least)
        shown = [group for group, size in zip(groups, sizes, strict=True) if size >= least]
        for name, group in [("", None), *shown]:
            found = labels.correct(expected, special, scale, group)
            size = len(expected) if group is None else int(np.sum(group))
            parts.append(PartMean(name, size, found.mean, found.special if matrix.special else None))
        notices, warnings = labels.on_missing(expected, matrix.levels)
        warnings += labels.on_noise()
        warnings += unseen_errors(expected, labels.scores, scale)
        bins = reliability_bins(expected, labels.scores, clusters=labels.clusters)
    return Calibration(
        rubric=matrix.rubric,
        score=matrix.score,
        judge=matrix.raters[judge].name,
        plan=plan,
        sample=labels.sample,
        parts=tuple(parts),
        hidden=hidden,
        notices=(*labels.notices, *notices),
        warnings=(*warnings, *alike_people(matrix, matrix.columns(plan.against))),
        scale=scale,
        levels=() if matrix.nominal else tuple(matrix.levels),
        bins=bins,
        rated=labels.rated,
    )
