"""Puts on this process the strongest seal that the kernel allows and under which CUDA starts.

Call it while the process has a single thread: otherwise the kernel refuses a new user namespace (unshare(2)).
Processes that are started later, such as the engine's workers, live in the same namespace.
"""

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pathway_local.errors import EngineError
from pathway_local.sealing import landlock
from pathway_local.sealing.filter import install
from pathway_local.sealing.landlock import Files
from pathway_local.system.machine import uses_gpu

Wanted = Literal["auto", "required", "off"]
"""As strong a seal as the kernel allows; the whole seal, else refuse to run; or no seal."""

Network = Literal["own", "none", "open"]
"""A namespace of its own, a machine without network (a container's, systemd's PrivateNetwork), or the machine's."""

NO_FILTER = (
    "Other programs' local sockets could be reached: take a kernel and a container that allow filters (seccomp), "
    "or leave --seal required out."
)


PARTS = ("namespace", "filter", "files")


@dataclass(frozen=True, slots=True)
class Seal:
    """The limits on an engine's process; a run records them.

    `namespace`: it has no network but loopback. `filter`: the kernel filters its system calls. `files`: it reads
    and writes only what it needs. `why` says what prevented a part, if it was not the kernel.
    """

    namespace: bool = False
    filter: bool = False
    files: bool = False
    why: str = ""

    def __str__(self) -> str:
        return "+".join(part for part in PARTS if getattr(self, part)) or "not at all"

    @classmethod
    def recorded(cls, found: object) -> "Seal":
        """Return the seal that a run has recorded; none if it has something else there."""
        facts = found if isinstance(found, dict) else {}
        return cls(**{part: facts.get(part) is True for part in PARTS}, why=str(facts.get("why", "")))

    @property
    def missing(self) -> str:
        """Return what is missing and what that means; empty for the whole seal."""
        if self == OFF:
            return self.why
        said = []
        if not self.namespace and not self.filter:
            said.append("NOT SEALED: the kernel allows neither a network namespace nor a filter")
        elif not self.namespace:
            said.append("the kernel allows no network namespace here: only a filter keeps the engine from connecting")
        elif not self.filter:
            said.append(
                "the kernel filters no system calls here: the engine reaches no network, but it can reach other "
                "programs' local sockets"
            )
        if not self.files:
            said.append("the kernel limits no files here (Landlock): a model's code could read and change yours")
        return "; ".join([*said, *([self.why] if self.why else [])])

    def require(self) -> None:
        """Raise EngineError unless nothing is missing."""
        if self.missing:
            raise EngineError(f"the engine can't be sealed completely (only: {self}): {self.missing}", COMPLETE)


OFF = Seal(why="NOT SEALED: you gave --seal off")

COMPLETE = (
    "Allow user namespaces, filters and Landlock (docs/privacy.md says how), run in a container without network "
    "(--network none), or leave --seal required out: the engine then gets the strongest seal that it can have."
)

WHOLE = Seal(namespace=True, filter=True, files=True)


WITHOUT_FILES = Seal(namespace=True, filter=True)
"""Under this CUDA started on an H100. The limit on files is newer, and no GPU has tried it."""


def close_off(wanted: Wanted, gate: int, files: Files) -> Seal:
    """Cut this process off from networks, from other programs, and from the rights of root; return its seal.

    If the seal has `files`, the caller has yet to keep itself to these (`landlock.keep_to`).
    """
    if wanted == "off":
        return OFF
    if uses_gpu() and not _cuda_starts(WHOLE, files) and _cuda_starts(WITHOUT_FILES, files):
        return _put_on(WITHOUT_FILES, gate, "CUDA does not start where files are limited")
    return _put_on(WHOLE, gate)


def _put_on(parts: Seal, gate: int = -1, why: str = "") -> Seal:
    network = enter_namespace()
    if not drop_capabilities():
        why = why or "root's rights can't be given up here"
    return Seal(network != "open", _filter(network, gate), parts.files and landlock.version() > 0, why)


def _cuda_starts(parts: Seal, files: Files) -> bool:
    """Return whether the driver's cuInit returns 0 in another process under these parts of a seal."""

    def try_it() -> int:
        if _put_on(parts).files:
            landlock.keep_to(files)
        return initialize_cuda()

    return _in_fork(try_it) == b"0"


def initialize_cuda() -> int:
    """Return what the driver's cuInit returns."""
    return int(ctypes.CDLL("libcuda.so.1").cuInit(0))


def _filter(network: Network, gate: int) -> bool:
    """Filter this process's system calls; return whether the kernel does."""
    try:
        listener = install("no-connections" if gate < 0 else "ask", gate)
    except OSError:
        return False
    if gate >= 0:
        # Keep `gate` open: the filter lets sendmsg on this number pass, so no other socket may get the number.
        handle = socket.socket(fileno=gate)
        socket.send_fds(handle, [network.encode()], [listener])
        handle.detach()
        os.close(listener)
    return True


def drop_capabilities() -> bool:
    """Give up all rights of root, and those in a user namespace, for good; return whether none is left.

    With them, root's process could trace the command and join the machine's network.
    """
    for number in range(64):
        if _libc.prctl(_DROP_BOUND, number, 0, 0, 0) != 0:
            break  # there are no more, or they are not this user's to drop
    _libc.prctl(_AMBIENT, _CLEAR, 0, 0, 0)
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return bool(_libc.capset(struct.pack("Ii", _CAPABILITIES_3, 0), bytes(24)) == 0)


_DROP_BOUND, _AMBIENT, _CLEAR, _NO_NEW_PRIVILEGES, _CAPABILITIES_3 = 24, 47, 4, 38, 0x20080522


def _in_fork(work: Callable[[], object]) -> bytes:
    """Return as text what this returns in a forked process, which can't be unsealed; nothing if that process fails."""
    read, write = os.pipe()
    trial = os.fork()
    if trial == 0:
        try:
            os.write(write, str(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:  # noqa: PTH123  a descriptor, not a path
        told = pipe.read()
    os.waitpid(trial, 0)
    return told


_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
_libc = ctypes.CDLL(None, use_errno=True)


def enter_namespace() -> Network:
    """Leave the machine's network, if it has one and the kernel allows it; return which network this process has."""
    if _isolated():
        return "none"
    for flags in ([_NEW_NETWORK] if os.geteuid() == 0 else []) + [_NEW_USER | _NEW_NETWORK]:
        # Tried in a forked process first: if it fails halfway (a new user without its ids), nobody can undo it.
        if _in_fork(partial(_enter, flags)):
            _enter(flags)
            return "own"
    return "open"


def _enter(flags: int) -> None:
    """Move into new namespaces as the same user, and bring loopback up. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if flags & _NEW_USER:
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"{user} {user} 1")
        (own / "gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, _SET_FLAGS, _request("lo", _flags(handle, "lo") | _UP))


def _isolated() -> bool:
    """Whether loopback is the only interface that is up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        return {name for _, name in socket.if_nameindex() if _flags(handle, name) & _UP} == {"lo"}


def _flags(handle: socket.socket, interface: str) -> int:
    answer = fcntl.ioctl(handle, _GET_FLAGS, _request(interface))
    return int(struct.unpack("16xH", answer[:18])[0])


def _request(interface: str, flags: int = 0) -> bytes:
    """Return a `struct ifreq` (netdevice(7)): the interface's name in 16 bytes, then its flags."""
    return struct.pack("16sH22x", interface.encode()[:15], flags)
