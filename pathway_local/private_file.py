"""Files that only their owner may read, and the lock that keeps a second writer out of one."""

import errno
import fcntl
import grp
import os
import pwd
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from pathway_local.errors import RunLocked

ACCESS_LIST = "system.posix_acl_access"
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
        _link(Path(fresh), path)
    finally:
        with suppress(FileNotFoundError):
            Path(fresh).unlink()


def _link(fresh: Path, path: Path) -> None:
    """Unlike a rename, a link never replaces a run that another process made in the meantime."""
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links.
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        fresh.rename(path)


def exposed_to(path: Path) -> str:
    """Who besides its owner can read a file, by its mode and by those of the folders above it; empty for nobody.

    A group that has the owner's name is taken for the owner's own. Where a file has an access list, the group's bits
    of its mode are the most that the list grants (acl(5)). Raises OSError.
    """
    real = path.resolve()
    modes = [real.stat().st_mode, *(folder.stat().st_mode for folder in real.parents)]
    if _lets_in(modes, stat.S_IROTH, stat.S_IXOTH):
        return "every user of this machine"
    if _lets_in(modes, stat.S_IRGRP, stat.S_IXGRP | stat.S_IXOTH):
        if ACCESS_LIST in os.listxattr(real):
            return "those whom its access list names (getfacl)"
        owner, group = _names(real)
        return "" if owner == group else f"the group {group}"
    return ""


def _lets_in(modes: Sequence[int], read: int, enter: int) -> bool:
    """Whether a file, whose mode comes first, can be read and all its folders entered."""
    return bool(modes[0] & read) and all(mode & enter for mode in modes[1:])


def _names(path: Path) -> tuple[str, str]:
    """The names of a file's owner and group, or their numbers where no name is known."""
    found = path.stat()
    owner, group = str(found.st_uid), str(found.st_gid)
    with suppress(KeyError):
        owner = pwd.getpwuid(found.st_uid).pw_name
    with suppress(KeyError):
        group = grp.getgrgid(found.st_gid).gr_name
    return owner, group


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
