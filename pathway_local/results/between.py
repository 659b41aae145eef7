"""Under which rubric a judge is closer to people, and how a change of its distance from them is shown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pathway_local.errors import UnknownName, UsageError
from pathway_local.note import Note
from pathway_local.rater import JUDGES, raters_named
from pathway_local.results.agreement_options import AgreementOptions, Row, independence
from pathway_local.results.label_design import without_picked
from pathway_local.results.table import Column, Table
from pathway_local.scores.matrix import RatingsMatrix, why_no_levels
from pathway_local.scores.scores import Scores
from pathway_local.statistics.effect import at_holm_levels, change_effect, mean_effect
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray
from pathway_local.statistics.human_benchmark import compare_judges, mean_of_people

OF_ONE = ("rubric", "by", "bad", "panel")
"""Options of `agreement` that are about one rubric."""
FIGURES = ("first_distance", "second_distance", "difference", "first_figure", "second_figure")
ANSWERS = ("between_loss", "between_gain", "between_none")


@dataclass(frozen=True, slots=True)
class Change:
    """How far two scores of each case are from people's, (cases, 2), as a row of the table with that name."""

    table: str
    row: Row
    apart: FloatArray
    clusters: IntArray | None


def changes(
    found: Sequence[Change], distances: tuple[str, str], answers: tuple[str, str, str], people: str | Note
) -> Iterator[tuple[str, Row, Note]]:
    """Yield the table and row of each with the mean distances and their change, and its answer.

    All changes are one family (Holm). `answers` are for a loss or a gain that is shown, and for none.
    """
    shown = at_holm_levels([change_effect(each.apart, each.clusters) for each in found])
    for each, change in zip(found, shown, strict=True):
        means = [mean_effect(own, each.clusters).estimate() for own in each.apart.T]
        row: Row = {**each.row, **dict(zip(distances, means, strict=True)), "difference": change}
        key = dict(zip(("first", "second"), answers, strict=False)).get(change.shown or "", answers[-1])
        values = dict[str, object](row)
        for name, cell in row.items():
            if isinstance(cell, Estimate) and name != "difference":
                values[name] = cell.value if isinstance(cell.value, float) else "–"
        yield each.table, row, Note(key, values | {"people": people, "count": row["cases"]}, "answer")


def between_rubrics(data: Scores, options: AgreementOptions) -> Iterator[Table]:
    """Yield for each score how far each judge is from people under each two rubrics. Raises UsageError, UnknownName.

    Only labels count that count under all of the rubrics. All changes of a command are one family (Holm).
    """
    names = [name.strip() for name in options.between.split(",")]
    if len(names) < 2 or len(set(names)) < len(names) or not options.against:
        raise UsageError("--between needs two rubrics, each once, and --against", "Such as --between old,new.")
    if given := next((name for name in OF_ONE if getattr(options, name)), ""):
        raise UsageError(f"--{given} does not go with --between", "Leave it out.")
    for name in names:
        if name not in data.rubrics:
            raise UnknownName("rubric", name, data.rubrics)
    options = options.model_copy(update={"cluster": data.column(options.cluster)})
    every = [[without_picked(each)[0] for each in data.matrices([data.rubrics[name]])] for name in names]
    of_score = [[each for own in every for each in own if each.score == first.score] for first in every[0]]
    of_score = [own for own in of_score if len(own) == len(names)]
    if not of_score or any(len({(each.levels, each.nominal) for each in own}) > 1 for own in of_score):
        raise UsageError(f"{', '.join(names)} have no score with the same levels", "Compare rubrics of one scale.")
    found = [change for own in of_score for change in _compared(own, options)]
    if not found:
        raise UsageError(f"no judge has scores under {', '.join(names)}", "Judge the same cases under each of them.")
    told = [*changes(found, FIGURES[:2], ANSWERS, options.against)]
    columns = [Column("judge", "rater"), Column("first"), Column("second"), Column("cases", "count")]
    columns += [Column(name, "estimate") for name in FIGURES]
    for score in dict.fromkeys(each.table for each in found):
        rows, notes = [row for own, row, _ in told if own == score], [note for own, _, note in told if own == score]
        notes += [*_other_settings(data, rows), independence(options.cluster)]
        about: dict[str, object] = {"score": score, "against": options.against, "family": len(found)}
        yield Table("between", about, columns, rows, notes)


def _compared(own: Sequence[RatingsMatrix], options: AgreementOptions) -> Iterator[Change]:
    """Yield each judge under each two rubrics. Raises UsageError if people's labels do not count under all of them."""
    places = [_labelled(each, options.against) for each in own]
    rows = np.array([[each[case] for each in places] for case in places[0] if all(case in each for each in places)])
    rows = rows.reshape(-1, len(own)).T
    first, judges = own[0], [{each.raters[at].name for at in each.scoring(*JUDGES)} for each in own]
    people = first.columns(options.against)
    labels = first.on_scale[rows[0]][:, people]
    clusters = first.clusters(options.cluster)[rows[0]] if options.cluster else None
    figure = "spearman" if why_no_levels([first.raters[at] for at in people]) else "kappa_quadratic"
    figure = "kappa" if first.nominal else figure
    for judge in sorted(set.intersection(*judges)):
        for pair in combinations(range(len(own)), 2) if not options.rater or judge in options.rater else ():
            scores = np.stack([own[at].on_scale[rows[at], own[at].columns(judge)[0]] for at in pair], axis=1)
            both, rubrics = np.isfinite(scores).all(axis=1), [own[at].rubric for at in pair]
            agreed = compare_judges(scores, labels, figure, 0.0, rubrics, first.scale, clusters=clusters)
            row: Row = {"judge": judge, "first": rubrics[0], "second": rubrics[1], "cases": int(both.sum())}
            row |= {"first_figure": agreed.first, "second_figure": agreed.second}
            apart = _distances(scores, labels, nominal=first.nominal)[both]
            yield Change(first.score, row, apart, None if clusters is None else clusters[both])


def _other_settings(data: Scores, rows: Sequence[Row]) -> Iterator[Note]:
    """Warn of each judge whose settings differ between two rubrics, so that the change may come from these."""
    for row in rows:
        raters = {each.rubric: each for each in data.raters if each.name == row["judge"]}
        one, other = (raters[str(row[side])] for side in ("first", "second"))
        alike = replace(other, rubric=one.rubric, spec={**other.spec, "rubric": one.spec.get("rubric")})
        if said := one.differences(alike):
            yield Note("between_settings", {**row, "differences": said}, "warning")


def _labelled(matrix: RatingsMatrix, people: str) -> dict[str, int]:
    """Return the rows of the cases that people labelled on the scale, by id. Raises UsageError."""
    if not raters_named(people, [rater.name for rater in matrix.raters]):
        hint = f"If {people}'s ratings under another rubric count for it, its file says so: rated_as: NAME."
        raise UsageError(f"{people} has not rated under {matrix.rubric}", hint)
    columns = matrix.columns(people)
    if any(matrix.raters[at].kind in JUDGES for at in columns):
        raise UsageError(f"{people} is a judge", "With --between, name people with --against.")
    known = np.isfinite(matrix.on_scale[:, columns]).any(axis=1)
    return {matrix.case_ids[at]: int(at) for at in np.flatnonzero(known)}


def _distances(scores: FloatArray, people: FloatArray, *, nominal: bool) -> FloatArray:
    """How far scores (cases, 2) are from the mean of people (cases, people); of nominal ones how many people differ."""
    if not nominal:
        return np.abs(scores - mean_of_people(people)[:, None])
    other = [np.where(np.isfinite(people), people != own[:, None], np.nan) for own in scores.T]
    return np.stack([mean_of_people(each) for each in other], axis=1)
