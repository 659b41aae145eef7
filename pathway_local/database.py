"""A private SQLite file with one writer: how it is made, locked and opened, and what its errors mean to a user."""

import errno
import fcntl
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from pathway_local.errors import RunDamaged, RunFileError, RunLocked

BUSY_SECONDS = 10.0
CACHE_KIB = 65536

_DAMAGED = (
    "Restore a copy, or start a new run under another name; `sqlite3 FILE .recover` may save what is still whole."
)
_FULL = "Free some space and give the same command again: what was committed is still there."
_FORBIDDEN = "Check that you may write to the file and to its folder, or name a run file elsewhere."
_LOCKED = "Wait until it ends, or stop it; the run can be read meanwhile."
_DISK = "Look at the disk's health, its free space and your quota, then give the same command again."


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system raise into run-file errors that name `path` and never show stored text."""
    # `from None`: SQLite's message for text that is no UTF-8 quotes the text.
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.Error as error:
        raise _from_sqlite(path, getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)) from None
    except OSError as error:
        raise _from_system(path, error) from None


def _from_sqlite(path: Path, code: int) -> RunFileError:
    match code & 0xFF:  # the rest tells variants apart
        case sqlite3.SQLITE_FULL:
            return RunFileError(f"{path}: no space is left on its disk", _FULL)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return RunLocked(f"{path}: another process writes to it", _LOCKED)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return RunFileError(f"{path}: it, or a file beside it, can't be opened for writing", _FORBIDDEN)
        case sqlite3.SQLITE_IOERR:
            return RunFileError(f"{path}: its disk failed to read or write", _DISK)
        case sqlite3.SQLITE_NOTADB:
            return RunDamaged(f"{path}: it is no run file, or its beginning is damaged", _DAMAGED)
        case _:
            return RunDamaged(f"{path}: the run file is damaged", _DAMAGED)


def _from_system(path: Path, error: OSError) -> RunFileError:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return RunFileError(f"{path}: no space is left on its disk", _FULL)
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return RunFileError(f"{path}: it, or its folder, may not be written to", _FORBIDDEN)
        case errno.EIO:
            return RunFileError(f"{path}: its disk failed to read or write", _DISK)
        case _:
            reason = os.strerror(error.errno) if error.errno else type(error).__name__
            return RunFileError(f"{path}: {reason}", "Check the path and its folder, or name a run file elsewhere.")


def create(path: Path, contents: bytes) -> None:
    """Write a new file 0600 that is there whole or not at all; missing folders above it are made 0700.

    Raises FileExistsError where something has that name already.
    """
    _make_private(path.parent)
    descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        # Unlike a rename, a link never replaces a run that another process made in the meantime.
        os.link(fresh, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(fresh)


def _make_private(folder: Path) -> None:
    if not folder.exists():
        _make_private(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)  # whatever the umask


class WriterLock:
    """Keeps a file's second writer out, from here to `release`; it ends with the process, however that ends.

    Close every SQLite connection to the file before `release`: closing a descriptor of a file drops the
    POSIX locks that SQLite holds on it in this process (fcntl(2)). For the same reason a file that this
    process writes to already is refused before it is opened.
    """

    _held: ClassVar[set[tuple[int, int]]] = set()

    def __init__(self, path: Path) -> None:
        status = path.stat()
        self._file = (status.st_dev, status.st_ino)
        locked = RunLocked(f"{path}: another process writes to it", _LOCKED)
        if self._file in self._held:
            raise locked
        self._descriptor = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            if isinstance(error, BlockingIOError):
                raise locked from None
            raise
        self._held.add(self._file)

    def release(self) -> None:
        """Let the next writer in."""
        self._held.discard(self._file)
        os.close(self._descriptor)


def connect_writer(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing by itself. It makes no file: a missing one is an error."""
    return _connect(path, "rw")


def prepare_writing(db: sqlite3.Connection) -> None:
    """Let others read while this connection writes, and put each commit on the disk before it counts."""
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that can't change anything; it may be open while another process writes."""
    # SQLite reads a WAL file with a -wal and a -shm beside it. Where the folder takes none and no writer left
    # any, the file alone is whole. Read-write otherwise: a read-only connection leaves both files behind.
    alone = not os.access(path.parent, os.W_OK, effective_ids=True) and not Path(f"{path}-wal").exists()
    db = _connect(path, "ro&immutable=1" if alone else "rw")
    db.execute("PRAGMA query_only = ON")
    return db


def _connect(path: Path, mode: str) -> sqlite3.Connection:
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
    return db
