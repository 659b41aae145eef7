"""What a run must hold: the model in memory that random histories are compared with."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Outcome, Verdict

CASES = [f"pupil-{letter}" for letter in "abcde"]
EMPTY = 3
"""The version of a case's texts that has no answer, so that it can't be judged."""

Key = tuple[str, str]
"""Rater and case."""


@dataclass
class World:
    """Files, and what the run must hold: each rater's outcome of a case, and the version of the texts that it saw.

    `texts`: whether `judge` stores what it writes.
    """

    folder: Path
    texts: bool
    versions: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CASES[:3], 0))
    broken_line: bool = False
    outcomes: dict[Key, Outcome] = field(default_factory=dict)
    seen: dict[Key, int] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)
    batches: list[dict[str, str]] = field(default_factory=list)
    """Cases by random id, of the batch files and rating sheets that the run knows."""

    words: set[str] = field(default_factory=set)
    """What raters wrote since the last purge."""

    @property
    def run(self) -> Path:
        return self.folder / "may.run"

    def question(self, case: str) -> str:
        return f"What does {case} ask in version {self.versions[case]}?"

    def answer(self, case: str) -> str:
        return "" if self.versions[case] == EMPTY else f"The answer {self.versions[case]} for {case}."

    def write_cases(self) -> None:
        rows = [{"id": case, "question": self.question(case), "answer": self.answer(case)} for case in self.versions]
        lines = [json.dumps(row) for row in rows] + ["{broken"] * self.broken_line
        (self.folder / "cases.jsonl").write_text("".join(f"{line}\n" for line in lines))
        (self.folder / "cases.jsonl").chmod(0o600)

    def records(self) -> dict[Key, Record]:
        """What the run holds; each rater has at most one outcome of a case."""
        if not self.run.exists():
            return {}
        with RunFile.read(self.run) as run:
            records = list(run.records())
        found = {(record.rater, record.case_id): record for record in records}
        assert len(found) == len(records), "an outcome is there twice"
        return found

    def found(self) -> dict[Key, Outcome]:
        """The outcomes that the run holds."""
        return {key: record.outcome for key, record in self.records().items()}

    def raters(self) -> set[str]:
        """The raters that the run knows, also those without an outcome."""
        with RunFile.read(self.run) as run:
            return {rater.name for _, rater in run.raters()}

    def import_jobs(self) -> int:
        """How many imports the run has recorded."""
        with RunFile.read(self.run) as run:
            return sum("import" in job.facts for job in run.jobs.all())

    def line(self) -> str:
        """The id of the broken line."""
        return f"cases.jsonl line {len(self.versions) + 1}"

    def bytes(self) -> bytes:
        """All that lies in the files of the run."""
        return b"".join(path.read_bytes() for path in self.folder.glob("may.run*"))


def texts_of(world: World) -> Iterator[str]:
    for case in world.versions:
        yield world.question(case)
        if world.answer(case):
            yield world.answer(case)


def was_stored(before: Record | None, after: Record) -> bool:
    """Whether an import stored a rating of a case, and did not find it in the run already."""
    return before is None or isinstance(before.outcome, Failure) or before.case_hash != after.case_hash


def score_of(outcome: Outcome) -> int | None:
    return outcome.scores["score"].value if isinstance(outcome, Verdict) and "score" in outcome.scores else None


def words_in(outcomes: Iterable[Outcome]) -> set[str]:
    return {
        value
        for outcome in outcomes
        if isinstance(outcome, Verdict)
        for value in outcome.fields.values()
        if isinstance(value, str) and value
    }


def without_words(outcome: Outcome) -> Outcome:
    return Verdict(outcome.scores, {}, outcome.marks) if isinstance(outcome, Verdict) else outcome
