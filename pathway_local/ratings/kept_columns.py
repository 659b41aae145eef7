"""Keeps columns of a cases file in a run whose cases were judged or rated before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pathway_local.case import Case, CaseRef, fingerprint
from pathway_local.errors import UsageError
from pathway_local.runs.audit import file_facts
from pathway_local.runs.run_cases import remember_kept
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.sheets.cases_file import CasesFile

TOGETHER = 1_000
"""Cases that are stored in one step."""

_HASHES = "SELECT case_id, case_hash FROM outcomes JOIN cases ON key = case_key WHERE superseded = 0"


@dataclass(frozen=True, slots=True)
class Kept:
    """The columns in the file's spelling, how many cases have them now, and how many of the run lack them."""

    columns: tuple[str, ...]
    cases: int
    missing: int


def keep_columns(run: RunFile, cases: CasesFile, columns: Sequence[str], command: Sequence[str]) -> Kept:
    """Store these columns of each of the run's cases that has, in the file, the texts that were judged or rated.

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
        facts = file_facts(cases.path, run.key, cases.sha256())
        job = run.jobs.begin(command, {"keep": list(names), "cases": facts})
        found = _same(run, cases, known)
        while some := list(islice(found, TOGETHER)):
            run.keep_metadata(some, names)
            count += len(some)
        remember_kept(run, names)
        run.jobs.end(job, "done", {"kept": count})
    return Kept(names, count, len(known) - count)


def _same(run: RunFile, cases: CasesFile, known: dict[str, set[str]]) -> Iterator[CaseRef]:
    """Yield the cases of the file that have texts which a rater of the run saw."""
    rubrics = list(rubrics_of(run).values())
    for item in cases:
        if isinstance(item, Case) and item.id in known:
            hashes = {fingerprint(run.key, rubric.texts_of(item)) for rubric in rubrics}
            if hashes & known[item.id]:
                yield item.ref("")
