"""A rater that learns from people's labels how they score, given what judges said: `--panel fitted`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.rater import JUDGES, Rater
from pathway_local.results.agreement_options import AgreementOptions, Row, independence
from pathway_local.results.between import Change, changes
from pathway_local.results.label_design import without_picked
from pathway_local.results.table import Column, Table
from pathway_local.rubrics.rubric import Rubric
from pathway_local.scores.matrix import ANY_SHEET, MatrixRater, RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import FloatArray, IntArray, Reason
from pathway_local.statistics.human_benchmark import mean_of_people
from pathway_local.statistics.intervals import linked_clusters
from pathway_local.statistics.ordinal import cross_fitted, features, middle_of, spread
from pathway_local.verdict import Value, Verdict, plain

PANEL = "fitted"
LEAST, MOST_LEVELS = 50, 21
"""Labels at least, and levels at most."""


def with_fitted(data: Scores, rubrics: Sequence[Rubric], options: AgreementOptions) -> tuple[Scores, list[Table]]:
    """Return the run with the fitted rater beside its own, and how it compares with its judges. Raises UsageError.

    Every label is compared with a score by a fit that saw no label of its cluster or its texts.
    """
    _check(data, options)
    made, raters, found = dict[str, list[RatingsMatrix]](), list[Rater](), list[Change]()
    for rubric in rubrics:
        made[rubric.name] = [_with_column(data, matrix, options) for matrix in data.matrices([rubric])]
        fitted = [each for each in made[rubric.name] if each.raters[-1].name == PANEL]
        judges = dict.fromkeys(each.raters[at].name for each in fitted for at in _judges(each, options))
        raters += [Rater(PANEL, "combined", rubric.name, {"of": [*judges], "rule": PANEL})] if fitted else []
        found += [each for matrix in fitted for each in _changes(without_picked(matrix)[0], options)]
    return data.joined(raters, made), [*_compared(found, options)]


def fitted_cases(data: Scores, options: AgreementOptions) -> tuple[list[str], list[dict[str, Value]]]:
    """Return columns and rows of a file with the fitted score of each case and its probabilities. Raises UsageError."""
    _check(data, options)
    options = options.model_copy(update={"cluster": data.column(options.cluster)})
    columns, rows = dict.fromkeys(("case", "rubric", "score", PANEL, "expected")), list[dict[str, Value]]()
    for matrix in data.matrices(data.rated(options.rubric, options.named)):
        chances, levels = _chances(data, matrix, options), np.array(matrix.scale)
        for at, middle in enumerate(middle_of(chances, levels).tolist()):
            shares = {f"p{level}": float(own) for level, own in zip(matrix.levels, chances[at], strict=True)}
            if np.isfinite(middle):
                columns |= dict.fromkeys(shares)
                about = {"case": matrix.case_ids[at], "rubric": matrix.rubric, "score": matrix.score}
                rows.append({**about, PANEL: plain(middle), "expected": float(chances[at] @ levels), **shares})
    return [*columns], rows


def _check(data: Scores, options: AgreementOptions) -> None:
    if options.panel != PANEL or any(rater.name == PANEL for rater in data.raters):
        hint = f"--panel {PANEL} adds a rater of that name, which the run may not have yet."
        raise UsageError(f"--panel can't be {options.panel} here", hint)


def _judges(matrix: RatingsMatrix, options: AgreementOptions) -> list[int]:
    named = matrix.places(options.rater) or range(len(matrix.raters))
    return [at for at in matrix.scoring(*JUDGES) if at in named and at not in _people(matrix, options)]


def _people(matrix: RatingsMatrix, options: AgreementOptions) -> list[int]:
    return matrix.columns(options.against) if options.against else matrix.of_kind("human")


def _with_column(data: Scores, matrix: RatingsMatrix, options: AgreementOptions) -> RatingsMatrix:
    """Return the matrix with the fitted scores as a further column, if it can be fitted."""
    chances = _chances(data, matrix, options)
    given, expected = middle_of(chances, np.array(matrix.scale)), chances @ np.array(matrix.scale)
    if not (known := int(np.isfinite(given).sum())):
        return matrix
    column = {"given": given, "expected": expected, "confidence": chances.max(axis=1), "mass": given * np.nan}
    column |= {"orders": np.zeros(len(given), np.int64), "sheets": np.full(len(given), ANY_SHEET)}
    rater = MatrixRater(PANEL, "combined", on_scale=True, verdicts=known, failures=0, other_texts=0)
    wider: dict[str, Any] = {name: np.column_stack([getattr(matrix, name), own]) for name, own in column.items()}
    return replace(matrix, raters=(*matrix.raters, rater), **wider)


def _chances(data: Scores, matrix: RatingsMatrix, options: AgreementOptions) -> FloatArray:
    """Return each case's chances of the levels, (cases, levels); NaN, and a notice why, where nothing is fitted."""
    levels, judges = np.array(matrix.scale), _judges(matrix, options)
    scores = matrix.on_scale[:, _people(matrix, options)]
    given = [np.nan_to_num(spread(each, levels)) for each in scores.T]
    targets = np.sum([np.zeros((len(scores), len(levels))), *given], axis=0)
    targets /= np.maximum(targets.sum(axis=1), 1)[:, None]
    labels = int(np.sum((targets.sum(axis=1) > 0) & np.isfinite(matrix.on_scale[:, judges]).all(axis=1)))
    if why := _why_not(matrix, len(judges), labels):
        told = {"rubric": matrix.rubric, "score": matrix.score, "why": why}
        data.notices.append(Note("not_fitted", told, "warning"))
        return np.full(targets.shape, np.nan)
    return cross_fitted(_features(data, matrix, judges), targets, _linked(matrix, options))


def _why_not(matrix: RatingsMatrix, judges: int, labels: int) -> str:
    """Return why a score can't be fitted; empty if it can."""
    if matrix.nominal:
        return "its scale has no order"
    if len(matrix.levels) > MOST_LEVELS:
        return Reason("its scale has {levels} levels, over {most}", levels=len(matrix.levels), most=MOST_LEVELS)
    if not judges:
        return "no judge has scored it"
    few = Reason("{labels} cases have a label and a score by every judge, under {least}", labels=labels, least=LEAST)
    return few if labels < LEAST else ""


def _linked(matrix: RatingsMatrix, options: AgreementOptions) -> IntArray:
    """Return codes (cases,), shared by the cases of a cluster and by those with the same texts."""
    names = [text or at for at, text in enumerate(matrix.hashes)]
    places = {name: code for code, name in enumerate(dict.fromkeys(names))}
    texts = np.array([places[name] for name in names], dtype=np.int64)
    clusters = matrix.clusters(options.cluster) if options.cluster else texts
    return np.asarray(linked_clusters(texts, clusters, len(places))[texts])


def _features(data: Scores, matrix: RatingsMatrix, judges: Sequence[int]) -> FloatArray:
    """Return what judges said of the cases, as the fit takes it: probabilities where a judge has some, and the mass."""
    levels, where = np.array(matrix.scale), {case: at for at, case in enumerate(matrix.case_ids)}
    shares = {matrix.raters[at].name: spread(matrix.on_scale[:, at], levels) for at in judges}
    for record in data.outcomes(matrix.rubric):
        said, own = record.outcome, shares.get(record.rater)
        if own is None or not isinstance(said, Verdict) or matrix.score not in said.scores:
            continue
        at, given = where[record.case_id], said.scores[matrix.score].probabilities
        found = np.array([given.get(level, 0.0) for level in matrix.levels])
        if found.sum() > 0 and np.isfinite(own[at]).all():
            own[at] = found / found.sum()
    return np.hstack(
        [features(own, levels, matrix.mass[:, at]) for at, own in zip(judges, shares.values(), strict=True)]
    )


def _compared(found: Sequence[Change], options: AgreementOptions) -> Iterator[Table]:
    """Yield for each rubric how far fitted scores and each judge's are from people's, all as one family."""
    distances, answers = ("judge_distance", "fitted_distance"), ("fitted_loss", "fitted_gain", "fitted_none")
    told = [*changes(found, distances, answers, options.against or Note("people"))]
    columns = [Column("rubric"), Column("score", usual="score"), Column("judge", "rater"), Column("cases", "count")]
    columns += [Column(name, "estimate") for name in (*distances, "difference")]
    for rubric in dict.fromkeys(each.table for each in found):
        rows, notes = [row for own, row, _ in told if own == rubric], [note for own, _, note in told if own == rubric]
        about: dict[str, object] = {"rubric": rubric, "family": len(found)}
        yield Table(PANEL, about, columns, rows, [*notes, independence(options.cluster)])


def _changes(matrix: RatingsMatrix, options: AgreementOptions) -> Iterator[Change]:
    """Yield how far each judge is from people's mean, and the fitted scores, which are the last column."""
    mean = mean_of_people(matrix.on_scale[:, _people(matrix, options)])
    for judge in _judges(matrix, options):
        apart: FloatArray = np.abs(matrix.on_scale[:, [judge, -1]] - mean[:, None])
        both = np.isfinite(apart).all(axis=1)
        clusters = matrix.clusters(options.cluster)[both] if options.cluster else None
        row: Row = {"rubric": matrix.rubric, "score": matrix.score, "judge": matrix.raters[judge].name}
        row["cases"] = int(both.sum())
        if both.any():
            yield Change(matrix.rubric, row, apart[both], clusters)
