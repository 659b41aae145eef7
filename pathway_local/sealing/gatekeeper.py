"""Decides where an engine of several processes may connect: to its own kind on this machine, and nowhere else.

The kernel stops each call and asks here (seccomp_unotify(2)). After we have read an address, and before the kernel
continues the call, a hostile program could change it: this stops ordinary libraries, not a program made to escape. In
its own network namespace the engine reaches nobody by IP anyway; elsewhere loopback leads to every program of the
machine.

An engine over several GPUs needs this at every level of the seal: its processes connect to each other, a filter alone
can't tell their sockets from others, and a network namespace does not close the local sockets of daemons, which are
paths. An engine of one process needs none.
"""

import fcntl
import os
import select
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from errno import EACCES, ENOENT
from ipaddress import ip_address
from pathlib import Path

from pathway_local.sealing.filter import numbers

_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101
_QUESTION = struct.Struct("=QIIiIQ6Q")
"""`struct seccomp_notif`: id, process, flags, then the call's number, architecture, place and arguments."""

_REPLY = struct.Struct("=QqiI")
"""`struct seccomp_notif_resp`: id, value, error, flags."""

_GO_ON = 1
_HEADER, _HEADERS_APART = struct.Struct("=QI"), 64
"""The address and its length at the start of a `struct msghdr`, and the size of a `struct mmsghdr`."""

_LONGEST_ADDRESS, _MOST_MESSAGES = 128, 1024
_NCCL = b"/tmp/nccl-socket-"
_LISTENS = "0A"
"""A listening socket's state in /proc/net/tcp."""


class Gatekeeper:
    """Answers on its own thread until the last process under the filter has ended.

    The engine's process inherits `child_end` and sends over it the descriptor on which the kernel asks.
    AF_UNIX may reach paths inside `folder`, and IP may reach loopback. In its own network namespace everything there
    belongs to the engine; elsewhere it may not reach a port on which a socket listens that it has not bound itself.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._names: dict[int, str] = {}
        self._bound: set[str] = set()
        self._isolated = self._alone = False
        self._listener = -1
        ours, theirs = socket.socketpair()
        self.child_end = theirs.detach()
        threading.Thread(target=self._serve, args=(ours,), name="gatekeeper", daemon=True).start()

    def _serve(self, ours: socket.socket) -> None:
        with ours:
            network, listeners, _, _ = socket.recv_fds(ours, 64, 1)
        if not listeners:
            return  # the process ended before it sent them
        self._names = {number: name for name, number in numbers().items()}
        self._isolated, self._alone = network != b"open", network == b"own"
        [self._listener] = listeners
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        while not any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
            with suppress(FileNotFoundError):  # the process that made the call is gone
                self._answer_one()
        os.close(self._listener)

    def _answer_one(self) -> None:
        buffer = bytearray(_QUESTION.size)
        fcntl.ioctl(self._listener, _RECEIVE, buffer)
        id, process, _, number, _, _, *arguments = _QUESTION.unpack(buffer)
        try:
            error = self._error(self._names.get(number, ""), process, arguments)
        except (OSError, ValueError, OverflowError, struct.error):
            error = EACCES
        fcntl.ioctl(self._listener, _ANSWER, bytearray(_REPLY.pack(id, 0, -error, 0 if error else _GO_ON)))

    def _error(self, call: str, process: int, arguments: Sequence[int]) -> int:
        """Return the error for a call; 0 lets it continue. Raises whatever a wrong address or an ended process does.

        For the engine, a path outside `folder` does not exist: CUDA looks for one of NVIDIA's daemons at a fixed path
        while it starts, and continues without it only if there is none (ENOENT).
        """
        if call == "listen":
            # A socket that was never bound would listen on all of the machine's addresses.
            return 0 if self._alone or _socket(process, arguments[0]) in self._bound else EACCES
        for address in _addresses(call, process, arguments):
            if not self._may_use(address, call, process):
                return ENOENT if call != "bind" and _is_path(address) else EACCES
        if call == "bind":
            self._bound.add(_socket(process, arguments[0]))
        return 0

    def _may_use(self, address: bytes, call: str, process: int) -> bool:
        family = int.from_bytes(address[:2], "little")
        if family == socket.AF_NETLINK or (family == socket.AF_UNSPEC and call != "bind"):
            return True
        if family == socket.AF_UNIX:
            return self._is_ours(address[2:], process)
        if family not in (socket.AF_INET, socket.AF_INET6):
            return False
        given = ip_address(address[4:8] if family == socket.AF_INET else address[8:24])
        mapped = getattr(given, "ipv4_mapped", None) or given
        if call == "bind":
            return self._isolated or mapped.is_loopback
        port = int.from_bytes(address[2:4], "big")
        return mapped.is_loopback and (self._alone or _listeners(process, port) <= self._bound)

    def _is_ours(self, name: bytes, process: int) -> bool:
        if not name or name[:1] == b"\0":
            return self._alone or not name or name[1:].startswith(_NCCL)
        path = Path(f"/proc/{process}/cwd").readlink() / os.fsdecode(name.split(b"\0")[0])
        return Path(os.path.realpath(path)).is_relative_to(self._folder)


def _is_path(address: bytes) -> bool:
    return int.from_bytes(address[:2], "little") == socket.AF_UNIX and address[2:3] not in (b"", b"\0")


def _socket(process: int, descriptor: int) -> str:
    return str(Path(f"/proc/{process}/fd/{descriptor & 0xFFFFFFFF}").readlink())


def _listeners(process: int, port: int) -> set[str]:
    """Return the sockets that listen on this port, at any address, in the process's network."""
    tables = (table.read_text().splitlines()[1:] for table in Path(f"/proc/{process}/net").glob("tcp*"))
    rows = [row.split() for rows in tables for row in rows]
    there = (row for row in rows if row[3] == _LISTENS and int(row[1].rpartition(":")[2], 16) == port)
    return {f"socket:[{row[9]}]" for row in there}


def _addresses(call: str, process: int, arguments: Sequence[int]) -> Iterator[bytes]:
    """Yield the addresses that a call names, possibly none."""
    if call in ("connect", "bind"):
        yield _memory(process, arguments[1], arguments[2])
    elif call == "sendto":
        yield _memory(process, arguments[4], arguments[5])
    else:
        count = arguments[2] if call == "sendmmsg" else 1
        for at in range(min(count, _MOST_MESSAGES)):
            header = _memory(process, arguments[1] + at * _HEADERS_APART, _HEADER.size)
            place, length = _HEADER.unpack(header)
            if place and length:
                yield _memory(process, place, length)


def _memory(process: int, place: int, length: int) -> bytes:
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        memory.seek(place)
        found = memory.read(min(length & 0xFFFFFFFF, _LONGEST_ADDRESS))
    if len(found) < 2:
        raise ValueError("no address")
    return found
