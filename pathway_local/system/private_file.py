"""Files that only their owner may read, and the lock that keeps a second writer out of one."""

import errno
import fcntl
import grp
import os
import pwd
import stat
from collections.abc import Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from pathway_local.errors import RunLocked
from pathway_local.system.output_file import whole_file

ACCESS_LIST = "system.posix_acl_access"
READ, WRITE, ENTER = 4, 2, 1
"""What a mode's last digit grants to others, and the digits before it to the group and the owner."""

LOCKED_HINT = "Wait until it ends, or stop it; the run can be read meanwhile."


def create(path: Path, contents: bytes) -> None:
    """Write a new file 0600 that is there whole or not at all; missing folders above it are made 0700.

    FileExistsError where something has that name already.
    """
    _make_private(path.parent)
    with whole_file(path) as file:
        file.write(contents)


def exposed_to(path: Path) -> str:
    """Who besides its owner, whoever asks and root can read a file; empty for nobody.

    By its mode and by those of the folders above it, taken together: what others may read is read by whoever can
    enter those folders. A group that has the owner's name and no other member is taken for the owner's own. Where a
    file or folder has an access list, the group's bits of its mode are the most that the list grants (acl(5)).
    Raises OSError.
    """
    real = path.resolve()
    return _reached_by([(real, READ), *((folder, ENTER) for folder in real.parents)], real.stat().st_uid)


def replaceable_by(path: Path) -> str:
    """Who besides its owner, whoever asks and root can put another file in its place, as `exposed_to` tells it."""
    real = path.resolve()
    if real.parent.stat().st_mode & stat.S_ISVTX:
        return ""
    folders = [(real.parent, WRITE | ENTER), *((folder, ENTER) for folder in real.parent.parents)]
    return _reached_by(folders, real.stat().st_uid)


def _reached_by(places: Sequence[tuple[Path, int]], owner: int) -> str:
    """Who gets what is `wanted` of each place, as bits of a mode's last digit."""
    own = {owner, os.geteuid(), 0}
    found = [(place, place.stat(), wanted) for place, wanted in places]
    closed = [(place, status.st_gid) for place, status, wanted in found if not _granted(status.st_mode, wanted)]
    listed = [place for place, _ in closed if _has_access_list(place)]
    groups = {group for place, group in closed if place not in listed}
    # A group's member gets what its bits say, also where they say less than those for others.
    asked = [each for each in found if each[1].st_gid in groups or not _granted(each[1].st_mode, each[2])]
    if all(_granted(status.st_mode >> 3, wanted) for _, status, wanted in asked):
        if not closed:
            return "every user of this machine"
        if not any(_is_own(group, own) for group in groups):
            names = sorted(map(_group_name, groups))
            if listed:
                return f"those whom the access list of {listed[0]} names (getfacl)"
            return f"the group {names[0]}" if len(names) == 1 else f"whoever is in the groups {' and '.join(names)}"
    for user in sorted({status.st_uid for _, status, _ in found} - own):
        if all(_granted_to(user, status, wanted) for _, status, wanted in found):
            return f"the user {_user_name(user)}"
    return ""


def _granted(mode: int, wanted: int) -> bool:
    return mode & wanted == wanted


def _granted_to(user: int, status: os.stat_result, wanted: int) -> bool:
    """What a mode grants to one user; what is the user's own can be opened by them at any time."""
    if user == status.st_uid:
        return True
    return _granted(status.st_mode >> 3 if status.st_gid in _groups_of(user) else status.st_mode, wanted)


def _has_access_list(path: Path) -> bool:
    try:
        return ACCESS_LIST in os.listxattr(path)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return False
        raise


def _is_own(group: int, users: Set[int]) -> bool:
    """Whether a group is a user's own: it has the name of one of these and no other member, as far as is known."""
    try:
        known = grp.getgrgid(group)
        members = {pwd.getpwnam(name).pw_uid for name in known.gr_mem}
    except KeyError:
        return False
    everybody = pwd.getpwall()
    members |= {user.pw_uid for user in everybody if user.pw_gid == group}
    named = {user.pw_uid for user in everybody if user.pw_name == known.gr_name}
    return bool(named & users) and members <= users


def _groups_of(user: int) -> list[int]:
    try:
        known = pwd.getpwuid(user)
    except KeyError:
        return []
    return os.getgrouplist(known.pw_name, known.pw_gid)


def _group_name(group: int) -> str:
    """A group's name, or its number where none is known."""
    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)


def _user_name(user: int) -> str:
    """A user's name, or its number where none is known."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


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
