"""Judges' mean scores of all cases, corrected by people's labels of a sample of them, and what these may miss."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from pathway_local.note import Note
from pathway_local.results.agreement_options import SECTION, AgreementOptions, Row
from pathway_local.results.label_design import LabelDesign, own_design
from pathway_local.results.table import Column, Table, score_title
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.statistics.corrected import Correction, corrected_mean
from pathway_local.statistics.effect import difference_effect, scale_mean
from pathway_local.statistics.figure import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Reason,
    Undefined,
    undefined_estimate,
)
from pathway_local.statistics.human_benchmark import mean_of_people

FIGURES = (
    Column("cases", "count"), Column("labelled", "count"),
    Column("judge_mean", "number"), Column("corrected", "estimate"), Column("labels_only", "estimate"),
    Column("without_verdict", "count", detail=True),
)  # fmt: skip
RELIABILITY = (Column("expected", "number"), Column("given_by_people", "estimate"), Column("cases", "count"))

MOST_BINS = 10
LEAST_IN_BIN = 10
"""Bins of a reliability diagram hold about this many cases or more."""

RETURNED = 0.8
"""The share of a sample below which labels that are missing are worth a warning."""

UNSEEN = 0.02
"""The share of cases in which labels may miss large errors without a warning; 149 labels are enough for it."""


class SampledLabels:
    """People's labels of the cases from which they were drawn, (cases of that population,) each."""

    def __init__(self, matrix: RatingsMatrix, people: Sequence[int], labels: LabelDesign) -> None:
        design, on_scale = labels.design, np.where(labels.labels, matrix.on_scale[:, list(people)], np.nan)
        scores, self.inside = mean_of_people(on_scale), np.asarray(design.probability > 0)
        self.matrix, self.sample = matrix, design.sample
        self.scale = matrix.scale[0], matrix.scale[-1]
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
        counted = given | self._missing
        filled = (np.where(given, self.scores, end)[counted] for end in self.scale)
        lowest, highest = (float(np.average(each, weights=1 / self._chances[counted])) for each in filled)
        told = {"missing": missing, "drawn": drawn, "low": self.scale[0], "high": self.scale[1]}
        many = missing > (1 - RETURNED) * drawn and given.any()
        return Note("labels_missing", {**told, "lowest": lowest, "highest": highest}, "warning" if many else "note")

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
    found = difference_effect(judge[used], without).estimate()
    apart = found.value if isinstance(found.value, float) else 0.0
    clear, reach = found.shown not in (None, "not shown"), _reach(found)
    if not reach:
        clear = min(int(without.sum()), int((~without).sum())) > 1 and abs(apart) >= 0.005
    if clear:
        side = Note("higher" if apart > 0 else "lower")
        told = {"judge": name, "points": abs(apart), "side": side, "interval": reach}
        yield Note("missing_scored_apart", told, "warning")


def _reach(found: Estimate) -> Note | str:
    return Note("with_interval", {"interval": found.interval}) if isinstance(found.interval, Interval) else ""


def corrected_means(
    matrix: RatingsMatrix, judges: Sequence[int], people: Sequence[int], who: str, options: AgreementOptions
) -> tuple[list[Table], dict[str, Note]]:
    """Correct the mean of each of these judges by the labels of these people, whom the tables call `who`.

    Return the tables, and for each judge by name the sentence to quote. Without a sample that they labelled, a note
    says why there are no means. Reliability diagrams, of the sample's labels or else of all, are there anyway.
    """
    if matrix.nominal or not judges or not people:
        return [], {}
    about: dict[str, object] = {"rubric": matrix.rubric, "score": matrix.score, "reference": who}
    scale = matrix.scale[0], matrix.scale[-1]
    table = partial(Table, detail=True, heading=("rubric", "score"), section=SECTION, scale=scale)
    named: str | Note = Note("people") if who == "people" else who
    design, scores = own_design(matrix, people, named), matrix.on_scale[:, list(people)]
    given = mean_of_people(np.where(design.labels, scores, np.nan) if isinstance(design, LabelDesign) else scores)
    clusters, curves = matrix.clusters(options.cluster) if options.cluster else None, list[Table]()
    for judge in judges:
        rows = [*reliability_points(matrix.expected_or_given[:, judge], given, matrix.scale, clusters)]
        told = about | {"judge": matrix.raters[judge].name}
        curves += [table("reliability", told, RELIABILITY, rows, chart="calibration")] if rows else []
    if isinstance(design, Note):
        every = np.isfinite(matrix.given[:, list(people)]).any(axis=1).all()
        return [*([] if every else [table("corrected", about, (), (), [design])]), *curves], {}
    labels = SampledLabels(matrix, people, design)
    about |= {"rated": labels.rated, "sample": labels.sample.seed, "strata": labels.sample.strata}
    about |= {"drawn": labels.sample.drawn} | ({"by": options.by} if options.by else {})
    columns = [Column("judge", "rater"), *([Column("group")] if options.by else []), *FIGURES]
    whole = {judge: labels.correct(judge) for judge in judges}
    groups, hidden = _groups(labels, judges, options)
    rows = [row for judge in judges for row in (_row(labels, judge, whole[judge]), *groups[judge])]
    notes = [Note("corrected_for_these"), Note("labels_drawn"), *_notes(labels, whole, options, hidden)]
    answers = {matrix.raters[judge].name: _answer(labels, named, judge, found) for judge, found in whole.items()}
    tables = [table("corrected", about, columns, rows, notes, chart="interval"), *curves]
    return tables, {judge: said for judge, said in answers.items() if said}


def reliability_points(
    expected: FloatArray, people: FloatArray, levels: Sequence[float], clusters: IntArray | None = None
) -> Iterator[Row]:
    """Yield the points of a reliability diagram: how many cases, their mean expected score, and people's mean.

    Cases with both scores are in equal parts, in order of the expected one. Those with the same expected score stay
    together, so parts may differ in size.
    """
    both = np.isfinite(expected) & np.isfinite(people)
    x, y = expected[both], people[both]
    own = None if clusters is None else clusters[both]
    parts = min(MOST_BINS, max(1, len(x) // LEAST_IN_BIN))
    part = np.searchsorted(np.sort(x), x) * parts // max(1, len(x))
    for inside in (part == code for code in np.unique(part)):
        given = scale_mean(y[inside], levels, None if own is None else own[inside])
        yield {"expected": float(x[inside].mean()), "given_by_people": given, "cases": int(inside.sum())}


def _groups(
    labels: SampledLabels, judges: Sequence[int], options: AgreementOptions
) -> tuple[dict[int, list[Row]], int]:
    """The rows of each judge's groups that are large enough to be shown, and how many are not."""
    rows, hidden = {judge: list[Row]() for judge in judges}, 0
    codes, names = labels.matrix.codes(options.by) if options.by else (np.empty(0), ())
    for code, name in enumerate(names):
        group = np.asarray(codes[labels.inside] == code)
        hidden += 0 < group.sum() < options.min_group
        for judge in judges if group.sum() >= options.min_group else ():
            found = labels.correct(judge, group)
            if np.sum((np.isfinite(labels.scores) | labels.special) & group) < options.min_group:
                found = Undefined(Reason("under {smallest} of its cases are labelled", smallest=options.min_group))
            rows[judge].append(_row(labels, judge, found) | {"group": name, "cases": int(group.sum())})
    return rows, hidden


def _row(labels: SampledLabels, judge: int, found: Correction | Undefined) -> Row:
    row: Row = {"judge": labels.matrix.raters[judge].name, "cases": int(labels.inside.sum())}
    if isinstance(found, Undefined):
        return row | {"corrected": undefined_estimate(found.reason)}
    row |= {"labelled": found.labelled, "judge_mean": found.judge_mean, "labels_only": found.labels_only}
    return row | {"corrected": found.corrected, "without_verdict": found.without_verdict}


def _notes(
    labels: SampledLabels, whole: dict[int, Correction | Undefined], options: AgreementOptions, hidden: int
) -> Iterator[Note]:
    if len(labels.matrix.designs) > 1:
        yield Note("labels_of_sample", {"seed": str(labels.sample.seed)}, "note")
    if hidden:
        yield Note("hidden_groups", {"count": hidden, "by": options.by, "smallest": options.min_group})
    if left_out := int(np.sum(~labels.inside)):
        yield Note("outside_sample", {"count": left_out}, "note")
    yield from labels.missing([*whole])
    for judge, found in whole.items():
        if isinstance(found, Correction) and found.without_verdict:
            told = {"count": found.without_verdict, "judge": labels.matrix.raters[judge].name}
            yield Note("without_verdict", told, "note")
    yield from labels.unseen([*whole])


def _answer(labels: SampledLabels, who: str | Note, judge: int, found: Correction | Undefined) -> Note | None:
    """The sentence to quote: what people would give, and from what it is estimated."""
    if isinstance(found, Undefined) or isinstance(found.corrected.value, Undefined):
        return None
    matrix = labels.matrix
    told = {"people": who, "count": found.labelled, "rated": labels.rated, "seed": str(labels.sample.seed)}
    named = Note("some_of_labels" if found.labelled < labels.rated else "all_of_labels", told)
    has_shares = np.isfinite(matrix.expected[:, judge]).any()
    return Note(
        "corrected_finding",
        {
            "rubric": score_title(matrix.rubric, matrix.score), "people": who, "cases": found.cases, "labels": named,
            "mean": found.corrected.value, "judge": matrix.raters[judge].name, "judge_mean": found.judge_mean,
            "interval": _reach(found.corrected), "scores": Note("expected_scores" if has_shares else "given_scores"),
        },
        "answer",
    )  # fmt: skip
