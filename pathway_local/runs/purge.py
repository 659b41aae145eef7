"""Removes ratings, texts, or everything about cases, from a run file: overwritten, not only marked as free."""

import hashlib
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pathway_local.errors import NotKept, UnknownName, UsageError
from pathway_local.rater import LABEL, raters_named
from pathway_local.rubrics.pair import FIELDS
from pathway_local.runs.audit import PURGE, REMOVED, SPLIT, AuditTrail, recorded_change
from pathway_local.runs.database import placeholders
from pathway_local.runs.jobs import WRITTEN
from pathway_local.runs.record import TEXTS_BY_NAME
from pathway_local.runs.run_cases import part_of
from pathway_local.runs.run_file import KEY_BYTES, RunFile, RunKind
from pathway_local.sheets.columns import same_column
from pathway_local.verdict import Value, storable

Notify = Callable[[str], None]

What = Literal["text", "all"]
TEXT: What = "text"

CASES, GONE = "cases", "marks of the cases"
"""Facts of a purge of some cases: how many it removed and, in a run with parts and in a part, a mark of each id."""

# The choices of a comparison are no text.
_IS_TEXT = f"""
    (type NOT IN ('integer', 'real', 'true', 'false') OR NOT (
        key IN {FIELDS}
    ))
"""
_REMOVE_TEXTS = f"""
    UPDATE outcomes SET fields = (
        SELECT json_group_object(key, CASE WHEN type IN ('true', 'false') THEN json(type) ELSE value END)
        FROM json_each(outcomes.fields) WHERE NOT {_IS_TEXT}
    ) WHERE EXISTS (SELECT 1 FROM json_each(outcomes.fields) WHERE {_IS_TEXT})
"""


EVERY_CASE = "SELECT case_id FROM cases UNION SELECT case_id FROM inclusions UNION SELECT case_id FROM handouts"
_OF_CASE = {
    "inclusions": "case_id = ?",
    "handouts": "case_id = ?",
    "outcomes": "case_key = (SELECT key FROM cases WHERE case_id = ?)",
    "cases": "case_id = ?",
}
_COUNTED = ("handouts", "outcomes", "cases")


@contextmanager
def _removing(
    path: Path, event: str, command: Sequence[str], notify: Notify, kind: RunKind | None
) -> Iterator[tuple[RunFile, dict[str, Value]]]:
    """Open a run for a removal; the block fills in the facts of the audit trail's entry about it."""
    with (
        RunFile.open(path, kind) as run,
        run.database.shredding(notify),
        recorded_change(run.database, event, command) as facts,
    ):
        yield run, facts


def purge(path: Path, what: What | Sequence[str], command: Sequence[str], notify: Notify) -> dict[str, int]:
    """Remove texts, everything, or cases by their ids, from the run at `path`; record it and return counts by name.

    "text" removes the texts of raters, in earlier outcomes, too; scores, probabilities, ids and kept metadata stay.
    With "all", only rubrics, raters, jobs without their command lines and the audit trail stay, and the run gets
    a new key, so that nobody can compare its old fingerprints with texts. With ids, everything about these cases goes,
    under every rater and from samples; the audit trail counts them and does not name them; in a run with parts, it has
    marks of their ids, so that no part brings them back. Raises RunLocked if another process has the run open.
    """
    with _removing(path, PURGE, command, notify, None) as (run, facts):
        if what == TEXT:
            counts = {"texts": run.database.change(_REMOVE_TEXTS)}
            facts |= {"removed": TEXT, **counts}
            return counts
        if what == "all":
            counts = {table: run.database.change(f"DELETE FROM {table}") for table in ("samples", *_OF_CASE)}
            run.database.change("UPDATE jobs SET command = '[]'")
            run.database.change("UPDATE run SET key = ?", (secrets.token_bytes(KEY_BYTES),))
            facts["removed"] = "all"
        else:
            counts = {table: _delete(run, table, what) for table in _OF_CASE}
            facts["removed"] = CASES
            if part_of(run) or any(entry.event == SPLIT for entry in AuditTrail(run.database).entries()):
                facts[GONE] = list(marks_of(run, what))
        facts |= {name: counts[name] for name in _COUNTED}
    return {name: counts[name] for name in _COUNTED}


def _delete(run: RunFile, table: str, ids: Sequence[str]) -> int:
    statement = f"DELETE FROM {table} WHERE {_OF_CASE[table]}"
    return sum(run.database.change(statement, (case_id,)) for case_id in ids)


def purged(run: RunFile) -> tuple[str, What] | None:
    """Return when the run's outcomes were last purged, in UTC, and of what; None if never, or judged anew since."""
    for entry in reversed(AuditTrail(run.database).entries()):
        if entry.event == "job begins":
            return None
        if entry.event == PURGE and entry.facts.get("removed") != CASES:
            return entry.at[:16].replace("T", " "), "all" if entry.facts.get("removed") == "all" else "text"
    return None


def holds_texts(run: RunFile) -> bool:
    """Whether the run holds texts of raters, which a purge would remove."""
    query = f"SELECT EXISTS (SELECT 1 FROM outcomes, json_each(outcomes.fields) WHERE {_IS_TEXT})"
    return bool(run.database.rows(query)[0][0])


def choose_cases(run: RunFile, ids: Sequence[str], where: Mapping[str, str]) -> list[str]:
    """Return the ids of the cases with these ids, and of those with these values in kept columns.

    Raises UsageError for an id that the run lacks and if no case has the values, NotKept for a column that it lacks.
    """
    known = dict.fromkeys(case_id for (case_id,) in run.database.rows(EVERY_CASE))
    for number, case_id in enumerate(ids, start=1):
        if case_id not in known:
            raise UsageError(f"{run.path.name} has no case with id {number} of those given", "Check the ids' spelling.")
    rows = run.database.rows("SELECT case_id, metadata FROM cases") if where else []
    cells = [(case_id, TEXTS_BY_NAME.read(run.path, kept)) for case_id, kept in rows]
    columns = list(dict.fromkeys(column for _, kept in cells for column in kept))
    wanted: dict[str, str] = {}
    for column, value in where.items():
        if not (own := same_column(column, columns)):
            raise NotKept(column, columns)
        if own in wanted:
            raise UsageError(f"--where gives {own} twice", "Give each column once.")
        wanted[own] = value
    alike = [id for id, kept in cells if all(kept.get(name) == each for name, each in wanted.items())]
    if where and not alike:
        raise UsageError(f"{run.path.name} has no case with these values", "Check their spelling.")
    return list(dict.fromkeys([*ids, *alike]))


def marks_of(run: RunFile, ids: Collection[str]) -> Iterator[str]:
    """Yield a mark of each id, which only the run's key makes; its parts have the same key."""
    for case_id in ids:
        yield hashlib.blake2b(storable(case_id).encode(), key=run.key, digest_size=12, person=b"purged").hexdigest()


def exported(run: RunFile) -> list[str]:
    """Return the names of files that were written from the run, by its audit trail; a purge does not change them."""
    found = dict[str, None]()
    for entry in AuditTrail(run.database).entries():
        said = entry.facts if entry.event == "export" else entry.facts.get(WRITTEN)
        every = [facts for facts in (said if isinstance(said, list) else [said]) if isinstance(facts, Mapping)]
        files = [str(facts["file"]) for facts in every if facts.get("file")]
        found |= dict.fromkeys([f"{files[0]} … {files[-1]}"] if files and entry.event == SPLIT else files)
    return list(found)


_RATINGS = "SELECT name, COUNT(*) FROM outcomes JOIN raters ON raters.id = rater_id GROUP BY name"


def ratings_of(run: RunFile, name: str) -> dict[str, int]:
    """Count the ratings of a rater, or of all imported together under that name, and of scores combined from theirs.

    Raises UnknownName.
    """
    known = list(dict.fromkeys(rater.name for _, rater in run.raters()))
    if not (found := raters_named(name, known)):
        raise UnknownName("rater", name, known)
    counts = dict(run.database.rows(_RATINGS))
    return {each: counts.get(each, 0) for each in [*found, *_combined(run, found)]}


def remove_rater(path: Path, name: str, command: Sequence[str], notify: Notify) -> dict[str, int]:
    """Remove a rater, or all imported together under that name, with all their ratings under every rubric; count them.

    The label of a judge goes with its last rubric. Raises UnknownName, and RunLocked if another process has the run
    open.
    """
    with _removing(path, REMOVED, command, notify, "") as (run, facts):
        counts = ratings_of(run, name)
        named, raters = f"name IN ({placeholders(counts)})", list(counts)
        run.database.change(f"DELETE FROM outcomes WHERE rater_id IN (SELECT id FROM raters WHERE {named})", raters)
        run.database.change(f"DELETE FROM raters WHERE {named}", raters)
        labels = f"DELETE FROM settings WHERE name LIKE '{LABEL}%'"
        run.database.change(f"{labels} AND name NOT IN (SELECT '{LABEL}' || name FROM raters)")
        facts["removed"] = dict(counts)
    return counts


def _combined(run: RunFile, raters: Collection[str]) -> list[str]:
    """Return the raters whose scores are combined from those of some of these, each once."""
    made = (rater.name for _, rater in run.raters() if rater.name not in raters and {*rater.members} & {*raters})
    return list(dict.fromkeys(made))
