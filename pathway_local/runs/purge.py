"""Removes texts, or everything about cases, from a run file: overwritten, not only marked as free."""

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.content import FOUND, LEFT, content_hash
from pathway_local.runs.jobs import WRITTEN, recorded
from pathway_local.runs.run_file import KEY_BYTES, RunFile
from pathway_local.verdict import Value

What = Literal["text", "all"]

_TEXT = "UPDATE outcomes SET fields = '{}' WHERE fields <> '{}'"
_ALL = ("inclusions", "samples", "handouts", "outcomes", "cases")


def purge(path: Path, what: What, command: Sequence[str]) -> dict[str, int]:
    """Remove texts or everything from the run at `path` and record it in the audit trail; returns counts by name.

    "text" removes the texts of raters, current and superseded; scores, probabilities, ids and kept metadata stay.
    With "all", only rubrics, raters, jobs without their command lines and the audit trail stay, and the run gets
    a new key, so that nobody can compare its old fingerprints with texts. RunLocked if another process has the run
    open.
    """
    with RunFile.open(path) as run:
        counts = _count(run, what)
        with run.database.shredding():
            found = content_hash(run.database)
            for statement, values in _statements(what):
                run.database.execute(statement, values)
            told: dict[str, Value] = {"command": recorded(command), "removed": what, **counts}
            hashes = {FOUND: found, LEFT: content_hash(run.database)}
            AuditTrail(run.database).append_within("purge", told | hashes)
    return counts


def exported(run: RunFile) -> list[str]:
    """The names of files that were written from the run, by its audit trail; a purge does not change them."""
    said = (
        entry.facts if entry.event == "export" else entry.facts.get(WRITTEN)
        for entry in AuditTrail(run.database).entries()
    )
    files = (facts.get("file") for facts in said if isinstance(facts, Mapping))
    return list(dict.fromkeys(str(file) for file in files if file))


def _statements(what: What) -> list[tuple[str, Sequence[object]]]:
    if what == "text":
        return [(_TEXT, ())]
    emptied: list[tuple[str, Sequence[object]]] = [(f"DELETE FROM {table}", ()) for table in _ALL]
    return [
        *emptied,
        ("UPDATE jobs SET command = '[]'", ()),
        ("UPDATE run SET key = ?", (secrets.token_bytes(KEY_BYTES),)),
    ]


def _count(run: RunFile, what: What) -> dict[str, int]:
    if what == "text":
        return {"texts": int(run.database.rows("SELECT COUNT(*) FROM outcomes WHERE fields <> '{}'")[0][0])}
    return {table: int(run.database.rows(f"SELECT COUNT(*) FROM {table}")[0][0]) for table in _ALL[2:]}
