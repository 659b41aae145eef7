"""The audit trail of a run: each entry says who did something and when, and is chained to the one before by a hash.

An entry that somebody changes, removes or inserts breaks the chain. But whoever can write the file could remove the
last entries or rewrite all of it. So store the last hash, the head, elsewhere: `check` finds it in a whole trail, also
after further entries.

A merged run begins a trail of its own. Its entry about a merge names the head of each part's trail, and the file keeps
those trails as they were: so each part's chain can still be checked, and the merged run's chain covers it.
"""

import hashlib
import hmac
import json
import os
import pwd
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pathway_local.errors import RunFileError, TrailChanged
from pathway_local.runs.database import Database, check_schema, connect
from pathway_local.runs.file_errors import decoding, run_file_errors
from pathway_local.runs.stored_outcome import to_json
from pathway_local.verdict import Value

BEFORE_ALL = "0" * 64
KEYED = "keyed_sha256"
MERGED, PARTS = "merge", "parts"
"""The event of joining runs, and the name of its fact: each run's file, the head of its trail, and its entries."""

SHORT = 12

FROM_CASES = ("--only", "--between")
"""Options that take COLUMN=VALUE; the value can be a student's name."""

LEFT_OUT = "[left out]"

_LAST = "SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1"
_APPEND = "INSERT INTO audit (id, entry, hash) VALUES (?, ?, ?)"
_OWN = "SELECT id, entry, hash FROM audit ORDER BY id"
_OF_PART = "SELECT id, entry, hash FROM merged_audit WHERE head = ? ORDER BY id"
_ADD_PARTS = "INSERT OR IGNORE INTO merged_audit VALUES (?, ?, ?, ?)"
HINT = "Compare with a copy of the run, and decide whether its scores can still be used."


@dataclass(frozen=True, slots=True)
class TrailEntry:
    """One event; `at` is UTC in ISO 8601, `who` has uid, user and host."""

    number: int
    at: str
    event: str
    who: Mapping[str, Value]
    facts: Mapping[str, Value]
    hash: str


@dataclass(frozen=True, slots=True)
class MergedTrail:
    """The trail of a run that was merged into another; `head` is its last hash."""

    file: str
    head: str
    entries: list[TrailEntry]


class AuditTrail:
    """The trail of an open run."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def append(self, event: str, facts: Mapping[str, Value]) -> None:
        """Add an entry and commit it."""
        with self._db.writing(commit=True):
            self.append_within(event, facts)

    def append_within(self, event: str, facts: Mapping[str, Value]) -> None:
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
        return self._entries(self._rows())

    def parts(self) -> list[MergedTrail]:
        """Return the trails of the runs that were merged into this one, and into those; each once."""
        found: dict[str, MergedTrail] = {}
        todo = self.entries()
        for entry in todo:  # it grows: a part may be a merged run
            named = entry.facts.get(PARTS) if entry.event == MERGED else None
            for part in named if isinstance(named, list) else []:
                head = str(part.get("head")) if isinstance(part, dict) else ""
                if isinstance(part, dict) and head not in found:
                    found[head] = MergedTrail(str(part.get("file")), head, self._entries(self._rows(head)))
                    todo += found[head].entries
        return list(found.values())

    def add_part(self, other: "AuditTrail") -> None:
        """Keep the trail of another run, with those that it keeps, inside `Database.writing`."""
        self._db.execute_all(_ADD_PARTS, [(other.head(), *row) for row in other._rows()])
        self._db.execute_all(_ADD_PARTS, other._db.rows("SELECT * FROM merged_audit"))

    def entries_about(self, path: Path, key: bytes) -> list[int]:
        """Return the numbers of the entries that record a file with the content that it has now."""
        keyed = str(file_facts(path, key)[KEYED])
        return [number for number, text, _ in self._rows() if keyed in text]

    def check(self, head: str = "") -> int:
        """Check every hash and find the entry whose hash is or begins with `head`; return how many entries follow it.

        The trails of merged runs are checked, too; the entries that follow one of theirs are those in the same trail.
        Raises TrailChanged, which names the first entry with a wrong hash.
        """
        chains = [self._checked(self._rows(), "its audit trail")]
        for part in self.parts():
            said = f"the audit trail of {part.file}, which was merged into it,"
            chains.append(self._checked(self._rows(part.head), said))
            if chains[-1][-1] != part.head:
                raise TrailChanged(f"{self._db.path}: {said} lacks entries", HINT)
        since: dict[str, int] = {}
        for chain in chains:  # those of copies begin alike
            for at, each in enumerate(chain):
                since.setdefault(each, len(chain) - 1 - at)
        found = [each for each in since if each.startswith(head)]
        if head and (len(found) != 1 or len(head) < SHORT):
            raise TrailChanged(f"{self._db.path}: no entry of its audit trail has the hash {head}", HINT)
        return since[found[0]] if head else 0

    def _checked(self, rows: list[tuple[Any, ...]], which: str) -> list[str]:
        """Return the hashes of a whole chain, the one before all first. Raises TrailChanged."""
        hashes = [BEFORE_ALL]
        for expected, (number, text, stored) in enumerate(rows, start=1):
            if number != expected:
                raise TrailChanged(f"{self._db.path}: entry {expected} of {which} is missing", HINT)
            if _hash(hashes[-1], number, text) != stored:
                raise TrailChanged(f"{self._db.path}: entry {number} of {which} was changed", HINT)
            hashes.append(stored)
        return hashes

    def _entries(self, rows: list[tuple[Any, ...]]) -> list[TrailEntry]:
        with decoding(self._db.path):
            told = [(number, json.loads(text), stored) for number, text, stored in rows]
            return [TrailEntry(n, e["at"], e["event"], e["who"], e["facts"], stored) for n, e, stored in told]

    def _rows(self, head: str = "") -> list[tuple[Any, ...]]:
        """Return the rows of this trail, or of the merged run's whose trail has this head."""
        return self._db.rows(_OF_PART, head) if head else self._db.rows(_OWN)


def note(path: Path, event: str, facts: Mapping[str, Value]) -> bool:
    """Add an entry to a run that this process does not hold open; return False if it can't be written.

    If another process is writing to the run, the entry goes between two of its commits.
    """
    try:
        with run_file_errors(path), closing(connect(path, "rw")) as connection:
            check_schema(path, connection)
            AuditTrail(Database(path, connection, None)).append(event, facts)
    except RunFileError:
        return False
    return True


def recorded(command: Sequence[str]) -> list[Value]:
    """Return the command without values from cases, which a purge could not remove from the audit trail."""
    said: list[Value] = []
    for word in command:
        option, sign, value = word.partition("=")
        if said and said[-1] in FROM_CASES:
            said.append(_without_value(word))
        elif sign and option in FROM_CASES:
            said.append(f"{option}={_without_value(value)}")
        else:
            said.append(word)
    return said


def _without_value(given: str) -> str:
    column, sign, _ = given.partition("=")
    return f"{column}={LEFT_OUT}" if sign else given


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
    """Return the time in UTC, to the second, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _hash(before: str, number: int, text: str) -> str:
    return hashlib.sha256(f"{before}\n{number}\n{text}".encode()).hexdigest()


def _who() -> dict[str, Value]:
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = ""  # only a directory service knows it, which needs a socket
    return {"uid": os.getuid(), "user": user, "host": os.uname().nodename}
