"""A run: one file with everything a scoring job produced, and no text of a case.

Tables and values meet here; `migrations` holds the schema, `database` the file that it lives in.
"""

import hashlib
import json
import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pathway_local.case import Case
from pathway_local.database import (
    WriterLock,
    connect_reader,
    connect_writer,
    create,
    damaged,
    explained,
    prepare_writing,
)
from pathway_local.errors import RaterChanged, RunFileError, UnknownName
from pathway_local.migrations import MIGRATIONS, migrate, schema_version
from pathway_local.rater import Rater
from pathway_local.verdict import Failure, Outcome, Score, Value, Verdict

COMMIT_SECONDS = 0.5
IDS_PER_QUERY = 5_000
CHECKED_BYTES = 32 << 20
KEY_BYTES = 32

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_SURROGATE = re.compile("[\ud800-\udfff]")

_SUPERSEDE = """
    UPDATE outcomes SET superseded = 1
    WHERE case_key = ? AND rater_id = ? AND superseded = 0 AND failure_kind IS NULL AND (case_hash <> ? OR ?)
"""
_PUT = """
    INSERT OR REPLACE INTO outcomes (
        case_key, rater_id, case_hash, scores, fields, marks, failure_kind, failure_message,
        prompt_tokens, cached_tokens, generated_tokens
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_JUDGED = """
    SELECT case_id, case_hash FROM cases JOIN outcomes ON case_key = key
    WHERE rater_id = ? AND superseded = 0 AND failure_kind IS NULL AND case_id IN ({})
"""
# CROSS JOIN fixes the order of the loops: rows come by an index, so nothing is sorted or held in memory.
_RECORDS = """
    SELECT case_id, row, numbered, metadata, rater_id, scores, fields, marks, failure_kind, failure_message,
        case_hash, prompt_tokens, cached_tokens, generated_tokens
    FROM cases CROSS JOIN outcomes ON case_key = key
    WHERE superseded = 0 AND rater_id IN ({}) ORDER BY row, key, rater_id
"""


@dataclass(frozen=True, slots=True)
class Record:
    """One stored outcome: whose, of which case, and what it took."""

    case_id: str
    row: int
    numbered: bool
    metadata: Mapping[str, str]
    rater: str
    rubric: str
    outcome: Outcome
    case_hash: str
    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int


@dataclass(frozen=True, slots=True)
class Job:
    """One command that wrote to the run; times are UTC in ISO 8601.

    `ended`, `status` and `counts` are None while it runs, and for ever if it was killed.
    """

    id: int
    command: tuple[str, ...]
    facts: Mapping[str, Value]
    started: str
    ended: str | None
    status: str | None
    counts: Mapping[str, int] | None


class RunFile:
    """A run file, open for one writer (`create`, `open`) or a reader (`read`).

    A writer commits by itself at least once a second, from a thread of its own when nothing else is put; a
    process that is killed loses what came after the last commit and nothing else. Lone surrogates, which no
    file can hold as UTF-8, are stored as U+FFFD.

    Errors, from any method: RunLocked, RunDamaged, RunFileError (no space, no permission, a failing disk).
    After one that undid uncommitted outcomes the writer repeats it instead of going on.
    """

    key: bytes
    """32 random bytes made with the file, for `case.fingerprint`."""

    numbered: bool | None
    """Whether this run's case ids are row numbers; None before the first case."""

    def __init__(self, path: Path, db: sqlite3.Connection, lock: WriterLock | None) -> None:
        """Not for callers: `create`, `open` and `read` make one."""
        self.path = path
        self._db = db
        self._lock = lock
        self._mutex = threading.Lock()
        self._broken: RunFileError | None = None
        self._due = 0.0
        self._closed = threading.Event()
        self.key = self._read_key()
        first = self._rows("SELECT numbered FROM cases LIMIT 1")
        self.numbered = bool(first[0][0]) if first else None
        self._committer = threading.Thread(target=self._commit_on_time, name="run-file-commits", daemon=True)
        if lock:
            self._committer.start()

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Self:
        """Make a new run, 0600, and open it for writing. RunFileError where something has that name already."""
        path = Path(path)
        try:
            with explained(path), closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
                migrate(db)
                db.execute("INSERT INTO run VALUES (?, ?)", (secrets.token_bytes(KEY_BYTES), _now()))
                create(path, db.serialize())
        except FileExistsError:
            raise RunFileError(f"{path}: a file of that name exists already", "Name another run file.") from None
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open an existing run for writing, bringing an older schema up to date."""
        path = Path(path)
        with explained(path), ExitStack() as undo:
            _need_file(path)
            lock = WriterLock(path)
            undo.callback(lock.release)
            db = connect_writer(path)
            undo.callback(db.close)
            _check(path, db)
            migrate(db)
            prepare_writing(db)
            run = cls(path, db, lock)
            undo.pop_all()
        return run

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Open an existing run for reading, also while another process writes to it.

        A run of an older schema is brought up to date first, which takes permission to write.
        """
        path = Path(path)
        with explained(path), ExitStack() as undo:
            _need_file(path)
            db = connect_reader(path)
            undo.callback(db.close)
            _check(path, db)
            if schema_version(db) < len(MIGRATIONS):
                cls.open(path).close()
            run = cls(path, db, None)
            undo.pop_all()
        return run

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Commit what was put, close the file and let the next writer in. A second call does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        with ExitStack() as last:
            if self._lock:
                self._committer.join()
                last.callback(self._lock.release)
            last.callback(self._db.close)
            self.commit()

    def commit(self) -> None:
        """Put what is not yet committed on the disk, now."""
        if self._broken or self._db.in_transaction:
            with self._writing(commit=True):
                pass

    def add_rubric(self, name: str, text: str) -> str:
        """Keep a rubric's text whole and give its SHA-256 as hex digits.

        RaterChanged where verdicts were given under another text of that name.
        """
        sha256 = _sha256(text)
        with self._writing(commit=True):
            known = self._rows("SELECT id, sha256 FROM rubrics WHERE name = ?", name)
            if known and known[0][1] != sha256:
                self._forget_unused("rubric_id", known[0][0])
                if self._rows("SELECT 1 FROM raters WHERE rubric_id = ?", known[0][0]):
                    was = f"its SHA-256 was {known[0][1][:12]}, now {sha256[:12]}"
                    raise self._changed(f"under another text of the rubric {name!r}: {was}")
                self._db.execute("UPDATE rubrics SET sha256 = ?, text = ? WHERE name = ?", (sha256, text, name))
            elif not known:
                self._db.execute("INSERT INTO rubrics (name, sha256, text) VALUES (?, ?, ?)", (name, sha256, text))
        return sha256

    def rubrics(self) -> dict[str, str]:
        """The texts of the run's rubrics by name, in the order they came."""
        rows = self._rows("SELECT name, text, sha256 FROM rubrics ORDER BY id")
        if any(_sha256(text) != sha256 for _, text, sha256 in rows):
            raise damaged(self.path, "the text of a rubric in it is not what was stored")
        return {name: text for name, text, _ in rows}

    def add_rater(self, rater: Rater) -> int:
        """The id of a rater, new or as stored.

        UnknownName where its rubric was not added; RaterChanged, naming what differs, where outcomes of another
        rater of that name and rubric are stored.
        """
        with self._writing(commit=True):
            rubric_id = {name: id for id, name in self._rows("SELECT id, name FROM rubrics")}
            if rater.rubric not in rubric_id:
                raise UnknownName("rubric", rater.rubric, rubric_id)
            known = self._known(rater)
            if known and (known[1].kind, known[1].fingerprint) != (rater.kind, rater.fingerprint):
                self._forget_unused("id", known[0])
                if self._known(rater):
                    what = known[1].differences(rater)
                    raise self._changed(f"of another {rater.name!r} under {rater.rubric!r}: {what}")
                known = None
            if known:
                return known[0]
            columns = (rater.name, rater.kind, rubric_id[rater.rubric], rater.fingerprint, _json(dict(rater.spec)))
            added = self._db.execute(
                "INSERT INTO raters (name, kind, rubric_id, fingerprint, spec) VALUES (?, ?, ?, ?, ?)", columns
            )
            return int(added.lastrowid or 0)

    def raters(self) -> list[tuple[int, Rater]]:
        """Each rater with its id, in the order they came."""
        query = """
            SELECT raters.id, raters.name, kind, rubrics.name, spec
            FROM raters JOIN rubrics ON rubrics.id = rubric_id ORDER BY raters.id
        """
        with self._decoding():
            return [
                (id, Rater(name, kind, rubric, json.loads(spec))) for id, name, kind, rubric, spec in self._rows(query)
            ]

    def judged(self, rater_id: int, case_ids: Sequence[str]) -> dict[str, str]:
        """The case hash of each of these cases that has a verdict; a failure is none, it is tried again."""
        asked = {_storable(case_id): case_id for case_id in case_ids}
        stored = list(asked)
        found: dict[str, str] = {}
        for start in range(0, len(stored), IDS_PER_QUERY):
            part = stored[start : start + IDS_PER_QUERY]
            for case_id, case_hash in self._rows(_JUDGED.format(_marks(part)), rater_id, *part):
                found[asked[case_id]] = case_hash
        return found

    def put(
        self,
        rater_id: int,
        case: Case,
        case_hash: str,
        outcome: Outcome,
        *,
        keep: Collection[str] | None = (),
        prompt_tokens: int = 0,
        cached_tokens: int = 0,
        generated_tokens: int = 0,
    ) -> None:
        """Store the rater's one current outcome of a case, with the metadata columns named in `keep` (None: all).

        It takes the place of the one before. A verdict stays in the file as superseded where the case's texts
        changed or a failure takes its place. Probabilities keep seven digits, which is what float32 holds.
        RunFileError where row-number ids and explicit ids would mix; ValueError for a number that is not finite.
        """
        columns = _outcome_columns(outcome)
        with self._writing():
            key = self._store_case(case, keep)
            if key is None:
                key = self._add_case(case, keep)
            self._db.execute(_SUPERSEDE, (key, rater_id, case_hash, isinstance(outcome, Failure)))
            tokens = (prompt_tokens, cached_tokens, generated_tokens)
            self._db.execute(_PUT, (key, rater_id, case_hash, *columns, *tokens))

    def keep_metadata(self, cases: Iterable[Case], keep: Collection[str] | None) -> None:
        """Fill in the metadata columns named in `keep` (None: all) and the row of cases that the run has.

        Give only cases whose texts match: with row-number ids another case may have the id by now.
        """
        for case in cases:
            with self._writing():
                self._store_case(case, keep)

    def records(self, rater: str | None = None, rubric: str | None = None) -> Iterator[Record]:
        """The current outcomes in the order of the cases file, one case's raters in the order they came.

        Streamed: a reader sees the run as it was at the first record; a writer must not put meanwhile.
        UnknownName for a rater or a rubric that the run does not have.
        """
        raters = self.raters()
        for kind, name, known in (
            ("rater", rater, [each.name for _, each in raters]),
            ("rubric", rubric, [each.rubric for _, each in raters]),
        ):
            if name is not None and name not in known:
                raise UnknownName(kind, name, dict.fromkeys(known))
        return self._stream({i: r for i, r in raters if rater in (None, r.name) and rubric in (None, r.rubric)})

    def begin_job(self, command: Sequence[str], facts: Mapping[str, Value]) -> int:
        """Note that a command starts to write, with the facts for the manifest; gives its id for `end_job`."""
        with self._writing(commit=True):
            row = (_json(list(command)), _json(dict(facts)), _now())
            added = self._db.execute("INSERT INTO jobs (command, facts, started) VALUES (?, ?, ?)", row)
            return int(added.lastrowid or 0)

    def end_job(self, job_id: int, status: str, counts: Mapping[str, int]) -> None:
        """Note how a command ended."""
        with self._writing(commit=True):
            row = (_now(), status, _json(dict(counts)), job_id)
            self._db.execute("UPDATE jobs SET ended = ?, status = ?, counts = ? WHERE id = ?", row)

    def jobs(self) -> list[Job]:
        """Every command that wrote to the run, oldest first."""
        query = "SELECT id, command, facts, started, ended, status, counts FROM jobs ORDER BY id"
        with self._decoding():
            return [
                Job(
                    id,
                    tuple(json.loads(command)),
                    json.loads(facts),
                    started,
                    ended,
                    status,
                    counts and json.loads(counts),
                )
                for id, command, facts, started, ended, status, counts in self._rows(query)
            ]

    def get_setting(self, name: str) -> Value:
        """A stored JSON value; None where nothing is stored under that name."""
        rows = self._rows("SELECT value FROM settings WHERE name = ?", name)
        with self._decoding():
            value: Value = json.loads(rows[0][0]) if rows else None
        return value

    def set_setting(self, name: str, value: Value) -> None:
        """Store a small JSON value under a name, in place of the one before."""
        with self._writing(commit=True):
            self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, _json(value)))

    @contextmanager
    def _writing(self, *, commit: bool = False) -> Iterator[None]:
        """One change inside the open transaction, which ends here if asked to or if it is due."""
        with self._mutex:
            if self._broken:
                raise self._broken
            try:
                with explained(self.path):
                    if not self._db.in_transaction:
                        self._db.execute("BEGIN IMMEDIATE")
                    yield
                    if commit or time.monotonic() >= self._due:
                        self._db.execute("COMMIT")
                        self._due = time.monotonic() + COMMIT_SECONDS
            except RunFileError as error:
                # Rolled back, and with it outcomes that the caller takes for stored.
                if not self._db.in_transaction:
                    self._broken = error
                raise

    def _commit_on_time(self) -> None:
        while not self._closed.wait(COMMIT_SECONDS):
            # The caller meets the same error at the next put, or at the latest in close.
            with suppress(RunFileError):
                self.commit()

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise damaged(self.path, "something stored in it can't be read") from None

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with explained(self.path):
            return self._db.execute(query, values).fetchall()

    def _stream(self, raters: Mapping[int, Rater]) -> Iterator[Record]:
        with explained(self.path), self._decoding():
            for row in self._db.execute(_RECORDS.format(_marks(raters)), tuple(raters)):
                case_id, position, numbered, metadata, rater_id, *stored = row
                rater = raters[rater_id]
                outcome = _outcome(*stored[:5])
                names = (rater.name, rater.rubric)
                yield Record(case_id, position, bool(numbered), json.loads(metadata), *names, outcome, *stored[5:])


...
