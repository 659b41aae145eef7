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
from pathway_local.runs.run_file import RunFile

_RATED = "SELECT DISTINCT COALESCE(job_id, 0), name FROM outcomes JOIN raters ON raters.id = rater_id"


@dataclass(frozen=True, slots=True)
class Removals:
    """What was removed from a run, and what it holds.

    `raters` has the names in each removal of raters, by the hash of its entry in the audit trail, and `purges` the
    hashes of purges of texts: a copy of a run shares the entries from before it was copied. `of_job` has the raters
    with outcomes of each job.
    """

    raters: Mapping[str, frozenset[str]]
    purges: frozenset[str]
    of_job: Mapping[int, frozenset[str]]
    has_texts: bool


def removals_of(run: RunFile, jobs: Sequence[Job]) -> Removals:
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
    return Removals(raters, purges, of_job, holds_texts(run))


@dataclass(frozen=True, slots=True)
class Holding:
    """A run to merge: `jobs` has the merged number of each of its jobs, `undone` are jobs whose imports were undone.

    `purged` is whether its texts are.
    """

    path: Path
    removals: Removals
    jobs: Mapping[int, int]
    undone: frozenset[object]
    purged: bool


def refuse_removed(runs: Sequence[Holding]) -> None:
    """Raise RunFileError if ratings or texts that were removed from one of these runs are still in another."""
    for one, other in permutations(runs, 2):
        if names := sorted(_still_held(one, other)):
            said = f"{other.path.name} still holds ratings of {', '.join(names)} that were removed from {one.path.name}"
            hint = "Remove them there, too (`pathway-local runs undo` or `runs remove-rater`), or leave one run out."
            raise RunFileError(said, hint)
        newly, there = one.removals.purges - other.removals.purges, other.removals.purges - one.removals.purges
        copies = not set(one.jobs.values()).isdisjoint(other.jobs.values())
        if newly and not there and other.removals.has_texts and (one.purged or copies):  # texts after `there` are new
            said = f"{one.path.name} was purged of texts, and {other.path.name} still holds texts"
            hint = f"Purge it, too: `pathway-local purge {quote(str(other.path))} --text`; or leave one run out."
            raise RunFileError(said, hint)


def _still_held(one: Holding, other: Holding) -> Iterator[str]:
    """Yield the raters whose ratings were removed from `one` and are in `other`, a copy of it."""
    gone: set[str] = set()
    for entry in one.removals.raters.keys() - other.removals.raters.keys():
        gone |= one.removals.raters[entry]
    here = {number: job for job, number in one.jobs.items()}
    for job, names in other.removals.of_job.items():
        same = here.get(other.jobs.get(job, 0))
        if same is not None:
            yield from names if same in one.undone and job not in other.undone else names & gone
