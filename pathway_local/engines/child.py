"""The engine's own process: `python -m pathway_local.engines.child KIND SEAL REQUESTS REPLIES GATE`.

REQUESTS and REPLIES are pipes, GATE is a local socket for `gatekeeper`, or -1. It seals itself before it imports
anything that opens a connection or starts a thread, loads the engine, and then answers passes until its parent
says close, or is gone.
"""

import os
import queue
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from pathway_local.engines import cuda
from pathway_local.engines.leftovers import remove, shared_memory
from pathway_local.engines.passes import Engine, EngineConfig, PassResult
from pathway_local.engines.seal import FILTER, OFF, OFF_SWITCHES, UNFILTERED, require, seal
from pathway_local.engines.seccomp import install
from pathway_local.engines.wire import (
    TEMPORARY,
    Alive,
    Close,
    Died,
    Failed,
    Frames,
    FromEngine,
    Load,
    PassReader,
    Ready,
    Results,
    ToEngine,
    Work,
    frame,
)
from pathway_local.errors import EngineError
from pathway_local.installed import uses_gpu
from pathway_local.private_process import STOPPING, make_private
from pathway_local.verdict import storable

SWITCHES = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "VLLM_ALLOW_INSECURE_SERIALIZATION": "0",
    "VLLM_CONFIGURE_LOGGING": "0",
    "TQDM_DISABLE": "1",
    # The GPU's memory would be written to a file, with what was in flight.
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "0",
    "CUDA_ENABLE_USER_TRIGGERED_COREDUMP": "0",
    "VLLM_DEBUG_LOG_API_SERVER_RESPONSE": "0",
    "VLLM_TRACE_FUNCTION": "0",
    # A forked worker would inherit our pipes, and keep them open when we die.
    "VLLM_WORKER_MULTIPROCESSING_METHOD": "spawn",
}
"""Set before any import: they keep vLLM and the libraries under it off the network, out of our pipes and of files."""

LOGGING = {"VLLM_CONFIGURE_LOGGING": "1", "VLLM_LOGGING_LEVEL": "INFO"}
"""Set where `--engine-log` asks for it; the parent keeps nothing of it once the engine is ready."""

UNSET = (
    "VLLM_DEBUG_DUMP_PATH",
    "VLLM_LOGGING_CONFIG_PATH",
    "VLLM_MODEL_REDIRECT_PATH",
    "VLLM_TORCH_PROFILER_DIR",
)
"""Taken away: they have vLLM write files of what it does, or load other weights than were looked at."""

CACHES = {
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "OUTLINES_CACHE_DIR": "outlines",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "VLLM_CACHE_ROOT": "vllm",
}
"""Where libraries keep what they compile, in a folder of ours."""

BEAT = 1.0
"""Seconds between two signs of life, at most one each."""


class Stepper(Engine, Protocol):
    """An engine that can be driven a step at a time, so that new passes join those under way."""

    def step(self) -> list[PassResult]:
        """Go on with what is in flight for a while; what has finished, possibly nothing."""


class Channel:
    """The child's end of the pipes: messages in by a thread, so that the parent never waits to write."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = requests, replies
        self._arrived: queue.SimpleQueue[ToEngine] = queue.SimpleQueue()
        self._last_beat = 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def take(self, *, wait: bool) -> Iterator[ToEngine]:
        """All messages that have arrived; with `wait`, at least one."""
        if wait:
            yield self._arrived.get()
        with suppress(queue.Empty):
            while True:
                yield self._arrived.get_nowait()

    def send(self, message: FromEngine) -> None:
        """Write one message, whole."""
        rest = memoryview(frame(message))
        while rest:
            rest = rest[os.write(self._replies, rest) :]

    def beat(self) -> None:
        """Tell the parent that work goes on."""
        if time.monotonic() - self._last_beat >= BEAT:
            self._last_beat = time.monotonic()
            self.send(Alive())

    def _listen(self) -> None:
        frames = Frames.to_engine()
        while piece := os.read(self._requests, 1 << 20):
            for message in frames.feed(piece):
                self._arrived.put(message)
        self._arrived.put(Close())


def main(arguments: Sequence[str]) -> int:
    """Serve one engine; the exit status."""
    kind, wanted, *pipes = arguments
    requests, replies, gate = map(int, pipes)
    for pipe in filter(lambda number: number >= 0, (requests, replies, gate)):
        os.set_inheritable(pipe, False)
    settle()
    level, why = close_off(wanted, gate)
    _end_with_parent(requests, replies)
    channel = Channel(requests, replies)
    first = next(channel.take(wait=True))
    if not isinstance(first, Load):
        return 0
    if first.log:
        os.environ.update(LOGGING)
    try:
        if wanted == "required":
            require(level, why)
        engine = _load(kind, first.config, channel.beat)
    except Exception as error:  # noqa: BLE001  whatever it is, the parent says it
        traceback.print_exc()  # with the exceptions behind it, one of which may be the cause
        channel.send(_cause(error))
        return 1
    channel.send(Ready(replace(engine.facts, seal=level, seal_limit=why)))
    try:
        _serve(engine, channel)
    except Exception as error:  # noqa: BLE001  its text may hold a case's: only its kind is told
        channel.send(Died(type(error).__name__, _is_memory(error)))
        return 1
    return 0


def settle() -> None:
    """Make this process private."""
    for number in STOPPING:
        # The parent's to answer, and systemd sends them to all of a service; what is blocked, a library may unblock.
        signal.signal(number, signal.SIG_IGN)
    make_private()
    os.environ.update(SWITCHES | _caches())
    for name in UNSET:
        os.environ.pop(name, None)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a seal: a network namespace, and a filter on system calls."""

    namespace: bool
    filter: bool

    def try_on(self) -> None:
        """Seal this process so, without the questions that several processes of an engine are asked."""
        if self.namespace:
            seal()
        if self.filter:
            with suppress(OSError):
                install("no-connections")


LADDER = (Parts(True, True), Parts(True, False), Parts(False, True), Parts(False, False))
"""Seals, the strongest first."""


def close_off(wanted: str, gate: int) -> tuple[str, str]:
    """Cut this process off from networks and from other programs' sockets: how, and why not better.

    The first is the word of `seal`, then "filter" where system calls are filtered, or "off"; it goes into the
    manifest. The second is empty unless a weaker seal was chosen than the kernel allows, since CUDA starts under none
    that is stronger.
    """
    if wanted == OFF:
        return OFF, ""
    parts, why = _strongest(LADDER[1:] if wanted == UNFILTERED else LADDER)
    level = seal() if parts.namespace else OFF_SWITCHES
    if parts.filter and _filter(level, gate):
        return FILTER if level == OFF_SWITCHES else f"{level}+{FILTER}", why
    return level, why


def _strongest(ladder: Sequence[Parts]) -> tuple[Parts, str]:
    """The first seal under which CUDA starts, and why not the first of all; that one where CUDA starts nowhere."""
    best = ladder[0]
    if not uses_gpu() or (answer := cuda.answer_under(best.try_on)) in (cuda.SUCCESS, cuda.NO_DRIVER):
        return best, ""
    if cuda.answer_under(lambda: None) != cuda.SUCCESS:
        return best, ""
    # From the top again: unsealed, the driver's set-uid helper may just have made the device files that were missing.
    for parts in ladder:
        if cuda.answer_under(parts.try_on) == cuda.SUCCESS:
            why = f"CUDA does not start under a stronger seal (cuInit returns {answer})"
            return parts, why if parts != best else ""
    return best, ""


def _filter(level: str, gate: int) -> bool:
    """Filter this process's system calls; whether the kernel does."""
    try:
        listener = install("no-connections" if gate < 0 else "ask", gate)
    except OSError:
        return False
    if gate >= 0:
        # Left open: the filter asks nothing about this number, so no other socket may get it.
        handle = socket.socket(fileno=gate)
        socket.send_fds(handle, [level.encode()], [listener])
        handle.detach()
        os.close(listener)
    return True


def _caches() -> dict[str, str]:
    """Folders of ours alone for what is read back as code or pickles; by default some lie where others may write."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pathway-local"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.chmod(0o700)
    except OSError:
        if TEMPORARY not in os.environ:
            return {}
        home = Path(os.environ[TEMPORARY])  # a home that can't be written to: cached for this process alone
    return {variable: str(home / name) for variable, name in CACHES.items()}


def _end_with_parent(requests: int, replies: int) -> None:
    """Leave a watcher behind that kills this process and its workers as soon as the parent is gone.

    PR_SET_PDEATHSIG would end this process alone, and also when the parent's thread that started it ends. The
    watcher also removes what the engine leaves behind, which the parent can't any more.
    """
    if os.getpgrp() != os.getpid() or os.fork() != 0:
        return
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for pipe in (1, 2, replies):
            os.dup2(nowhere, pipe)
        gone = select.poll()
        gone.register(requests, 0)  # a pipe without writers is told of unasked
        gone.poll()
        group = os.getpgrp()
        shared = shared_memory(group)
        os.setpgid(0, 0)
        os.killpg(group, signal.SIGKILL)
        remove(os.environ[TEMPORARY], shared)
    finally:
        os._exit(1)


def _load(kind: str, config: EngineConfig, beat: Callable[[], None]) -> Stepper:
    """The engine of that kind; only its own libraries are imported."""
    if kind == "vllm":
        from pathway_local.engines.vllm import VllmEngine

        return VllmEngine(config)
    if kind == "transformers":
        from pathway_local.engines.transformers import TransformersEngine

        return TransformersEngine(config, beat)
    from pathway_local.engines.scripted import scripted

    return scripted(config)


def _serve(engine: Stepper, channel: Channel) -> None:
    held, passes = 0, PassReader()
    while True:
        for message in channel.take(wait=not held):
            if not isinstance(message, Work):
                engine.close()
                return
            engine.submit(passes.read(message))
            held += 1
        finished = engine.step()
        held -= len(finished)
        if finished:
            channel.send(Results(tuple(finished)))
        else:
            channel.beat()


def _cause(error: Exception) -> Failed:
    said = storable(str(error))
    if isinstance(error, EngineError):
        return Failed(type(error).__name__, message=said, hint=error.hint)
    return Failed(kind=type(error).__name__, message=said, memory=_is_memory(error))


def _is_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # engines leave threads and exit handlers behind that can hang
