"""Has the parts of a run judged by the nodes of a Ray cluster, in a folder that all of them see.

Ray carries paths, numbers and hashes, never a text. The command, which can open no socket, writes an order beside the
parts and starts `python -m pathway_local.engines.cluster ORDER ALIVE`. This process joins the cluster and hands out
parts. Each is one Ray task, which starts `… ORDER ALIVE NUMBER` on its node. That process copies the part to a disk of
its node, since SQLite can't rely on the locks of network file systems, runs the ordinary `judge` on the copy, and
brings the copy back now and then and at the end. Each process ends when the pipe ALIVE says that its starter is gone.
"""

import hashlib
import os
import platform
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from msgspec.json import decode, encode

from pathway_local import __version__
from pathway_local.engines.engine_list import installed_packages
from pathway_local.errors import EngineError, PathwayError
from pathway_local.judges.weights import weights_hash
from pathway_local.system.private_process import make_private
from pathway_local.system.shipped import python_path

BRING_BACK = 60.0
"""Seconds after which a part that is being judged is brought back: a node that dies loses no more."""

TRIES = 4
JUDGED, SOME_FAILED, WRONG_COMMAND = 0, 1, 2
"""Exit codes of `judge` after which a part is not tried again."""

ANSWER = 20
"""Seconds within which the cluster must answer."""


class Order(Struct, frozen=True):
    """The work of a cluster: `command`, the arguments of `judge` without a run, which are given in the folder `at`.

    Every node must see the same file `cases` and the same judges' folders `weights`. Each part gets `gpus`, or a whole
    node where that is 0.
    """

    address: str
    workers: int
    gpus: int
    at: str
    command: tuple[str, ...]
    cases: str
    weights: tuple[str, ...]
    parts: tuple[str, ...]


class Told(Struct, frozen=True):
    """A line of what happens: part `number`, from 1, has ended with an exit code; or nothing can begin, and why."""

    number: int = 0
    code: int = 0
    problem: str = ""


def start_command(order: Path, alive: int, *number: object) -> list[str]:
    """Return the command that hands out all parts of an order, or judges the one of that number."""
    return [sys.executable, "-P", "-m", "pathway_local.engines.cluster", *map(str, (order, alive, *number))]


def evidence(order: Order) -> dict[str, str]:
    """Return hashes of what this node sees, and the versions that can change a score."""
    with Path(order.at, order.cases).open("rb") as file:
        seen = {"the cases file": hashlib.file_digest(file, "sha256").hexdigest()}
    seen |= {f"the weights in {folder}": weights_hash(Path(folder)) for folder in order.weights}
    return seen | {"pathway-local": __version__, "Python": platform.python_version(), **installed_packages()}


def without_ray(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for `judge` on a node: without Ray's own, and without its limit of one thread."""
    return {name: value for name, value in environment.items() if not name.startswith(("RAY_", "OMP_NUM_THREADS"))}


def node_evidence(order: str) -> dict[str, str]:
    """Return what a node sees; runs as a Ray task."""
    try:
        return evidence(decode(Path(order).read_bytes(), type=Order))
    except (OSError, PathwayError) as error:
        return {"the folder": f"{type(error).__name__}: {error}"[:200]}


def judge_part(order: str, number: int) -> int:
    """Judge one part on this node and return the exit code; runs as a Ray task, which Ray tries again if it raises."""
    alive, ours = os.pipe()
    try:
        environment = without_ray(os.environ) | {"PYTHONPATH": python_path()}
        process = subprocess.Popen(
            start_command(Path(order), alive, number),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[alive],
            start_new_session=True,
            env=environment,
        )
        os.close(alive)
        code = process.wait()
    finally:
        os.close(ours)
    if code not in (JUDGED, SOME_FAILED, WRONG_COMMAND):
        raise EngineError(f"judge ended with {code}", "")
    return code


def hand_out(order: Path) -> Iterator[Told]:
    """Join the cluster and yield the end of each part. Raises whatever Ray raises."""
    asked = decode(order.read_bytes(), type=Order)
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    silent = threading.Timer(ANSWER, _give_up)
    silent.daemon = True
    silent.start()
    ray.init(address=asked.address, namespace="pathway-local", log_to_driver=False, logging_level="critical")
    silent.cancel()
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    own, look = evidence(asked), ray.remote(node_evidence)
    for node in nodes:
        here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        try:
            found = ray.get(look.options(num_cpus=0, scheduling_strategy=here).remote(str(order)))
        except (ray.exceptions.TaskUnschedulableError, ray.exceptions.NodeDiedError, ray.exceptions.WorkerCrashedError):
            continue  # it has died, which Ray notices after some seconds
        if differ := sorted(name for name in own.keys() | found.keys() if own.get(name) != found.get(name)):
            yield Told(problem=f"node {node['NodeManagerAddress']} sees other {', '.join(differ)[:300]} than this one")
            return
    task = ray.remote(judge_part).options(
        max_retries=TRIES, retry_exceptions=True, scheduling_strategy="SPREAD", **_room(asked, nodes)
    )
    left, running = list(range(1, len(asked.parts) + 1)), dict[Any, int]()
    while left or running:
        while left and len(running) < asked.workers:
            number = left.pop(0)
            running[task.remote(str(order), number)] = number
        for done in ray.wait(list(running), timeout=None)[0]:
            yield _ended(done, running.pop(done))


def _give_up() -> None:
    _say(Told(problem=f"it does not answer within {ANSWER} s"))
    os._exit(1)


def _ended(done: Any, number: int) -> Told:
    import ray

    try:
        return Told(number, ray.get(done))
    except Exception as error:  # noqa: BLE001  Ray's own: it has tried often enough
        last = str(error).strip().rpartition("\n")[2]
        return Told(number, -1, f"{type(error).__name__} {last}"[:300])


def _room(order: Order, nodes: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return what a part asks of Ray: GPUs and a processor, or all processors of a node."""
    resources = [node["Resources"] for node in nodes]
    with_gpus = [int(each["GPU"]) for each in resources if each.get("GPU")]
    if not (order.gpus and with_gpus):
        return {"num_cpus": min(each["CPU"] for each in resources)}
    return {"num_cpus": 1, "num_gpus": order.gpus}


def run_part(order: Order, number: int, alive: int) -> int:
    """Judge a copy of the part, and bring it back; return the exit code of `judge`."""
    part = Path(order.parts[number - 1])
    log = os.open(part.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with TemporaryDirectory(prefix="pathway-part-") as folder:
        copy = Path(folder, part.name)
        shutil.copyfile(part, copy)
        command = [sys.executable, "-P", "-m", "pathway_local", *order.command, "--run", str(copy)]
        judge = subprocess.Popen(command, cwd=order.at, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        brought = time.monotonic()
        while judge.poll() is None:
            if _is_gone(alive, 0.2):
                judge.terminate()  # another try may have begun: what this one has judged is not brought back
                judge.wait()
                return -signal.SIGTERM
            if time.monotonic() - brought >= BRING_BACK:
                bring_back(copy, part)
                brought = time.monotonic()
        bring_back(copy, part)
        return judge.returncode


def bring_back(copy: Path, part: Path) -> None:
    """Replace a part by the state of its copy as of the last commit, while `judge` may be writing to the copy."""
    whole, new = copy.with_suffix(".whole"), part.with_suffix(".new")
    with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(whole)) as target:
        source.backup(target)
    shutil.copyfile(whole, new)
    new.replace(part)
    whole.unlink()


def _is_gone(alive: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(alive, 0)  # no events asked for: poll still returns once the pipe has no writer
    return bool(poll.poll(seconds * 1000))


def _end_with_starter(alive: int) -> None:
    while not _is_gone(alive, 3600.0):
        pass
    os._exit(1)


def main(arguments: Sequence[str]) -> int:
    """Hand out an order's parts, or judge one; return the exit status."""
    order, alive = Path(arguments[0]), int(arguments[1])
    os.set_inheritable(alive, False)
    make_private()
    if arguments[2:]:
        return run_part(decode(order.read_bytes(), type=Order), int(arguments[2]), alive)
    threading.Thread(target=_end_with_starter, args=(alive,), daemon=True).start()
    # Without the second, Ray takes 127.0.0.1 for this machine's address on the network.
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0")
    try:
        for told in hand_out(order):
            _say(told)
    except (Exception, SystemExit) as error:  # noqa: BLE001  Ray raises anything, and ends programs
        _say(Told(problem=f"{type(error).__name__} {' '.join(str(error).split())}"[:300]))
    return 0


def _say(told: Told) -> None:
    print(encode(told).decode(), flush=True)


if __name__ == "__main__":
    from pathway_local.engines import cluster  # else Ray would send these functions pickled, not their names

    with suppress(BrokenPipeError):
        status = cluster.main(sys.argv[1:])
    os._exit(status if status >= 0 else 1)
