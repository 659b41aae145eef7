"""Opens a run's SQLite file: one writer, whose changes are on the disk once they are made, and many readers.

Errors of SQLite and of the system reach the caller in a user's words.
"""

import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import Any, Self

from pathway_local.errors import RunDamaged, RunFileError, RunLocked
from pathway_local.runs.schema import FORM, schema_form, strangers
from pathway_local.system.private_file import LOCKED_HINT, WriterLock

BUSY_SECONDS = 10.0
CACHE_KIB = 65536
CHECKED_BYTES = 32 << 20
"""A larger file is checked as a whole by `check_whole` alone: that takes minutes."""

STEPS_BETWEEN_SIGNALS = 1_000_000
BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database while it is in use."""

SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""The end of a journal that names another file, which SQLite would delete."""

IDS_PER_QUERY = 5_000
AMONG = "case_key IN (SELECT key FROM cases WHERE case_id IN ({}))"
"""The condition by which a query of `current` finds the outcomes of some cases, for `rows_among`."""

_ENTRIES = "SELECT COUNT(*) FROM audit"
TYPES = ("integer", "real", "text", "blob")


_DAMAGED = (
    "Put a copy back (first remove the -wal, -shm and -journal files beside it), or start a new run under another "
    "name; `sqlite3 FILE .recover` may save the undamaged part."
)


class run_file_errors:
    """Turns errors of SQLite and the system into RunFileErrors, which name `path` and never quote stored text."""

    # A class, since every outcome enters it, and a generator takes three times as long.
    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to prepare, so one object serves many times."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # `from None`: SQLite's message for text that is not UTF-8 quotes the text.
        if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.ProgrammingError):
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
            if code == sqlite3.SQLITE_INTERRUPT:  # only a signal that came while the statement ran does this
                raise KeyboardInterrupt from None
            raise _from_sqlite(self._path, code) from None
        if isinstance(error, UnicodeDecodeError):  # SQLite's message quotes a name of the schema that is not UTF-8
            raise _from_sqlite(self._path, sqlite3.SQLITE_CORRUPT) from None
        if isinstance(error, OSError):
            raise _from_system(self._path, error.errno) from None


def _from_sqlite(path: Path, code: int) -> RunFileError:
    match code & 0xFF:  # the higher bits only tell variants apart
        case sqlite3.SQLITE_FULL:
            return _from_system(path, errno.ENOSPC)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return RunLocked(f"{path}: another process writes to it", LOCKED_HINT)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return _from_system(path, errno.EACCES)
        case sqlite3.SQLITE_IOERR:
            return _from_system(path, errno.EIO)
        case sqlite3.SQLITE_NOTADB:
            hint = f"Name the run that `judge` wrote; its name usually ends in .run. {_DAMAGED}"
            return RunDamaged(f"{path}: it is not a run file, or its beginning is damaged", hint)
        case _:
            return damaged(path, "the run file is damaged")


_DISK = "Check the disk's health, its free space and your quota, then run the same command again."
_FULL = ("no space is left on its disk", "Free some space and run the same command again: committed outcomes are safe.")
_FORBIDDEN = (
    "it, a file beside it, or its folder can't be opened for writing",
    "Check that you may write to the file and to its folder, or name a run file elsewhere.",
)
_OF_SYSTEM = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.EEXIST: ("a file of that name exists already", "Name another run file."),
    errno.EIO: ("its disk failed to read or write", _DISK),
}


def _from_system(path: Path, number: int | None) -> RunFileError:
    other = os.strerror(number) if number else "the system refused"
    said, hint = _OF_SYSTEM.get(number or 0, (other, "Check the path and its folder, or name a run file elsewhere."))
    return RunFileError(f"{path}: {said}", hint)


def damaged(path: Path, what: str) -> RunDamaged:
    """Return the error for a file that is damaged, or not a run."""
    return RunDamaged(f"{path}: {what}", _DAMAGED)


class Database:
    """An open run file."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: WriterLock | None) -> None:
        self.path = path
        self._connection = connection
        self._errors = run_file_errors(path)
        self._lock = lock

    @classmethod
    def open(cls, path: Path, *, writes: bool) -> Self:
        """Open an existing file for writing, or for reading alone."""
        with run_file_errors(path), ExitStack() as undo:
            _need_file(path)
            lock = WriterLock(path) if writes else None
            undo.callback(lock.release if lock else lambda: None)
            connection = connect(path, "rw") if writes else _connect_reader(path)
            undo.callback(connection.close)
            _check(path, connection, writes=writes)
            if writes:
                # Others may read while this one writes, and a commit returns only once it is on the disk.
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
            undo.pop_all()
        return cls(path, connection, lock)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._errors:
            return self._connection.execute(query, values).fetchall()

    def rows_among(self, query: str, ids: Sequence[object], *before: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query with {} in place of any number of ids; `before` are the values before them."""
        parts = [ids[start : start + IDS_PER_QUERY] for start in range(0, len(ids), IDS_PER_QUERY)]
        return [row for part in parts for row in self.rows(query.format(placeholders(part)), *before, *part)]

    def stream(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, one at a time. The caller may stop early and close the file."""
        with self._errors:
            # A loop, since `yield from` closes the cursor of a caller that stops early, and fails on a closed file.
            for row in self._connection.execute(query, values):  # noqa: UP028
                yield row

    def define(self, name: str, function: Callable[[str], str]) -> None:
        """Let queries call a function of one text by this name."""
        self._connection.create_function(name, 1, function, deterministic=True)

    def execute(self, query: str, values: Sequence[object]) -> int:
        """Run one statement that changes something, inside `writing`; return the key of the row added last."""
        return self._connection.execute(query, tuple(values)).lastrowid or 0

    def change(self, query: str, values: Sequence[object] = ()) -> int:
        """Run one statement that changes rows, inside `writing` or `shredding`; return how many it changed."""
        return self._connection.execute(query, tuple(values)).rowcount

    def execute_all(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Run one statement that changes something for each of these rows, inside `writing`."""
        if rows:
            self._connection.executemany(query, rows)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make all changes of this block, or none; they are on the disk when it ends, unless it is inside another."""
        inner = self._connection.in_transaction
        with self._errors:
            self._connection.execute("SAVEPOINT change" if inner else "BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("RELEASE change" if inner else "COMMIT")
            except BaseException:
                # A full disk, for example, has undone all of it already.
                for undo in ("ROLLBACK TO change", "RELEASE change") if inner else ("ROLLBACK",):
                    if self._connection.in_transaction:
                        self._connection.execute(undo)
                raise
            if not inner:
                self._check_place()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads in this block see the file as of one moment, even while another process writes."""
        if self._lock:  # nobody else writes outcomes
            yield
            return
        with self._errors:
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    @contextmanager
    def shredding(self, notify: Callable[[str], None]) -> Iterator[None]:
        """Overwrite in the file all that this block removes, then shrink the file; no copy stays beside it.

        The block adds to the audit trail. Once its changes are committed, nothing makes it fail: `notify` is told why
        the file did not shrink. Raises RunLocked if another process has the file open: pages that it still reads can't
        be removed.
        """
        entries = self.rows(_ENTRIES)
        try:
            with self._errors:
                # A log beside the file would keep removed pages for readers. Leaving it fails while anybody reads.
                self._connection.execute("PRAGMA journal_mode = DELETE")
                self._connection.execute("PRAGMA secure_delete = ON")
                with self.writing():
                    yield
        except RunLocked:  # we are the writer, so a reader is in the way
            what = "another process, such as a viewer, has it open"
            raise RunLocked(f"{self.path}: {what}", "End it first.") from None
        except KeyboardInterrupt:
            if self.rows(_ENTRIES) == entries:
                raise
        try:
            with self._errors:
                self._connection.execute("VACUUM")
        except (RunFileError, KeyboardInterrupt) as error:
            why = str(error).removeprefix(f"{self.path}: ") or "interrupted"
            notify(f"{self.path.name} keeps its size, since it could not be written anew ({why})")

    def check_whole(self) -> None:
        """Check every page, index and value, however large the file is. Raises RunDamaged."""
        with self._errors:
            if not _is_sound(self._connection):
                raise damaged(self.path, "the run file is damaged")

    def _check_place(self) -> None:
        """Refuse to go on in a file that its name no longer leads to: nobody would find what we store there."""
        if self._lock and not self._lock.holds(self.path):
            self._connection.execute("PRAGMA wal_checkpoint")  # a close would leave the log at the old place
            hint = "If it was moved, all that was stored is in it: move it back and run the same command again."
            raise RunFileError(f"{self.path} was moved, replaced or deleted while this command wrote to it", hint)

    def close(self) -> None:
        """Close the file and let the next writer in. A second call does nothing."""
        with self._errors:
            self._connection.close()
        if self._lock:
            self._lock.release()
            self._lock = None


def placeholders(values: Sized) -> str:
    """Return one question mark for each of these values, for `IN ({})`."""
    return ",".join("?" * len(values))


def _connect_reader(path: Path) -> sqlite3.Connection:
    """Return a connection that can't change anything; it may be open while another process writes."""
    # SQLite needs a -wal and a -shm file beside a WAL database. If the folder is read-only and no writer left them, the
    # file alone is complete. Else connect read-write: a read-only connection would leave both files behind.
    alone = not os.access(path.parent, os.W_OK, effective_ids=True) and not Path(f"{path}-wal").exists()
    db = connect(path, "ro&immutable=1" if alone else "rw")
    db.execute("PRAGMA query_only = ON")
    return db


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Return a connection to an existing file; `mode` is "rw", or another mode of SQLite with its parameters.

    Raises RunFileError if the file has a second name, or if one beside it is not the owner's or names another file:
    SQLite would read from it, write cells into it, or delete what it names.
    """
    _check_beside(path)
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    # Sorting must not leave metadata in a temporary file, and a file from elsewhere may hold a hostile schema.
    for setting in (f"cache_size = -{CACHE_KIB}", "temp_store = MEMORY", "trusted_schema = OFF"):
        db.execute(f"PRAGMA {setting}")
    # While SQLite runs a statement, Python hears no signal. Each call of this function lets it hear those that came.
    db.set_progress_handler(lambda: 0, STEPS_BETWEEN_SIGNALS)
    return db


def refuse_left_files(path: Path) -> None:
    """Raise RunFileError if files that SQLite would take into a new run lie beside its name."""
    for file in (Path(f"{os.path.realpath(path)}{ending}") for ending in BESIDE):
        if os.path.lexists(file) and not os.path.lexists(path):
            hint = f"Put that run back, or, if you don't need what it holds: `rm {quote(str(file))}`."
            raise RunFileError(f"{file}: it is left of another run of this name, and would become part of yours", hint)


def _check_beside(path: Path) -> None:
    run = path.stat()
    if run.st_nlink > 1:
        hint = f"`find FOLDER -samefile {quote(str(path))}` lists its names; keep one."
        raise RunFileError(f"{path}: the file has a second name (hard link), under which its log would be missed", hint)
    for file in (Path(f"{os.path.realpath(path)}{ending}") for ending in BESIDE):
        with suppress(FileNotFoundError):
            beside = file.lstat()
            if not stat.S_ISREG(beside.st_mode) or beside.st_uid != run.st_uid:
                what = "somebody other than the run's owner made it"
            elif file.name.endswith("-journal") and _names_another(file, beside.st_size):
                what = "it names another file, which would be deleted"
            else:
                continue
            hint = f"If no command is using the run: `rm {quote(str(file))}`. Keep runs in a folder of your own."
            raise RunFileError(f"{file}: {what}", hint)


def _names_another(journal: Path, size: int) -> bool:
    with journal.open("rb") as file:
        file.seek(max(0, size - len(SUPER_JOURNAL)))
        return size > len(SUPER_JOURNAL) and file.read() == SUPER_JOURNAL


def _need_file(path: Path) -> None:
    if not path.is_file():
        what = "it is not a file" if path.exists() else "it does not exist"
        raise RunFileError(f"{path}: {what}", "Check the name of the run file.")


def _check(path: Path, db: sqlite3.Connection, *, writes: bool) -> None:
    """Refuse a file that is not a run, that another release made, or that a quick check finds damaged."""
    check_schema(path, db)
    # SQLite itself finds a truncated file. A writer finds cases by their index, which may lack some; a reader does not.
    is_small = path.stat().st_size <= CHECKED_BYTES
    if not (_is_sound(db) if is_small else not writes or _is_whole(db, "(cases)")):
        raise damaged(path, "the run file is damaged")


def check_schema(path: Path, db: sqlite3.Connection) -> None:
    """Refuse a file that is not a run of this form. Raises RunFileError."""
    if not path.stat().st_size:
        raise damaged(path, "it is empty")
    form = schema_form(db)
    if not form:
        raise damaged(path, "it is an SQLite file, but not a run")
    if form != FORM:
        said = f"{path}: another release of pathway-local made it (form {form}, this one reads {FORM})"
        raise RunFileError(said, "Open it with that release.")
    if others := strangers(db):
        said = f"{path}: another program changed its schema: {', '.join(others[:3])}"
        raise RunFileError(said, "Restore a copy: with this schema, its scores could change while you read them.")


def _is_whole(db: sqlite3.Connection, table: str = "") -> bool:
    return bool(db.execute(f"PRAGMA integrity_check{table}").fetchone()[0] == "ok")


def _is_sound(db: sqlite3.Connection) -> bool:
    """Whether pages are whole, references lead somewhere, and each value has its column's type.

    SQLite stores a value of any type in any column, so a changed file may hold bytes where our code expects a number.
    """
    if not _is_whole(db) or db.execute("PRAGMA foreign_key_check").fetchone():
        return False
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"):
        typed = db.execute("SELECT name, lower(type) FROM pragma_table_info(?)", [table]).fetchall()
        wrong = " OR ".join(f"typeof({name}) NOT IN ('{kind}', 'null')" for name, kind in typed if kind in TYPES)
        if db.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone():
            return False
    return True
