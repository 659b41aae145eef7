"""Removes texts, or everything about cases, from a run file: overwritten, not only marked as free."""

import secrets
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from pathway_local.rubrics.pair import FIELDS, SWAPPED
from pathway_local.runs.audit import MERGED, AuditTrail
from pathway_local.runs.content import PURGE, recorded_change
from pathway_local.runs.jobs import WRITTEN
from pathway_local.runs.run_file import KEY_BYTES, RunFile
from pathway_local.verdict import DRAW, MEAN, SPREAD

What = Literal["text", "all"]
TEXT: What = "text"

PURGED = "purged"
"""The fact of a merge: when texts of a part's raters were purged, in UTC."""

_ALL = ("inclusions", "samples", "handouts", "outcomes", "cases")

# Some fields are scores: those of samples, the choices of a comparison, and a panel's mean and spread.
_IS_TEXT = f"""
    (type NOT IN ('integer', 'real', 'true', 'false') OR NOT (
        key IN {FIELDS} OR key GLOB '*{MEAN}' OR key GLOB '*{SPREAD}'
        OR key GLOB '{DRAW}[0-9]*.*' OR key GLOB '{SWAPPED}{DRAW}[0-9]*.*'
    ))
"""
_REMOVE_TEXTS = f"""
    UPDATE outcomes SET fields = (
        SELECT json_group_object(key, CASE WHEN type IN ('true', 'false') THEN json(type) ELSE value END)
        FROM json_each(outcomes.fields) WHERE NOT {_IS_TEXT}
    ) WHERE EXISTS (SELECT 1 FROM json_each(outcomes.fields) WHERE {_IS_TEXT})
"""


def purge(path: Path, what: What, command: Sequence[str]) -> dict[str, int]:
    """Remove texts or everything from the run at `path` and record it in the audit trail; return counts by name.

    "text" removes the texts of raters, current and superseded; scores, probabilities, ids and kept metadata stay.
    With "all", only rubrics, raters, jobs without their command lines and the audit trail stay, and the run gets
    a new key, so that nobody can compare its old fingerprints with texts. Raises RunLocked if another process has the
    run open.
    """
    with (
        RunFile.open(path, None) as run,
        run.database.shredding(),
        recorded_change(run.database, PURGE, command) as facts,
    ):
        if what == "text":
            counts = {"texts": run.database.change(_REMOVE_TEXTS)}
        else:
            removed = {table: run.database.change(f"DELETE FROM {table}") for table in _ALL}
            counts = {table: removed[table] for table in ("handouts", "outcomes", "cases")}
            run.database.execute("UPDATE jobs SET command = '[]'", ())
            run.database.execute("UPDATE run SET key = ?", (secrets.token_bytes(KEY_BYTES),))
        facts |= {"removed": what, **counts}
    return counts


def purged(run: RunFile) -> tuple[str, What] | None:
    """Return when the run's outcomes were last purged, in UTC, and of what; None if never, or judged anew since."""
    for entry in reversed(AuditTrail(run.database).entries()):
        if entry.event == "job begins":
            return None
        if entry.event == PURGE:
            return entry.at[:16].replace("T", " "), "all" if entry.facts.get("removed") == "all" else "text"
        if entry.event == MERGED and (at := entry.facts.get(PURGED)):
            return str(at), "text"
    return None


def holds_texts(run: RunFile) -> bool:
    """Whether the run holds texts of raters, which a purge would remove."""
    query = f"SELECT EXISTS (SELECT 1 FROM outcomes, json_each(outcomes.fields) WHERE {_IS_TEXT})"
    return bool(run.database.rows(query)[0][0])


def exported(run: RunFile) -> list[str]:
    """Return the names of files that were written from the run, by its audit trail; a purge does not change them."""
    said: list[object] = []
    trail = AuditTrail(run.database)
    for entry in chain(trail.entries(), *(part.entries for part in trail.parts())):
        written = entry.facts if entry.event == "export" else entry.facts.get(WRITTEN)
        said += written if isinstance(written, list) else [written]  # of an earlier release, one file alone
    files = (facts.get("file") for facts in said if isinstance(facts, Mapping))
    return list(dict.fromkeys(str(file) for file in files if file))
