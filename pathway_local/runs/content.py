"""One hash of everything that a run holds: the audit trail keeps it, so that changes by other programs show.

A command that writes records the hash that it found and the hash that it left, and each time whether the rows still had
the sum that was committed with them (`row_sum`). The sum covers what no hash does: the rows that a killed command
left, and changes while a command runs.
"""

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pathway_local.errors import ContentChanged
from pathway_local.runs.audit import HINT, MERGED, AuditTrail, recorded
from pathway_local.runs.database import Database
from pathway_local.runs.row_sum import computed_sum, stored_sum
from pathway_local.verdict import Value

HASHES = FOUND, LEFT, SUM, KEY_FOUND, KEY_LEFT = (
    "content found",
    "content left",
    "rows as committed",
    "key found",
    "key left",
)
"""The facts of an entry: the hash that a command found, the hash that it left, whether the rows had their sum, and
marks of the run's key, which no hash of the content covers: with another key, all texts would seem changed."""

EARLIER_FOUND, EARLIER_LEFT = "found", "left"
"""The same in earlier releases, which did not hash settings and jobs and kept no sum."""

# Rows per block, hashed by columns: half the time of row by row. Another number would make another hash.
_BLOCK = 256
REMOVED = "ratings removed"
"""The audit trail's event for ratings that were removed; its entry counts them and holds no text."""

PURGE = "purge"
"""The event of a purge."""

_WRITES = ("job begins", "job ends", PURGE, REMOVED, MERGED)
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Table:
    """The rows and columns of a table that are hashed, in the order of a key that no file's layout changes."""

    name: str
    key: str
    numbers: tuple[str, ...]
    texts: tuple[str, ...]

    def query(self, where: str = "") -> str:
        """Return a query for numbers as they are, and texts as bytes: decoding them takes longer than hashing."""
        columns = [*self.numbers, *(f"CAST({name} AS BLOB)" for name in self.texts)]
        return f"SELECT {', '.join(columns)} FROM {self.name} {where} ORDER BY {self.key}"


_OUTCOMES = _Table(
    "outcomes",
    "id",
    ("rater_id", "id", "case_key", "superseded", "prompt_tokens", "cached_tokens", "generated_tokens"),
    ("case_hash", "scores", "fields", "marks", "failure_kind", "failure_message"),
)
# Raters and rubrics without an outcome are left out: they come, change and go before a job begins.
_RATERS = _Table("raters", "id", ("rubric_id", "id"), ("name", "kind", "fingerprint", "spec"))
_RUBRICS = _Table("rubrics", "id", ("id",), ("name", "sha256", "text", "compiled"))
_OTHERS = (
    _Table("cases", "key", ("key", "row", "numbered"), ("case_id", "metadata", "kinds")),
    _Table("samples", "id", ("id", "rubric_id", "seed", "cases", "drawn"), ("strata",)),
    _Table(
        "inclusions",
        "sample_id, case_id",
        ("sample_id", "row", "numbered", "probability", "drawn"),
        ("case_id", "case_hash", "stratum"),
    ),
    _Table(
        "handouts",
        "custom_id",
        ("rubric_id", "row", "numbered"),
        ("custom_id", "rubric_sha256", "case_id", "case_hash", "recipient", "echoes"),
    ),
)
_SINCE = (
    _Table("settings", "name", (), ("name", "value")),
    _Table("jobs", "id", ("id",), ("command", "facts", "started", "ended", "status", "counts")),
)
"""Tables that earlier releases did not hash."""


def content_hash(db: Database, *, earlier: bool = False) -> str:
    """Return the SHA-256 of the run's content as 64 hex digits; with `earlier`, without the tables of `_SINCE`.

    Rows are streamed: a million outcomes take seconds and no memory.
    """
    whole = hashlib.sha256()
    raters = _add(whole, db, _OUTCOMES)
    rubrics = _add(whole, db, _RATERS, _among(raters))
    _add(whole, db, _RUBRICS, _among(rubrics))
    for table in _OTHERS if earlier else (*_OTHERS, *_SINCE):
        _add(whole, db, table)
    return whole.hexdigest()


def found_facts(db: Database) -> dict[str, Value]:
    """Return the facts about the content for the entry of a command that begins to write, inside `Database.writing`."""
    last = next((entry.facts for entry in reversed(AuditTrail(db).entries()) if entry.event in _WRITES), {})
    facts: dict[str, Value] = {FOUND: content_hash(db), KEY_FOUND: _key_mark(db)}
    if facts[FOUND] != last.get(LEFT):  # else nothing happened since, and the sum of a million rows takes half a minute
        facts |= _sum_facts(db)
    if EARLIER_LEFT in last:
        facts[EARLIER_FOUND] = content_hash(db, earlier=True)
    # An earlier release kept no sum; a wrong one is reported for good by this entry, and need not be by all later ones.
    if facts.get(SUM) is False or stored_sum(db.stream) is None:
        db.execute("UPDATE run SET state = ?", (computed_sum(db.stream),))
    return facts


def left_facts(db: Database) -> dict[str, Value]:
    """Return the facts about the content for the entry of a command that has written, inside `Database.writing`."""
    return {LEFT: content_hash(db), KEY_LEFT: _key_mark(db), **_sum_facts(db)}


@contextmanager
def recorded_change(db: Database, event: str, command: Sequence[str]) -> Iterator[dict[str, Value]]:
    """Record a command's change in the audit trail, inside `writing` or `shredding`; the block fills in the facts."""
    found = found_facts(db)
    facts: dict[str, Value] = {"command": recorded(command)}
    yield facts
    AuditTrail(db).append_within(event, facts | left_facts(db) | found)


def check_content(db: Database) -> str:
    """Check the run's content against its audit trail; return which times nothing covers, "" if all are covered.

    Raises ContentChanged. While another process may write, call it within `Database.snapshot`.
    """
    before: Mapping[str, Value] = {}
    number, gaps = 0, []
    for entry in AuditTrail(db).entries():
        if entry.event not in _WRITES:
            continue
        checks = _checks(before, entry.facts)
        if not all(checks) or not _same_key(before, entry.facts):
            said = f"changed by another program between entries {number} and {entry.number} of its audit trail"
            raise ContentChanged(f"{db.path}: its content was {said}", HINT)
        began_empty = not number and EARLIER_FOUND in entry.facts
        if not checks and entry.event != "job ends" and not began_empty:
            gaps.append(f"between entries {number} and {entry.number}" if number else f"before entry {entry.number}")
        before, number = entry.facts, entry.number
    hashed = {name: content_hash(db, earlier=name == EARLIER_LEFT) for name in before if name in (LEFT, EARLIER_LEFT)}
    checks = _checks(before, {FOUND: hashed.get(LEFT), EARLIER_FOUND: hashed.get(EARLIER_LEFT), **_sum_facts(db)})
    if not all(checks) or not _same_key(before, {KEY_FOUND: _key_mark(db)}):
        raise ContentChanged(f"{db.path}: its content is not that of entry {number} of its audit trail", HINT)
    if not checks:
        gaps.append(f"after entry {number}")
    more = f", and {len(gaps) - _SHOWN} more times" if len(gaps) > _SHOWN else ""
    return f"no hash covers changes {', '.join(gaps[:_SHOWN])}{more}" if gaps else ""


def _checks(before: Mapping[str, Value], now: Mapping[str, Value]) -> list[bool]:
    """Return whether each hash found is the one left before, and whether the rows had their sum, if entries say so."""
    pairs = [(now.get(FOUND), before.get(LEFT)), (now.get(EARLIER_FOUND), before.get(EARLIER_LEFT))]
    return [found == left for found, left in pairs if found and left] + ([now[SUM] is True] if SUM in now else [])


def _same_key(before: Mapping[str, Value], now: Mapping[str, Value]) -> bool:
    """Whether the key found is the one left before; entries may lack it. Only a purge replaces it."""
    left = before.get(KEY_LEFT, before.get(KEY_FOUND))
    return left is None or now.get(KEY_FOUND) in (None, left)


def _key_mark(db: Database) -> str:
    [(key, created)] = db.rows("SELECT key, created FROM run")
    return hmac.new(key, created.encode(), "sha256").hexdigest()


def _sum_facts(db: Database) -> dict[str, Value]:
    kept = stored_sum(db.stream)
    return {} if kept is None else {SUM: kept == computed_sum(db.stream)}


def _add(whole: "hashlib._Hash", db: Database, table: _Table, where: str = "") -> set[Any]:
    """Hash a table's rows, with the length of each text before it; return the values of the first column."""
    firsts: set[Any] = set()
    count = len(table.numbers)
    whole.update(table.name.encode())
    rows = db.stream(table.query(where))
    while block := list(islice(rows, _BLOCK)):
        columns = list(zip(*block, strict=True))
        numbers, texts = columns[:count], columns[count:]
        lengths = [[None if text is None else len(text) for text in column] for column in texts]
        whole.update(repr((numbers, lengths)).encode())
        for column in texts:
            whole.update(b"".join(filter(None, column)))
        firsts.update(columns[0])
    return firsts


def _among(ids: set[int]) -> str:
    return f"WHERE id IN ({', '.join(str(int(each)) for each in sorted(ids))})"
