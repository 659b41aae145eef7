"""Refuses to merge runs if one still holds ratings or texts that were removed from another."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from shlex import quote

from pathway_local.errors import RunFileError
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.content import PURGE, REMOVED
from pathway_local.runs.jobs import Job
from pathway_local.runs.purge import TEXT, holds_texts
from pathway_local.runs.removal import undone_imports
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Value

_RATED = "SELECT DISTINCT COALESCE(job_id, 0), name FROM outcomes JOIN raters ON raters.id = rater_id"


@dataclass(frozen=True, slots=True)
class Removals:
    """The removals from the run at `path`, and its raters by job.

    `raters` has the names in each removal of raters, by the hash of its entry in the audit trail, and `purges` the
    hashes of purges of texts: a copy of a run shares the entries from before it was copied. `undone` are jobs whose
    imports were undone, `purged` is when all texts were removed, in UTC. `of_job` has the raters with outcomes of each
    job.
    """

    path: Path
    raters: Mapping[str, frozenset[str]]
    purges: frozenset[str]
    undone: frozenset[Value]
    purged: str
    of_job: Mapping[int, frozenset[str]]
    has_texts: bool


def removals_of(run: RunFile, jobs: Sequence[Job], purged: str) -> Removals:
    """Return what was removed from a run with these jobs, also before a merge."""
    trail = AuditTrail(run.database)
    entries = [*trail.entries(), *(entry for part in trail.parts() for entry in part.entries)]
    raters = {
        entry.hash: frozenset(names)
        for entry in entries
        if entry.event == REMOVED and "job" not in entry.facts and isinstance(names := entry.facts.get("removed"), dict)
    }
    purges = frozenset(each.hash for each in entries if each.event == PURGE and each.facts.get("removed") == TEXT)
    rated: defaultdict[int, set[str]] = defaultdict(set)
    for job, name in run.database.rows(_RATED):
        rated[job].add(name)
    judged = rated.pop(0, set())  # the outcomes of judges don't name their job
    for job in jobs:
        rated[job.id] |= judged & {name for name, _ in job.judges}
    of_job = {job: frozenset(names) for job, names in rated.items() if names}
    return Removals(run.path, raters, purges, frozenset(undone_imports(run)), purged, of_job, holds_texts(run))


Part = tuple[Removals, Mapping[int, int]]
"""A run to merge, with the merged number of each of its jobs."""


def refuse_removed(runs: Sequence[Part]) -> None:
    """Raise RunFileError if ratings or texts that were removed from one of these runs are still in another."""
    for first, second in permutations(runs, 2):
        one, other = first[0], second[0]
        if names := sorted(_still_held(first, second)):
            said = f"{other.path.name} still holds ratings of {', '.join(names)} that were removed from {one.path.name}"
            hint = "Remove them there, too (`pathway-local runs undo` or `runs remove-rater`), or leave one run out."
            raise RunFileError(said, hint)
        newly, there = one.purges - other.purges, other.purges - one.purges
        copies = not set(first[1].values()).isdisjoint(second[1].values())
        if newly and not there and other.has_texts and (one.purged or copies):  # texts after `there` are new
            said = f"{one.path.name} was purged of texts, and {other.path.name} still holds texts"
            hint = f"Purge it, too: `pathway-local runs purge {quote(str(other.path))} --text`; or leave one run out."
            raise RunFileError(said, hint)


def _still_held(first: Part, second: Part) -> Iterator[str]:
    """Yield the raters whose ratings were removed from the first run and are in the second, a copy of it."""
    (one, jobs), (other, other_jobs) = first, second
    gone = {name for entry in one.raters.keys() - other.raters.keys() for name in one.raters[entry]}
    here = {number: job for job, number in jobs.items()}
    for job, names in other.of_job.items():
        same = here.get(other_jobs.get(job, 0))
        if same is not None:
            yield from names if same in one.undone and job not in other.undone else names & gone
