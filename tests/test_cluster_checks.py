"""Checks before a case travels to a Ray cluster: network, token, folders, room and workers."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from local_cluster import token_in
from msgspec.msgpack import encode

from pathway_local.engines import relay
from pathway_local.engines.allocation import Engines
from pathway_local.engines.cluster import (
    Cluster,
    cluster_of,
    folder_check,
    network_checks,
    own_versions,
    without_ray,
)
from pathway_local.engines.wire import FROM_ENGINE, Failed, Found, Frames, Load, Place
from pathway_local.engines.worker import Worker
from pathway_local.errors import EngineError, UsageError
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.passes import EngineConfig
from pathway_local.system.machine import GB, Device, Machine


@pytest.fixture(autouse=True)
def _dumps_stay_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers made in this process would lower its hard limit of core dumps."""
    monkeypatch.setattr("pathway_local.engines.worker.make_private", lambda: None)


SECURE = {
    "RAY_AUTH_MODE": "token",
    "RAY_USE_TLS": "1",
    "RAY_TLS_SERVER_CERT": __file__,
    "RAY_TLS_SERVER_KEY": "key",
    "RAY_TLS_CA_CERT": __file__,
}


LOOPBACK = {"RAY_AUTH_MODE": "token"}


def _problems(hosts: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The problems of a network, with what fixes them."""
    return {check.name: check.fix for check in network_checks(hosts, environment) if check.status == "problem"}


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """A token and a TLS key in the working folder, which only their owner can read; the variable of the token."""
    monkeypatch.chdir(tmp_path)
    Path("key").touch(mode=0o600)
    return {"RAY_AUTH_TOKEN_PATH": token_in(tmp_path)["RAY_AUTH_TOKEN_PATH"]}


@pytest.mark.parametrize(
    ("hosts", "changed", "problems"),
    [
        (["127.0.0.1", "127.0.0.1"], LOOPBACK, []),
        (["127.0.0.1", "127.0.0.1"], {}, ["token"]),
        (["127.0.0.1"], {**LOOPBACK, "RAY_AUTH_TOKEN_PATH": "/nowhere"}, ["token"]),
        (["127.0.0.1", "10.0.0.7"], {}, ["token", "TLS"]),
        (["127.0.0.1", "10.0.0.7"], LOOPBACK, ["TLS"]),
        (["10.0.0.7"], SECURE, []),
        (["10.0.0.7"], {**SECURE, "RAY_AUTH_TOKEN": "t"}, ["token"]),
        (["10.0.0.7"], {**SECURE, "RAY_USE_TLS": "0"}, ["TLS"]),
        (["10.0.0.7"], {**SECURE, "RAY_TLS_CA_CERT": "/nowhere"}, ["TLS"]),
        (["10.0.0.7"], {**SECURE, "RAY_AUTH_TOKEN_PATH": "/nowhere"}, ["token"]),
        (["10.0.0.7"], {**SECURE, "RAY_AUTH_MODE": "disabled"}, ["token"]),
    ],
)
def test_a_token_is_always_required_and_tls_off_loopback(
    hosts: list[str], changed: Mapping[str, str], problems: list[str], secrets: Mapping[str, str]
) -> None:
    assert list(_problems(hosts, {**secrets, **changed})) == problems


def test_a_token_and_a_key_that_others_can_read_are_refused(secrets: Mapping[str, str]) -> None:
    token = Path(secrets["RAY_AUTH_TOKEN_PATH"])
    token.chmod(0o640)
    assert _problems(["127.0.0.1"], {**LOOPBACK, **secrets}) == {"token": f"Run: chmod 600 {token}"}
    token.chmod(0o600)
    Path("key").chmod(0o644)
    assert _problems(["10.0.0.7"], {**SECURE, **secrets}) == {"TLS": "Run: chmod 600 key"}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that all users can enter; pytest's own folders are closed to others."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_session_folder_that_others_can_enter_is_refused(open_folder: Path) -> None:
    session = open_folder / "ray" / "session_1"
    session.mkdir(parents=True)
    for folder in (session, session.parent):
        folder.chmod(0o755)
    assert folder_check(session).status == "problem"
    open_folder.chmod(0o700)
    session.parent.chmod(0o1777)
    assert folder_check(session).status == "ok"


def test_a_link_does_not_close_a_session_folder_and_one_that_is_gone_is_told(open_folder: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "session").symlink_to(open_folder)
    assert folder_check(closed / "session").status == "problem"
    assert "No such file" in folder_check(closed / "nowhere").found


def test_what_ends_a_worker_before_its_engine_begins_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(self: relay.Relay) -> int:
        raise RuntimeError("Ray's own lines\nModuleNotFoundError: No module named 'pathway_local'")

    monkeypatch.setattr(relay.Relay, "serve", serve)
    monkeypatch.setattr(relay, "settle", lambda: None)
    (requests, parent), (replies, child) = os.pipe(), os.pipe()
    assert relay.main([str(requests), str(child)]) == -signal.SIGKILL, "the host tries once more"
    [said] = Frames(FROM_ENGINE).feed(os.read(replies, 1 << 16))
    for each in (requests, parent, replies, child):
        os.close(each)
    assert isinstance(said, Failed)
    assert said.message.startswith("a worker could not start: ")
    assert said.message.endswith("No module named 'pathway_local'")


@pytest.mark.parametrize("address", ["ray://a:1", "a", "", "a:b", "a:1/x", "-x:1 y"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not HOST:PORT"):
        Cluster(address)


def test_workers_without_a_cluster_and_engines_here_with_one_are_refused() -> None:
    with pytest.raises(UsageError, match="--workers is for a cluster"):
        cluster_of("", 2)
    with pytest.raises(UsageError, match="are for this machine"):
        Engines("", 2, cluster_of("127.0.0.1:7", 2))


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets what a worker finds of its own node: a private session folder on loopback, with a token."""

    def found(session: Path, address: str = "127.0.0.1") -> None:
        monkeypatch.setattr("pathway_local.engines.worker.own_node", lambda: (session, address))

    session = tmp_path / "session"
    session.mkdir(mode=0o700)
    for name, value in token_in(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    found(session)
    return found


def _refused(place: Place) -> str:
    with pytest.raises(EngineError) as raised:
        Worker()._begin(place, Load("nowhere:load", EngineConfig("")))
    return str(raised.value)


def test_a_worker_checks_its_own_node(node: Callable[..., None], tmp_path: Path, open_folder: Path) -> None:
    place = Place("h:1", versions=own_versions())
    node(open_folder)
    assert "the cluster at h:1: session folder of a worker: other users can enter" in _refused(place)
    node(tmp_path, "10.0.0.7")  # it joined after the cluster was checked
    assert "TLS of a worker: off loopback" in _refused(place)


@pytest.mark.usefixtures("node")
def test_a_worker_with_other_versions_is_refused() -> None:
    wanted = {**own_versions(), "outlines": "0.1", "more": "2"}
    said = _refused(Place("127.0.0.1:7", versions=wanted))
    assert "another rater" in said
    assert "more missing instead of 2, outlines" in said


@pytest.mark.usefixtures("node")
def test_a_worker_with_another_gpu_or_other_weights_is_refused(tiny_judge: Path) -> None:
    same = own_versions()
    assert "instead of H100" in _refused(Place("127.0.0.1:7", versions=same, gpu="H100", gpus=1))
    other = Place("127.0.0.1:7", str(tiny_judge), "0" * 64, same)
    assert "other weights" in _refused(other)


@pytest.mark.usefixtures("node")
def test_a_worker_that_lacks_the_judge_is_refused(tmp_path: Path) -> None:
    place = Place("127.0.0.1:7", str(tmp_path / "nowhere"), "0" * 64, own_versions())
    load = Load("nowhere:load", EngineConfig(""))
    [said] = Frames(FROM_ENGINE).feed(Worker().begin(encode(place), encode(load)))
    assert isinstance(said, Failed)
    assert "on all nodes" in said.hint


def test_the_engine_gets_neither_rays_variables_nor_its_limit_of_threads() -> None:
    given = {"RAY_JOB_ID": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "2", "PATH": "/bin"}
    assert without_ray(given) == {"CUDA_VISIBLE_DEVICES": "2", "PATH": "/bin"}


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster of three nodes, without a look at it."""
    _look_finds(monkeypatch, (4, 16), (4, 8), (1, 8))


def _look_finds(monkeypatch: pytest.MonkeyPatch, *nodes: tuple[int, int]) -> None:
    """Let a look find these nodes, each with its GPUs and processors."""
    found = Found((), Machine((Device("card", 24 * GB, 24 * GB, "GPU-1"),), 12 * GB), nodes)
    monkeypatch.setattr("pathway_local.engines.cluster.look", lambda address: found)


SPEC = JudgeSpec(name="j", source="a/b")


@pytest.mark.usefixtures("looked")
@pytest.mark.parametrize(("workers", "share"), [(1, 12), (3, 12), (4, 6), (9, 4)])
def test_workers_that_share_a_node_share_its_memory(
    workers: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathway_local.engines.allocation.uses_gpu", lambda: True)
    engines = Engines(cluster=Cluster("127.0.0.1:7", workers))
    parts = engines.parts(SPEC, engines.machine, {})
    assert [part.free_memory for part in parts] == [int(share * GB)] * workers


@pytest.mark.usefixtures("looked")
def test_without_a_gpu_each_worker_takes_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathway_local.engines.allocation.uses_gpu", lambda: False)
    engines = Engines(cluster=Cluster("127.0.0.1:7", 3))
    assert engines.parts(SPEC, engines.machine, {}) == [Machine((), 12 * GB)] * 3
    more = Engines(cluster=Cluster("127.0.0.1:7", 4))
    with pytest.raises(UsageError, match=r"--workers 4: the cluster has room for 3$"):
        more.parts(SPEC, more.machine, {})


@pytest.mark.usefixtures("looked")
@pytest.mark.parametrize(("gpus", "room"), [(1, 9), (2, 4), (4, 2), (8, 0)])
def test_more_workers_than_the_gpus_of_the_nodes_hold_are_refused_at_once(gpus: int, room: int) -> None:
    if room:
        Cluster("127.0.0.1:7", room).check_room(gpus)
    with pytest.raises(UsageError, match=f"the cluster has room for {room}"):
        Cluster("127.0.0.1:7", room + 1).check_room(gpus)


def test_more_workers_than_the_processors_beside_the_gpus_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _look_finds(monkeypatch, (4, 16), (4, 2))
    Cluster("127.0.0.1:7", 6).check_room(1)
    with pytest.raises(UsageError, match="room for 6") as raised:
        Cluster("127.0.0.1:7", 7).check_room(1)
    assert raised.value.hint == "Each takes 1 GPU and one processor of a node. `ray status` shows what the nodes have."


def test_a_worker_without_a_gpu_asks_for_a_whole_node() -> None:
    sizes = [(True, {"CPU": 16.0, "GPU": 1.0}), (True, {"CPU": 24.0}), (True, {}), (False, {"CPU": 2.0})]
    nodes = relay.taking_workers([{"Alive": alive, "Resources": resources} for alive, resources in sizes])
    assert [relay.processors(gpus, nodes) for gpus in (0, 1)] == [16, 1]


@pytest.mark.parametrize(("lets_in", "status"), [(True, "problem"), (False, "ok")])
def test_a_cluster_that_asks_for_no_token_is_refused(
    lets_in: bool, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    from ray.exceptions import AuthenticationError

    modes = []

    def join(address: str) -> None:
        modes.append(os.environ["RAY_AUTH_MODE"])
        if not lets_in:
            raise AuthenticationError("no token")

    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setattr("ray._raylet.GcsClient", join)
    monkeypatch.setattr("ray._raylet.Config", SimpleNamespace(initialize=lambda given: None))
    assert relay._token_check("h:1").status == status
    assert [*modes, os.environ["RAY_AUTH_MODE"]] == ["disabled", "token"]
