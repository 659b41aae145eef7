"""Rubrics on the same cases: under which of them a judge's scores are closer to people's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pathway_local.case import hash_by_input
from pathway_local.errors import UnknownName, UsageError
from pathway_local.note import Note
from pathway_local.rater import JUDGES, raters_named
from pathway_local.results.agreement_options import AgreementOptions, Row
from pathway_local.results.label_design import without_picked
from pathway_local.results.table import Column, Table
from pathway_local.rubrics.examples import is_set_aside, learns_from_cases
from pathway_local.scores.matrix import RatingsMatrix, why_no_levels
from pathway_local.scores.scores import Scores
from pathway_local.statistics.effect import Effect, mean_effect
from pathway_local.statistics.families import at_holm_levels
from pathway_local.statistics.figure import BoolArray, Estimate, FloatArray, IntArray, Interval
from pathway_local.statistics.human_benchmark import Contrast, compare_judges, mean_of_people

OF_ONE = ("rubric", "by", "bad")
"""Options of `agreement` that are about one rubric."""


@dataclass(frozen=True, slots=True)
class _Two:
    """One judge's scores under two rubrics: its distances from people, and their change, on the same cases."""

    matrix: RatingsMatrix
    judge: str
    rubrics: tuple[str, str]
    cases: int
    distances: tuple[Estimate, Estimate]
    change: Effect
    agreement: Contrast


def between_rubrics(data: Scores, options: AgreementOptions) -> Iterator[Table]:
    """Yield for each score how far each judge is from people under each two rubrics. Raises UsageError, UnknownName.

    All changes of a command are one family (Holm).
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
    every = [[*data.matrices([data.rubrics[name]])] for name in names]
    learning = any(learns_from_cases(data.rubrics[name]) for name in names)
    found = [two for own in _same_scores(every, names) for two in _pairs(own, options, learning=learning)]
    if not found:
        raise UsageError(f"no judge has scores under {', '.join(names)}", "Judge the same cases under each of them.")
    estimates = at_holm_levels([two.change for two in found])
    for score in dict.fromkeys(two.matrix.score for two in found):
        yield _table([each for each in zip(found, estimates, strict=True) if each[0].matrix.score == score], options)


def _same_scores(every: Sequence[Sequence[RatingsMatrix]], names: Sequence[str]) -> list[list[RatingsMatrix]]:
    """Return the matrices of each score under all rubrics. Raises UsageError for scores that can't be compared."""
    found = [[each for own in every for each in own if each.score == first.score] for first in every[0]]
    found = [own for own in found if len(own) == len(every)]
    if not found or any(len({(each.levels, each.nominal) for each in own}) > 1 for own in found):
        raise UsageError(f"{', '.join(names)} have no score with the same levels", "Compare rubrics of one scale.")
    return found


def _pairs(own: Sequence[RatingsMatrix], options: AgreementOptions, *, learning: bool) -> Iterator[_Two]:
    """Yield each judge under each two rubrics; people may have rated under one of them alone."""
    rated = [each for each in own if raters_named(options.against, [rater.name for rater in each.raters])]
    if not rated:
        raise UnknownName("rater", options.against, [rater.name for each in own for rater in each.raters])
    labels, _ = without_picked(rated[0])
    people = labels.columns(options.against)
    if any(labels.raters[place].kind in JUDGES for place in people):
        raise UsageError(f"{options.against} is a judge", "With --between, name people with --against.")
    labelled = np.asarray(np.isfinite(labels.on_scale[:, people]).any(axis=1))
    rows = _common_rows([labels, *own], labelled, learning=learning)
    given = labels.on_scale[rows[0]][:, people]
    clusters = labels.clusters(options.cluster)[rows[0]] if options.cluster else None
    off = why_no_levels([labels.raters[place] for place in people])
    for judge in _common_judges(own, options.rater):
        scores = [each.on_scale[at, each.columns(judge)[0]] for each, at in zip(own, rows[1:], strict=True)]
        for first, second in combinations(range(len(own)), 2):
            names = own[first].rubric, own[second].rubric
            yield _two(labels, judge, names, (scores[first], scores[second]), given, clusters, off)


def _common_judges(own: Sequence[RatingsMatrix], named: Sequence[str]) -> list[str]:
    """Return the judges with scores under each rubric, or those of them that are named."""
    judges = [{each.raters[place].name: None for place in each.scoring(*JUDGES)} for each in own]
    return [name for name in judges[0] if all(name in each for each in judges) and (not named or name in named)]


def _common_rows(every: Sequence[RatingsMatrix], labelled: BoolArray, *, learning: bool) -> list[list[int]]:
    """Return the rows in each matrix of the labelled cases that all have, with the same texts, and not set aside."""
    places = [{case: at for at, case in enumerate(each.case_ids)} for each in every]
    asked = [case for case, known in zip(every[0].case_ids, labelled, strict=True) if known]
    cases = [case for case in asked if all(case in own for own in places) and not (learning and is_set_aside(case))]
    found = list(zip(*([own[case] for case in cases] for own in places), strict=True)) or []
    kept = [row for row in found if _same_texts([each.hashes[at] for each, at in zip(every, row, strict=True)])]
    return [[row[number] for row in kept] for number in range(len(every))]


def _same_texts(hashes: Sequence[str]) -> bool:
    """Whether inputs that several rubrics read have one text."""
    texts: dict[str, set[str]] = {}
    for each in hashes:
        for name, digest in hash_by_input(each).items():
            texts.setdefault(name, set()).add(digest)
    return all(len(known) == 1 for known in texts.values())


def _two(
    labels: RatingsMatrix, judge: str, rubrics: tuple[str, str], scores: tuple[FloatArray, FloatArray],
    people: FloatArray, clusters: IntArray | None, off: str,
) -> _Two:  # fmt: skip
    both = np.isfinite(scores[0]) & np.isfinite(scores[1])
    own = None if clusters is None else clusters[both]
    first, second = (_distance(each, people, nominal=labels.nominal)[both] for each in scores)
    figure = "kappa" if labels.nominal else "spearman" if off else "kappa_quadratic"
    agreement = compare_judges(
        np.column_stack(scores), people, figure, 0.0, rubrics, labels.scale, clusters=clusters
    )  # fmt: skip
    distances = mean_effect(first, own).estimate(), mean_effect(second, own).estimate()
    change = mean_effect(np.round(second - first, 9), own, each="difference")
    return _Two(labels, judge, rubrics, int(both.sum()), distances, change, agreement)


def _distance(scores: FloatArray, people: FloatArray, *, nominal: bool) -> FloatArray:
    """How far each score (cases,) is from the mean of people (cases, people); of a nominal one how many differ."""
    if not nominal:
        return np.abs(scores - mean_of_people(people))
    return mean_of_people(np.where(np.isfinite(people), (people != scores[:, None]).astype(np.float64), np.nan))


def _table(found: Sequence[tuple[_Two, Estimate]], options: AgreementOptions) -> Table:
    columns = [Column("judge", "rater"), Column("first"), Column("second"), Column("cases", "count")]
    names = "first_distance", "second_distance", "difference", "first_figure", "second_figure"
    rows: list[Row] = [
        {"judge": two.judge, "first": two.rubrics[0], "second": two.rubrics[1], "cases": two.cases,
         **dict(zip(names, (*two.distances, change, two.agreement.first, two.agreement.second), strict=True))}
        for two, change in found
    ]  # fmt: skip
    notes = [_answer(*each, options.against) for each in found]
    notes.append(Note("together", {"column": options.cluster}) if options.cluster else Note("cases_alone"))
    about = {"score": found[0][0].matrix.score, "against": options.against, "family": len(found)}
    return Table("between", about, [*columns, *(Column(name, "estimate") for name in names)], rows, notes)


def _answer(two: _Two, change: Estimate, people: str) -> Note:
    """Say whether a gain is shown, or its contrary, or neither."""
    ends = change.interval
    key = "between_none"
    if isinstance(ends, Interval) and (ends.high < 0 or ends.low > 0):
        key = "between_gain" if ends.high < 0 else "between_loss"
    figures = [
        each.value if isinstance(each.value, float) else "–" for each in (two.agreement.first, two.agreement.second)
    ]
    told: dict[str, object] = {
        "judge": two.judge,
        "people": people,
        "first": two.rubrics[0],
        "second": two.rubrics[1],
        "change": change,
    }
    told |= {"before": two.distances[0].value, "after": two.distances[1].value, "count": two.cases}
    told |= {"agreed": figures[0], "agrees": figures[1]}
    return Note(key, told, "answer")
