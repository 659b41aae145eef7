"""One hash of everything that a run holds: the audit trail keeps it, so that changes by other programs show.

A command that writes records the hash that it found and the hash that it left, and each time whether the rows still had
the sum that was committed with them (`schema`). The sum covers what no hash does: the rows that a killed command
left, and changes while a command runs.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

from pathway_local.errors import ContentChanged
from pathway_local.runs.audit import HINT, AuditTrail, recorded
from pathway_local.runs.database import Database
from pathway_local.runs.schema import KEY, TABLES, computed_sum, stored_sum
from pathway_local.verdict import Value

HASHES = FOUND, LEFT, SUM = "content found", "content left", "rows as committed"
"""The facts of an entry: the hash that a command found, the hash that it left, and whether the rows had their sum."""

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
    whole = hashlib.sha256(repr(db.rows(f"SELECT {KEY} FROM run")).encode())
    for table, order in TABLES.items():
        _add(whole, db, table, order, _USED.get(table, ""))
    return whole.hexdigest()


def found_facts(db: Database) -> dict[str, Value]:
    """Return the facts about the content for the entry of a command that begins to write, inside `Database.writing`."""
    last = next((entry.facts for entry in reversed(AuditTrail(db).entries()) if entry.event in _WRITES), {})
    facts: dict[str, Value] = {FOUND: content_hash(db)}
    if facts[FOUND] != last.get(LEFT):  # else nothing happened since, and the sum of a million rows takes half a minute
        facts[SUM] = _as_summed(db)
    if facts.get(SUM) is False:  # this entry reports it for good; later ones need not do so again
        db.execute("UPDATE run SET state = ?", (computed_sum(db.stream),))
    return facts


def left_facts(db: Database) -> dict[str, Value]:
    """Return the facts about the content for the entry of a command that has written, inside `Database.writing`."""
    return {LEFT: content_hash(db), SUM: _as_summed(db)}


@contextmanager
def recorded_change(db: Database, event: str, command: Sequence[str]) -> Iterator[dict[str, Value]]:
    """Record a command's change in the audit trail, inside `writing` or `shredding`; the block fills in the facts."""
    found = found_facts(db)
    facts: dict[str, Value] = {"command": recorded(command)}
    yield facts
    AuditTrail(db).append(event, facts | left_facts(db) | found)


def check_content(db: Database) -> None:
    """Check the run's content against its audit trail. Raises ContentChanged.

    While another process may write, call it within `Database.snapshot`.
    """
    before: Mapping[str, Value] = {}
    number = 0
    for entry in AuditTrail(db).entries():
        if entry.event in _WRITES:
            if not _follows(before, entry.facts):
                said = f"changed by another program between entries {number} and {entry.number} of its audit trail"
                raise ContentChanged(f"{db.path}: its content was {said}", HINT)
            before, number = entry.facts, entry.number
    if not _follows(before, {FOUND: content_hash(db), SUM: _as_summed(db)}):
        raise ContentChanged(f"{db.path}: its content is not that of entry {number} of its audit trail", HINT)


def _follows(before: Mapping[str, Value], now: Mapping[str, Value]) -> bool:
    """Whether an entry found what the one before left, by the hash or the sum. An entry without either was forged."""
    found, left = now.get(FOUND), before.get(LEFT)
    hashed = found is not None and left is not None
    checks = [found == left] if hashed else []
    if SUM in now:
        checks.append(now[SUM] is True)
    return bool(checks) and all(checks)


def _as_summed(db: Database) -> bool:
    """Whether the rows have the sum that was committed with them."""
    return stored_sum(db.stream) == computed_sum(db.stream)


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
