"""A file that a command writes: there whole or not at all, read by its owner alone, replaced only when asked."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pathway_local.errors import OutputExists, UsageError


@contextmanager
def output_file(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which becomes `path` at the end of the block, with mode 0600 whatever the umask.

    It can be read back. Until then it has another name in the same folder; when the block fails it is removed,
    and `path` is as it was. Raises OutputExists where `path` is there already (with `force` it is replaced),
    UsageError where it is no file or can't be written.
    """
    check_output(path, force=force)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:50]}.", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    part = Path(name)
    try:
        with os.fdopen(handle, "w+b") as file:
            os.fchmod(file.fileno(), 0o600)
            yield file
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(part, path, force=force)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        part.unlink(missing_ok=True)


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


def _put_in_place(part: Path, path: Path, *, force: bool) -> None:
    if force:
        part.replace(path)
    else:
        _link(part, path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    with suppress(OSError):  # the file is in place; not every file system can sync a folder
        os.fsync(folder)
    os.close(folder)


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
