"""Tells which cases a rater has still to judge, and stores outcomes; counts both."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from pathway_local.case import BadRow, Case, CaseRef, fingerprint
from pathway_local.errors import RunFileError
from pathway_local.rubrics.pair import FIELDS
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import CaseOutcome
from pathway_local.runs.run_cases import rows_are_ids
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import NO_TOKENS, Failure, Tokens, Verdict

Texts = Mapping[str, str]
"""A case's texts by input."""


@dataclass(slots=True)
class Tally:
    """Counts what a job has done. Cases are counted once per rubric; tokens are those of this job."""

    judged: int = 0
    skipped: int = 0
    rejudged: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    tokens: Tokens = NO_TOKENS

    @property
    def done(self) -> int:
        """Return the number of cases with an outcome, those of earlier jobs included."""
        return self.judged + self.skipped + self.failures.total()

    def count(self, stored: CaseOutcome) -> None:
        """Add an outcome that was stored."""
        self.tokens += stored.tokens
        if isinstance(stored.outcome, Failure):
            self.failures[stored.outcome.kind] += 1
        else:
            self.judged += 1


@dataclass(slots=True)
class Recorder:
    """All cases but those that a rater has judged with the same texts are left to judge.

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

    def to_judge(self, rater_id: int, rubric: Rubric, batch: Sequence[Case | BadRow]) -> list[tuple[CaseRef, Texts]]:
        """Return the cases of a batch that the rater has not judged, with the texts that its rubric reads."""
        known = self.run.judged(rater_id, [row.id for row in batch])
        unjudged: list[tuple[CaseRef, Texts]] = []
        skipped: list[CaseRef] = []
        bad = [row for row in batch if isinstance(row, BadRow)]
        for row in batch:
            if isinstance(row, BadRow):
                continue
            texts = rubric.texts_of(row)
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
        self.store(rater_id, [CaseOutcome(row.ref, row.failure) for row in bad])
        return unjudged

    def store(self, rater_id: int, outcomes: Sequence[CaseOutcome]) -> None:
        """Store a rater's outcomes and count them."""
        if not self.texts:
            outcomes = [_without_texts(each) for each in outcomes]
        if outcomes:
            self.run.put_all(rater_id, outcomes, keep=self.keep)
        for each in outcomes:
            self.tally.count(each)

    def end(self, rater_ids: Sequence[int]) -> None:
        """Forget failures on bad rows that the file no longer has."""
        for rater_id in rater_ids if self.whole else ():
            self.run.forget_bad_rows(rater_id, self.source, self._bad_rows)


def _refuse_moved(run: RunFile, case: CaseRef) -> None:
    if rows_are_ids(run):
        said = f"row {case.row} of the cases file has other texts than when it was judged"
        raise RunFileError(said, "Rows that move need ids: name their column with --id, and start another run file.")


def _without_texts(found: CaseOutcome) -> CaseOutcome:
    """Keep of a verdict's fields what a comparison of two responses chose in each order, which is no text."""
    if not isinstance(found.outcome, Verdict):
        return found
    kept = {k: value for k, value in found.outcome.fields.items() if k in FIELDS and not isinstance(value, str)}
    return replace(found, outcome=replace(found.outcome, fields=kept))
