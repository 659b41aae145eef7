"""A case as the viewer shows it: what every rater said under each rubric, and the form for an agreed score."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pathway_local.case import Case, CaseRef, fingerprint
from pathway_local.pages.page import outside
from pathway_local.pages.voices import Voice, voice
from pathway_local.ratings.adjudication import NOTE, adjudicator
from pathway_local.results.reading_list import CaseToRead, said_by
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import Record
from pathway_local.verdict import Number, Verdict
from pathway_local.viewer.verdicts import KnownCase, Verdicts
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


def to_read(verdicts: Verdicts, case: KnownCase, rubric: Rubric, records: Sequence[Record]) -> CaseToRead:
    """Return a case with what its raters said under a rubric, as pages draw it."""
    kinds = {(rater.name, rater.rubric): rater.kind for rater in verdicts.raters}
    said = ((each.rater, kinds[each.rater, rubric.name], each.outcome, rubric, each.case_hash) for each in records)
    return CaseToRead(
        case.id,
        case.row,
        tuple(said_by(*each, caution=verdicts.labels.get(each[0], "")) for each in said),
        case.metadata,
        verdicts.texts.of(case.id) if verdicts.texts else None,
    )


class OpenCase:
    """A case whose page is open: `records` has its outcomes by rubric, in the run's order."""

    def __init__(self, verdicts: Verdicts, case: KnownCase) -> None:
        self.verdicts, self.case = verdicts, case
        self.inputs = verdicts.texts.of(case.id) if verdicts.texts else None
        order = list(verdicts.rubrics)
        found = sorted(verdicts.run.records(cases=[case.id]), key=lambda record: order.index(record.rubric))
        self.records = {name: list(group) for name, group in groupby(found, key=lambda record: record.rubric)}

    def ref(self, rubric: str) -> CaseRef | None:
        """Return the case to store an agreed score for: with the texts of the file, if a rater saw them; else None."""
        own = self.records.get(rubric, [])
        now = self._hash(rubric) if own else None
        return next((CaseRef(each.case_id, each.row, hash=now) for each in own if now == each.case_hash), None)

    def offered(self, rubric: str) -> dict[str, list[Number]]:
        """Return the values that each score's form offers: its levels, and values between them that a rater gave."""
        given = [each.outcome.scores for each in self.records[rubric] if isinstance(each.outcome, Verdict)]
        found = {}
        for name, field in self.verdicts.rubrics[rubric].format.scores.items():
            values = {scores[name].value for scores in given if name in scores}
            found[name] = sorted({*field.values, *filter(field.between, values)})
        return found

    def judged(self, person: str, filled: Mapping[str, str], say: Language) -> Iterator[Judged]:
        """Yield what raters said under each rubric; `filled` is what the person has just tried to give."""
        for name, records in self.records.items():
            rubric, now = self.verdicts.rubrics[name], self._hash(name)
            read = to_read(self.verdicts, self.case, rubric, records)
            changed = now is not None and any(said.about not in ("", now) for said in read.said)
            own = filled if filled.get("rubric") == name else _earlier(records, person)
            form = Form(rubric, self.offered(name), filled.get("person", person), own) if self.ref(name) else None
            yield Judged(
                outside(name, 120),
                say("changed_texts") if changed else "",
                tuple(voice(said, rubric, say) for said in read.said),
                say("view_needs_texts" if now is None else "view_other_texts"),
                form,
            )

    def _hash(self, rubric: str) -> str | None:
        """Return the hash of the file's texts, as the rubric reads them; None without texts."""
        if self.inputs is None:
            return None
        texts = self.verdicts.rubrics[rubric].texts_of(Case(self.case.id, self.inputs))
        return fingerprint(self.verdicts.run.key, texts)


def _earlier(records: Sequence[Record], person: str) -> dict[str, str]:
    """Return what the person agreed on before, as the form would send it."""
    for record in records:
        if person and record.rater == adjudicator(person) and isinstance(record.outcome, Verdict):
            given = {f"{SCORE}{name}": str(score.value) for name, score in record.outcome.scores.items()}
            return given | {NOTE: str(record.outcome.fields.get(NOTE, ""))}
    return {}
