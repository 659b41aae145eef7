"""Judges' mean scores of all cases, corrected by people's labels of a sample of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pathway_local.note import Note
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.label_design import LabelDesign, own_design
from pathway_local.results.table import Cell, Column, Table, score_title
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.statistics.calibration import reliability_points
from pathway_local.statistics.corrected import Correction, Survey, corrected_mean
from pathway_local.statistics.effect import difference_effect
from pathway_local.statistics.figure import BoolArray, FloatArray, Interval, Reason, Undefined, undefined_estimate
from pathway_local.statistics.human_benchmark import mean_of_people
from pathway_local.statistics.labels import FEW_DISSENTERS, unseen_errors

SECTION = "people"

FIGURES = (
    Column("cases", "count"), Column("labelled", "count"),
    Column("judge_mean", "number"), Column("corrected", "estimate"), Column("labels_only", "estimate"),
    Column("without_verdict", "count", detail=True),
)  # fmt: skip
RELIABILITY = (Column("expected", "number"), Column("given_by_people", "estimate"), Column("cases", "count"))

Said = str | Note

RETURNED = 0.8
"""The share of a sample below which a warning says what the labels that are missing could change."""


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
        self.rated = int(labels.rated.sum())
        self._missing: BoolArray = (design.drawn & ~labels.random)[self.inside]
        weights = np.where(design.drawn, 1 / np.where(design.drawn, design.probability, 1), 0)
        self._weights: FloatArray = weights[self.inside]

    def correct(self, judge: int, group: BoolArray | None = None) -> Correction | Undefined:
        """The correction of a judge's mean, over all cases or those of the group."""
        expected = self.matrix.expected_or_given[self.inside, judge]
        both = np.isin(self.matrix.given[self.inside, judge], self.matrix.special), self.special
        return corrected_mean(expected, self.scores, self.scale, Survey(strata=self.strata, inside=group), both)

    def notes(self, judges: Sequence[int]) -> Iterator[Note]:
        """Say which cases are left out, and what labels that are missing could change of judges' means."""
        if left_out := int(np.sum(~self.inside)):
            yield Note("outside_sample", {"count": left_out}, "note")
        yield from self.missing(judges)

    def missing(self, judges: Sequence[int]) -> Iterator[Note]:
        """Say how many drawn cases lack a label, and warn of each judge that scores them unlike the others."""
        if self._missing.any():
            yield self._on_missing()
            expected = self.matrix.expected_or_given[self.inside]
            for judge in judges:
                name = self.matrix.raters[judge].name
                yield from unlike(expected[:, judge], np.isfinite(self.scores), self._missing, name)

    def unseen(self, judges: Mapping[int, str]) -> Iterator[Note]:
        """Warn once of errors that so few labels can miss, for all judges by their columns and names."""
        every = self.matrix.expected_or_given[self.inside]
        found = {name: unseen_errors(every[:, judge], self.scores, self.scale) for judge, name in judges.items()}
        notes = [note for each in found.values() for note in each]
        if notes:
            few = min(notes, key=lambda note: int(str(note.values["labels"])))
            yield Note(few.key, {**few.values, "judges": [name for name, each in found.items() if each]}, few.kind)

    def _on_missing(self) -> Note:
        missing, drawn, given = int(self._missing.sum()), self.sample.drawn, np.isfinite(self.scores)
        told: dict[str, object] = {"missing": missing, "drawn": drawn}
        if missing <= (1 - RETURNED) * drawn or not given.any():
            return Note("labels_missing", told, "note")
        counted = given | self._missing
        filled = (np.where(given, self.scores, end)[counted] for end in self.scale)
        lowest, highest = (float(np.average(each, weights=self._weights[counted])) for each in filled)
        told |= {"low": self.scale[0], "high": self.scale[1], "lowest": lowest, "highest": highest}
        return Note("many_labels_missing", told, "warning")


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


def corrected_means(
    matrix: RatingsMatrix, judges: Sequence[int], people: Sequence[int], who: str, options: AgreementOptions
) -> tuple[list[Table], dict[str, Note]]:
    """Correct the mean of each of these judges by the labels of these people, whom the tables call `who`.

    Return the tables, and for each judge by name the sentence to quote. Without a sample that they labelled, a note
    says why there are no means. Reliability diagrams are there anyway.
    """
    if matrix.nominal or not judges or not people:
        return [], {}
    about: dict[str, object] = {"rubric": matrix.rubric, "score": matrix.score, "reference": who}
    scale = (float(matrix.levels[0]), float(matrix.levels[-1]))
    table = partial(Table, detail=True, heading=("rubric", "score"), section=SECTION, scale=scale)
    named: Said = Note("people") if who == "people" else who
    design = own_design(matrix, people, named)
    curves = []
    for judge in judges:
        rows = list(_reliability(matrix, judge, people, design, options))
        told = about | {"judge": matrix.raters[judge].name}
        curves += [table("reliability", told, RELIABILITY, rows, chart="calibration")] if rows else []
    if isinstance(design, Note):
        every = np.isfinite(matrix.given[:, list(people)]).any(axis=1).all()
        return [*([] if every else [table("corrected", about, (), (), [design])]), *curves], {}
    labels = SampledLabels(matrix, people, design)
    sample = labels.sample
    about |= {"rated": labels.rated, "sample": sample.seed, "strata": sample.strata, "drawn": sample.drawn}
    about |= {"by": options.by} if options.by else {}
    parts = list(_parts(labels, judges, options))
    columns = [Column("judge", "rater"), *([Column("group")] if options.by else []), *FIGURES]
    notes = [Note("corrected_for_these"), Note("labels_drawn"), *_notes(labels, parts, options)]
    tables = [table("corrected", about, columns, [_row(part) for part in parts], notes, chart="interval")]
    answers = {part.judge: _answer(matrix, labels, named, part) for part in parts if part.group is None}
    return [*tables, *curves], {judge: said for judge, said in answers.items() if said}


def _reliability(
    matrix: RatingsMatrix, judge: int, people: Sequence[int], design: LabelDesign | Note, options: AgreementOptions
) -> Iterator[dict[str, Cell]]:
    """Yield the points of a diagram, from the labels of the sample or, without one, from all."""
    scores = matrix.on_scale[:, list(people)]
    if isinstance(design, LabelDesign):
        scores = np.where(design.labels, scores, np.nan)
    clusters = matrix.clusters(options.cluster) if options.cluster else None
    points = reliability_points(matrix.expected_or_given[:, judge], mean_of_people(scores), clusters=clusters)
    for cases, expected, given in points:
        yield {"expected": expected, "given_by_people": given, "cases": cases}


@dataclass(frozen=True, slots=True)
class _Part:
    """All cases, or one group of them, and what labels make of a judge's scores."""

    judge: str
    place: int
    group: str | None
    cases: int
    mean: Correction | Undefined


def _parts(labels: SampledLabels, judges: Sequence[int], options: AgreementOptions) -> Iterator[_Part]:
    """Yield all cases first, then each group that is large enough to be shown."""
    groups: list[tuple[str | None, BoolArray | None, int]] = [(None, None, int(labels.inside.sum()))]
    for value, inside in _groups(labels, options):
        size = int(inside.sum())
        groups += [(value, inside, size)] if size >= options.min_group else []
    for judge in judges:
        for name, group, cases in groups:
            given = np.isfinite(labels.scores) | labels.special
            found = labels.correct(judge, group)
            if group is not None and np.sum(given & group) < options.min_group:
                few = Reason("under {smallest} of its cases are labelled", smallest=options.min_group)
                found = Undefined(few)
            yield _Part(labels.matrix.raters[judge].name, judge, name, cases, found)


def _groups(labels: SampledLabels, options: AgreementOptions) -> list[tuple[str, BoolArray]]:
    if not options.by:
        return []
    codes, names = labels.matrix.codes(options.by)
    return [(name, np.asarray(codes[labels.inside] == code)) for code, name in enumerate(names)]


def _row(part: _Part) -> dict[str, Cell]:
    found = part.mean
    row: dict[str, Cell] = {"judge": part.judge, "cases": part.cases}
    row |= {} if part.group is None else {"group": part.group}
    if isinstance(found, Undefined):
        return row | {"corrected": undefined_estimate(found.reason)}
    row |= {"labelled": found.labelled, "judge_mean": found.judge_mean, "labels_only": found.labels_only}
    return row | {"corrected": found.corrected, "without_verdict": found.without_verdict}


def _notes(labels: SampledLabels, parts: Sequence[_Part], options: AgreementOptions) -> Iterator[Note]:
    if len(labels.matrix.designs) > 1:
        yield Note("labels_of_sample", {"seed": str(labels.sample.seed)}, "note")
    sizes = [int(inside.sum()) for _, inside in _groups(labels, options)]
    if hidden := sum(0 < size < options.min_group for size in sizes):
        yield Note("hidden_groups", {"count": hidden, "by": options.by, "smallest": options.min_group}, "note")
    whole = [part for part in parts if part.group is None]
    yield from labels.notes([part.place for part in whole])
    for part in whole:
        found = part.mean
        if isinstance(found, Correction):
            if found.without_verdict:
                yield Note("without_verdict", {"count": found.without_verdict, "judge": part.judge}, "note")
            yield from found.warnings
    yield from labels.unseen({part.place: part.judge for part in parts})
    warned = [part for part in parts if isinstance(part.mean, Correction) and part.mean.warnings]
    if groups := list(dict.fromkeys(part.group for part in warned if part.group is not None)):
        told: dict[str, object] = {"by": options.by, "groups": groups, "least": FEW_DISSENTERS}
        yield Note("few_dissenters_in_groups", told, "warning")


def _answer(matrix: RatingsMatrix, labels: SampledLabels, who: Said, part: _Part) -> Note | None:
    """The sentence to quote: what people would give, and from what it is estimated."""
    found = part.mean
    if isinstance(found, Undefined) or isinstance(found.corrected.value, Undefined):
        return None
    told: dict[str, object] = {
        "people": who,
        "count": found.labelled,
        "rated": labels.rated,
        "seed": str(labels.sample.seed),
    }
    named = Note("some_of_labels" if found.labelled < labels.rated else "all_of_labels", told)
    interval = found.corrected.interval
    reach = Note("with_interval", {"interval": interval}) if isinstance(interval, Interval) else ""
    told = {"rubric": score_title(matrix.rubric, matrix.score), "people": who, "cases": part.cases, "labels": named}
    told |= {"mean": found.corrected.value, "interval": reach, "judge": part.judge, "judge_mean": found.judge_mean}
    has_shares = np.isfinite(matrix.expected[:, part.place]).any()
    told["scores"] = Note("expected_scores" if has_shares else "given_scores")
    return Note("corrected_finding", told, "answer")
