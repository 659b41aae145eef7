"""A case's page: its texts, every rater's verdict with probabilities and words, and the agreed score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pathway_local.case import Case, CaseRef, fingerprint
from pathway_local.pages.page import Passage, outside, passages
from pathway_local.pages.voices import Voice, voice
from pathway_local.ratings.adjudication import NOTE, adjudicator
from pathway_local.results.reading_list import said_by
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import Record
from pathway_local.verdict import Number, Verdict
from pathway_local.viewer.verdict_index import CaseTexts, IndexedCase, VerdictIndex
from pathway_local.words.language import Language

SCORE = "score:"
"""Begins the name of a form's field for a score."""


@dataclass(frozen=True, slots=True)
class Form:
    """The form for an agreed score: the values that each score offers, and what the person gave before, by field."""

    rubric: Rubric
    offered: Mapping[str, Sequence[Number]]
    person: str
    filled: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Judged:
    """A case under one rubric, with the form for an agreed score, or `why` it can't get one."""

    rubric: str
    note: str
    voices: tuple[Voice, ...]
    why: str
    form: Form | None


@dataclass(frozen=True, slots=True)
class CasePage:
    """A case as its page shows it."""

    case: IndexedCase
    metadata: tuple[tuple[str, str], ...]
    texts: tuple[Passage, ...]
    note: str
    judged: tuple[Judged, ...]


def case_page(
    index: VerdictIndex,
    texts: CaseTexts | None,
    case: IndexedCase,
    person: str,
    filled: Mapping[str, str],
    say: Language,
) -> CasePage:
    """Return the page of a case for a person; `filled` is what that person has just tried to give."""
    inputs = texts.of(case.id) if texts else None
    kinds = {(rater.name, rater.rubric): rater.kind for rater in index.raters.values()}
    order = list(index.rubrics)
    records = sorted(index.run.records(cases=[case.id]), key=lambda record: order.index(record.rubric))
    judged = []
    for name, group in groupby(records, key=lambda record: record.rubric):
        own = list(group)
        now = _hash(index, own[0], inputs) if inputs is not None else None
        ref, why = _ref(own, now, say)
        rubric = index.rubrics[name]
        said = [
            said_by(
                *(each.rater, kinds[each.rater, name], each.outcome, rubric, each.case_hash),
                caution=index.labels.get(each.rater, ""),
            )
            for each in own
        ]
        voices = tuple(voice(each, rubric, say) for each in said)
        form = _form(rubric, own, person, filled) if ref else None
        changed = now is not None and any(record.case_hash not in ("", now) for record in own)
        judged.append(Judged(outside(name, 120), say("changed_texts") if changed else "", voices, why, form))
    note = say("view_no_texts") if texts is None else say("not_in_file") if inputs is None else ""
    metadata = tuple((outside(name, 120), outside(value)) for name, value in case.metadata.items() if value)
    filled_in = passages({name: text for name, text in (inputs or {}).items() if text})
    return CasePage(case, metadata, filled_in, note, tuple(judged))


def agreeable(
    index: VerdictIndex, texts: CaseTexts | None, case: IndexedCase, rubric: str, say: Language
) -> CaseRef | None:
    """Return the case to store an agreed score for under a rubric; None if it can't get one."""
    inputs = texts.of(case.id) if texts else None
    records = [record for record in index.run.records(cases=[case.id]) if record.rubric == rubric]
    if inputs is None or not records:
        return None
    return _ref(records, _hash(index, records[0], inputs), say)[0]


def offers(index: VerdictIndex, case: IndexedCase, rubric: str) -> dict[str, list[Number]]:
    """Return the values that each score's form offers: its levels, and values between them that a rater gave."""
    records = [record for record in index.run.records(cases=[case.id]) if record.rubric == rubric]
    return {name: _offered(name, field, records) for name, field in index.rubrics[rubric].format.scores.items()}


def _hash(index: VerdictIndex, record: Record, inputs: Mapping[str, str]) -> str:
    """Return the hash of the file's texts, as the record's rubric reads them."""
    texts = index.rubrics[record.rubric].texts_of(Case(record.case_id, inputs))
    return fingerprint(index.run.key, texts)


def _ref(records: Sequence[Record], now: str | None, say: Language) -> tuple[CaseRef | None, str]:
    """Return the case with the texts' hash `now` if it can get an agreed score, else why not.

    Only texts that a rater saw can be agreed on.
    """
    if now is None:
        return None, say("view_needs_texts")
    first = records[0]
    if all(record.case_hash != now for record in records):
        return None, say("view_other_texts")
    return CaseRef(first.case_id, first.row, hash=now), ""


def _form(rubric: Rubric, records: Sequence[Record], person: str, filled: Mapping[str, str]) -> Form:
    earlier = _earlier(records, person)
    own = filled if filled.get("rubric") == rubric.name else earlier
    offered = {name: _offered(name, field, records) for name, field in rubric.format.scores.items()}
    return Form(rubric, offered, filled.get("person", person), own)


def _offered(name: str, field: ScoreField, records: Sequence[Record]) -> list[Number]:
    """Return the levels, and the values between levels that raters gave the case: half points, and shares of lists."""
    scored = (record.outcome.scores for record in records if isinstance(record.outcome, Verdict))
    between = {scores[name].value for scores in scored if name in scores and field.between(scores[name].value)}
    return sorted({*field.values, *between})


def _earlier(records: Sequence[Record], person: str) -> dict[str, str]:
    """Return what the person agreed on before, as the form would send it."""
    for record in records:
        if person and record.rater == adjudicator(person) and isinstance(record.outcome, Verdict):
            given = {f"{SCORE}{name}": str(score.value) for name, score in record.outcome.scores.items()}
            return given | {NOTE: str(record.outcome.fields.get(NOTE, ""))}
    return {}
