"""A judge's mean over all cases, corrected by people's labels of a sample of them; and a map to people's scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathway_local.errors import UsageError
from pathway_local.ratings.samples import Sample
from pathway_local.results.figure_row import FigureRow
from pathway_local.results.ratings_matrix import Design, RatingsMatrix, ratings_matrices
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.calibration import Bin, MapCheck, MonotoneMap, check_map, fit_map, reliability_bins
from pathway_local.statistics.ceiling import mean_of_people
from pathway_local.statistics.domain_mean import Placed, corrected_domain_mean
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined, undefined_estimate
from pathway_local.statistics.prediction_powered import Correction, Survey, Target, corrected_mean
from pathway_local.verdict import Number, Value


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """Corrects `judges` (empty: all) by the labels of `against`, for the file or the population behind it.

    `assume_random` takes all labels as a random sample of all cases. `by` is a column of groups; groups under
    `smallest` cases are left out if it `hides` them. Cases with the same value of the column `cluster` depend on each
    other.
    """

    against: str
    judges: Sequence[str] = ()
    target: Target = "file"
    assume_random: bool = False
    cluster: str = ""
    by: str = ""
    smallest: int = 10
    hides: bool = True


@dataclass(frozen=True, slots=True)
class PartMean:
    """All cases (no name) or one group of them: the mean on the scale, and the share of special levels if any."""

    name: str
    cases: int
    mean: Correction | Undefined
    special: Correction | Undefined | None


@dataclass(frozen=True, slots=True)
class PeopleMap:
    """People's mean score for each level that the judge may expect, and the map's errors on cases it did not see."""

    levels: dict[Number, float]
    knots: MonotoneMap
    check: MapCheck | Undefined


@dataclass(frozen=True, slots=True)
class Calibration:
    """One judge on one score. `sample` is that of the labels, None where it is only assumed.

    `scale` has its lowest and highest level, `bins` are the points of a reliability diagram, none for a nominal score.
    """

    rubric: str
    score: str
    judge: str
    plan: CalibrationPlan
    sample: Sample | None
    parts: tuple[PartMean, ...]
    hidden: int
    map: PeopleMap | Undefined
    notices: tuple[str, ...]
    scale: tuple[float, float]
    bins: tuple[Bin, ...]

    def rows(self) -> Iterator[FigureRow]:
        """Every figure as a row."""
        for part in self.parts:
            yield from self._part_rows(part, part.mean, "")
            if part.special is not None:
                yield from self._part_rows(part, part.special, "special_")
        if isinstance(self.map, PeopleMap) and isinstance(self.map.check, MapCheck):
            names = (self.judge, self.plan.against)
            for kind, gain in (("absolute", self.map.check.absolute), ("squared", self.map.check.squared)):
                facts: dict[str, Value] = {"labelled": self.map.check.cases, "folds": self.map.check.folds}
                parts = (("unmapped", gain.unmapped), ("mapped", gain.mapped), ("gain", gain.gain))
                for name, estimate in parts:
                    yield FigureRow("map", f"{kind}_error_{name}", estimate, *names, facts=facts)

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
        own = Estimate(found.judge_mean, Undefined("it is the plain mean of all verdicts, unchecked by people"))
        figures = (("judge_mean", own), ("labels_only", found.labels_only), ("corrected", found.corrected))
        for name, estimate in figures:
            yield FigureRow("calibration", f"{what}{name}", estimate, *names, facts=facts)

    def as_json(self) -> dict[str, Value]:
        """The same as plain values, with the map's knots."""
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
            "cluster_by": self.plan.cluster or None,
            "figures": [row.as_json() for row in self.rows()],
            "map": _map_json(self.map),
            "notices": list(self.notices),
        }


def calibrate(
    run: RunFile, rubric: Rubric, plan: CalibrationPlan, matrices: Sequence[RatingsMatrix] = ()
) -> list[Calibration]:
    """Each judge on each score of a rubric. Raises UsageError where labels are no probability sample.

    Give the rubric's `matrices` if they have been read already.
    """
    return [each for matrix in matrices or ratings_matrices(run, rubric) for each in _score(matrix, plan)]


def _score(matrix: RatingsMatrix, plan: CalibrationPlan) -> Iterator[Calibration]:
    people = matrix.columns(plan.against)
    judges = [place for name in plan.judges for place in matrix.columns(name)] or matrix.of_kind("judge")
    judges = [place for place in judges if place not in people]
    if not judges:
        raise UsageError(f"there is no judge to compare with {plan.against}", "Name a rater with --judge.")
    labels = _Labels(matrix, people, plan)
    for judge in judges:
        yield _calibration(matrix, judge, labels, plan)


class _Labels:
    """People's labels of the cases from which they were drawn, (cases of that population,) each."""

    def __init__(self, matrix: RatingsMatrix, people: Sequence[int], plan: CalibrationPlan) -> None:
        given = matrix.given[:, list(people)]
        labelled: NDArray[np.bool_] = np.asarray(np.isfinite(given).any(axis=1))
        scores = mean_of_people(matrix.on_scale[:, list(people)])
        design = None if plan.assume_random else _own_design(matrix.designs, labelled)
        if design is None and not plan.assume_random:
            raise UsageError(
                f"the run does not record how the cases that {plan.against} labelled were chosen",
                "Draw them with `pathway-local sample`, or give --assume-random if they were drawn at random.",
            )
        special = labelled & ~np.isfinite(scores)
        counted = labelled if design is None else labelled & design.drawn
        inside = np.ones(len(given), np.bool_) if design is None else np.asarray(design.probability > 0)
        self.plan = plan
        self.inside: NDArray[np.bool_] = inside
        self.sample = design.sample if design else None
        self.scores: FloatArray = np.where(counted, scores, np.nan)[inside]
        self.special: NDArray[np.bool_] = (special & counted)[inside]
        self.strata: IntArray | None = design.strata[inside] if design and design.sample.strata else None
        self.clusters = matrix.clusters(plan.cluster)[inside] if plan.cluster else None
        codes, self.names = matrix.codes(plan.by) if plan.by else (np.full(len(given), -1, dtype=np.int64), ())
        self.groups: IntArray = codes[inside]
        self.notices: list[str] = []
        if design is None:
            self.notices.append("--assume-random: you state that the labels are a random sample of all cases")
            return
        self._note(int(np.sum(labelled & ~counted)), "labels are left out: their cases are not in the sample")
        self._note(int(np.sum(~inside)), "cases are left out: the sample was not drawn from them")
        missing = int(np.sum(design.drawn & ~labelled))
        self._note(
            missing,
            f"of {design.sample.drawn} drawn cases have no label; we assume that they are like the labelled ones",
        )

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
        survey = Survey(self.plan.target, self.strata, self.clusters, group)
        if special.any() or self.special.any():
            return corrected_domain_mean(judge, self.scores, special, self.special, scale, survey)
        return Placed(corrected_mean(judge, self.scores, scale, survey), Undefined("nobody gave a special level"))

    def _note(self, count: int, what: str) -> None:
        if count:
            self.notices.append(f"{count:,} {what}")


def _own_design(designs: Sequence[Design], labelled: NDArray[np.bool_]) -> Design | None:
    """The sample with the largest share of its drawn cases labelled; of equal shares the latest."""
    shares = [(np.mean(labelled[design.drawn]), place) for place, design in enumerate(designs)]
    return designs[max(shares)[1]] if shares else None


def _calibration(matrix: RatingsMatrix, judge: int, labels: _Labels, plan: CalibrationPlan) -> Calibration:
    inside = labels.inside
    parts: list[PartMean] = []
    mapping: PeopleMap | Undefined = Undefined("the scale is nominal")
    bins: tuple[Bin, ...] = ()
    scale = (float(matrix.levels[0]), float(matrix.levels[-1]))
    hidden = 0
    if matrix.nominal:
        parts.append(PartMean("", int(inside.sum()), Undefined("the scale is nominal, so it has no mean"), None))
    else:
        expected = np.where(np.isfinite(matrix.expected), matrix.expected, matrix.on_scale)[inside, judge]
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
        mapping = _map(expected, labels, matrix.levels)
        bins = reliability_bins(expected, labels.scores, clusters=labels.clusters)
    return Calibration(
        rubric=matrix.rubric,
        score=matrix.score,
        judge=matrix.raters[judge].name,
        plan=plan,
        sample=labels.sample,
        parts=tuple(parts),
        hidden=hidden,
        map=mapping,
        notices=tuple(labels.notices),
        scale=scale,
        bins=bins,
    )


def _map(expected: FloatArray, labels: _Labels, levels: Sequence[Number]) -> PeopleMap | Undefined:
    knots = fit_map(expected, labels.scores)
    if isinstance(knots, Undefined):
        return knots
    people = knots(np.array(levels, dtype=np.float64))
    return PeopleMap(
        {level: float(value) for level, value in zip(levels, people, strict=True)},
        knots,
        check_map(expected, labels.scores, clusters=labels.clusters),
    )


def _map_json(found: PeopleMap | Undefined) -> Value:
    if isinstance(found, Undefined):
        return {"reason": str(found)}
    checked = isinstance(found.check, MapCheck)
    knots: dict[str, Value] = {"expected": found.knots.knots.tolist(), "people": found.knots.heights.tolist()}
    return knots | {"cross_validated": checked} | ({} if checked else {"reason": str(found.check)})
