"""Writes a file wholly or not at all, readable by its owner alone; replaces one only when asked."""

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pathway_local.errors import OutputExists, UsageError

PART = ".part"
"""The end of the hidden names that files and folders have only while a command writes them."""

_OPENED = Path("/proc/self/fd")


@contextmanager
def output_file(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to write to, which becomes `path` at the end of the block, as in `whole_file`.

    Raises OutputExists if `path` exists (`force` replaces it), UsageError if it is not a file or can't be written.
    """
    check_output(path, force=force)
    try:
        with whole_file(path, replace=force) as file:
            yield file
    except FileExistsError:
        raise OutputExists(path) from None
    except OSError as error:
        raise _unwritable(path, error) from None


@contextmanager
def whole_file(path: Path, *, replace: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to write to and read back, which becomes `path` at the end of the block, with mode 0600.

    Until then it has no name if the file system allows that, so that nothing is left of it however this process ends;
    elsewhere it has another name in the same folder, which `left_parts` finds. If the block fails, the file is removed
    and `path` stays as it was. Raises OSError; FileExistsError if `path` exists, unless `replace`.
    """
    part = _part_name(path)
    try:
        with os.fdopen(_opened(part), "w+b") as file:
            os.fchmod(file.fileno(), 0o600)
            yield file
            file.flush()
            os.fsync(file.fileno())
            _put_in_place(file, part, path, replace=replace)
    finally:
        part.unlink(missing_ok=True)


def _part_name(path: Path) -> Path:
    return path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}{PART}")


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Make libraries keep their temporary files, which hold cells, beside the file that they write."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix=".", suffix=PART, dir=folder) as private:
        tempfile.tempdir = private
        try:
            yield
        finally:
            tempfile.tempdir = before


def left_parts(folder: Path) -> list[Path]:
    """Return half-written files in this folder: of commands that were killed, or that are writing now."""
    return sorted(folder.glob(f".*{PART}"))


def check_output(path: Path, *, force: bool) -> None:
    """Raise what `output_file` would raise for this path, before any work is done."""
    try:
        if not path.parent.is_dir():
            raise UsageError(f"there is no folder {path.parent}", "Create it first, or name another.")
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a file", "Name a file, not a folder or a device.")
        if not force and (path.exists() or path.is_symlink()):
            raise OutputExists(path)
    except OSError as error:
        raise _unwritable(path, error) from None


def _opened(part: Path) -> int:
    """Open a new file in the folder of `part`: without a name if it can get one later, else with that name."""
    if _OPENED.is_dir():
        with suppress(OSError):  # not every file system has files without names; any other error recurs below
            return os.open(part.parent, os.O_TMPFILE | os.O_RDWR, 0o600)
    return _opened_by_name(part)


def _opened_by_name(part: Path) -> int:
    return os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)


def _put_in_place(file: BinaryIO, part: Path, path: Path, *, replace: bool) -> None:
    if replace or not _linked(file.fileno(), part, path):
        if not (_has_name(file.fileno()) or _linked(file.fileno(), part, part)):
            _copy(file, part)
        if not replace and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        part.replace(path)
    with suppress(OSError):  # the file is in place; not every file system can sync a folder
        _sync_folder(path.parent)


def _has_name(handle: int) -> bool:
    return os.fstat(handle).st_nlink > 0


def _linked(handle: int, part: Path, name: Path) -> bool:
    """Give a file, which may be called `part`, a name; return False if the file system has no links.

    Unlike a rename, a link never replaces a file that another process has put there meanwhile: FileExistsError.
    """
    try:
        if _has_name(handle):
            os.link(part, name)
        else:
            # os.link follows the link in /proc only if it gets a descriptor, which an absolute path does not need.
            os.link(_OPENED / str(handle), name, src_dir_fd=handle)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def _copy(file: BinaryIO, part: Path) -> None:
    """Copy a file that has no name, and can't be linked, to `part`."""
    with os.fdopen(_opened_by_name(part), "wb") as copy:
        os.fchmod(copy.fileno(), 0o600)
        file.seek(0)
        shutil.copyfileobj(file, copy)
        copy.flush()
        os.fsync(copy.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> UsageError:
    hint = "Name another file, make its folder writable, or free space on its disk."
    return UsageError(f"{path} can't be written: {error.strerror or error}", hint)
