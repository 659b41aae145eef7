"""Turns errors of SQLite, of the system and of stored values into a user's words."""

import errno
import os
import sqlite3
from pathlib import Path
from types import TracebackType

from pathway_local.errors import RunDamaged, RunFileError, RunLocked
from pathway_local.system.private_file import LOCKED_HINT

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
