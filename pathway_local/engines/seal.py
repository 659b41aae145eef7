"""Cuts this process off from every network: a network namespace of its own that holds nothing but loopback.

It must run while the process has one thread only: the kernel refuses a new user namespace to any other
(unshare(2)). What is started later, workers of the engine among it, lives in the same namespace.
"""

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import Final, Literal

from pathway_local.errors import SealError

Wanted = Literal["auto", "required", "off"]
"""Sealed as well as the kernel lets us, sealed off from networks and local sockets or not run, or not sealed."""

NAMESPACE = "namespace"
ISOLATED = "already-isolated"
OFF_SWITCHES = "off-switches"
FILTER = "filter"
UNFILTERED: Final = "unfiltered"
Attempt = Wanted | Literal["unfiltered"]
"""How to seal an engine's process: as wanted, or as well as the kernel lets us but for the filter on system calls."""

OFF = "off"

NO_FILTER = (
    "Other programs' local sockets could be reached: take a kernel and a container that allow filters (seccomp), "
    "or leave --seal required out."
)

NO_NAMESPACE = "the kernel allows no network namespace here"
FILTERS_NOTHING = "the kernel filters no system calls here"
LEAVE_OUT = "Leave --seal required out: the engine then runs under the strongest seal that lets it start."

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
_libc = ctypes.CDLL(None, use_errno=True)


def seal() -> str:
    """Seal this process and say how: "namespace", "already-isolated" or, where the kernel forbids it, "off-switches".

    "already-isolated" is a container without network or systemd's PrivateNetwork: no interface but loopback is up.
    "off-switches" leaves the network reachable: then only the engines' own settings keep them off it.
    """
    if _isolated():
        return ISOLATED
    for flags in _attempts():
        if _works(flags):
            _enter(flags)
            return NAMESPACE
    return OFF_SWITCHES


def is_closed(level: str) -> bool:
    """Whether a level means that no network is there at all."""
    return level.partition("+")[0] in (NAMESPACE, ISOLATED)


def caution_about(level: str, why: str) -> str:
    """What a user should know of a level, and why there is no stronger one; empty for the strongest."""
    if level == FILTER:
        return f"{why or NO_NAMESPACE}: a filter on system calls keeps the engine from connecting"
    if is_closed(level) and not _is_filtered(level):
        return f"{why or FILTERS_NOTHING}: the engine reaches no network, but other programs' local sockets"
    if level == OFF_SWITCHES:
        said = why or "the kernel allows neither a network namespace nor a filter"
        return f"NOT SEALED: {said}; give --seal required to refuse"
    return ""


def require(level: str, why: str) -> None:
    """Raise SealError unless the engine reaches no network and no other program's local socket.

    `why` says what stood in the way of a stronger level, where it was not the kernel.
    """
    if why:
        raise SealError(f"{why}, and so the engine can't be sealed whole (only: {level})", LEAVE_OUT)
    if not is_closed(level):
        raise SealError(
            f"no network namespace can be had on this machine (only: {level})",
            "Run in a container without network (--network none), allow user namespaces (docs/privacy.md says how), "
            "or leave --seal required out: then a filter on system calls takes its place.",
        )
    if not _is_filtered(level):
        raise SealError(f"the kernel filters no system calls for the engine (only: {level})", NO_FILTER)


def _is_filtered(level: str) -> bool:
    return FILTER in level.split("+")


def _attempts() -> list[int]:
    alone = [_NEW_NETWORK] if os.geteuid() == 0 else []
    return [*alone, _NEW_USER | _NEW_NETWORK]


def _works(flags: int) -> bool:
    """Try it in a forked process first: what fails halfway (a new user without its ids) can't be taken back."""
    trial = os.fork()
    if trial == 0:
        code = 1
        try:
            _enter(flags)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(trial, 0)[1] == 0


def _enter(flags: int) -> None:
    """Move into new namespaces, as the user that we are, and bring loopback up. Raises OSError."""
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
    """Whether loopback is the one interface that is up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        return {name for _, name in socket.if_nameindex() if _flags(handle, name) & _UP} == {"lo"}


def _flags(handle: socket.socket, interface: str) -> int:
    answer = fcntl.ioctl(handle, _GET_FLAGS, _request(interface))
    return int(struct.unpack("16xH", answer[:18])[0])


def _request(interface: str, flags: int = 0) -> bytes:
    """A `struct ifreq` (netdevice(7)): the interface's name in 16 bytes, then its flags."""
    return struct.pack("16sH22x", interface.encode()[:15], flags)
