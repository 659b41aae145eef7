"""A filter on system calls that keeps this process, and all that it starts, from reaching others (seccomp(2)).

The filter also holds for native code, child processes inherit it, and nobody can remove it. It sees a call's number
and arguments, but not the memory that they point to. So it can't tell one address from another: it refuses every
connection, or asks another process.

The filter is a small program (BPF) that the kernel runs at every system call, on a `struct seccomp_data`. Ours begins
with two checks of the machine; then comes one block for each call:

    load arch       not ours: fail          else a 32-bit call, numbered differently, would pass all that follows
    load nr         x32 or above: fail      the same for x32 calls
    is nr `socket`? no: skip the block      its rule, which ends in fail or ask, or runs off its end; load nr again
    is nr `bind`?   no: skip the block      ...
    allow

Jumps go forward only, by a number of instructions (0 is the next one). So each function below returns a block that
runs off its own end to allow the call, and whoever skips a block jumps by its length.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence
from typing import Literal

Policy = Literal["no-sockets", "no-connections", "ask"]
"""How much a filter refuses. Every policy refuses io_uring, whose operations no filter sees, what looks into other
processes or joins their namespaces, and new namespaces, in which a process gets all rights back.

"no-sockets" refuses every socket but a local pair; one that the process has bound before may listen and accept.
"no-connections" refuses to connect, to accept, to send to an address, and every socket but TCP streams, streams and
sequenced packets of AF_UNIX, and the kernel's own AF_NETLINK. It allows bind and listen, which CUDA and an engine
in a single process use without ever accepting. It changes no file's mode, owner or attributes.
"ask" is like "no-connections", but whoever holds the descriptor that `install` returns (`gatekeeper`) decides about
connecting, binding, listening and sending to an address; it also allows accepting, and datagrams of AF_UNIX.
"""

# Offsets into seccomp_data (linux/seccomp.h): nr, arch, instruction pointer, six 64-bit arguments. BPF loads 32 bits at
# a time; both machines are little-endian, so an argument's low half comes first.
_NR, _ARCH, _ARGS = 0, 4, 16
# Operation codes (linux/bpf_common.h), and the answers that _RETURN gives.
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_X32 = 0x40000000
"""The bit that marks an x32 call: 64-bit code with 32-bit pointers, which reaches the same kernel functions."""

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _SEQUENCE, _TYPE = 1, 2, 5, 0xF
_TCP, _FAST_OPEN = 6, 0x20000000
_NETLINK_ADDRESS = 12
"""Bytes of a sockaddr_nl; no IP address is so short."""

_NO_NEW_PRIVILEGES, _SET_FILTER, _ALL_THREADS, _NEW_LISTENER = 38, 1, 1, 8

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The machines that we know, and the numbers by which the kernel's audit names them."""


def _numbered(table: str) -> dict[str, tuple[int, int]]:
    """Return a call's numbers on the two machines, by its name."""
    words = iter(table.split())
    return {name: (int(first), int(second)) for name, first, second in zip(words, words, words, strict=True)}


# Each call with its number on x86_64 and on aarch64 (arch/x86/entry/syscalls/syscall_64.tbl and
# include/uapi/asm-generic/unistd.h). aarch64 lacks chmod, chown and lchown: there it is the call that does the same.
_FILTERED = _numbered("""
    socket 41 198  connect 42 203  accept 43 202  sendto 44 206  sendmsg 46 211  bind 49 200  listen 50 201
    socketpair 53 199  accept4 288 242  sendmmsg 307 269  seccomp 317 277  io_uring_setup 425 425  clone 56 220
    clone3 435 435
""")
_ON_FILES = _numbered("""
    chmod 90 53  fchmod 91 52  fchmodat 268 53  fchmodat2 452 452  chown 92 54  fchown 93 55  lchown 94 54
    fchownat 260 54  setxattr 188 5  lsetxattr 189 6  fsetxattr 190 7  setxattrat 463 463  truncate 76 45
""")
"""Calls that would open a user's files to others, or empty them, and that no rule of Landlock covers everywhere."""

_REFUSED = _numbered("""
    ptrace 101 117  process_vm_readv 310 270  process_vm_writev 311 271  pidfd_getfd 438 438  kcmp 312 272
    setns 308 268  unshare 272 97  perf_event_open 298 241  bpf 321 280  shmget 29 194  msgget 68 186
    semget 64 190  add_key 248 217  request_key 249 218  keyctl 250 219
""")
"""Calls that every policy refuses: they look into other processes, join their namespaces, or reach kernel services."""

_CALLS = _FILTERED | _ON_FILES | _REFUSED

_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID and CLONE_NEWNET."""

Instruction = tuple[int, int, int, int]
"""A `struct sock_filter`: operation, instructions to skip if true, to skip if false, constant."""

Code = list[Instruction]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install(policy: Policy, spared: int = -1, *, every_thread: bool = False) -> int:
    """Put this thread, and all threads and processes that it starts from now on, under a policy.

    With `every_thread` it holds for all threads, also those that libraries have started before. With "ask", return the
    descriptor on which the kernel's questions arrive. `sendmsg` on the descriptor `spared` needs no answer: this
    process hands the other descriptor over it, and nobody could answer before that. Raises OSError if the kernel has no
    such filters.
    """
    # "HBBI" is the layout of a sock_filter: 8 bytes. The kernel wants their number and a pointer to them.
    code = b"".join(struct.pack("HBBI", *step) for step in _code(policy, spared))
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    # Without this the kernel refuses a filter to ordinary users: a set-uid program under it could be tricked.
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    flags = _NEW_LISTENER * (policy == "ask") | _ALL_THREADS * every_thread
    listener: int = libc.syscall(numbers()["seccomp"], _SET_FILTER, flags, ctypes.byref(program))
    if listener > 0 and every_thread:
        raise OSError(errno.EACCES, "a thread is under another filter")  # the kernel returns the thread's number
    if listener < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return listener


def numbers() -> dict[str, int]:
    """Return the numbers of the calls that filters know, by name. Raises OSError for an unknown processor."""
    if platform.machine() not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, "there is no filter for this processor")
    column = list(_ARCHITECTURES).index(platform.machine())
    return {name: each[column] for name, each in _CALLS.items()}


def _code(policy: Policy, spared: int) -> Code:
    called, arch = numbers(), _ARCHITECTURES[platform.machine()]
    # ENOSYS: to the program these calls look as if the kernel had been built without them.
    foreign = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, arch), *_refuse(errno.ENOSYS)]
    # x32 calls report the architecture of x86-64. No number of aarch64 is so high.
    code = [*foreign, (_LOAD, 0, 0, _NR), (_AT_LEAST, 0, 1, _X32), *_refuse(errno.ENOSYS)]
    for name, body in _rules(policy, spared).items():
        # A rule's loads overwrite the number, so each block ends by loading it again: + 1 skips that load, too.
        code += [(_EQUAL, 0, len(body) + 1, called[name]), *body, (_LOAD, 0, 0, _NR)]
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def _rules(policy: Policy, spared: int) -> dict[str, Code]:
    """Return each call's rule; a rule that runs off its end allows the call."""
    no = _refuse(errno.EACCES)
    judged = [(_RETURN, 0, 0, _ASK)] if policy == "ask" else no
    # CUDA opens sockets of sequenced packets while it starts, binds and listens; refused any of it, cuInit returns 304.
    local = (_STREAM, _SEQUENCE, _DATAGRAM) if policy == "ask" else (_STREAM, _SEQUENCE)
    fast_open = {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}
    # TCP fast open: a send with this flag connects by itself, unseen by a rule on `connect`.
    rules = {name: _if_any_bit(flags, _FAST_OPEN, no) for name, flags in fast_open.items()}
    rules["sendto"] += _with_address(judged)
    # io_uring does socket, connect and send from a queue in memory, without a system call that a filter could see.
    rules |= {"io_uring_setup": _refuse(errno.ENOSYS), "connect": judged}
    # clone3 hides its flags behind a pointer; told that the kernel lacks it, libraries call clone instead.
    rules |= {"clone3": _refuse(errno.ENOSYS), "clone": _if_any_bit(0, _NEW_NAMESPACES, _refuse(errno.EPERM))}
    rules |= {name: _refuse(errno.EPERM) for name in _REFUSED}
    # A pair of datagram sockets can send to any address; a pair of streams reaches only its other end.
    rules["socketpair"] = _unless(1, local if policy == "ask" else (_STREAM,), no, mask=_TYPE)
    if policy == "no-sockets":
        return rules | {"socket": no, "bind": no}
    rules["socket"] = _socket(local, no)
    # A library that sets modes goes on as if it had: a new file is its user's alone.
    rules |= {name: _refuse(0 if "chmod" in name else errno.EPERM) for name in _ON_FILES}
    if policy == "no-connections":
        return rules | {"accept": no, "accept4": no}
    # Their addresses lie behind pointers, so the gatekeeper has to look; "no-connections" has no datagram sockets.
    rules["sendmmsg"] += judged
    rules["sendmsg"] += _unless(0, (spared,), judged)
    return rules | {"bind": judged, "listen": judged}


def _socket(local: Sequence[int], no: Code) -> Code:
    """Refuse all but TCP over IP, these types of AF_UNIX, and AF_NETLINK's protocol 0, which lists interfaces."""
    streams = [*_unless(1, (_STREAM,), no, mask=_TYPE), *_unless(2, (0, _TCP), no)]
    return [
        *_unless(0, (_UNIX, _INET, _INET6, _NETLINK), no),
        *_unless(0, (_INET, _INET6, _NETLINK), _unless(1, local, no, mask=_TYPE)),
        *_unless(0, (_INET, _INET6, _UNIX), _unless(2, (0,), no)),
        *_unless(0, (_UNIX, _NETLINK), streams),
    ]


def _with_address(body: Code) -> Code:
    """Run the body if `sendto` names an address: a pointer that is not null, and no length of a netlink address."""
    guarded = _unless(5, (_NETLINK_ADDRESS,), body)
    return [*_unless(4, (0,), guarded), *_unless(4, (0,), guarded, high=True)]


def _refuse(number: int) -> Code:
    return [(_RETURN, 0, 0, _ERRNO | number)]


def _unless(argument: int, values: Sequence[int], body: Code, *, mask: int = 0, high: bool = False) -> Code:
    """Run the body unless half of an argument (the low one) has one of these values.

    Each test that is true skips the tests after it and the body; the last that is false falls into the body.
    """
    load = [(_LOAD, 0, 0, _ARGS + 8 * argument + 4 * high)] + ([(_AND, 0, 0, mask)] if mask else [])
    tests = [(_EQUAL, len(values) - at - 1 + len(body), 0, value & 0xFFFFFFFF) for at, value in enumerate(values)]
    return [*load, *tests, *body]


def _if_any_bit(argument: int, bits: int, body: Code) -> Code:
    return [(_LOAD, 0, 0, _ARGS + 8 * argument), (_ANY_BIT, 0, len(body), bits), *body]
