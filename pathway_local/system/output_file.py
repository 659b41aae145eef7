"""A file that a command writes: there whole or not at all, read by its owner alone, replaced only when asked."""

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
"""How the hidden names of files and folders end that a command has only while it writes."""

_OPENED = Path("/proc/self/fd")


@contextmanager
def output_file(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which becomes `path` at the end of the block as that of `whole_file` does.

    Raises OutputExists where `path` is there already (with `force` it is replaced), UsageError where it is no file
    or can't be written.
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
    """A file to write to, which becomes `path` at the end of the block, with mode 0600 whatever the umask.

    It can be read back. Until then it has no name where the file system allows that, so that nothing is left of it
    however this process ends; elsewhere it has another name in the same folder, which `left_parts` finds. When the
    block fails it is removed, and `path` is as it was. Raises OSError; FileExistsError where something has that name
    already, unless it is to be replaced.
    """
    part = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}{PART}")
    try:
        with os.fdopen(_opened(part), "w+b") as file:
            os.fchmod(file.fileno(), 0o600)
            yield file
            file.flush()
            os.fsync(file.fileno())
            _put_in_place(file, part, path, replace=replace)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Keep the temporary files of libraries, which hold cells, beside the file that they are for."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix=".", suffix=PART, dir=folder) as private:
        tempfile.tempdir = private
        try:
            yield
        finally:
            tempfile.tempdir = before


def left_parts(folder: Path) -> list[Path]:
    """What commands that were killed have left of files that they wrote into this folder, or are writing now."""
    return sorted(folder.glob(f".*{PART}"))


def check_output(path: Path, *, force: bool) -> None:
    """Raise what `output_file` would raise for this path, before any work is done for it."""
    try:
        if not path.parent.is_dir():
            raise UsageError(f"there is no folder {path.parent}", "Make it first, or name another.")
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is no file", "Name a file, not a folder or a device.")
        if not force and (path.exists() or path.is_symlink()):
            raise OutputExists(path)
    except OSError as error:
        raise _unwritable(path, error) from None


def _opened(part: Path) -> int:
    """A new file in the folder of `part`: without a name where it can be given one later, else with that one."""
    if _OPENED.is_dir():
        with suppress(OSError):  # not every file system has files without names; what else is wrong shows below
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
    """Give a file, which may be called `part`, that name; False where the file system has no links.

    Unlike a rename, a link never replaces what another process has put there in the meantime: FileExistsError.
    """
    try:
        if _has_name(handle):
            os.link(part, name)
        else:
            # Only with a descriptor does os.link follow the link in /proc, whose path is absolute and needs none.
            os.link(_OPENED / str(handle), name, src_dir_fd=handle)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def _copy(file: BinaryIO, part: Path) -> None:
    """Give a file that has no name, and can't be linked to one, the name `part` as a copy."""
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
    hint = "Name another file, or see that its folder may be written to and its disk has room."
    return UsageError(f"{path} can't be written: {error.strerror or error}", hint)
