"""Removes the ratings of a rater, or those of the last import, from a run: overwritten, not only marked as free."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from pathway_local.errors import UnknownName, UsageError
from pathway_local.rater import LABEL, Rater, raters_named
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.content import REMOVED, recorded_change
from pathway_local.runs.database import placeholders
from pathway_local.runs.jobs import Job
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Value

# An outcome with a greater key is a later one. Where a run still has the current one, none is restored.
_RESTORE = """
    UPDATE outcomes SET superseded = 0 WHERE id IN (
        SELECT MAX(id) FROM outcomes WHERE rater_id IN ({0}) GROUP BY case_key, rater_id HAVING MIN(superseded) = 1
    )
"""


@dataclass(frozen=True, slots=True)
class Removed:
    """The ratings by rater that were removed, or will be. `restored` counts earlier ratings that an undo brings back.

    `panels` are made of these raters, so they go, too. An undone import has its file and time.
    """

    ratings: dict[str, int]
    restored: int = 0
    panels: tuple[Rater, ...] = ()
    file: str = ""
    at: str = ""
    job: int = 0

    @property
    def facts(self) -> dict[str, Value]:
        """The facts for the audit trail."""
        told: dict[str, Value] = {"removed": dict(self.ratings)}
        told |= {"panels": [panel.name for panel in self.panels]} if self.panels else {}
        if self.file:
            told |= {"restored": self.restored, "import of": self.file, "at": self.at, "job": self.job}
        return told


def ratings_of(run: RunFile, name: str) -> Removed:
    """Return the ratings of a rater, or of all that were imported together under that name. Raises UnknownName."""
    raters = _named(run, name)
    return Removed(dict.fromkeys(raters, 0) | _count(run, _ids(run, raters)), panels=_panels(run, raters))


def remove_rater(path: Path, name: str, command: Sequence[str]) -> Removed:
    """Remove a rater, or all imported together under that name, with all their ratings under every rubric.

    Raises UnknownName, and RunLocked if another process has the run open.
    """
    with RunFile.open(path) as run:
        raters = _named(run, name)
        removed = ratings_of(run, name)
        ids = _ids(run, [*raters, *(panel.name for panel in removed.panels)])
        with run.database.shredding(), recorded_change(run.database, REMOVED, command) as facts:
            run.database.change(f"DELETE FROM outcomes WHERE rater_id IN ({placeholders(ids)})", ids)
            _forget(run, ids)
            facts |= removed.facts
    return removed


def undo_import(path: Path, command: Sequence[str]) -> Removed:
    """Remove the ratings of the last import, and restore those that it replaced.

    Raters without a rating left go, too. Raises UsageError if no
    import can be undone, and RunLocked if another process has the run open.
    """
    with RunFile.open(path) as run:
        job = _last_import(run)
        counts = _count(run, [id for id, _ in run.raters()], job.id)
        raters, panels = tuple(counts), _panels(run, tuple(counts))
        ids, of_panels = _ids(run, raters), _ids(run, [panel.name for panel in panels])
        file = str(job.fact("import").get("file", ""))
        with run.database.shredding(), recorded_change(run.database, REMOVED, command) as recorded:
            run.database.change("DELETE FROM outcomes WHERE job_id = ?", (job.id,))
            restored = run.database.change(_RESTORE.format(placeholders(ids)), ids)
            run.database.change(f"DELETE FROM outcomes WHERE rater_id IN ({placeholders(of_panels)})", of_panels)
            _forget(run, [*ids, *of_panels])
            removed = Removed(counts, restored, panels, file, job.started, job.id)
            recorded |= removed.facts
    return removed


def standing_jobs(run: RunFile) -> list[Job]:
    """Return the run's jobs, oldest first, without imports that were undone."""
    undone = undone_imports(run)
    return [job for job in run.jobs.all() if job.id not in undone]


def _last_import(run: RunFile) -> Job:
    numbers = {number for (number,) in run.database.rows("SELECT DISTINCT job_id FROM outcomes")}
    imports = [job for job in standing_jobs(run) if job.fact("import")]
    hint = f"Remove raters instead: `pathway-local runs remove-rater {quote(str(run.path))} NAME`."
    if not imports or not numbers:
        raise UsageError(f"{run.path.name} holds no ratings of an import that can be undone", hint)
    if imports[-1].id not in numbers:
        said = "stored no ratings, as the run held them already, or they have gone since"
        raise UsageError(f"the last import, begun {imports[-1].started[:19].replace('T', ' ')} UTC, {said}", hint)
    return imports[-1]


def undone_imports(run: RunFile) -> set[Value]:
    """Return the numbers of the jobs whose imports were undone."""
    return {entry.facts.get("job") for entry in AuditTrail(run.database).entries() if entry.event == REMOVED}


def _named(run: RunFile, name: str) -> tuple[str, ...]:
    known = tuple(dict.fromkeys(rater.name for _, rater in run.raters()))
    found = raters_named(name, known)
    if not found:
        raise UnknownName("rater", name, known)
    return tuple(found)


def _ids(run: RunFile, names: Sequence[str]) -> list[int]:
    return [id for id, rater in run.raters() if rater.name in names]


def _count(run: RunFile, ids: Sequence[int], job: int | None = None) -> dict[str, int]:
    """Count the outcomes of each of these raters who has some, superseded ones too; with `job`, of that import."""
    query = f"""
        SELECT name, COUNT(*) FROM outcomes JOIN raters ON raters.id = rater_id
        WHERE rater_id IN ({placeholders(ids)}) AND (? IS NULL OR job_id = ?) GROUP BY name ORDER BY MIN(raters.id)
    """
    return dict(run.database.rows(query, *ids, job, job))


def _panels(run: RunFile, raters: Sequence[str]) -> tuple[Rater, ...]:
    """Return the panels that have one of these raters as a member, each once."""
    made = (rater for _, rater in run.raters() if rater.name not in raters and set(rater.members) & set(raters))
    return tuple({rater.name: rater for rater in made}.values())


def _forget(run: RunFile, ids: Sequence[int]) -> None:
    """Remove those of these raters who have no ratings any more; the label of a judge goes with its last rubric."""
    rated = "SELECT rater_id FROM outcomes"
    run.database.change(f"DELETE FROM raters WHERE id IN ({placeholders(ids)}) AND id NOT IN ({rated})", ids)
    run.database.change(
        f"DELETE FROM settings WHERE name LIKE '{LABEL}%' AND name NOT IN (SELECT '{LABEL}' || name FROM raters)"
    )
