"""Who can read a file: its mode and those of all the folders above it, taken together."""

import grp
import os
import pwd
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pathway_local.system.private_file import closing_command, exposed_to, exposures, folder_open_to

OTHERS = "other users of this machine"
DAEMON = 1
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away: sudo ./scripts/test")

Place = tuple[int, int, int]
"""Owner, group and mode."""


@pytest.fixture
def top() -> Iterator[Path]:
    folder = Path("/tmp") / f"exposed-{os.getpid()}"  # the folders above are open to all, unlike those of pytest
    folder.mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


Put = Callable[..., Path]


@pytest.fixture
def put(top: Path) -> Put:
    """A file below folders: each an owner, a group and a mode, the outermost folder first."""

    def put(*places: Place) -> Path:
        path = top
        for place in (*places[1:-1], None):
            path = path / "inner" if place else path / "cases.csv"
            path.mkdir(exist_ok=True) if place else path.touch()
        for (owner, group, mode), at in zip(reversed(places), (path, *path.parents), strict=False):
            os.chown(at, owner, group)
            at.chmod(mode)
        return path

    return put


def test_the_command_that_closes_a_file_works_when_pasted(top: Path) -> None:
    path = top / "it's one file.csv"
    path.touch(0o644)
    assert os.system(closing_command(path)) == 0 and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("file", "folder", "exposed"),
    [(0o600, 0o755, False), (0o644, 0o700, False), (0o644, 0o755, True), (0o604, 0o711, True), (0o640, 0o750, False)],
)
def test_who_can_read_a_file(file: int, folder: int, exposed: bool, put: Put) -> None:
    own = os.geteuid(), pwd.getpwuid(os.geteuid()).pw_gid
    if grp.getgrgid(own[1]).gr_name != pwd.getpwuid(own[0]).pw_name:
        pytest.skip("who runs this has no group of their own")
    assert exposed_to(put((*own, folder), (*own, file))) == (OTHERS if exposed else "")


def _gid(name: str) -> int:
    return grp.getgrnam(name).gr_gid


@as_root
@pytest.mark.parametrize(
    ("folders", "file", "who"),
    [
        # A shared folder: whoever may enter it reads what others may read.
        ([("root", "users", 0o750)], ("daemon", "daemon", 0o644), OTHERS),
        ([("root", "users", 0o750)], ("daemon", "daemon", 0o640), ""),
        ([("root", "users", 0o750), ("root", "root", 0o700)], ("daemon", "daemon", 0o644), ""),
        ([("daemon", "daemon", 0o750)], ("daemon", "daemon", 0o644), ""),
    ],
)
def test_a_file_and_its_folders_count_together(
    folders: list[tuple[str, str, int]], file: tuple[str, str, int], who: str, put: Put
) -> None:
    try:
        places = [(pwd.getpwnam(owner).pw_uid, _gid(group), mode) for owner, group, mode in (*folders, file)]
    except KeyError as error:
        pytest.skip(f"this machine lacks a user or group: {error}")
    assert exposed_to(put(*places)) == who


@as_root
def test_a_group_of_the_owners_name_is_the_owners_own_only_without_other_members(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put((0, 0, 0o755), (DAEMON, DAEMON, 0o640))
    assert exposed_to(path) == ""
    real = grp.getgrgid(DAEMON)
    more = grp.struct_group((real.gr_name, "x", DAEMON, ["games"]))
    monkeypatch.setattr(grp, "getgrgid", lambda group: more)
    assert exposed_to(path) == OTHERS


@as_root
@pytest.mark.parametrize(
    ("folder", "who"),
    [
        ((0, 0, 0o755), ""),
        ((0, 0, 0o777), OTHERS),
        ((0, 100, 0o1777), OTHERS),  # the sticky bit keeps them from replacing it, not from putting a file beside it
        ((0, DAEMON, 0o775), ""),  # the group is the file's owner's own
        ((0, 100, 0o775), OTHERS),
    ],
)
def test_who_can_put_files_beside_a_file(folder: Place, who: str, put: Put) -> None:
    if grp.getgrgid(100).gr_name != "users":
        pytest.skip("this machine has no group users")
    assert folder_open_to(put(folder, (DAEMON, DAEMON, 0o600))) == who


def _list_user(path: Path, owner: int, bits: int, rest: int) -> None:
    """Let user 1234 do what `bits` say: the owner, that user, the group, the most that they get, everybody (acl(5))."""
    nobody = 0xFFFFFFFF
    entries = [(1, owner, nobody), (2, bits, 1234), (4, 0, nobody), (16, bits, nobody), (32, rest, nobody)]
    listed = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", listed)
    except OSError:
        pytest.skip("this file system keeps no access lists")


@pytest.mark.parametrize("of_the_folder", [False, True])
def test_an_access_list_counts_until_the_mode_takes_back_what_it_grants(top: Path, of_the_folder: bool) -> None:
    path = top / "cases.csv"
    path.touch()
    path.chmod(0o644 if of_the_folder else 0o600)
    top.chmod(0o700 if of_the_folder else 0o755)
    assert exposed_to(path) == ""
    _list_user(top, 7, 5, 0) if of_the_folder else _list_user(path, 6, 4, 0)
    assert exposed_to(path) == OTHERS
    path.chmod(0o600)
    assert exposed_to(path) == ""


def test_only_files_are_told_as_exposed() -> None:
    """Their remedy, `chmod 600`, would close a device or a folder to everybody."""
    assert not list(exposures([Path("/dev/null"), Path("/tmp")]))
