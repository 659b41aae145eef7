"""The audit trail of a run: each entry says who did something and when, and is chained to the one before by a hash.

An entry that somebody changes, removes or inserts breaks the chain. But whoever can write the file could remove the
last entries or rewrite all of it. So store the last hash, the head, elsewhere: `check` finds it in a whole trail, also
after further entries.

A command that writes records one hash of everything that the run holds, as it found and as it left it, so that changes
by other programs show. Nothing tells who changed what between a command that was killed and the next one.
"""

import hashlib
import hmac
import os
import pwd
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pathway_local.errors import ContentChanged, RunFileError, TrailChanged, UsageError
from pathway_local.runs.database import Database, check_schema, connect, run_file_errors
from pathway_local.runs.record import Stored, to_json
from pathway_local.runs.schema import TABLES
from pathway_local.verdict import Value

BEFORE_ALL = "0" * 64
KEYED = "keyed_sha256"

SHORT = 12

CASE = "--case"
FROM_CASES = ("--between", "--where", CASE)
"""Options that take COLUMN=VALUE, or a case's id; the value can be a student's name."""

LEFT_OUT = "[left out]"

HASHES = FOUND, LEFT = "content found", "content left"
"""The facts of an entry: the hash that a command found, and the hash that it left."""

# Rows per block, hashed by columns: half the time of row by row. Another number would make another hash.
_BLOCK = 256
REMOVED = "ratings removed"
"""The audit trail's event for ratings that were removed; its entry counts them and holds no text."""

PURGE, SPLIT, MERGED = "purge", "split", "merge"
"""The events of a purge, of a split, in the run and in each part, and of a merge."""

_WRITES = ("job begins", "job ends", PURGE, REMOVED, SPLIT, MERGED)

_LAST = "SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1"
_APPEND = "INSERT INTO audit (id, entry, hash) VALUES (?, ?, ?)"
_ALL = "SELECT id, entry, hash FROM audit ORDER BY id"
HINT = "Compare with a copy of the run, and decide whether its scores can still be used."


class TrailEntry(Struct, frozen=True, kw_only=True):
    """One event; `at` is UTC in ISO 8601, `who` has uid, user and host. Number and hash stand beside its JSON."""

    number: int = 0
    at: str
    event: str
    who: dict[str, Any]
    facts: dict[str, Any]
    hash: str = ""


_ENTRY = Stored[TrailEntry](TrailEntry)


class AuditTrail:
    """The trail of an open run."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def append(self, event: str, facts: Mapping[str, Value]) -> None:
        """Add an entry inside `Database.writing`, to be committed with the other changes there."""
        last = self._db.rows(_LAST)
        number, before = (int(last[0][0]) + 1, str(last[0][1])) if last else (1, BEFORE_ALL)
        text = to_json({"at": now(), "event": event, "who": _who(), "facts": dict(facts)})
        self._db.execute(_APPEND, (number, text, _hash(before, number, text)))

    def head(self) -> str:
        """Return the last entry's hash, 64 hex digits; 64 zeros without an entry."""
        rows = self._db.rows(_LAST)
        return str(rows[0][1]) if rows else BEFORE_ALL

    def entries(self) -> list[TrailEntry]:
        """Return all entries, oldest first, whether their hashes are right or not."""
        path = self._db.path
        return [replace(_ENTRY.read(path, text), number=at, hash=end) for at, text, end in self._db.rows(_ALL)]

    def entries_about(self, path: Path, key: bytes) -> list[int]:
        """Return the numbers of the entries that record a file with the content that it has now."""
        keyed = str(file_facts(path, key)[KEYED])
        return [number for number, text, _ in self._db.rows(_ALL) if keyed in text]

    def check(self, head: str | None = None) -> int:
        """Check every hash and find the entry whose hash is `head`; return how many entries follow it.

        Raises TrailChanged, which names the first entry with a wrong hash; UsageError for a `head` that is no hash.
        """
        if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
            raise UsageError(
                "--head takes a whole hash", "Give the 64 characters (0-9, a-f) that `runs audit` printed."
            )
        hashes = [BEFORE_ALL]
        for expected, (number, text, stored) in enumerate(self._db.rows(_ALL), start=1):
            if number != expected:
                raise TrailChanged(f"{self._db.path}: entry {expected} of its audit trail is missing", HINT)
            if _hash(hashes[-1], number, text) != stored:
                raise TrailChanged(f"{self._db.path}: entry {number} of its audit trail was changed", HINT)
            hashes.append(stored)
        if head is None:
            return 0
        if head not in (hashes[1:] or hashes):
            raise TrailChanged(f"{self._db.path}: no entry of its audit trail has the hash {head}", HINT)
        return len(hashes) - 1 - hashes.index(head)


def note(path: Path, event: str, facts: Mapping[str, Value]) -> bool:
    """Add an entry to a run that this process does not hold open; return False if it can't be written.

    If another process is writing to the run, the entry goes between two of its commits.
    """
    try:
        with run_file_errors(path), closing(connect(path, "rw")) as connection:
            check_schema(path, connection)
            db = Database(path, connection, None)
            with db.writing():
                AuditTrail(db).append(event, facts)
    except RunFileError:
        return False
    return True


def content_hash(db: Database) -> str:
    """Return the SHA-256 of the run's content, its key and every column of every table, as 64 hex digits.

    Rows are streamed: a million outcomes take seconds and no memory.
    """
    whole = hashlib.sha256(repr(db.rows("SELECT key, created FROM run")).encode())
    for table in TABLES:
        _add(whole, db, table)
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


def _add(whole: "hashlib._Hash", db: Database, table: str) -> None:
    """Hash a table's rows, numbers as they are and each text with its length before it.

    Texts come as bytes: decoding them takes longer than hashing.
    """
    columns = db.rows("SELECT name, type FROM pragma_table_info(?)", table)
    numbers = [name for name, kind in columns if kind in ("INTEGER", "REAL")]
    texts = [f"CAST({name} AS BLOB)" for name, kind in columns if kind not in ("INTEGER", "REAL")]
    whole.update(repr((table, columns)).encode())
    key = ", ".join(name for (name,) in db.rows("SELECT name FROM pragma_table_info(?) WHERE pk ORDER BY pk", table))
    rows = db.stream(f"SELECT {', '.join([*numbers, *texts])} FROM {table} {_USED.get(table, '')} ORDER BY {key}")
    while block := list(islice(rows, _BLOCK)):
        by_column = list(zip(*block, strict=True))
        told = by_column[len(numbers) :]
        lengths = [[None if text is None else len(text) for text in column] for column in told]
        whole.update(repr((by_column[: len(numbers)], lengths)).encode())
        for column in told:
            whole.update(b"".join(filter(None, column)))


def recorded(command: Sequence[str]) -> list[Value]:
    """Return the command without values from cases, which a purge could not remove from the audit trail."""
    said: list[Value] = []
    for word in command:
        option, sign, value = word.partition("=")
        if said and said[-1] in FROM_CASES:
            said.append(_without_value(str(said[-1]), word))
        elif sign and option in FROM_CASES:
            said.append(f"{option}={_without_value(option, value)}")
        else:
            said.append(word)
    return said


def _without_value(option: str, given: str) -> str:
    column, sign, _ = given.partition("=")
    return LEFT_OUT if option == CASE else f"{column}={LEFT_OUT}" if sign else given


def file_facts(path: Path, key: bytes, sha256: str = "") -> dict[str, Value]:
    """Return a file's name and keyed hash, for an entry about it; give its SHA-256 if you know it.

    The run's `key` makes sure that nobody can tell what was judged by trying files, once a purge has replaced it.
    """
    return {"file": path.name, KEYED: hmac.new(key, (sha256 or sha256_of(path)).encode(), "sha256").hexdigest()}


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def now() -> str:
    """Return the time in UTC, in ISO 8601: to the microsecond, so that a merge tells jobs of one second apart."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _hash(before: str, number: int, text: str) -> str:
    return hashlib.sha256(f"{before}\n{number}\n{text}".encode()).hexdigest()


def _who() -> dict[str, Value]:
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = ""  # only a directory service knows it, which needs a socket
    return {"uid": os.getuid(), "user": user, "host": os.uname().nodename}
