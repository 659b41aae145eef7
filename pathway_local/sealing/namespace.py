"""Cuts this process off from every network by moving it into a network namespace that holds only loopback.

Call it while the process has a single thread: otherwise the kernel refuses a new user namespace (unshare(2)).
Processes that are started later, such as the engine's workers, live in the same namespace.
"""

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

from pathway_local.sealing.levels import ISOLATED, NAMESPACE, OFF_SWITCHES

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
_libc = ctypes.CDLL(None, use_errno=True)


def seal() -> str:
    """Seal this process and return how: "namespace", "already-isolated" or, if the kernel forbids it, "off-switches".

    "already-isolated" means a container without network, or systemd's PrivateNetwork: only loopback is up.
    "off-switches" means that the network is reachable, and only the engines' own settings keep them off it.
    """
    if _isolated():
        return ISOLATED
    for flags in _attempts():
        if _works(flags):
            _enter(flags)
            return NAMESPACE
    return OFF_SWITCHES


def _attempts() -> list[int]:
    alone = [_NEW_NETWORK] if os.geteuid() == 0 else []
    return [*alone, _NEW_USER | _NEW_NETWORK]


def _works(flags: int) -> bool:
    """Try it in a forked process first: if it fails halfway (a new user without its ids), nobody can undo it."""
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
