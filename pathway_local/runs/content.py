"""One hash of everything that a run holds: the audit trail keeps it, so that changes by other programs show.

A command that writes records the hash that it found and the hash that it left. Nothing tells who changed what between
a command that was killed and the next one.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from pathway_local.errors import ContentChanged
from pathway_local.runs.audit import HINT, AuditTrail, recorded
from pathway_local.runs.database import Database
from pathway_local.runs.schema import TABLES
from pathway_local.verdict import Value

HASHES = FOUND, LEFT = "content found", "content left"
"""The facts of an entry: the hash that a command found, and the hash that it left."""

# Rows per block, hashed by columns: half the time of row by row. Another number would make another hash.
_BLOCK = 256
REMOVED = "ratings removed"
"""The audit trail's event for ratings that were removed; its entry counts them and holds no text."""

PURGE, SPLIT, MERGED = "purge", "split", "merge"
"""The events of a purge, of a split, in the run and in each part, and of a merge."""

_WRITES = ("job begins", "job ends", PURGE, REMOVED, SPLIT, MERGED)


def content_hash(db: Database) -> str:
    """Return the SHA-256 of the run's content, its key and every column of every table, as 64 hex digits.

    Rows are streamed: a million outcomes take seconds and no memory.
    """
    whole = hashlib.sha256(repr(db.rows("SELECT key, created FROM run")).encode())
    for table, order in TABLES.items():
        _add(whole, db, table, order, _USED.get(table, ""))
    return whole.hexdigest()


@contextmanager
def recorded_change(db: Database, event: str, command: Sequence[str]) -> Iterator[dict[str, Value]]:
    """Record a command's change in the audit trail, inside `writing` or `shredding`; the block fills in the facts."""
    facts: dict[str, Value] = {"command": recorded(command), FOUND: content_hash(db)}
    yield facts
    AuditTrail(db).append(event, facts | {LEFT: content_hash(db)})


def check_content(db: Database) -> None:
    """Check the whole file, and the run's content against its audit trail. Raises RunDamaged, ContentChanged.

    While another process may write, call it within `Database.snapshot`.
    """
    db.check_whole()
    left: Value = None
    number = 0
    for entry in AuditTrail(db).entries():
        if entry.event in _WRITES:
            found = entry.facts.get(FOUND)
            if (found is None and LEFT not in entry.facts) or (left and found and found != left):
                said = f"changed by another program between entries {number} and {entry.number} of its audit trail"
                raise ContentChanged(f"{db.path}: its content was {said}", HINT)
            left, number = entry.facts.get(LEFT), entry.number
    if left and left != content_hash(db):
        raise ContentChanged(f"{db.path}: its content is not that of entry {number} of its audit trail", HINT)


# Raters and rubrics without an outcome are left out: they come, change and go before a job begins.
_USED = {
    "raters": "WHERE id IN (SELECT DISTINCT rater_id FROM outcomes)",
    "rubrics": "WHERE id IN (SELECT rubric_id FROM raters WHERE id IN (SELECT DISTINCT rater_id FROM outcomes))",
}


def _add(whole: "hashlib._Hash", db: Database, table: str, order: str, where: str) -> None:
    """Hash a table's rows, numbers as they are and each text with its length before it.

    Texts come as bytes: decoding them takes longer than hashing.
    """
    columns = db.rows("SELECT name, type FROM pragma_table_info(?)", table)
    numbers = [name for name, kind in columns if kind in ("INTEGER", "REAL")]
    texts = [f"CAST({name} AS BLOB)" for name, kind in columns if kind not in ("INTEGER", "REAL")]
    whole.update(repr((table, columns)).encode())
    rows = db.stream(f"SELECT {', '.join([*numbers, *texts])} FROM {table} {where} ORDER BY {order}")
    while block := list(islice(rows, _BLOCK)):
        by_column = list(zip(*block, strict=True))
        told = by_column[len(numbers) :]
        lengths = [[None if text is None else len(text) for text in column] for column in told]
        whole.update(repr((by_column[: len(numbers)], lengths)).encode())
        for column in told:
            whole.update(b"".join(filter(None, column)))
