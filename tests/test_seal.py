"""The seal holds: inside, loopback works and nothing else does."""

import errno
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from itertools import product
from pathlib import Path

import pytest

from pathway_local.engines.engines import Engines
from pathway_local.errors import EngineError
from pathway_local.passes import Pass
from pathway_local.sealing import seal
from pathway_local.sealing.gatekeeper import Gatekeeper
from pathway_local.sealing.seal import Seal

HERE = Path(__file__).parent
INSIDE = """
import encodings.idna, os, socket
from pathway_local.sealing.seal import enter_namespace
BECOME
before = os.geteuid(), os.getegid()
first, second = enter_namespace(), enter_namespace()
with socket.create_server(("127.0.0.1", 0)) as own, socket.create_connection(own.getsockname()) as near:
    own.accept()[0].send(b"near")
    answer = near.recv(4).decode()
def outside(kind, family=socket.AF_INET, address="192.0.2.1"):
    with socket.socket(family, kind) as far:
        far.settimeout(5)
        return far.connect_ex((address, 53))
six = outside(socket.SOCK_STREAM, socket.AF_INET6, "2001:db8::1")
same = before == (os.geteuid(), os.getegid())
print(first, second, answer, outside(socket.SOCK_STREAM), outside(socket.SOCK_DGRAM), six, same)
"""


def _namespaces(process: int | str = "self") -> list[Path]:
    return [Path(f"/proc/{process}/ns/{kind}").readlink() for kind in ("net", "user")]


NOBODY = "import ctypes; os.setgid(65534); os.setuid(65534); ctypes.CDLL(None).prctl(4, 1)"
"""Become an ordinary user, which hides /proc/self until the process is dumpable again (prctl(2), PR_SET_DUMPABLE)."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else: sudo ./scripts/test")


@pytest.mark.parametrize("become", ["", pytest.param(NOBODY, marks=as_root)])
def test_inside_loopback_works_and_nothing_else(become: str) -> None:
    command = [sys.executable, "-c", INSIDE.replace("BECOME", become)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second, answer, stream, datagram, six, same = done.stdout.split()
    assert (first, second) == ("own", "none")
    assert answer == "near"
    assert int(stream) == int(datagram) == errno.ENETUNREACH
    assert int(six) in (errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    assert same == "True"


@pytest.mark.parametrize("fails", ["unshare", "loopback"])
def test_a_namespace_that_can_not_be_had_leaves_this_process_as_it_was(
    fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_loopback(name: str, flags: int = 0) -> bytes:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(seal, "_isolated", lambda: False)
    if fails == "unshare":
        monkeypatch.setattr(seal._libc, "unshare", lambda flags: -1)
    else:
        monkeypatch.setattr(seal, "_request", no_loopback)
    before = _namespaces()
    assert seal.enter_namespace() == "open"
    assert _namespaces() == before


@pytest.mark.parametrize("why", ["", "CUDA does not start"])
@pytest.mark.parametrize("parts", product([True, False], repeat=3))
def test_required_takes_the_whole_seal_alone_and_anything_less_is_told(parts: tuple[bool, ...], why: str) -> None:
    found = Seal(*parts, why)
    assert bool(found.missing) == (not all(parts) or bool(why))
    assert why in found.missing
    with pytest.raises(EngineError, match=re.escape(str(found))) if found.missing else nullcontext():
        found.require()
    assert Seal.recorded(json.loads(json.dumps(asdict(found)))) == found


@pytest.mark.parametrize("found", [None, "namespace", ["filter"], {"namespace": "yes", "filter": 1}])
def test_what_is_no_seal_in_a_run_counts_as_none(found: object) -> None:
    assert str(Seal.recorded(found)) == "not at all"


SEALED_WITH_A_GPU = """
import json, socket, sys
import cuda_calls
from pathway_local.sealing import landlock, seal
from pathway_local.sealing.launch import engine_files

gate, obstacle, path, name = int(sys.argv[1]), *sys.argv[2:]
limited, keep_to = [], landlock.keep_to
landlock.keep_to = lambda files: (limited.append(files), keep_to(files))
seal.uses_gpu = lambda: True
seal.initialize_cuda = lambda: 304 if obstacle == "all" or limited and obstacle else cuda_calls.initialize()
found = seal.close_off("auto", gate, engine_files(""))
def tried(address):
    family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
    with socket.socket(family) as far:
        far.settimeout(5)
        return far.connect_ex(address)
reached = [tried(address) == 0 for address in (path, "\\0" + name, ("192.0.2.1", 80))]
print(json.dumps([str(found), found.why, cuda_calls.initialize(), reached]))
"""


@pytest.fixture
def others(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A path and an abstract name at which another program listens."""
    name = f"pathway-others-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as at_path, socket.socket(socket.AF_UNIX) as named:
        for server, address in ((at_path, str(tmp_path / "other")), (named, f"\0{name}")):
            server.bind(address)
            server.listen()
        yield str(tmp_path / "other"), name


@pytest.mark.parametrize(
    ("namespaces", "obstacle", "level"),
    [
        (True, "", "namespace+filter+files"),
        (False, "", "filter+files"),
        (True, "files", "namespace+filter"),
        (True, "all", "namespace+filter+files"),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_cuda_starts_sealed_and_reaches_nobody(
    others: tuple[str, str], tmp_path: Path, namespaces: bool, obstacle: str, level: str, several: bool
) -> None:
    gate = Gatekeeper(tmp_path / "own").child_end if several else -1
    before = [] if namespaces else [sys.executable, str(HERE / "without_namespaces.py")]
    paths = os.pathsep.join([str(HERE), str(HERE.parent)])
    try:
        done = subprocess.run(
            [*before, sys.executable, "-c", SEALED_WITH_A_GPU, str(gate), obstacle, *others],
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | {"PYTHONPATH": paths},
            pass_fds=[gate] if several else [],
        )
    finally:
        if several:
            os.close(gate)
    assert not done.returncode, done.stderr
    found, why, *rest = json.loads(done.stdout)
    assert (found, "where files are limited" in why) == (level, obstacle == "files")
    assert rest == [0, [False, False, False]]


def test_this_process_stays_outside(vllm_host: Engines) -> None:
    """vLLM has loaded and answers in there; here nothing has changed."""
    vllm_host.submit(Pass("alive", (5, 6, 7), None, 1))
    assert [result.id for result in vllm_host.results()] == ["alive"]
    assert vllm_host.seal == seal.WHOLE
    assert vllm_host.hosts[0].pid
    assert _namespaces(vllm_host.hosts[0].pid)[0] != _namespaces()[0]
    assert len(socket.if_nameindex()) == len(list(Path("/sys/class/net").iterdir()))
