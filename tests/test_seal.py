"""The seal holds: inside, loopback works and nothing else does."""

import errno
import os
import socket
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from pathway_local.engines import seal as sealing
from pathway_local.engines.host import Host
from pathway_local.errors import SealError

INSIDE = """
import encodings.idna, os, socket
from pathway_local.engines.seal import seal
BECOME
before = os.geteuid(), os.getegid()
first, second = seal(), seal()
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


def _inside(become: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", INSIDE.replace("BECOME", become)], capture_output=True, text=True)


def _namespaces(process: int | str = "self") -> list[Path]:
    return [Path(f"/proc/{process}/ns/{kind}").readlink() for kind in ("net", "user")]


def test_inside_loopback_works_and_nothing_else() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INSIDE.replace("BECOME", "")], capture_output=True, text=True, check=True
    )
    first, second, answer, stream, datagram, six, same = done.stdout.split()
    assert (first, second) == ("namespace", "already-isolated")
    assert answer == "near"
    assert int(stream) == int(datagram) == errno.ENETUNREACH
    assert int(six) in (errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    assert same == "True"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_an_ordinary_user_seals_too() -> None:
    # Changing the user hides /proc/self from it until it is made dumpable again (prctl(2), PR_SET_DUMPABLE).
    become = "import ctypes; os.setgid(65534); os.setuid(65534); ctypes.CDLL(None).prctl(4, 1)"
    done = _inside(become)
    assert done.stdout.split()[:3] == ["namespace", "already-isolated", "near"], done.stderr


def test_where_the_kernel_forbids_it_the_level_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing._libc, "unshare", lambda flags: -1)
    before = _namespaces()
    assert sealing.seal() == "off-switches"
    assert _namespaces() == before


def test_a_trial_that_fails_halfway_leaves_this_process_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_loopback(name: str, flags: int = 0) -> bytes:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(sealing, "_isolated", lambda: False)
    monkeypatch.setattr(sealing, "_request", no_loopback)
    before = _namespaces()
    assert sealing.seal() == "off-switches"
    assert _namespaces() == before


@pytest.mark.parametrize(
    ("level", "cautioned", "refused"),
    [
        ("namespace+filter", False, False),
        ("already-isolated+filter", False, False),
        ("namespace", True, True),
        ("already-isolated", True, True),
        ("filter", True, True),
        ("off-switches", True, True),
    ],
)
def test_required_takes_only_what_nobody_has_to_be_cautioned_about(level: str, cautioned: bool, refused: bool) -> None:
    assert bool(sealing.caution_about(level)) == cautioned
    with pytest.raises(SealError, match=level) if refused else nullcontext():
        sealing.require(level)


def test_the_filter_that_is_tried_is_the_one_that_the_engine_would_get() -> None:
    """Where a filter asks already, here one that asks nothing, the kernel refuses another that asks, and no other."""
    trying = """
from pathway_local.engines import seccomp, trial
seccomp._code = lambda *_: [(0x06, 0, 0, 0x7FFF0000)]
seccomp.install("ask")
for on_cpu in (True, False):
    trial.is_cpu_build = lambda: on_cpu
    print(trial.try_seal()["seal"])
"""
    done = subprocess.run([sys.executable, "-c", trying], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["namespace+filter", "namespace"], done.stderr


def test_this_process_stays_outside(vllm_host: Host) -> None:
    """vLLM has loaded and answers in there; here nothing has changed."""
    assert vllm_host.facts.seal == "namespace+filter"
    assert vllm_host.pid
    assert _namespaces(vllm_host.pid)[0] != _namespaces()[0]
    assert len(socket.if_nameindex()) == len(list(Path("/sys/class/net").iterdir()))
