"""Files that only their owner may read: written wholly or not at all, and locked against a second writer."""

import errno
import fcntl
import grp
import os
import pwd
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import BinaryIO, ClassVar

from pathway_local.errors import CasesError, OutputExists, RunLocked, UsageError

PART = ".part"
"""The end of the hidden names that files and folders have only while a command writes them."""


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

    Until then it has another name in the same folder: if this process is killed, `left_parts` finds it. If the block
    fails, it is removed and `path` stays as it was. Raises OSError; FileExistsError if `path` exists, unless `replace`.
    """
    part = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}{PART}")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "w+b") as file:
            os.fchmod(file.fileno(), 0o600)
            yield file
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(part, path, replace=replace)
    finally:
        part.unlink(missing_ok=True)


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


def _put_in_place(part: Path, path: Path, *, replace: bool) -> None:
    if replace:
        part.replace(path)
    else:
        try:
            os.link(part, path)  # unlike a rename, it never replaces a file that another process has put there
        except FileExistsError:
            raise
        except OSError:  # this file system has no links
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
            part.replace(path)
    with suppress(OSError):  # the file is in place; not every file system can sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _unwritable(path: Path, error: OSError) -> UsageError:
    hint = "Name another file, make its folder writable, or free space on its disk."
    return UsageError(f"{path} can't be written: {error.strerror or error}", hint)


ACCESS_LIST = "system.posix_acl_access"
READ, WRITE, ENTER = 4, 2, 1
"""The rights in each digit of a mode: the last for others, the ones before for the group and the owner."""

LOCKED_HINT = "Wait until it ends, or stop it; the run can be read meanwhile."


def create(path: Path, contents: bytes) -> None:
    """Write a new file 0600, wholly or not at all; make missing folders above it, 0700.

    Raises FileExistsError if something has that name already.
    """
    _make_private(path.parent)
    with whole_file(path) as file:
        file.write(contents)


def exposed_to(path: Path) -> str:
    """Return in words who can read a file beside its owner; empty for nobody. Raises OSError.

    The modes of the file and of all folders above it count together: an open file in a closed folder is private.
    """
    real = path.resolve()
    return _reached_by([(real, READ), *((folder, ENTER) for folder in real.parents)], real)


def exposures(files: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Yield those of these files that others can read, each with who can. Raises CasesError."""
    for path in files:
        try:
            others = exposed_to(path) if path.is_file() else ""
        except OSError as error:
            raise CasesError(f"{path} can't be read: {error.strerror}") from None
        if others:
            yield path, others


def closing_command(path: Path) -> str:
    """Return the command that makes a file readable by its owner alone."""
    return f"chmod 600 {quote(str(path))}"


def folder_open_to(path: Path) -> str:
    """Return who can put files into a file's folder beside its owner, as `exposed_to` does."""
    real = path.resolve()
    return _reached_by([(real.parent, WRITE | ENTER), *((folder, ENTER) for folder in real.parent.parents)], real)


def _reached_by(places: Sequence[tuple[Path, int]], file: Path) -> str:
    """Return who but the file's owner has the `wanted` rights on each place: others, or nobody (empty)."""
    owner = file.stat().st_uid
    for place, wanted in places:
        status = place.stat()
        if status.st_mode & wanted == wanted:
            continue
        # With an access list these bits are the most that it grants to anybody it names (acl(5)).
        if status.st_mode >> 3 & wanted != wanted or _is_own(place, status.st_gid, owner):
            return ""
    return "other users of this machine"


def _is_own(place: Path, group: int, owner: int) -> bool:
    """Whether a place has no access list and its group is the owner's alone, as Debian makes one for each user.

    Without this, every file in an Ubuntu user's home (mode 0750, with such a group) would look exposed.
    """
    with suppress(OSError):  # this file system keeps no access lists
        if ACCESS_LIST in os.listxattr(place):
            return False
    with suppress(KeyError):
        known = grp.getgrgid(group)
        return not known.gr_mem and known.gr_name in ("root", pwd.getpwuid(owner).pw_name)
    return False


def _make_private(folder: Path) -> None:
    if not folder.exists():
        _make_private(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)  # whatever the umask


class WriterLock:
    """Keeps a second writer out of a file until `release`, or until this process ends in any way.

    Close every SQLite connection to the file before `release`: closing a descriptor of a file drops the POSIX locks
    that SQLite holds on it in this process (fcntl(2)). For the same reason we refuse a file to which this process
    already writes before we open it.
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

    def holds(self, path: Path) -> bool:
        """Return whether this path still leads to the file."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let the next writer in."""
        self._held.discard(self._file)
        os.close(self._descriptor)
