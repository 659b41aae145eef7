"""The filter on system calls: what each policy lets through, tried in a process that is under it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pathway_local.sealing import filter as seccomp

HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
TRY = """
import errno, json, os, socket, sys, threading
from pathway_local.sealing.filter import install

def tried(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"

server = socket.create_server(("127.0.0.1", 0))
open_before = socket.socket()
install(sys.argv[1])
INET, INET6, UNIX, NETLINK, PACKET, VSOCK = 2, 10, 1, 16, 17, 40
STREAM, DATAGRAM, RAW, SEQUENCE, FAST_OPEN = 1, 2, 3, 5, 0x20000000
kinds = {
    "tcp": (INET, STREAM, 0), "tcp6": (INET6, STREAM, 0), "sctp": (INET, STREAM, 132), "mptcp": (INET, STREAM, 262),
    "udp": (INET, DATAGRAM, 0), "udp6": (INET6, DATAGRAM, 0), "raw": (INET, RAW, 1), "local": (UNIX, STREAM, 0),
    "local datagram": (UNIX, DATAGRAM, 0), "local sequence": (UNIX, SEQUENCE, 0), "links": (NETLINK, RAW, 0),
    "uevents": (NETLINK, RAW, 15), "packet": (PACKET, RAW, 0), "vsock": (VSOCK, STREAM, 0),
    "flags": (INET, DATAGRAM | socket.SOCK_NONBLOCK, 0),
}
found = {name: tried(socket.socket, *kind) for name, kind in kinds.items()}
found |= {f"pair {kind}": tried(socket.socketpair, UNIX, kind) for kind in (STREAM, DATAGRAM, SEQUENCE)}
found["connect"] = tried(open_before.connect, server.getsockname())
found["sendto"] = tried(open_before.sendto, b"x", FAST_OPEN, server.getsockname())
found["sendmsg"] = tried(open_before.sendmsg, [b"x"], [], FAST_OPEN, server.getsockname())
server.setblocking(False)
found["accept"] = tried(server.accept)
thread = threading.Thread(target=lambda: found.update(thread=tried(open_before.connect, server.getsockname())))
thread.start()
thread.join()
if os.fork() == 0:
    os._exit(tried(open_before.connect, server.getsockname()) != "EACCES")
found["forked"] = os.wait()[1]
found["interfaces"] = tried(socket.if_nameindex)
near, far = socket.socketpair()
near.send(b"a")
found["pair talks"] = far.recv(1).decode()
print(json.dumps(found))
"""

REFUSED_CALLS = {"connect": "EACCES", "thread": "EACCES", "forked": 0, "pair talks": "a"}
STREAMS = {"tcp", "tcp6", "local", "local sequence", "links", "pair 1"}


def _tried(policy: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", TRY, policy], capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_no_connections_leaves_streams_that_lead_nowhere() -> None:
    found = _tried("no-connections")
    assert {name for name, outcome in found.items() if outcome == "ok"} == STREAMS | {"interfaces"}
    assert found.items() >= REFUSED_CALLS.items()
    assert (found["sendto"], found["sendmsg"], found["accept"]) == ("EACCES",) * 3
    assert all(found[name] == "EACCES" for name in ("sctp", "mptcp", "udp", "udp6", "raw", "packet", "vsock", "flags"))


def test_no_sockets_leaves_local_pairs_alone() -> None:
    found = _tried("no-sockets")
    assert {name for name, outcome in found.items() if outcome == "ok"} == {"pair 1"}
    assert found.items() >= REFUSED_CALLS.items()


def test_no_sockets_accepts_on_the_one_there_is_and_may_bind_all_threads() -> None:
    server = """
import socket, threading
from pathway_local.sealing.filter import install

def tried(call, *arguments):
    try:
        call(*arguments)
    except PermissionError:
        return "refused"
    return "ok"

door = socket.create_server(("127.0.0.1", 0))
visitor = socket.create_connection(door.getsockname())
open_before, filtered, said = socket.socket(), threading.Event(), []
later = lambda: filtered.wait() and said.append(tried(open_before.connect, door.getsockname()))
earlier = threading.Thread(target=later)
earlier.start()
install("no-sockets", every_thread=True)
filtered.set()
earlier.join()
door.listen()
door.accept()[0].send(b"accepted")
said += [visitor.recv(8).decode(), tried(socket.socketpair), tried(open_before.bind, ("127.0.0.1", 0))]
said += [tried(socket.socket, kind) for kind in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK)]
print(*said)
"""
    done = subprocess.run([sys.executable, "-c", server], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["refused", "accepted", "ok", *["refused"] * 5], done.stderr


def test_a_policy_can_not_be_taken_back() -> None:
    again = """
import socket
from pathway_local.sealing.filter import install
install("no-sockets")
install("no-connections")
try:
    socket.socket()
except PermissionError:
    print("still")
"""
    done = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True, timeout=60)
    assert done.stdout == "still\n", done.stderr


def test_a_processor_that_is_not_known_is_no_silent_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(OSError, match="there is no filter for"):
        seccomp.install("no-sockets")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("policy", ["no-sockets", "no-connections", "ask"])
def test_programs_are_ones_that_the_kernel_would_take(
    policy: seccomp.Policy, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    code = seccomp._code(policy, 7)
    assert len(code) < 4096
    assert all(place + max(yes, no) + 1 < len(code) for place, (_, yes, no, _) in enumerate(code[:-1]) if yes or no)
    assert max(max(yes, no) for _, yes, no, _ in code) < 256
    assert code[-1] == (0x06, 0, 0, 0x7FFF0000)


@pytest.mark.skipif(not HEADER.exists(), reason="no kernel headers here to compare with")
def test_numbers_are_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    lines = HEADER.read_text().splitlines()
    defined = {line.split()[1].removeprefix("__NR_"): int(line.split()[2]) for line in lines if line.count(" ") == 2}
    newest = max(defined.values())  # of these headers; a kernel's may be newer
    assert {call for call in seccomp.numbers().items() if call[1] <= newest} <= defined.items()


STARTS = """
import os, socket, sys, threading
from pathway_local.sealing.launch import give_up_sockets, start_process

def can():
    try:
        socket.socket().close()
    except PermissionError:
        return "no"
    return "yes"

assert give_up_sockets() and give_up_sockets()  # a dialog does so, and then the command that it types
seen = []
thread = threading.Thread(target=lambda: seen.append(can()))
thread.start()
thread.join()
code = "import socket; socket.socket().close(); print('yes')"
engine = start_process([sys.executable, "-c", code], (), dict(os.environ), "/")
print(can(), *seen, engine.communicate()[0].decode().strip(), engine.returncode)
"""


def test_threads_give_up_sockets_and_engines_do_not() -> None:
    done = subprocess.run([sys.executable, "-c", STARTS], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["no", "no", "yes", "0"], done.stderr
