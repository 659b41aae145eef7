"""One of the runs that `merge` joins: the facts by which it fits the others, checked against its audit trail."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pathway_local.errors import RaterChanged, RunFileError, UsageError
from pathway_local.rater import Rater
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.content import check_content
from pathway_local.runs.jobs import Job
from pathway_local.runs.purge import purged
from pathway_local.runs.run_cases import PSEUDONYMS, SETTING, remembered_columns, remembered_pairing, rows_are_ids
from pathway_local.runs.run_file import RunFile, StoredRubric
from pathway_local.runs.taken_back import Removals, removals_of
from pathway_local.system.private_file import WriterLock
from pathway_local.verdict import Value

Notify = Callable[[str], None]
RaterKey = tuple[str, str]
"""A rater's name and its rubric."""


@dataclass(frozen=True, slots=True)
class MergePart:
    """A run to join; `head` is its audit trail's."""

    path: Path
    key: bytes
    head: str
    entries: int
    numbered: bool | None
    rubrics: Mapping[str, StoredRubric]
    raters: Sequence[tuple[int, Rater]]
    settings: Mapping[str, Value]
    columns: Mapping[str, str]
    jobs: Sequence[Job]
    removals: Removals

    @property
    def judges(self) -> set[RaterKey]:
        """The local judges."""
        return {(each.name, each.rubric) for _, each in self.raters if each.kind == "judge"}


@contextmanager
def opened(path: Path) -> Iterator[RunFile]:
    """Open a run for reading while nobody may write to it. Raises RunLocked if another process does."""
    with ExitStack() as stack:
        if os.access(path, os.W_OK):
            stack.callback(WriterLock(path).release)
        yield stack.enter_context(RunFile.read(path))


def look(path: Path, notify: Notify) -> MergePart:
    """Return the facts of a run, checked. Raises RunFileError, and UsageError if everything was purged."""
    with opened(path) as run:
        trail = AuditTrail(run.database)
        trail.check()
        check_content(run.database)
        removed = purged(run)
        if removed and removed[1] == "all":
            raise UsageError(f"{path} has nothing to merge: it was purged at {removed[0]} UTC", "Leave it out.")
        jobs = run.jobs.all()
        last = next((job for job in reversed(jobs) if job.judges), None)
        if last and last.status != "done":
            how = f"{last.status} before its end" if last.status else "killed"
            notify(f"{path.name}: the last command that judged was {how}, so cases may be missing")
        return MergePart(
            path,
            run.key,
            trail.head(),
            len(trail.entries()),
            rows_are_ids(run),
            run.rubrics(),
            run.raters(),
            run.settings(),
            _columns(run),
            jobs,
            removals_of(run, jobs, removed[0] if removed else ""),
        )


def _columns(run: RunFile) -> dict[str, str]:
    """Return in words what the run remembers of its cases file, with the column for each."""
    mapping, id_column = remembered_columns(run)
    if run.get_setting(SETTING) is None:
        return {}
    own = {"the ids": id_column or "", "the pairs": remembered_pairing(run)}
    return own | {f"the input {name}": column for name, column in mapping.items()}


def versions_that_differ(parts: Sequence[MergePart]) -> str:
    """Return in words which programs judged in different versions, which may round differently; "" if none."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for job in (job for part in parts for job in part.jobs if job.judges):
        for name, version in {"pathway-local": job.facts.get("pathway_local"), **job.fact("packages")}.items():
            found[name][str(version)] = None
    return "; ".join(f"{name} {', '.join(versions)}" for name, versions in found.items() if len(versions) > 1)


def raters_of(parts: Sequence[MergePart]) -> dict[RaterKey, Rater]:
    """Return all raters of these runs. Raises RaterChanged, or RunFileError, with the first difference between two."""
    for first, part in ((one, other) for place, other in enumerate(parts) for one in parts[:place]):
        _refuse_different(first, part)
    found: dict[RaterKey, Rater] = {}
    for part in parts:
        for _, rater in part.raters:
            known = found.setdefault((rater.name, rater.rubric), rater).completed(rater)
            if (known.kind, known.fingerprint) != (rater.kind, rater.completed(known).fingerprint):
                said = f"{part.path.name}: {rater.name!r} under {rater.rubric!r} is another rater than in earlier runs"
                raise RaterChanged(f"{said}: {known.differences(rater)}", "Only runs of the same raters can be merged.")
            found[rater.name, rater.rubric] = known
    return found


def _refuse_different(first: MergePart, part: MergePart) -> None:
    names = f"{first.path.name} and {part.path.name}"
    for rubric in first.rubrics.keys() & part.rubrics.keys():
        if first.rubrics[rubric] != part.rubrics[rubric]:
            raise RaterChanged(f"{names} have different texts of the rubric {rubric!r}", "Leave one out.")
    for mine, other in ((first, part), (part, first)):
        for name, rubric in sorted(mine.judges - other.judges) if other.judges else ():
            said = f"{other.path.name} lacks the judge {name!r} under {rubric!r}, which {mine.path.name} has"
            raise RaterChanged(said, "Judge with it there, too, or take it out with `pathway-local runs remove-rater`.")
    if None not in (first.numbered, part.numbered):
        if first.numbered != part.numbered:
            raise RunFileError(f"{names}: row numbers are the ids in one of them", "Leave one out.")
        if first.settings.get(PSEUDONYMS) != part.settings.get(PSEUDONYMS):
            raise RunFileError(f"{names}: the ids are not pseudonyms of one key", "Leave one out.")
    for what in first.columns.keys() & part.columns.keys():
        if first.columns[what] != part.columns[what]:
            raise RunFileError(f"{names} have different columns of {what}", "Leave one out.")
