"""Where an engine of several processes may connect: to its own kind, with and without a namespace of its own."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathway_local.sealing.gatekeeper import Gatekeeper

ENGINE = """
import ctypes, errno, json, os, socket, struct, subprocess, sys, threading
from pathlib import Path
from pathway_local.sealing import seal
from pathway_local.sealing.landlock import Files

folder, elsewhere, shared = Path(sys.argv[1]), sys.argv[2], sys.argv[5] == "shared"
gate, port = map(int, sys.argv[3:5])
if shared:
    seal.enter_namespace = lambda: "open"
level = str(seal.close_off("auto", gate, Files()))

def tried(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"

def local(kind=socket.SOCK_STREAM):
    return socket.socket(socket.AF_UNIX, kind)

found = {"level": level}
with local() as server, local() as client:
    found["bind own path"] = tried(server.bind, str(folder / "own"))
    server.listen()
    found["own path"] = tried(client.connect, str(folder / "own"))
os.chdir(folder)
found["own relative path"] = tried(local().bind, "relative")
found["foreign path"] = tried(local().connect, elsewhere)
found["foreign by dots"] = tried(local().connect, str(folder / ".." / Path(elsewhere).name))
(folder / "link").symlink_to(elsewhere)
found["foreign by link"] = tried(local().connect, str(folder / "link"))
os.symlink(elsewhere + ".loop", elsewhere + ".loop")
found["link to itself"] = tried(local().connect, elsewhere + ".loop")
found["bind foreign path"] = tried(local().bind, elsewhere + ".new")
found["name"] = tried(local().bind, "\\0pathway-test-name-%d" % os.getpid())
found["datagram to foreign path"] = tried(local(socket.SOCK_DGRAM).sendto, b"x", elsewhere)
found["message to foreign path"] = tried(local(socket.SOCK_DGRAM).sendmsg, [b"x"], [], 0, elsewhere)
with local(socket.SOCK_DGRAM) as post:
    post.bind(str(folder / "post"))
    found["message to own path"] = tried(local(socket.SOCK_DGRAM).sendmsg, [b"x"], [], 0, str(folder / "post"))
with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
    found["loopback"] = tried(client.connect, server.getsockname())
    found["accept"] = tried(server.accept)
with socket.create_server(("::1", 0), family=socket.AF_INET6) as server, socket.socket(socket.AF_INET6) as client:
    found["loopback 6"] = tried(client.connect, server.getsockname()[:2])
with socket.create_server(("0.0.0.0" if not shared else "127.0.0.1", 0)) as server:
    near = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]})); print('reached')"
    found["worker near"] = subprocess.run([sys.executable, "-c", near], capture_output=True, text=True).stdout.strip()
found["port of another"] = tried(socket.socket().connect, ("127.0.0.1", port))
found["mapped port of another"] = tried(socket.socket(socket.AF_INET6).connect, ("::ffff:127.0.0.1", port))
with socket.socket() as unused:
    unused.bind(("127.0.0.1", 0))
    found["port of nobody"] = tried(socket.socket().connect, unused.getsockname())
found["listen unbound"] = tried(socket.socket().listen)
def bind_unspecified():
    with socket.socket() as handle:
        if ctypes.CDLL(None, use_errno=True).bind(handle.fileno(), struct.pack("=HH12x", 0, 0), 16):
            raise OSError(ctypes.get_errno(), "")
found["bind unspecified"] = tried(bind_unspecified)
def connect_nowhere():
    with local() as handle:
        if ctypes.CDLL(None, use_errno=True).connect(handle.fileno(), ctypes.c_void_p(8), 16):
            raise OSError(ctypes.get_errno(), "")
found["no address"] = tried(connect_nowhere)
found["outside"] = tried(socket.socket().connect, ("192.0.2.1", 80))
found["outside 6"] = tried(socket.socket(socket.AF_INET6).connect, ("2001:db8::1", 80))
found["mapped outside"] = tried(socket.socket(socket.AF_INET6).connect, ("::ffff:192.0.2.1", 80))
found["bind all"] = tried(socket.socket().bind, ("0.0.0.0", 0))
found["udp"] = tried(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
found["lookup"] = "ok"
try:
    socket.getaddrinfo("example.org", 80)
except socket.gaierror:
    found["lookup"] = "no"
far = "import socket\\ntry: socket.socket().connect(('192.0.2.1', 80))\\nexcept PermissionError: print('refused')"
found["worker"] = subprocess.run([sys.executable, "-c", far], capture_output=True, text=True).stdout.strip()
def in_thread():
    found["thread"] = tried(socket.socket().connect, ("192.0.2.1", 80))
thread = threading.Thread(target=in_thread)
thread.start(); thread.join()
print(json.dumps(found))
"""

OWN = {"bind own path", "own path", "own relative path", "loopback", "loopback 6", "accept", "message to own path"}
ABSENT = {
    "foreign path",
    "foreign by dots",
    "foreign by link",
    "link to itself",
    "datagram to foreign path",
    "message to foreign path",
}
NEVER = {
    "bind foreign path",
    "outside",
    "outside 6",
    "mapped outside",
    "udp",
    "bind unspecified",
    "no address",
    "thread",
}


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="gate-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def elsewhere(folder: Path) -> Iterator[str]:
    """A socket of another program's, beside our folder."""
    path = f"{folder}.daemon"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(path)
        daemon.listen()
        Path(path).chmod(0o777)
        yield path
    Path(path).unlink()


def _engine(folder: Path, elsewhere: str, *, shared: bool) -> dict[str, str]:
    gate = Gatekeeper(folder)
    with socket.create_server(("0.0.0.0", 0)) as another:
        words = (folder, elsewhere, gate.child_end, another.getsockname()[1], "shared" if shared else "")
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", ENGINE, *map(str, words)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                pass_fds=[gate.child_end],
                start_new_session=True,
            )
        finally:
            os.close(gate.child_end)
        out, err = process.communicate(timeout=60)
    assert not process.returncode, err
    found: dict[str, str] = json.loads(out)
    return found


def test_in_a_namespace_only_its_own_kind_is_reached(folder: Path, elsewhere: str) -> None:
    found = _engine(folder, elsewhere, shared=False)
    assert found.pop("level") == "namespace+filter+files"
    assert {name for name, outcome in found.items() if outcome == "ok"} == OWN | {"name", "bind all", "listen unbound"}
    assert {name for name, outcome in found.items() if outcome == "EACCES"} == NEVER
    assert {name for name, outcome in found.items() if outcome == "ENOENT"} == ABSENT
    assert (found["lookup"], found["worker"], found["worker near"]) == ("no", "refused", "reached")
    assert found["port of another"] == found["port of nobody"] == "ECONNREFUSED"


def test_where_the_network_is_shared_the_same_holds_and_no_names_without_a_path(folder: Path, elsewhere: str) -> None:
    found = _engine(folder, elsewhere, shared=True)
    assert found.pop("level") == "filter+files"
    assert {name for name, outcome in found.items() if outcome == "ok"} == OWN
    assert {name for name, outcome in found.items() if outcome == "EACCES"} == NEVER | {
        *("name", "bind all", "listen unbound", "port of another", "mapped port of another")
    }
    assert {name for name, outcome in found.items() if outcome == "ENOENT"} == ABSENT
    assert (found["lookup"], found["worker"], found["worker near"]) == ("no", "refused", "reached")
    assert found["port of nobody"] == "ECONNREFUSED"


def test_it_ends_with_the_last_process_that_could_ask(folder: Path, elsewhere: str) -> None:
    before = {thread for thread in threading.enumerate() if thread.name == "gatekeeper"}
    _engine(folder, elsewhere, shared=True)
    for thread in {thread for thread in threading.enumerate() if thread.name == "gatekeeper"} - before:
        thread.join(timeout=10)
        assert not thread.is_alive()
