"""The cases that a person should read first, with what every rater said about them and with their texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal
from warnings import catch_warnings

import numpy as np
from pydantic import Field

from pathway_local.case import Case
from pathway_local.errors import UsageError
from pathway_local.rater import REPEATS, RaterKind
from pathway_local.results.analysis import Rubric as OneRubric
from pathway_local.rubrics.fields import TextField
from pathway_local.rubrics.form import Slot
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import Record
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.statistics.figure import FloatArray
from pathway_local.system.options import Options, Says
from pathway_local.verdict import Outcome

By = Literal["score", "confidence", "disagreement", "failure"]
"""Lowest mean score, lowest confidence, raters furthest apart, or no verdict."""


class ReadOptions(Options):
    """The cases to read, and their order."""

    by: Annotated[By, Says("ORDER", "score: lowest first; confidence: least sure; disagreement; failure.")] = "score"
    top: Annotated[int, Field(ge=1), Says("N", "Cases for each score.")] = 20
    rubric: OneRubric = ""


NOTES = ("notes",)
"""The fields in which people's own words are kept."""


@dataclass(frozen=True, slots=True)
class Said:
    """One rater's answer about a case: its outcome, and the hash of the texts `about` which it is.

    `caution` is the label of a judge that has one: it must stand beside the judge's scores.
    """

    rater: str
    kind: RaterKind
    outcome: Outcome
    about: str
    caution: str = ""


@dataclass(frozen=True, slots=True)
class CaseToRead:
    """A case with all raters. `texts` has its inputs by name, and is None if the cases file lacks the case.

    `changed` says that the file has other texts than those that a rater saw. `metadata` is what the run keeps.
    """

    case: str
    row: int
    said: tuple[Said, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] | None = None
    changed: bool = False


@dataclass(frozen=True, slots=True)
class ReadingList:
    """The cases to read first under one rubric, ranked by one score (`score` is empty for failures)."""

    rubric: Rubric
    score: str
    by: By
    cases: tuple[CaseToRead, ...] = ()


def reading_lists(data: Scores, rubrics: Iterable[Rubric], options: ReadOptions, cases: CasesFile) -> list[ReadingList]:
    """A list of the cases to read first for each score of these rubrics, with texts from the cases file.

    A nominal score has no low end, so it gets no list by score. Combined scores don't count in a
    ranking: they repeat others. Rubrics under which nobody has rated get no list; UsageError if none is left.
    """
    rated = {rater.rubric for rater in data.raters}
    known = [rubric for rubric in rubrics if rubric.name in rated]
    if not known:
        raise UsageError("the run holds no verdicts yet", "Judge some cases or import ratings first.")
    ranked = [_ranked(data, rubric, options.by, options.top) for rubric in known]
    wanted = [{case for ids in lists.values() for case in ids} for lists in ranked]
    every = set[str]().union(*wanted)
    texts = {item.id: item for item in cases if isinstance(item, Case) and item.id in every} if every else {}
    told = [_said(data, rubric, own, texts) for rubric, own in zip(known, wanted, strict=True)]
    return [
        ReadingList(rubric, score, options.by, tuple(said[case] for case in ids))
        for rubric, lists, said in zip(known, ranked, told, strict=True)
        for score, ids in lists.items()
    ]


def _ranked(data: Scores, rubric: Rubric, by: By, top: int) -> dict[str, list[str]]:
    """The ids of the first cases for each score; equal ones come in the order of the cases file."""
    if by == "failure":
        matrices = [*data.matrices([rubric])]
        return {"": [matrices[0].case_ids[at] for at in _failed(matrices)[:top]]}
    found = dict[str, list[str]]()
    for matrix in data.matrices([rubric]):
        if not (by == "score" and matrix.nominal):
            place = _places(matrix, by)
            order = np.argsort(place, kind="stable")[:top]
            found[matrix.score] = [matrix.case_ids[at] for at in order if np.isfinite(place[at])]
    return found


def _places(matrix: RatingsMatrix, by: By) -> FloatArray:
    """The numbers that rank the cases, (cases,), the lowest first; NaN where a case is not on the list."""
    columns = [place for place, rater in enumerate(matrix.raters) if rater.kind not in REPEATS]
    given, levels = matrix.given[:, columns], matrix.on_scale[:, columns]
    with np.errstate(all="ignore"), catch_warnings(action="ignore"):  # of cases without a score, the mean is NaN
        if by == "score":
            return np.asarray(np.nanmean(levels, axis=1))
        if by == "confidence":
            return np.asarray(np.nanmin(matrix.confidence[:, columns], axis=1))
        apart = np.nanstd(levels, axis=1)
    # No distance says how far a special level is from the others, so such cases come first.
    special = np.isfinite(given).any(axis=1) & (np.isfinite(given).sum(axis=1) > np.isfinite(levels).sum(axis=1))
    apart = np.where(special & np.isfinite(levels).any(axis=1), float(np.ptp(matrix.scale or (0,))) + 1, apart)
    return np.where(apart > 0, -apart, np.nan)


def _failed(matrices: Sequence[RatingsMatrix]) -> list[int]:
    """The places of the cases with a failure, those with the fewest verdicts first."""
    own = [place for place, rater in enumerate(matrices[0].raters) if rater.kind not in REPEATS]
    verdicts = np.any([np.isfinite(matrix.given[:, own]) for matrix in matrices], axis=0).sum(axis=1)
    failed = {each.case for each in matrices[0].troubles if each.failure and each.rater in own}
    return sorted(failed, key=lambda case: (verdicts[case], case))


def _said(data: Scores, rubric: Rubric, wanted: set[str], texts: Mapping[str, Case]) -> dict[str, CaseToRead]:
    """Return every rater's answers about these cases, by id, with their texts; people's also as it is `rated_as`."""
    records: dict[str, list[Record]] = {}
    under = {name: _kinds(data, name) for name in (rubric.name, rubric.rated_as) if name}
    for name, kinds in under.items():
        for record in data.outcomes(name, cases=wanted) if wanted else ():
            if name == rubric.name or (kinds[record.rater] == "human" and record.rater not in under[rubric.name]):
                records.setdefault(record.case_id, []).append(record)
    found = {}
    for name, own in records.items():
        known = rubric.texts_of(texts[name]) if name in texts else None
        found[name] = with_said(data, rubric, CaseToRead(name, own[0].row, (), own[0].metadata, known), own)
    return found


def _kinds(data: Scores, rubric: str) -> dict[str, RaterKind]:
    """The kinds of a rubric's raters, by their names."""
    return {rater.name: rater.kind for rater in data.raters if rater.rubric == rubric}


def with_said(data: Scores, rubric: Rubric, case: CaseToRead, records: Iterable[Record]) -> CaseToRead:
    """The case with what raters said about it under a rubric, and whether it has other texts by now."""
    kinds = _kinds(data, rubric.rated_as) | _kinds(data, rubric.name)
    said = tuple(
        Said(each.rater, kinds[each.rater], each.outcome, each.case_hash, data.labels.get(each.rater, ""))
        for each in records
    )
    if case.texts is None:
        return replace(case, said=said)
    now = data.hash_of(rubric.texts_of(Case(case.case, case.texts)))
    return replace(case, said=said, changed=any(each.about not in ("", now) for each in said))


def reason_field(output_format: OutputFormat, score: str) -> str:
    """The text field that goes with a score: the first one behind it, else the last one before it; none of a total."""
    slots = [part for part in output_format.parts if isinstance(part, Slot)]
    at = next((place for place, slot in enumerate(slots) if slot.score == score), len(slots))
    behind = [slot.name for slot in slots[at:] if isinstance(slot.field, TextField)]
    before = [slot.name for slot in slots[:at] if isinstance(slot.field, TextField)]
    return behind[0] if behind else before[-1] if before else ""
