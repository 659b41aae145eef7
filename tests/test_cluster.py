"""Judging in parts on a Ray cluster: each case has one verdict whatever dies, and Ray carries no text."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from disturbed import Outcomes, outcomes, superseded
from local_cluster import local_cluster
from msgspec.json import encode
from reply_script import JUDGE
from typed import HERE, Desk

from pathway_local.engines.cluster import Order, bring_back, start_command, without_ray
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.run_file import RunFile

CASES = 120
WORD = "QUAGGAMARKER"
PATIENCE = 240.0


@dataclass
class Nodes:
    """A cluster of three raylets on this machine, its address, and the folder with all that Ray writes."""

    cluster: Any
    address: str
    folder: Path


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Iterator[Nodes]:
    pytest.importorskip("ray", reason="needs Ray: ./scripts/setup --cluster")
    own = {
        "HOME": str(tmp_path_factory.mktemp("home")),
        "PYTHONPATH": os.pathsep.join(map(str, (HERE / "scripted_everywhere", HERE, HERE.parent))),
        JUDGE: str(tiny_judge),
        "REPLY_SCRIPT_SECONDS": "0.03",
    }
    with local_cluster(3, own) as cluster:
        yield Nodes(cluster, cluster.address, Path(os.environ["RAY_TMPDIR"]))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Outcomes:
    desk = Desk(tmp_path_factory.mktemp("undisturbed") / "d", tiny_judge)
    desk.typed(*desk.judging(_cases(desk)))
    return outcomes(desk.work / "may.run")


def _cases(desk: Desk) -> Path:
    rows = [{"id": f"case-{i}", "question": f"{WORD} is {i}?", "answer": f"{WORD} {i}."} for i in range(CASES)]
    return desk.sheet(rows)


def _command(desk: Desk, nodes: Nodes) -> list[str]:
    return [*desk.judging(_cases(desk)), "--cluster", nodes.address, "--workers", "2"]


def _pids(*words: bytes) -> list[int]:
    """The processes whose command line has all these words."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (path / "cmdline").read_bytes()
            found += [int(path.name)] if all(word in line for word in words) else []
    return found


def _wait_for(there: Callable[[], Any], process: "subprocess.Popen[str] | None" = None) -> Any:
    until = time.monotonic() + PATIENCE
    while not (found := there()):
        assert time.monotonic() < until, "it does not come"
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.1)
    return found


def _whole(desk: Desk, undisturbed: Outcomes) -> None:
    """Each case has its verdict, none twice; no part is left, and the trail is whole."""
    run = desk.work / "may.run"
    assert len(undisturbed) == CASES
    assert outcomes(run) == undisturbed
    assert superseded(run) == 0
    assert not list(desk.work.glob("*.cluster-*"))
    with RunFile.read(run) as read:
        AuditTrail(read.database).check()


@pytest.mark.timeout(600)
def test_whatever_dies_each_case_has_one_verdict_and_the_same_command_goes_on(
    nodes: Nodes, desk: Desk, undisturbed: Outcomes
) -> None:
    dice, command = random.Random(), _command(desk, nodes)
    with desk.begun(*command, afresh=True) as process:
        os.kill(dice.choice(_wait_for(lambda: _pids(b"ray::judge_part"), process)), signal.SIGKILL)
        time.sleep(dice.uniform(0.0, 3.0))
        nodes.cluster.remove_node(dice.choice(list(nodes.cluster.worker_nodes)), allow_graceful=False)
        time.sleep(dice.uniform(0.0, 6.0))
        assert process.poll() is None
        process.kill()
    _wait_for(lambda: not _pids(b"ray::judge_part") and not _pids(b"--run", str(desk.work).encode()))
    with desk.begun(*command, afresh=True) as process:
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    _whole(desk, undisturbed)
    _nothing_of_a_case(nodes.folder)


def _nothing_of_a_case(folder: Path) -> None:
    """No file of Ray, such as its logs, holds a word of a case."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if WORD.encode() in path.read_bytes()]


@pytest.mark.timeout(300)
def test_a_node_that_sees_other_files_is_refused_before_the_first_part(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "order.json").write_bytes(
        encode(Order(nodes.address, 1, 0, "/", ("judge",), "/proc/self/environ", (), ("none.run",)))
    )
    alive, ours = os.pipe()
    command = start_command(tmp_path / "order.json", alive)
    done = subprocess.run(command, capture_output=True, text=True, pass_fds=[alive], timeout=PATIENCE)
    os.close(alive)
    os.close(ours)
    told = json.loads(done.stdout.splitlines()[-1])
    assert "sees other the cases file than this one" in told["problem"], done.stdout


@pytest.mark.timeout(300)
def test_a_part_that_a_node_refuses_is_told_with_its_reason(nodes: Nodes, desk: Desk) -> None:
    said = desk.typed(*_command(desk, nodes), "--map", "answer=nowhere", code=5, afresh=True).stderr
    assert "was not judged" in said and "nowhere" in said
    assert WORD not in said


def test_a_part_is_brought_back_as_it_is_while_it_is_written(tmp_path: Path, desk: Desk) -> None:
    desk.typed(*desk.judging(desk.cases(3)))
    run, part = desk.work / "may.run", tmp_path / "part.run"
    part.touch(mode=0o600)
    with RunFile.open(run):
        bring_back(run, part)
    part.chmod(0o600)
    assert outcomes(part) == outcomes(run)
    assert not list(tmp_path.glob("*.new"))


def test_the_judge_on_a_node_gets_neither_rays_variables_nor_its_limit_of_threads() -> None:
    given = {"RAY_JOB_ID": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "2", "PATH": "/bin"}
    assert without_ray(given) == {"CUDA_VISIBLE_DEVICES": "2", "PATH": "/bin"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workers", "2"], "--workers is for a cluster"),
        (["--cluster", "127.0.0.1:1", "--gpus", "2"], "this machine"),
        (["--cluster", "127.0.0.1:1"], "the cluster at 127.0.0.1:1"),
    ],
)
def test_wrong_options_and_a_cluster_that_is_not_there_are_told(desk: Desk, options: list[str], said: str) -> None:
    done = desk.typed(*desk.judging(desk.cases(2)), *options, code=None)
    assert done.returncode in (2, 5) and said in " ".join(done.stderr.split())
