"""Judges' mean scores of all cases, corrected by people's labels of a sample of them."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from pathway_local.note import Note
from pathway_local.results.agreement_options import SECTION, AgreementOptions, Row
from pathway_local.results.label_design import LabelDesign, own_design
from pathway_local.results.sampled_labels import SampledLabels
from pathway_local.results.table import Column, Table, score_title
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.statistics.calibration import reliability_points
from pathway_local.statistics.corrected import Correction
from pathway_local.statistics.figure import Interval, Reason, Undefined, undefined_estimate
from pathway_local.statistics.human_benchmark import mean_of_people

FIGURES = (
    Column("cases", "count"), Column("labelled", "count"),
    Column("judge_mean", "number"), Column("corrected", "estimate"), Column("labels_only", "estimate"),
    Column("without_verdict", "count", detail=True),
)  # fmt: skip
RELIABILITY = (Column("expected", "number"), Column("given_by_people", "estimate"), Column("cases", "count"))


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
    named: str | Note = Note("people") if who == "people" else who
    design = own_design(matrix, people, named)
    curves = []
    for judge in judges:
        rows = [*_reliability(matrix, judge, people, design, options)]
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


def _reliability(
    matrix: RatingsMatrix, judge: int, people: Sequence[int], design: LabelDesign | Note, options: AgreementOptions
) -> Iterator[Row]:
    """Yield the points of a diagram, from the labels of the sample or, without one, from all."""
    scores = matrix.on_scale[:, list(people)]
    if isinstance(design, LabelDesign):
        scores = np.where(design.labels, scores, np.nan)
    clusters = matrix.clusters(options.cluster) if options.cluster else None
    points = reliability_points(matrix.expected_or_given[:, judge], mean_of_people(scores), clusters=clusters)
    for cases, expected, given in points:
        yield {"expected": expected, "given_by_people": given, "cases": cases}


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
        yield Note("hidden_groups", {"count": hidden, "by": options.by, "smallest": options.min_group}, "note")
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
    matrix, interval = labels.matrix, found.corrected.interval
    told = {"people": who, "count": found.labelled, "rated": labels.rated, "seed": str(labels.sample.seed)}
    named = Note("some_of_labels" if found.labelled < labels.rated else "all_of_labels", told)
    has_shares = np.isfinite(matrix.expected[:, judge]).any()
    return Note(
        "corrected_finding",
        {
            "rubric": score_title(matrix.rubric, matrix.score), "people": who, "cases": found.cases, "labels": named,
            "mean": found.corrected.value, "judge": matrix.raters[judge].name, "judge_mean": found.judge_mean,
            "interval": Note("with_interval", {"interval": interval}) if isinstance(interval, Interval) else "",
            "scores": Note("expected_scores" if has_shares else "given_scores"),
        },
        "answer",
    )  # fmt: skip
