"""The audit trail of a run: each entry says who did something and when, and is chained to the one before by a hash.

An entry that somebody changes, removes or inserts breaks the chain. But whoever can write the file could remove the
last entries or rewrite all of it. So store the last hash, the head, elsewhere: `check` finds it in a whole trail, also
after further entries.
"""

import hashlib
import hmac
import os
import pwd
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pathway_local.errors import RunFileError, TrailChanged, UsageError
from pathway_local.runs.database import Database, check_schema, connect
from pathway_local.runs.file_errors import run_file_errors
from pathway_local.runs.record import Stored, to_json
from pathway_local.verdict import Value

BEFORE_ALL = "0" * 64
KEYED = "keyed_sha256"

SHORT = 12

CASE = "--case"
FROM_CASES = ("--between", "--where", CASE)
"""Options that take COLUMN=VALUE, or a case's id; the value can be a student's name."""

LEFT_OUT = "[left out]"

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
