"""Files that only their owner may read, and the lock that keeps a second writer out of one."""

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from pathway_local.errors import RunLocked

LOCKED_HINT = "Wait until it ends, or stop it; the run can be read meanwhile."


def create(path: Path, contents: bytes) -> None:
    """Write a new file 0600 that is there whole or not at all; missing folders above it are made 0700.

    FileExistsError where something has that name already.
    """
    _make_private(path.parent)
    descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        # Unlike a rename, a link never replaces a run that another process made in the meantime.
        os.link(fresh, path)
    finally:
        with suppress(FileNotFoundError):
            Path(fresh).unlink()


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
        locked = RunLocked(f"{path}: another process writes to it", LOCKED_HINT)
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
