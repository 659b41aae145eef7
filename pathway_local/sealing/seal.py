"""Puts on this process the strongest seal that the kernel allows and under which CUDA starts; a word for each level.

Call it while the process has a single thread: otherwise the kernel refuses a new user namespace (unshare(2)).
Processes that are started later, such as the engine's workers, live in the same namespace.
"""

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from pathway_local.errors import SealError
from pathway_local.sealing.filter import install
from pathway_local.system.machine import uses_gpu

Wanted = Literal["auto", "required", "off"]
"""As strong a seal as the kernel allows; no network and no local sockets, else refuse to run; or no seal."""

NAMESPACE = "namespace"
ISOLATED = "already-isolated"
OFF_SWITCHES = "off-switches"
FILTER = "filter"
UNFILTERED: Final = "unfiltered"
Attempt = Wanted | Literal["unfiltered"]
"""How to seal an engine's process: as wanted, or as strongly as possible without the filter on system calls."""

OFF = "off"
CLUSTER = "cluster:"
"""Begins the level of an engine on another machine: its own seal there follows."""

NO_FILTER = (
    "Other programs' local sockets could be reached: take a kernel and a container that allow filters (seccomp), "
    "or leave --seal required out."
)

NO_NAMESPACE = "the kernel allows no network namespace here"
FILTERS_NOTHING = "the kernel filters no system calls here"
LEAVE_OUT = "Leave --seal required out: the engine then runs under the strongest seal that lets it start."


def is_closed(level: str) -> bool:
    """Whether this level has no network at all."""
    return level.partition("+")[0] in (NAMESPACE, ISOLATED)


def caution_about(level: str, why: str) -> str:
    """Return a warning about a level, with the reason why it is not stronger; empty for the strongest here."""
    if level.startswith(CLUSTER):
        own = caution_about(level.removeprefix(CLUSTER), why)
        return f"prompts and replies travel to the cluster's nodes{'; there: ' if own else ''}{own}"
    if level == FILTER:
        return f"{why or NO_NAMESPACE}: a filter on system calls keeps the engine from connecting"
    if is_closed(level) and not _is_filtered(level):
        return (
            f"{why or FILTERS_NOTHING}: the engine reaches no network, but it can reach other programs' local sockets"
        )
    if level == OFF_SWITCHES:
        said = why or "the kernel allows neither a network namespace nor a filter"
        return f"NOT SEALED: {said}; give --seal required to refuse"
    return ""


def require(level: str, why: str) -> None:
    """Raise SealError unless the engine reaches no network and no other program's local socket.

    `why` says what prevented a stronger level, if it was not the kernel.
    """
    if why:
        raise SealError(f"{why}, so the engine can't be sealed completely (only: {level})", LEAVE_OUT)
    if not is_closed(level):
        raise SealError(
            f"this machine allows no network namespace (only: {level})",
            "Run in a container without network (--network none), allow user namespaces (docs/privacy.md says how), "
            "or leave --seal required out: then a filter on system calls takes its place.",
        )
    if not _is_filtered(level):
        raise SealError(f"the kernel filters no system calls for the engine (only: {level})", NO_FILTER)


def _is_filtered(level: str) -> bool:
    return FILTER in level.split("+")


SUCCESS, NO_DRIVER = 0, -1
"""cuInit returns the first if CUDA starts; the second is our number for a machine without its driver."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a seal: a network namespace, and a filter on system calls."""

    namespace: bool
    filter: bool

    def try_on(self) -> None:
        """Seal this process with these parts; an engine with workers later uses the filter that asks."""
        if self.namespace:
            seal()
        if self.filter:
            with suppress(OSError):
                install("no-connections")


LADDER = (Parts(True, True), Parts(True, False), Parts(False, True), Parts(False, False))
"""Seals, the strongest first."""


def close_off(wanted: str, gate: int) -> tuple[str, str]:
    """Cut this process off from networks and from other programs' sockets; return the level and why it is no stronger.

    The level is the word of `seal`, with "+filter" if system calls are filtered, or "off"; the manifest records it. The
    reason is empty unless CUDA does not start under the strongest seal that the kernel allows.
    """
    if wanted == OFF:
        return OFF, ""
    parts, why = _strongest(LADDER[1:] if wanted == UNFILTERED else LADDER)
    level = seal() if parts.namespace else OFF_SWITCHES
    if parts.filter and _filter(level, gate):
        return FILTER if level == OFF_SWITCHES else f"{level}+{FILTER}", why
    return level, why


def _strongest(ladder: Sequence[Parts]) -> tuple[Parts, str]:
    """Return the strongest seal under which CUDA starts, if any, and why it is not the first of the ladder."""
    best = ladder[0]
    if not uses_gpu() or (answer := cuda_under(best.try_on)) in (SUCCESS, NO_DRIVER):
        return best, ""
    if cuda_under(lambda: None) != SUCCESS:
        return best, ""
    # Start from the top again: the unsealed try may have let the driver's set-uid helper make missing device files.
    for parts in ladder:
        if cuda_under(parts.try_on) == SUCCESS:
            why = f"CUDA does not start under a stronger seal (cuInit returns {answer})"
            return parts, why if parts != best else ""
    return best, ""


def _filter(level: str, gate: int) -> bool:
    """Filter this process's system calls; return whether the kernel does."""
    try:
        listener = install("no-connections" if gate < 0 else "ask", gate)
    except OSError:
        return False
    if gate >= 0:
        # Keep `gate` open: the filter lets sendmsg on this number pass, so no other socket may get the number.
        handle = socket.socket(fileno=gate)
        socket.send_fds(handle, [level.encode()], [listener])
        handle.detach()
        os.close(listener)
    return True


def initialize_cuda() -> int:
    """Return what the driver's cuInit returns; NO_DRIVER if its library can't be loaded."""
    try:
        return int(ctypes.CDLL("libcuda.so.1").cuInit(0))
    except OSError:
        return NO_DRIVER


def cuda_under(put_on_seal: Callable[[], object]) -> int:
    """Return what cuInit returns under a seal; NO_DRIVER if the process that tries it ends first."""

    def try_it() -> int:
        put_on_seal()
        return initialize_cuda()

    return int(_in_fork(try_it) or NO_DRIVER)


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


def seal() -> str:
    """Seal this process and return how: "namespace", "already-isolated" or, if the kernel forbids it, "off-switches".

    "already-isolated" means a container without network, or systemd's PrivateNetwork: only loopback is up.
    "off-switches" means that the network is reachable, and only the engines' own settings keep them off it.
    """
    if _isolated():
        return ISOLATED
    for flags in _attempts():
        # Tried in a forked process first: if it fails halfway (a new user without its ids), nobody can undo it.
        if _in_fork(partial(_enter, flags)):
            _enter(flags)
            return NAMESPACE
    return OFF_SWITCHES


def _attempts() -> list[int]:
    alone = [_NEW_NETWORK] if os.geteuid() == 0 else []
    return [*alone, _NEW_USER | _NEW_NETWORK]


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
