"""A filter on system calls that keeps this process, and all that it starts, from reaching others (seccomp(2)).

It holds for native code as well, is inherited, and can't be taken back. A filter sees a call's numbers, not what
its pointers lead to: it can't tell one address from another, so it refuses to connect at all, or asks.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Mapping, Sequence
from typing import Literal

Policy = Literal["no-sockets", "no-connections", "ask"]
"""What is refused.

"no-sockets": every socket but a local pair; io_uring, which opens them unseen, here and in the others.
"no-connections": to connect, to accept, to send to an address, and every socket but streams of IP, streams and
sequenced packets of AF_UNIX, and the kernel's own AF_NETLINK. Binding and listening work: CUDA and engines that are
alone do so and wait for nobody.
"ask": as above, except that connecting, binding, listening and sending to an address is decided by whoever holds
the descriptor that `install` gives (`gatekeeper`), accepting works, and AF_UNIX has datagrams.
"""

# seccomp_data is nr, arch, instruction pointer, six 64-bit arguments (linux/seccomp.h); both machines are
# little-endian, so an argument's low half comes first.
_NR, _ARCH, _ARGS = 0, 4, 16
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_X32 = 0x40000000

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _SEQUENCE, _TYPE = 1, 2, 5, 0xF
_TCP, _FAST_OPEN = 6, 0x20000000
_NETLINK_ADDRESS = 12
"""Bytes of a sockaddr_nl; no IP address is so short."""

_NO_NEW_PRIVILEGES, _SET_FILTER, _NEW_LISTENER = 38, 1, 8

# Audit architecture, then numbers (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h).
_MACHINES: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "socket": 41,
            "connect": 42,
            "accept": 43,
            "sendto": 44,
            "sendmsg": 46,
            "bind": 49,
            "listen": 50,
            "socketpair": 53,
            "accept4": 288,
            "sendmmsg": 307,
            "seccomp": 317,
            "io_uring_setup": 425,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "socket": 198,
            "socketpair": 199,
            "bind": 200,
            "listen": 201,
            "accept": 202,
            "connect": 203,
            "sendto": 206,
            "sendmsg": 211,
            "accept4": 242,
            "sendmmsg": 269,
            "seccomp": 277,
            "io_uring_setup": 425,
        },
    ),
}

Instruction = tuple[int, int, int, int]
"""A `struct sock_filter`: code, steps to skip if true, steps to skip if false, constant."""

Code = list[Instruction]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install(policy: Policy, spared: int = -1) -> int:
    """Put this thread, and all threads and processes that it starts from here on, under a policy.

    With "ask" gives the descriptor on which questions arrive, and `sendmsg` on the descriptor `spared` is not
    asked about: over it the other one can be handed on. Raises OSError where the kernel has no such filters.
    """
    code = b"".join(struct.pack("HBBI", *step) for step in _code(policy, spared))
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    flags = _NEW_LISTENER if policy == "ask" else 0
    listener: int = libc.syscall(numbers()["seccomp"], _SET_FILTER, flags, ctypes.byref(program))
    if listener < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return listener


def numbers() -> Mapping[str, int]:
    """The numbers of the calls that filters know, by name. Raises OSError for a processor that is not known."""
    return _machine()[1]


def _machine() -> tuple[int, Mapping[str, int]]:
    if platform.machine() not in _MACHINES:
        raise OSError(errno.ENOSYS, "no filter is known for this processor")
    return _MACHINES[platform.machine()]


def _code(policy: Policy, spared: int) -> Code:
    arch, numbers = _machine()
    foreign = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, arch), *_refuse(errno.ENOSYS)]
    # x32 calls share the audit architecture of x86-64 and have numbers of their own.
    code = [*foreign, (_LOAD, 0, 0, _NR), (_AT_LEAST, 0, 1, _X32), *_refuse(errno.ENOSYS)]
    for name, body in _rules(policy, spared).items():
        code += [(_EQUAL, 0, len(body) + 1, numbers[name]), *body, (_LOAD, 0, 0, _NR)]
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def _rules(policy: Policy, spared: int) -> dict[str, Code]:
    """What is done about each call; a body that runs through allows it."""
    no = _refuse(errno.EACCES)
    judged = [(_RETURN, 0, 0, _ASK)] if policy == "ask" else no
    # CUDA opens sockets of sequenced packets while it starts, binds and listens; refused any of it, cuInit returns 304.
    local = (_STREAM, _SEQUENCE, _DATAGRAM) if policy == "ask" else (_STREAM, _SEQUENCE)
    fast_open = {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}
    rules = {name: _if_any_bit(flags, _FAST_OPEN, no) for name, flags in fast_open.items()}
    rules["sendto"] += _with_address(judged)
    rules |= {"io_uring_setup": _refuse(errno.ENOSYS), "connect": judged}
    rules["socketpair"] = _unless(1, local if policy == "ask" else (_STREAM,), no, mask=_TYPE)
    if policy == "no-sockets":
        return rules | {"socket": no, "bind": no, "accept": no, "accept4": no}
    rules["socket"] = _socket(local, no)
    if policy == "no-connections":
        return rules | {"accept": no, "accept4": no}
    rules["sendmmsg"] += judged
    rules["sendmsg"] += _unless(0, (spared,), judged)
    return rules | {"bind": judged, "listen": judged}


def _socket(local: Sequence[int], no: Code) -> Code:
    """Streams of IP over TCP, AF_UNIX of these kinds, and AF_NETLINK's first protocol, which lists interfaces."""
    streams = [*_unless(1, (_STREAM,), no, mask=_TYPE), *_unless(2, (0, _TCP), no)]
    return [
        *_unless(0, (_UNIX, _INET, _INET6, _NETLINK), no),
        *_unless(0, (_INET, _INET6, _NETLINK), _unless(1, local, no, mask=_TYPE)),
        *_unless(0, (_INET, _INET6, _UNIX), _unless(2, (0,), no)),
        *_unless(0, (_UNIX, _NETLINK), streams),
    ]


def _with_address(body: Code) -> Code:
    """The body where `sendto` names an address, other than the kernel's own."""
    guarded = _unless(5, (_NETLINK_ADDRESS,), body)
    return [*_unless(4, (0,), guarded), *_unless(4, (0,), guarded, high=True)]


def _refuse(number: int) -> Code:
    return [(_RETURN, 0, 0, _ERRNO | number)]


def _unless(argument: int, values: Sequence[int], body: Code, *, mask: int = 0, high: bool = False) -> Code:
    """The body, skipped where half of an argument (its low one) has one of these values."""
    load = [(_LOAD, 0, 0, _ARGS + 8 * argument + 4 * high)] + ([(_AND, 0, 0, mask)] if mask else [])
    tests = [(_EQUAL, len(values) - at - 1 + len(body), 0, value & 0xFFFFFFFF) for at, value in enumerate(values)]
    return [*load, *tests, *body]


def _if_any_bit(argument: int, bits: int, body: Code) -> Code:
    return [(_LOAD, 0, 0, _ARGS + 8 * argument), (_ANY_BIT, 0, len(body), bits), *body]
