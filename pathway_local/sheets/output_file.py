"""A file that a command writes: there whole or not at all, read by its owner alone, replaced only when asked."""

import os
import secrets
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
    """A file to write to, which becomes `path` at the end of the block, with mode 0600 whatever the umask.

    It can be read back. Until then it has no name where the file system allows that, so that nothing is left of it
    however this process ends; elsewhere it has another name in the same folder. When the block fails it is removed,
    and `path` is as it was. Raises OutputExists where `path` is there already (with `force` it is replaced),
    UsageError where it is no file or can't be written.
    """
    check_output(path, force=force)
    part = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}{PART}")
    try:
        try:
            with os.fdopen(_opened(part), "w+b") as file:
                os.fchmod(file.fileno(), 0o600)
                yield file
                file.flush()
                os.fsync(file.fileno())
                _put_in_place(file.fileno(), part, path, force=force)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None


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
    return os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)


def _put_in_place(handle: int, part: Path, path: Path, *, force: bool) -> None:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not os.fstat(handle).st_nlink:
            _name(handle, part if force else path, folder)
        elif not force:
            _link(part, path)
        if force:
            part.replace(path)
        with suppress(OSError):  # the file is in place; not every file system can sync a folder
            os.fsync(folder)
    finally:
        os.close(folder)


def _name(handle: int, path: Path, folder: int) -> None:
    """Give a file that has no name its first; like any link, it never replaces another file."""
    try:
        os.link(_OPENED / str(handle), path.name, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError:
        raise OutputExists(path) from None


def _link(part: Path, path: Path) -> None:
    """Unlike a rename, a link never replaces what another process has put there in the meantime."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise OutputExists(path) from None
    except OSError:
        # Some file systems have no links.
        check_output(path, force=False)
        part.replace(path)


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} can't be written: {error.strerror or error}")
