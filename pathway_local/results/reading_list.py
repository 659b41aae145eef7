"""The cases that a person should read first, with what every rater said about them and with their texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from statistics import fmean
from typing import Literal

from pathway_local.case import Case, fingerprint
from pathway_local.errors import UsageError
from pathway_local.rater import REPEATS, RaterKind
from pathway_local.results.divergence import NOTES, ScoreDivergence, reason_field, words_of
from pathway_local.results.summary import summary_tables
from pathway_local.results.table import Column, Table
from pathway_local.results.tally import tally
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores, labels_of
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.verdict import TURNED, Failure, Number, Outcome, Value, Verdict

By = Literal["score", "confidence", "disagreement", "failure", "flips"]
"""Lowest mean score, lowest confidence, raters furthest apart, no verdict, or another score at a double check."""

Ranks = dict[str, list[tuple[float, int, str]]]
"""For each score the cases to read first: what they are ranked by, their rows and their ids."""

MOST_CHARTED = 12
"""Groups of a column in a chart."""

LEVELS = (
    Column("rater", "rater"), Column("group"), Column("n", "count"), Column("mean", "estimate"),
    Column("distribution", "counts"),
)  # fmt: skip
"""The columns behind a chart of levels by group."""

SLACK = 1000
"""Cases that a ranking may hold beyond its top before it drops those below."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The columns that divide a run's cases into groups, and how often each rater gave each level in each group."""

    columns: Sequence[str] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """One score by one rater, with its level's name."""

    name: str
    value: Number
    label: str
    confidence: float | None
    probabilities: Mapping[Number, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Said:
    """What one rater said about a case: scores, the words about them and all other fields, or why there is no verdict.

    `failure` is its kind, and `message` says more in English.
    `about` is the hash of the texts that the rater saw. `caution` is the label of a judge that has one: it must stand
    beside the judge's scores.
    """

    rater: str
    kind: RaterKind
    scores: tuple[Given, ...]
    reason: str
    failure: str
    about: str
    caution: str = ""
    fields: Mapping[str, Value] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    message: str = ""


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
    """The cases to read first under one rubric, ranked by one score (`score` is empty for failures and flips).

    In a list of one pattern of disagreement, `pattern` has the values that raters gave; else it is empty.
    """

    rubric: Rubric
    score: str
    by: By
    cases: tuple[CaseToRead, ...] = field(default=())
    pattern: tuple[Number, ...] = ()


def reading_lists(run: RunFile, rubrics: Iterable[Rubric], by: By, top: int, cases: CasesFile) -> list[ReadingList]:
    """A list of up to `top` cases for each score of these rubrics, with texts from the cases file.

    A nominal score has no low end, so it gets no list by score. Combined scores don't count in a
    ranking: they repeat others. Rubrics under which nobody has rated get no list; UsageError if none is left.
    """
    found: list[ReadingList] = []
    rated = {rater.rubric for _, rater in run.raters()}
    known = [rubric for rubric in rubrics if rubric.name in rated]
    if not known:
        raise UsageError("the run holds no verdicts yet", "Judge some cases or import ratings first.")
    for rubric in known:
        ranked = _ranked(run, rubric, by, top)
        said = _said(run, rubric, {case for ids in ranked.values() for case in ids})
        for score, ids in ranked.items():
            to_read = tuple(_about(said[case], score) for case in ids)
            found.append(ReadingList(rubric, score, by, to_read))
    return _with_texts(run, found, cases)


def pattern_lists(
    run: RunFile, rubrics: Iterable[Rubric], found: Sequence[ScoreDivergence], cases: CasesFile
) -> list[ReadingList]:
    """The cases of `found` to look at first, a list for each pattern of their scores, with texts from the file."""
    named, lists = {rubric.name: rubric for rubric in rubrics}, list[ReadingList]()
    for each in found:
        rubric, by_pattern = named[each.rubric], dict[tuple[Number, ...], list[str]]()
        for case, scores in each.first.items():
            by_pattern.setdefault(tuple(sorted(set(scores))), []).append(case)
        said = _said(run, rubric, set(each.first))
        for pattern, ids in by_pattern.items():
            to_read = tuple(_about(said[case], each.score) for case in ids)
            lists.append(ReadingList(rubric, each.score, "disagreement", to_read, pattern))
    return _with_texts(run, lists, cases)


def _ranked(run: RunFile, rubric: Rubric, by: By, top: int) -> dict[str, list[str]]:
    """The ids of the first cases for each score, from one pass over the outcomes."""
    repeating = {rater.name for _, rater in run.raters() if rater.kind in REPEATS}
    ranks: Ranks = {name: [] for name in _scores(rubric, by)}
    for case_id, together in groupby(run.records(rubric=rubric.name), key=lambda record: record.case_id):
        records = [record for record in together if record.rater not in repeating]
        for name, ranking in ranks.items():
            place = _place(records, rubric, name, by)
            if place is not None:
                ranking.append((place, records[0].row, case_id))
                if len(ranking) > top + SLACK:
                    ranking[:] = sorted(ranking)[:top]
    return {name: [case_id for *_, case_id in sorted(ranking)[:top]] for name, ranking in ranks.items()}


def _scores(rubric: Rubric, by: By) -> list[str]:
    if by in ("failure", "flips"):
        return [""]
    return [name for name, each in rubric.format.scores.items() if by != "score" or each.scale != "nominal"]


def _place(records: Sequence[Record], rubric: Rubric, name: str, by: By) -> float | None:
    """Return the value that ranks a case, the lowest first; None if it is not on the list."""
    verdicts = [record.outcome for record in records if isinstance(record.outcome, Verdict)]
    if by == "failure":
        return float(len(verdicts)) if len(verdicts) < len(records) else None
    if by == "flips":
        return min((_confidence(each) for each in verdicts if TURNED in each.marks), default=None)
    given = [verdict.scores[name] for verdict in verdicts if name in verdict.scores]
    if by == "confidence":
        return min((score.confidence for score in given if score.confidence is not None), default=None)
    special = rubric.format.scores[name].special
    values = [score.value for score in given if score.value not in special]
    return fmean(values) if values else None


def _confidence(verdict: Verdict) -> float:
    """Return the lowest confidence of a verdict's scores; 1 without probabilities."""
    return min((score.confidence for score in verdict.scores.values() if score.confidence is not None), default=1.0)


def _said(run: RunFile, rubric: Rubric, wanted: set[str]) -> dict[str, CaseToRead]:
    """What every rater said about these cases, by id."""
    kinds = {rater.name: rater.kind for _, rater in run.raters() if rater.rubric == rubric.name}
    labels = labels_of(run)
    found: dict[str, CaseToRead] = {}
    for record in run.records(rubric=rubric.name, cases=wanted) if wanted else ():
        known = found.get(record.case_id, CaseToRead(record.case_id, record.row, (), record.metadata))
        label = labels.get(record.rater, "")
        said = said_by(record.rater, kinds[record.rater], record.outcome, rubric, record.case_hash, label)
        found[record.case_id] = replace(known, said=(*known.said, said))
    return found


def said_by(rater: str, kind: RaterKind, outcome: Outcome, rubric: Rubric, about: str, caution: str = "") -> Said:
    """Return what a rater said, by its outcome; `about` is the hash of the texts that it saw."""
    if isinstance(outcome, Failure):
        return Said(rater, kind, (), "", outcome.kind, about, caution, message=outcome.message)
    names = [*NOTES, *dict.fromkeys(reason_field(rubric.format, name) for name in rubric.format.scores)]
    words, given = words_of(outcome, names), tuple(given_by(outcome, rubric))
    return Said(rater, kind, given, words, "", about, caution, outcome.fields, outcome.marks)


def given_by(verdict: Verdict, rubric: Rubric) -> Iterator[Given]:
    """Yield a verdict's scores in the rubric's order."""
    for name, declared in rubric.format.scores.items():
        if score := verdict.scores.get(name):
            label = declared.levels.get(score.value, "")
            yield Given(name, score.value, label, score.confidence, score.probabilities)


def _about(case: CaseToRead, score: str) -> CaseToRead:
    """The case with the list's own score alone; a list of failures or flips shows all scores."""
    if not score:
        return case
    said = (replace(each, scores=tuple(one for one in each.scores if one.name == score)) for each in case.said)
    return replace(case, said=tuple(said))


def _with_texts(run: RunFile, lists: Sequence[ReadingList], cases: CasesFile) -> list[ReadingList]:
    """The lists with the texts of their cases, from one pass over the file."""
    wanted = {case.case for each in lists for case in each.cases}
    known = {item.id: item for item in cases if isinstance(item, Case) and item.id in wanted} if wanted else {}
    return [
        replace(each, cases=tuple(_with_text(run, each.rubric, case, known) for case in each.cases)) for each in lists
    ]


def _with_text(run: RunFile, rubric: Rubric, case: CaseToRead, known: Mapping[str, Case]) -> CaseToRead:
    given = known.get(case.case)
    if given is None:
        return case
    texts = rubric.texts_of(given)
    now = fingerprint(run.key, texts)
    return replace(case, texts=texts, changed=any(said.about not in ("", now) for said in case.said))


def groups_in(data: Scores) -> Groups:
    """Return the groups of a run's cases, from one pass over its outcomes."""
    columns, found, raters = data.group_columns(), list[Table](), [rater.name for rater in data.raters]
    for column, groups in zip(columns, tally(data.run.records(), data.rubrics, columns), strict=True):
        tables = summary_tables(data, groups, column) if len({each.group for each in groups}) <= MOST_CHARTED else ()
        for each in tables:
            if each.key == "groups":
                rows = sorted(each.rows, key=lambda row: raters.index(str(row["rater"])))
                found.append(replace(each, columns=LEVELS, rows=rows, notes=(), chart="levels"))
    return Groups(columns, found)
