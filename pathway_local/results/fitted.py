"""A rater that learns from people's labels how they score, given what judges said: `--panel fitted`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.rater import JUDGES, Rater
from pathway_local.results.agreement_options import AgreementOptions, Row
from pathway_local.results.label_design import without_picked
from pathway_local.results.table import Column, Table
from pathway_local.rubrics.rubric import Rubric
from pathway_local.scores.matrix import ANY_SHEET, MatrixRater, RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.effect import Effect, change_effect, mean_effect
from pathway_local.statistics.families import at_holm_levels
from pathway_local.statistics.figure import FloatArray, IntArray
from pathway_local.statistics.human_benchmark import mean_of_people
from pathway_local.statistics.intervals import linked_clusters
from pathway_local.statistics.ordinal import cross_fitted, features, middle_of, spread
from pathway_local.verdict import Value, Verdict, plain

PANEL = "fitted"
LEAST_LABELS, MOST_LEVELS = 50, 21


def with_fitted(
    data: Scores, rubrics: Sequence[Rubric], options: AgreementOptions
) -> tuple[Scores, AgreementOptions, list[Table]]:
    """Return the run with the fitted rater beside its own, options with it, and how it compares with its judges.

    Raises UsageError. Every label is compared with a score by a fit that saw no label of its cluster or its texts.
    """
    _check(data, options)
    made, raters, tables = dict[str, list[RatingsMatrix]](), list[Rater](), list[Table]()
    for rubric in rubrics:
        made[rubric.name] = [_with_column(data, matrix, options) for matrix in data.matrices([rubric])]
        judges = {each.raters[at].name: None for each in made[rubric.name] for at in _judges(each, options)}
        raters.append(Rater(PANEL, "combined", rubric.name, {"of": [*judges], "rule": PANEL}))
        tables += _compared(made[rubric.name], options)
    named = {"rater": (*options.rater, PANEL)} if options.rater else {}
    return data.joined(raters, made), options.model_copy(update=named), tables


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
    """Return the matrix with the fitted scores as a further column."""
    chances = _chances(data, matrix, options)
    given, expected = middle_of(chances, np.array(matrix.scale)), chances @ np.array(matrix.scale)
    column = {"given": given, "expected": expected, "confidence": chances.max(axis=1), "mass": given * np.nan}
    column |= {"orders": np.zeros(len(given), np.int64), "sheets": np.full(len(given), ANY_SHEET)}
    known = int(np.isfinite(given).sum())
    rater = MatrixRater(PANEL, "combined", on_scale=True, verdicts=known, failures=0, other_texts=0)
    wider: dict[str, Any] = {name: np.column_stack([getattr(matrix, name), own]) for name, own in column.items()}
    return replace(matrix, raters=(*matrix.raters, rater), **wider)


def _chances(data: Scores, matrix: RatingsMatrix, options: AgreementOptions) -> FloatArray:
    """Return the probability of each level for each case, (cases, levels); NaN, and a notice, without enough labels."""
    levels, judges = np.array(matrix.scale), _judges(matrix, options)
    scores = matrix.on_scale[:, _people(matrix, options)]
    given = [np.nan_to_num(spread(each, levels)) for each in scores.T]
    targets = np.sum([np.zeros((len(scores), len(levels))), *given], axis=0)
    targets /= np.maximum(targets.sum(axis=1), 1)[:, None]
    labels = int(np.sum((targets.sum(axis=1) > 0) & np.isfinite(matrix.on_scale[:, judges]).all(axis=1)))
    if labels < LEAST_LABELS or not judges or matrix.nominal or len(levels) > MOST_LEVELS:
        told = {"rubric": matrix.rubric, "score": matrix.score, "count": labels if judges else 0}
        data.notices.append(Note("not_fitted", told | {"least": LEAST_LABELS, "most": MOST_LEVELS}, "warning"))
        return np.full(targets.shape, np.nan)
    return cross_fitted(_features(data, matrix, judges), targets, _linked(matrix, options))


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


def _compared(matrices: Sequence[RatingsMatrix], options: AgreementOptions) -> Iterator[Table]:
    """Yield how far the fitted scores and each judge's are from people's, on the same labelled cases (Holm)."""
    found = [each for matrix in matrices for each in _changes(without_picked(matrix)[0], options)]
    rows, notes = list[Row](), list[Note]()
    for (row, two, _), change in zip(found, at_holm_levels([change for *_, change in found]), strict=True):
        rows.append(
            {**row, "judge_distance": two[0].estimate(), "fitted_distance": two[1].estimate(), "difference": change}
        )
        told = {"people": options.against or Note("people"), "change": change}
        key = {"first": "fitted_loss", "second": "fitted_gain"}.get(change.shown or "", "fitted_none")
        notes.append(Note(key, {**told, **row, "before": two[0].value, "after": two[1].value}, "answer"))
    columns = [Column("score"), Column("judge", "rater"), Column("cases", "count")]
    columns += [Column(name, "estimate") for name in ("judge_distance", "fitted_distance", "difference")]
    if rows:
        notes.append(Note("together", {"column": options.cluster}) if options.cluster else Note("cases_alone"))
        yield Table(PANEL, {"rubric": matrices[0].rubric, "family": len(rows)}, columns, rows, notes)


def _changes(matrix: RatingsMatrix, options: AgreementOptions) -> Iterator[tuple[Row, list[Effect], Effect]]:
    """Yield a judge's distance from people's mean and that of the fitted scores, the last column, and the change."""
    mean = mean_of_people(matrix.on_scale[:, _people(matrix, options)])
    for judge in _judges(matrix, options):
        apart: FloatArray = np.abs(matrix.on_scale[:, [judge, -1]] - mean[:, None])
        both = np.isfinite(apart).all(axis=1)
        clusters = matrix.clusters(options.cluster)[both] if options.cluster else None
        row: Row = {"score": matrix.score, "judge": matrix.raters[judge].name, "cases": int(both.sum())}
        if both.any():
            yield row, [mean_effect(own, clusters) for own in apart[both].T], change_effect(apart[both], clusters)
