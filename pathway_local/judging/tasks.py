"""The tasks of a job: judge the cases that have no verdict yet, and judge a random part of them again.

The second time, the rubric's levels stand in the other order and the seed is another. A verdict that keeps its scores
gets the mark HELD, one that does not gets TURNED; its scores stay as they were.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec.structs import replace as changed

from pathway_local.case import BadRow, Case, CaseRef, fingerprint
from pathway_local.errors import RunFileError, UsageError
from pathway_local.judging.level_order import reordered
from pathway_local.judging.loop import LocalRater, Tally, Texts
from pathway_local.judging.planned_rater import PlannedRater
from pathway_local.judging.reply_reading import drawn_scores
from pathway_local.rubrics.pair import FIELDS
from pathway_local.runs.record import CaseOutcome, Record
from pathway_local.runs.run_cases import rows_are_ids
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import HELD, TURNED, Value, Verdict, storable


@dataclass(slots=True)
class FirstVerdicts:
    """All cases but those that the raters have judged with the same texts.

    `source` is the name of the cases file, `keep` names the metadata columns that the run keeps, None all of them.
    Without `texts` a verdict is stored as its scores and marks alone. If the cases are not the `whole` file, failures
    on bad rows that are not among them stay.
    """

    run: RunFile
    source: str
    keep: Collection[str] | None = ()
    texts: bool = True
    whole: bool = True
    tally: Tally = field(default_factory=Tally)
    _bad_rows: set[str] = field(default_factory=set)

    def to_judge(self, rater: LocalRater, batch: Sequence[Case | BadRow]) -> list[tuple[CaseRef, Texts]]:
        """Return the cases of a batch that the rater has not judged, with the texts that its rubric reads."""
        known = self.run.judged(rater.id, [row.id for row in batch])
        unjudged: list[tuple[CaseRef, Texts]] = []
        skipped: list[CaseRef] = []
        bad = [row for row in batch if isinstance(row, BadRow)]
        for row in batch:
            if isinstance(row, BadRow):
                continue
            texts = rater.writer.rubric.texts_of(row)
            case = row.ref(fingerprint(self.run.key, texts))
            if known.get(case.id) == case.hash:
                skipped.append(case)
                continue
            if case.id in known:
                _refuse_moved(self.run, case)
                self.tally.rejudged += 1
            unjudged.append((case, texts))
        self.run.keep_metadata(skipped, self.keep)
        self.tally.skipped += len(skipped)
        self._bad_rows.update(row.id for row in bad)
        self.store(rater.id, [CaseOutcome(row.ref, row.failure) for row in bad])
        return unjudged

    def store(self, rater_id: int, outcomes: Sequence[CaseOutcome]) -> None:
        """Store a rater's outcomes and count them."""
        if not self.texts:
            outcomes = [_without_texts(each) for each in outcomes]
        if outcomes:
            self.run.put_all(rater_id, outcomes, keep=self.keep)
        for each in outcomes:
            self.tally.count(each)

    def end(self, raters: Sequence[LocalRater]) -> None:
        """Forget failures on bad rows that the file no longer has."""
        for rater in raters if self.whole else ():
            self.run.forget_bad_rows(rater.id, self.source, self._bad_rows)


def _refuse_moved(run: RunFile, case: CaseRef) -> None:
    if rows_are_ids(run):
        said = f"row {case.row} of the cases file has other texts than when it was judged"
        raise RunFileError(said, "Rows that move need ids: name their column with --id, and start another run file.")


def _without_texts(found: CaseOutcome) -> CaseOutcome:
    if isinstance(found.outcome, Verdict):
        fields = {**drawn_scores(found.outcome), **_choices(found.outcome.fields)}
        return changed(found, outcome=changed(found.outcome, fields=fields))
    return found


def _choices(fields: Mapping[str, Value]) -> dict[str, Value]:
    """Return what a comparison of two responses chose in each order, which is no text."""
    return {name: value for name, value in fields.items() if name in FIELDS and not isinstance(value, str)}


def second_look(planned: PlannedRater) -> PlannedRater:
    """Return the rater with another seed, and with the rubric's levels in the other order if its prompt lists them.

    Raises UsageError if neither would change anything.
    """
    rubric, sampling = reordered(planned.rubric), planned.settings.sampling
    if rubric is None and sampling.temperature == 0:
        said = f"--double-check: the prompt of {planned.rubric.name} does not list its levels one below the other"
        raise UsageError(said, "At temperature 0 another seed changes nothing: give --temperature, or leave it out.")
    settings = planned.settings.model_copy(update={"sampling": sampling.seeded(sampling.seed + 1)})
    return replace(planned, rubric=rubric or planned.rubric, settings=settings)


def is_drawn(case_id: str, share: float) -> bool:
    """Whether a case is in this random part: by its id alone, so that a larger part contains a smaller one."""
    digest = hashlib.blake2b(storable(case_id).encode(), key=b"double-check", digest_size=8).digest()
    return int.from_bytes(digest) < share * 2**64


@dataclass(slots=True)
class DoubleCheck:
    """The task of a second look: a `share` of the verdicts that the raters have; it stores only the marks.

    `keep` names the metadata columns that the run keeps, None all of them.
    """

    run: RunFile
    share: float
    keep: Collection[str] | None = ()
    tally: Tally = field(default_factory=Tally)
    _first: dict[tuple[int, str], Record] = field(default_factory=dict)

    def to_judge(self, rater: LocalRater, batch: Sequence[Case | BadRow]) -> list[tuple[CaseRef, Texts]]:
        """Return the drawn cases of a batch whose verdict is on the same texts and has not been checked."""
        drawn = {row.id: row for row in batch if isinstance(row, Case) and is_drawn(row.id, self.share)}
        own = dict(self.run.raters())[rater.id]
        known = {storable(name): name for name in drawn}
        chosen: list[tuple[CaseRef, Texts]] = []
        for record in list(self.run.records(own.name, own.rubric, list(known))) if drawn else ():
            case = drawn[known[record.case_id]]
            texts = rater.writer.rubric.texts_of(case)
            ref = case.ref(fingerprint(self.run.key, texts))
            verdict = record.outcome
            if isinstance(verdict, Verdict) and record.case_hash == ref.hash and not {HELD, TURNED} & {*verdict.marks}:
                self._first[rater.id, case.id] = record
                chosen.append((ref, texts))
        return chosen

    def store(self, rater_id: int, outcomes: Sequence[CaseOutcome]) -> None:
        """Store the first verdicts with the marks of the second ones."""
        marked = []
        for second in outcomes:
            self.tally.count(second)
            first = self._first.pop((rater_id, second.case.id))
            if isinstance(first.outcome, Verdict) and isinstance(second.outcome, Verdict):
                mark = HELD if _values(first.outcome) == _values(second.outcome) else TURNED
                verdict = changed(first.outcome, marks=(*first.outcome.marks, mark))
                marked.append(CaseOutcome(second.case, verdict, first.tokens + second.tokens))
        self.run.put_all(rater_id, marked, keep=self.keep)

    def end(self, raters: Sequence[LocalRater]) -> None:
        """Nothing is left to do."""


def _values(verdict: Verdict) -> dict[str, object]:
    return {name: score.value for name, score in verdict.scores.items()}
