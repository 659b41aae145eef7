"""The run, rubric and cases file of a command that hands out cases, or keeps further columns of them."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Self

from pathway_local import __version__
from pathway_local.case import Case, CaseRef, fingerprint
from pathway_local.errors import CasesError, UsageError
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import file_facts
from pathway_local.runs.jobs import WRITTEN
from pathway_local.runs.run_cases import cases_of, remember, remember_kept
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubric_of, store_rubric
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.system.private_file import output_file
from pathway_local.verdict import Value


@dataclass(frozen=True, slots=True)
class Given:
    """The user's options about the cases. A run that does not exist is created and needs a named rubric.

    `read_rubric` reads the rubric's file, `how` has options of `open_sheet`. `pseudonyms` is the key file of the run's
    pseudonyms; a new run creates it if it is missing.
    """

    run: Path
    cases: Path
    read_rubric: Callable[[str], Rubric]
    rubric: str | None = None
    id_column: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    pseudonyms: Path | None = None
    how: Mapping[str, Any] = field(default_factory=dict)


class CasesGiven:
    """The cases of a file that can be judged under a rubric; each iteration reads the file from the start.

    After an iteration, `left_out` counts invalid rows and cases that lack an input. `run` creates the run, and its
    rubric is added together with what a command stores: a command that is refused adds no rubric, job or handout.
    """

    def __init__(self, given: Given, stack: ExitStack) -> None:
        self._given, self._stack = given, stack
        self.left_out = 0
        self._run = stack.enter_context(RunFile.open(given.run)) if given.run.exists() else None
        self.rubric = self._rubric()
        key = Pseudonyms.at(given.pseudonyms, make=self._run is None) if given.pseudonyms else None
        options = given.id_column, given.mapping, key
        self.file: CasesFile = cases_of(given.cases, [self.rubric], self._run, *options, **given.how)

    @classmethod
    @contextmanager
    def open(cls, given: Given) -> Iterator[Self]:
        """Yield the cases, with the run open until the block ends."""
        with ExitStack() as stack:
            yield cls(given, stack)

    def __iter__(self) -> Iterator[Case]:
        self.left_out = 0
        for item in self.file:
            if isinstance(item, Case) and self.rubric.can_read(item):
                yield item
            else:
                self.left_out += 1

    def run(self) -> RunFile:
        """Return the run, open for writing; create it if it does not exist."""
        if self._run is None:
            self._run = self._stack.enter_context(RunFile.create(self._given.run))
        return self._run

    @contextmanager
    def handing_out(
        self, outs: Sequence[Path], command: Sequence[str], facts: Mapping[str, Value], *, force: bool
    ) -> Iterator[tuple[list[BinaryIO], int, dict[str, int]]]:
        """Yield the files `outs` to write to, a new job's id, and the counts with which the block ends the job.

        The files get their names last: a file with ids that the run does not know would be useless.
        """
        run = self.run()
        with ExitStack() as stack:
            files = [stack.enter_context(output_file(out, force=force)) for out in outs]
            stack.enter_context(run.together())
            store_rubric(run, self.rubric)
            job = run.jobs.begin(command, {"pathway_local": __version__, **facts, **self.facts(run)})
            self.remember(run)
            counts: dict[str, int] = {}
            yield files, job, counts
            written: list[Value] = []
            for out, file in zip(outs, files, strict=True):
                written.append(file_facts(out, run.key, _sha256(file)))
            run.jobs.learn(job, {WRITTEN: written})
            run.jobs.end(job, "done", counts)

    def facts(self, run: RunFile) -> dict[str, Value]:
        """Return the facts about the cases file for a job."""
        return {"cases": file_facts(self.file.path, run.key, self.file.sheet.sha256())}

    def remember(self, run: RunFile) -> None:
        """Store how the file's columns were matched, for the next command."""
        remember(run, self.file, self._given.mapping)

    def changed(self) -> CasesError:
        """Return the error for a file that differs between two readings."""
        return CasesError(f"{self.file.path.name} changed while it was being read", "Run the command again.")

    def _rubric(self) -> Rubric:
        name = self._given.rubric
        if self._run is not None and (name is None or name in self._run.rubrics()):
            return rubric_of(self._run, name)
        if name is None:
            raise UsageError("a new run needs a rubric", "Give --rubric NAME; see `pathway-local rubrics list`.")
        return self._given.read_rubric(name)


def _sha256(file: BinaryIO) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


TOGETHER = 1_000
"""Cases that are stored in one step."""

_HASHES = "SELECT case_id, case_hash FROM current"


def keep_columns(
    run: RunFile, cases: CasesFile, columns: Sequence[str], command: Sequence[str]
) -> tuple[tuple[str, ...], int, int]:
    """Store these columns of each of the run's cases that has, in the file, the texts that were judged or rated.

    Return the columns in the file's spelling, how many cases have them now, and how many of the run lack them.
    Raises UnknownName for a column that the file lacks, UsageError for one with inputs or ids.
    """
    names = tuple(dict.fromkeys(map(cases.metadata_column, columns)))
    known: dict[str, set[str]] = {}
    for case_id, case_hash in run.database.stream(_HASHES):
        known.setdefault(case_id, set()).add(case_hash)
    if not known:
        raise UsageError(f"{run.path.name} has no cases yet", "Judge them or import ratings first.")
    count = 0
    with run.together():
        facts = file_facts(cases.path, run.key, cases.sheet.sha256())
        job = run.jobs.begin(command, {"keep": list(names), "cases": facts})
        found = _same(run, cases, known)
        while some := list(islice(found, TOGETHER)):
            run.keep_metadata(some, names)
            count += len(some)
        remember_kept(run, names)
        run.jobs.end(job, "done", {"kept": count})
    return names, count, len(known) - count


def _same(run: RunFile, cases: CasesFile, known: dict[str, set[str]]) -> Iterator[CaseRef]:
    """Yield the cases of the file that have texts which a rater of the run saw."""
    rubrics = list(run.rubrics().values())
    for item in cases:
        if isinstance(item, Case) and item.id in known:
            hashes = {fingerprint(run.key, rubric.texts_of(item)) for rubric in rubrics}
            if hashes & known[item.id]:
                yield item.ref("")
