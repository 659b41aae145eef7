"""The relay: `python -m pathway_local.engines.relay REQUESTS REPLIES` carries an engine's messages to a Ray cluster.

To its parent it behaves like an engine's process: it takes the same messages, sends those of the engine, and ends as
the engine's process ends. So the parent, which holds cases and run, needs no socket and never runs Ray's code. One
relay serves one engine. If its worker is lost, it ends, and the parent starts another one for another worker.
"""

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from msgspec.msgpack import decode

from pathway_local.check import Check
from pathway_local.engines.cluster import (
    LOOPBACK_ALONE,
    START,
    folder_check,
    host_of,
    network_checks,
    on_loopback,
    refuse_problems,
)
from pathway_local.engines.wire import (
    TO_ENGINE,
    Died,
    Failed,
    Found,
    Frames,
    FromEngine,
    Load,
    Place,
    Said,
    ToEngine,
    frame,
    write_whole,
)
from pathway_local.engines.worker import PIECE, Worker, own_node
from pathway_local.errors import EngineDied, EngineError, PathwayError
from pathway_local.sealing.launch import TEMPORARY, settle
from pathway_local.system.machine import Machine
from pathway_local.system.private_process import remove

ANSWER = 20.0
"""Seconds within which the cluster must answer; Ray itself would try for two minutes and then end this process."""

CONNECT = 5.0
"""Seconds of these for the first connection."""

ROOM = 600.0
"""Seconds to wait until the cluster has room for the worker."""

CALLS = 8
"""Calls in flight in each direction at most."""


class Relay:
    """The two pipes to the parent."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = requests, replies
        self.began = False  # the engine's process; no case is sent before
        self._worker: Any = None

    def serve(self) -> int:
        """Serve one engine, or look at the cluster; return how the engine ended. Raises EngineError, RayError."""
        place, load = self._asked()
        assert isinstance(place, Place) and isinstance(load, Load)
        _check_before(place.address)
        import ray

        found = list(self._joined(place.address))
        found.append(folder_check(own_node()[0]))
        nodes = taking_workers(ray.nodes())
        if place.look:
            sizes = tuple((int(node.get("GPU", 0)), int(node["CPU"])) for node in nodes)
            self.say(Found(*self._looked(found, nodes), sizes))
            return 0
        refuse_problems(place.address, found)
        room = {"num_cpus": processors(place.gpus, nodes), "num_gpus": place.gpus, "scheduling_strategy": "SPREAD"}
        actor = ray.remote(concurrency_groups={"in": 1, "out": 1})(Worker)
        # A worker that dies is not restarted by Ray: it would come back without its engine.
        self._worker = worker = actor.options(**room, max_restarts=0, max_task_retries=0).remote()
        self._begin(worker, place, load)
        self.began = True
        threading.Thread(target=self._pump, args=(worker,), daemon=True).start()
        return self._carry(worker)

    def say(self, message: FromEngine) -> None:
        """Write one message, whole."""
        self.write(frame(message))

    def _asked(self) -> list[ToEngine]:
        """Return the first two messages; end this process if the parent is gone or closes."""
        frames, found = Frames(TO_ENGINE), list[ToEngine]()
        while len(found) < 2:
            piece = os.read(self._requests, PIECE)
            found += frames.feed(piece)
            if not piece or len(found) > 2:
                self._end_alone()
        return found

    def _joined(self, address: str) -> Iterator[Check]:
        """Join the cluster and yield the checks of its network. Raises EngineError if it does not answer."""
        import ray

        silent = threading.Timer(ANSWER, self._give_up, (address,))
        silent.daemon = True
        silent.start()
        try:
            token = _token_check(address)
            ray.init(address=address, namespace="pathway-local", log_to_driver=False, logging_level="critical")
        except (Exception, SystemExit) as error:  # noqa: BLE001  Ray raises anything, and ends programs
            raise EngineError(f"can't join the cluster at {address}: {_line(error)}", START) from None
        finally:
            silent.cancel()
        hosts = [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]]
        yield from network_checks(hosts, os.environ)
        yield token
        yield _usage_check()

    def _give_up(self, address: str) -> NoReturn:
        self.say(
            Failed(
                "EngineDied",
                message=f"no cluster answers at {address} within {ANSWER:.0f} s",
                hint=f"{START} It also does not answer if your token or certificate differs from its own.",
            )
        )
        os._exit(1)

    def _looked(
        self, found: list[Check], nodes: Sequence[dict[str, float]]
    ) -> tuple[tuple[Check, ...], Machine | None]:
        import ray

        if any(check.status == "problem" for check in found):
            return tuple(found), None
        gpu = 0.001 if any(node.get("GPU") for node in nodes) else 0
        # It may land on a node that has just died, which Ray notices after some seconds; a look can be repeated.
        worker = ray.remote(Worker).options(num_cpus=0, num_gpus=gpu, max_restarts=3, max_task_retries=3).remote()
        machine, checks = decode(ray.get(worker.look.remote()), type=tuple[Machine, tuple[Check, ...]])
        return (*found, *checks), machine

    def _begin(self, worker: Any, place: Place, load: Load) -> None:
        """Start the engine once the cluster has room for it. Raises EngineError."""
        import ray
        from msgspec.msgpack import encode

        if not self._done_within(ROOM, worker.__ray_ready__.remote()):
            said = f"the cluster at {place.address} had no room for a worker for {ROOM / 60:.0f} minutes"
            raise EngineError(said, "`ray status` shows what it has; take fewer --workers.")
        begun = worker.begin.options(concurrency_group="in").remote(encode(place), encode(load))
        self._done_within(float("inf"), begun)  # it may hash large weights; the parent has a limit
        if refused := ray.get(begun):
            self.write(refused)
            os._exit(1)

    def _done_within(self, seconds: float, call: Any) -> bool:
        """Wait for a call's end; end this process if the parent is gone or closes, as nobody writes before Ready."""
        import ray

        until = time.monotonic() + seconds
        while not ray.wait([call], timeout=1.0)[0]:
            if select.select([self._requests], [], [], 0)[0]:
                self._end_alone()
            if time.monotonic() >= until:
                return False
        return True

    def _pump(self, worker: Any) -> None:
        """Carry the parent's messages to the worker; end when the parent is gone."""
        import ray

        sent: list[Any] = []
        while piece := os.read(self._requests, PIECE):
            sent.append(self.forward(worker, piece))
            if len(sent) > CALLS:
                _, sent = ray.wait(sent, num_returns=len(sent) - CALLS)
        self._end_alone()

    def forward(self, worker: Any, piece: bytes) -> Any:
        """Begin a call that carries a piece to the worker; return its reference."""
        return worker.send.options(concurrency_group="in").remote(piece)

    def _carry(self, worker: Any) -> int:
        """Carry the engine's messages to the parent; return how it ended. Raises RayError if the worker is lost."""
        import ray

        listen = worker.listen.options(
            num_returns="streaming", concurrency_group="out", _generator_backpressure_num_objects=CALLS
        )
        for item in listen.remote():
            said = decode(ray.get(item), type=Said)
            print(said.printed, end="", flush=True)
            self.write(said.piece)
            if said.ended is not None:
                return said.ended
        raise EngineError("the worker ended without reporting an exit status", "")

    def write(self, piece: bytes) -> None:
        """Write a piece of messages, whole; end this process if the parent is gone."""
        try:
            write_whole(self._replies, piece)
        except BrokenPipeError:
            self._end_alone()

    def _end_alone(self) -> NoReturn:
        """End this process, and the worker, without the parent, which may be gone and remove nothing."""
        if self._worker is not None:
            import ray

            with suppress(Exception):  # its node may be gone
                ray.kill(self._worker)
        remove(os.environ[TEMPORARY], ())
        os._exit(0)


def taking_workers(nodes: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return the resources of those of Ray's nodes that take workers; a head may have no processors for them."""
    return [node["Resources"] for node in nodes if node["Alive"] and node["Resources"].get("CPU")]


def processors(gpus: int, nodes: Sequence[Mapping[str, float]]) -> float:
    """Return how many processors a worker asks for: without a GPU it uses a whole node, so no other may come there."""
    return 1 if gpus else min((node["CPU"] for node in nodes), default=1)


def _check_before(address: str) -> None:
    """Check what can be checked before Ray is imported, and set what it reads then. Raises EngineError."""
    if on_loopback(host_of(address)):
        os.environ.update(LOOPBACK_ALONE)
    refuse_problems(address, network_checks([host_of(address)], os.environ))
    try:  # Ray would take its whole time to say so
        socket.create_connection((host_of(address).strip("[]"), int(address.rpartition(":")[2])), CONNECT).close()
    except (OSError, OverflowError, ValueError):
        raise EngineDied(f"no cluster answers at {address}", START) from None


def _token_check(address: str) -> Check:
    """Check that the cluster itself asks for the token: ours would not be read by one that does not."""
    from ray._raylet import AuthenticationTokenLoader, Config, GcsClient
    from ray.exceptions import AuthenticationError

    _take_mode(Config, "disabled")
    try:
        GcsClient(address=address)
    except AuthenticationError:
        return Check("token of the cluster", "ok", "nobody can join without it")
    finally:
        _take_mode(Config, "token")
        AuthenticationTokenLoader.instance().reset_cache()
    fix = "Stop it, set RAY_AUTH_MODE=token on every node, and start it again."
    return Check("token of the cluster", "problem", "anybody can join without it", fix)


def _take_mode(config: Any, mode: str) -> None:
    """Let Ray, which has read its settings, take another mode of authentication."""
    os.environ["RAY_AUTH_MODE"] = mode
    config.initialize("")


def _usage_check() -> Check:
    """Check that the cluster reports nothing to Ray's makers."""
    import ray
    from ray._common.usage.usage_lib import get_cluster_metadata

    if "git_commit" in get_cluster_metadata(ray._private.worker.global_worker.gcs_client):  # only if they are on
        fix = "Set RAY_USAGE_STATS_ENABLED=0 before `ray start` on each node."
        return Check("usage statistics", "problem", "the cluster reports about itself to Ray's makers", fix)
    return Check("usage statistics", "ok", "off")


def _line(error: BaseException) -> str:
    return f"{type(error).__name__} {' '.join(str(error).split())}"[:200]


def main(arguments: Sequence[str]) -> int:
    """Relay for one engine; return the exit status, or minus the signal by which to end."""
    requests, replies, *_ = map(int, arguments)
    for pipe in (requests, replies):
        os.set_inheritable(pipe, False)
    settle()
    relay = Relay(requests, replies)
    try:
        return relay.serve()
    except PathwayError as error:
        relay.say(Failed(type(error).__name__, message=str(error), hint=error.hint))
    except Exception as error:  # noqa: BLE001  Ray's own: the worker or its node is gone
        if not relay.began:
            last = str(error).strip().rpartition("\n")[2]  # Ray writes the cause there, after its own traceback
            said = f"a worker could not start: {type(error).__name__} {' '.join(last.split())}"
            hint = "Install the same release on all nodes; `ray status` shows them."
            relay.say(Failed("EngineError", message=said[:300], hint=hint))
        else:
            relay.say(Died(f"its worker is gone, {type(error).__name__}", memory=False))
        return -signal.SIGKILL
    return 1


def end_as(status: int) -> NoReturn:
    """End this process with an exit status, or by a signal if it is negative, as the engine's process ended."""
    sys.stdout.flush()
    if status < 0:
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [-status])
        os.kill(os.getpid(), -status)
    os._exit(max(0, status))


if __name__ == "__main__":
    end_as(main(sys.argv[1:]))
