"""Judges a random part of the verdicts again, with the rubric's levels in the other order and another seed.

A verdict that keeps its scores gets the mark HELD, one that does not gets TURNED; its scores stay as they were.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from msgspec.structs import replace as changed

from pathway_local.case import BadRow, Case, CaseRef, fingerprint
from pathway_local.errors import UsageError
from pathway_local.judging.loop import LocalRater, Tally, Texts
from pathway_local.judging.planned_rater import PlannedRater
from pathway_local.probes.drawing import reordered
from pathway_local.runs.record import CaseOutcome, Record
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import HELD, TURNED, Verdict, storable


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
