"""Judging on a Ray cluster: the same outcomes as here whatever dies, and no cluster that others can read or enter."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from disturbed import Outcomes, Watched, outcomes, superseded
from local_cluster import local_cluster, token_in
from reply_script import JUDGE
from typed import HERE, Desk

from gpu_check.processes import process
from pathway_local.runs.run_file import RunFile

CASES = 60
SECONDS = "0.05"
GONE = 20.0


@dataclass
class Nodes:
    """A cluster of three raylets, the address at which it answers, and variables with which a command joins it."""

    cluster: Any
    address: str
    joining: Mapping[str, str]

    def __post_init__(self) -> None:
        """Remember all raylets, since a killed one is forgotten by the cluster."""
        every = [self.cluster.head_node, *self.cluster.worker_nodes]
        self._every = {_raylet(node) for node in every}

    def raylets(self) -> dict[int, Any]:
        """The raylets by their process ids; the head is not among them."""
        return {_raylet(node): node for node in self.cluster.worker_nodes}

    def engines(self) -> dict[int, int]:
        """The engines' processes that workers of this cluster have started, each with its worker."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if b"engines.child" in (path / "cmdline").read_bytes():
                    worker = _parent(int(path.name))
                    if _parent(worker) in self._every:
                        found[int(path.name)] = worker
        return found


def _raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Iterator[Nodes]:
    pytest.importorskip("ray", reason="Ray is not installed")
    own = {
        "HOME": str(tmp_path_factory.mktemp("home")),
        "PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent}",
        JUDGE: str(tiny_judge),
        "REPLY_SCRIPT_SECONDS": SECONDS,
    }
    with local_cluster(3, own) as cluster:
        joining = {name: os.environ[name] for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH")}
        yield Nodes(cluster, cluster.address, joining)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Outcomes:
    desk = Desk(tmp_path_factory.mktemp("undisturbed") / "d", tiny_judge)
    desk.typed(*desk.judging(desk.cases(CASES)))
    found = outcomes(desk.work / "may.run")
    assert len(found) == CASES
    return found


@pytest.fixture
def joined(nodes: Nodes, desk: Desk) -> Desk:
    """A desk whose commands can join the cluster."""
    desk.environment.update(nodes.joining)
    return desk


@contextmanager
def _judging(desk: Desk, nodes: Nodes) -> Iterator[Watched]:
    """The command on two workers, once it has shown a case as done."""
    with Watched(desk, _command(desk, nodes.address)) as watched:
        watched.read_until_shown()
        assert watched.process.poll() is None, watched.said
        yield watched


def _command(desk: Desk, address: str, workers: int = 2) -> list[str]:
    return [*desk.judging(desk.cases(CASES)), "--cluster", address, "--workers", str(workers)]


def _ended(watched: Watched) -> None:
    """Wait for the command's end."""
    until = time.monotonic() + 120
    while watched.process.poll() is None and time.monotonic() < until:
        watched.read_for(1.0)
    assert watched.process.wait() == 0, watched.said


def _parent(pid: int) -> int:
    found = process(pid)
    return found.parent if found else 0


def _folders(pids: Iterable[int]) -> set[Path]:
    """The folders of temporary files of these processes."""
    named = (re.search(rb"PATHWAY_LOCAL_TEMPORARY=([^\0]+)", Path(f"/proc/{pid}/environ").read_bytes()) for pid in pids)
    return {Path(os.fsdecode(found[1])) for found in named if found}


def _wait_until(true: Callable[[], bool], seconds: float = GONE) -> None:
    _wait_for_none(lambda: () if true() else ("it is not so",), seconds)


def _wait_for_none(left: Callable[[], Collection[object]], seconds: float = GONE) -> None:
    """Wait until nothing is left; else fail and name it."""
    until = time.monotonic() + seconds
    while still := left():
        assert time.monotonic() < until, f"still there after {seconds:.0f} s: {still}"
        time.sleep(0.1)


def _whole(nodes: Nodes, desk: Desk, undisturbed: Outcomes) -> None:
    """Nothing is lost, nothing there twice, and no engine is left."""
    assert outcomes(desk.work / "may.run") == undisturbed
    assert superseded(desk.work / "may.run") == 0
    _wait_until(lambda: not nodes.engines())


def test_a_killed_worker_and_a_killed_raylet_lose_nothing(nodes: Nodes, joined: Desk, undisturbed: Outcomes) -> None:
    desk = joined
    raylets = nodes.raylets()
    with _judging(desk, nodes) as watched:
        engine, worker = next((e, w) for e, w in nodes.engines().items() if _parent(w) in raylets)
        raylet = _parent(worker)
        os.kill(worker, signal.SIGKILL)
        _wait_until(lambda: not Path(f"/proc/{engine}").exists())
        watched.read_until_shown()
        os.kill(raylet, signal.SIGKILL)
        _ended(watched)
    nodes.cluster.remove_node(raylets[raylet], allow_graceful=False)
    _whole(nodes, desk, undisturbed)
    with RunFile.read(desk.work / "may.run") as run:
        [_] = run.jobs.all()


@pytest.mark.soak
def test_a_driver_that_is_killed_is_resumed_and_leaves_no_engine_and_no_folder(
    nodes: Nodes, joined: Desk, undisturbed: Outcomes
) -> None:
    desk = joined
    with _judging(desk, nodes) as watched:
        watched.process.send_signal(signal.SIGSTOP)
        second = desk.typed(*_command(desk, nodes.address), code=4)
        [said] = [line for line in second.stderr.splitlines() if line.startswith("error:")]
        assert "may.run" in said, "two drivers of one run"
        relays = [
            int(path.name) for path in Path("/proc").glob("[0-9]*") if _parent(int(path.name)) == watched.process.pid
        ]
        kinds = dict.fromkeys(_folders(nodes.engines()), "engine") | dict.fromkeys(_folders(relays), "relay")
        assert sorted(kinds.values()) == ["engine", "engine", "relay", "relay"]
        assert all(folder.is_dir() for folder in kinds)
        watched.process.kill()
        watched.process.wait()
        shown = watched.shown
    _wait_for_none(nodes.engines)
    _wait_for_none(lambda: [f"{kind}: {folder}" for folder, kind in kinds.items() if folder.exists()])
    stored = outcomes(desk.work / "may.run")
    assert shown <= len(stored) < CASES
    desk.typed(*_command(desk, nodes.address, workers=1))
    _whole(nodes, desk, undisturbed)


def test_doctor_checks_a_cluster(nodes: Nodes, joined: Desk) -> None:
    told = json.loads(joined.typed("doctor", "--cluster", nodes.address, "--json", code=None).stdout)
    named = {each["name"]: each for each in told}
    own = {"token", "network", "session folder"}
    names = own | {f"{name} of a worker" for name in own} | {"token of the cluster", "usage statistics", "cluster"}
    assert {name: named[name]["status"] for name in names} == dict.fromkeys(names, "ok")
    assert "no GPU" in named["cluster"]["found"]


def test_an_address_that_does_not_answer_is_one_line_within_half_a_minute(desk: Desk) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    desk.environment.update(token_in(desk.root))
    began = time.monotonic()
    found = desk.typed(*_command(desk, "127.0.0.1:9"), code=5)
    assert time.monotonic() - began < 30
    said = [line for line in found.stderr.splitlines() if line.startswith("error:")]
    assert said == ["error: no cluster answers at 127.0.0.1:9"]
    assert not (desk.work / "may.run").exists()


def test_without_a_token_nothing_is_sent_and_one_line_says_how_to_make_one(desk: Desk) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    for host in ("192.0.2.99", "127.0.0.1"):
        found = desk.typed(*_command(desk, f"{host}:6379"), code=5)
        assert f"the cluster at {host}:6379: token: RAY_AUTH_MODE=token is not set" in found.stderr
        assert "ray get-auth-token --generate" in found.stderr


@pytest.fixture
def certified(tmp_path: Path) -> dict[str, str]:
    """Variables of Ray that name a certificate for this machine, its key and the authority, made for this test."""
    made = tmp_path / "tls"
    made.mkdir(mode=0o700)
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*request, "-keyout", made / "key.pem", "-out", made / "cert.pem"], check=True, capture_output=True)
    (made / "key.pem").chmod(0o600)
    files = {"RAY_TLS_SERVER_CERT": "cert.pem", "RAY_TLS_SERVER_KEY": "key.pem", "RAY_TLS_CA_CERT": "cert.pem"}
    return {"RAY_USE_TLS": "1", **{name: str(made / file) for name, file in files.items()}}


@pytest.mark.soak
def test_two_raylets_judge_over_tls_and_nobody_joins_without_it(
    certified: dict[str, str], desk: Desk, tiny_judge: Path, tmp_path: Path, undisturbed: Outcomes
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    paths = f"{HERE}{os.pathsep}{HERE.parent}"
    own = {"HOME": str(tmp_path / "home"), "PYTHONPATH": paths, JUDGE: str(tiny_judge), **certified}
    with local_cluster(2, own) as cluster:
        token = {name: os.environ[name] for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH")}
        desk.environment.update(token)
        refused = desk.typed(*_command(desk, cluster.address), code=5)
        assert "Traceback" not in refused.stderr and not (desk.work / "may.run").exists(), refused.stderr
        desk.environment.update(certified)
        desk.typed(*_command(desk, cluster.address))
        host, _, port = cluster.address.rpartition(":")
        greeting = subprocess.run(
            [
                "openssl",
                "s_client",
                "-connect",
                f"{host}:{port}",
                "-alpn",
                "h2",
                "-CAfile",
                certified["RAY_TLS_CA_CERT"],
            ],
            input="",
            capture_output=True,
            text=True,
            check=False,
        )
        assert "CN = localhost" in greeting.stdout or "CN=localhost" in greeting.stdout
    assert outcomes(desk.work / "may.run") == undisturbed
