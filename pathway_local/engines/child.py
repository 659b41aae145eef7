"""The engine's own process: `python -m pathway_local.engines.child SEAL REQUESTS REPLIES GATE`.

REQUESTS and REPLIES are pipes, GATE is a local socket to the parent's `gatekeeper`, or -1. The process seals itself
before it imports anything that opens a connection or starts a thread. Then it loads the engine and answers passes until
its parent tells it to close, or is gone.
"""

import os
import queue
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Protocol

from pathway_local.engines.wire import (
    TO_ENGINE,
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
    write_whole,
)
from pathway_local.errors import EngineError
from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult
from pathway_local.sealing.launch import TEMPORARY, settle
from pathway_local.sealing.seal import close_off, require
from pathway_local.system.private_process import remove, shared_memory
from pathway_local.verdict import storable

LOGGING = {"VLLM_CONFIGURE_LOGGING": "1", "VLLM_LOGGING_LEVEL": "INFO"}
"""Set if `--engine-log` is given; the parent keeps none of this output once the engine is ready."""

BEAT = 1.0
"""Seconds between two signs of life, at least."""


class Stepper(Protocol):
    """An engine that is driven a step at a time, so that new passes join those under way."""

    facts: EngineFacts

    def submit(self, item: Pass) -> None:
        """Queue a pass; one that the engine refuses comes back as a result with `finish` "error"."""

    def step(self) -> list[PassResult]:
        """Work on the passes in flight for a short while; return those that finished, possibly none."""

    def close(self) -> None:
        """Free the model's memory."""


class Channel:
    """The child's end of the pipes. A thread reads, so that the parent never has to wait until it can write."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = requests, replies
        self._arrived: queue.SimpleQueue[ToEngine] = queue.SimpleQueue()
        self._last_beat = 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def take(self, *, wait: bool) -> Iterator[ToEngine]:
        """Yield all messages that have arrived; with `wait`, at least one."""
        if wait:
            yield self._arrived.get()
        with suppress(queue.Empty):
            while True:
                yield self._arrived.get_nowait()

    def send(self, message: FromEngine) -> None:
        """Write one message, whole."""
        write_whole(self._replies, frame(message))

    def beat(self) -> None:
        """Tell the parent that this process is alive."""
        if time.monotonic() - self._last_beat >= BEAT:
            self._last_beat = time.monotonic()
            self.send(Alive())

    def _listen(self) -> None:
        frames = Frames(TO_ENGINE)
        while piece := os.read(self._requests, 1 << 20):
            for message in frames.feed(piece):
                self._arrived.put(message)
        self._arrived.put(Close())


def main(arguments: Sequence[str]) -> int:
    """Serve one engine; return the exit status."""
    wanted, *pipes = arguments
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
        engine = _load(first, channel.beat)
    except Exception as error:  # noqa: BLE001  whatever it is, the parent reports it
        traceback.print_exc()  # an exception behind it may be the cause
        channel.send(_cause(error))
        return 1
    channel.send(Ready(replace(engine.facts, seal=level, seal_limit=why)))
    try:
        _serve(engine, channel)
    except Exception as error:  # noqa: BLE001  its text may quote a case: send its kind alone
        channel.send(Died(type(error).__name__, _is_memory(error)))
        return 1
    return 0


def _end_with_parent(requests: int, replies: int) -> None:
    """Fork a watcher that kills this process and its workers as soon as the parent is gone.

    PR_SET_PDEATHSIG would end this process alone, and it would do so when the parent's thread that started us ends. The
    watcher also removes what the engine leaves behind, since the parent no longer can.
    """
    if os.getpgrp() != os.getpid() or os.fork() != 0:
        return
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for pipe in (1, 2, replies):
            os.dup2(nowhere, pipe)
        gone = select.poll()
        gone.register(requests, 0)  # no events asked for: poll still returns once the pipe has no writer
        gone.poll()
        group = os.getpgrp()
        shared = shared_memory(group)
        os.setpgid(0, 0)
        with suppress(ProcessLookupError):  # a worker of Ray kills the engine before it ends itself
            os.killpg(group, signal.SIGKILL)
        remove(os.environ[TEMPORARY], shared)
    finally:
        os._exit(1)


def _load(asked: Load, beat: Callable[[], None]) -> Stepper:
    """Return the engine that the parent asked for; this imports its libraries and no other engine's."""
    module, _, name = asked.loader.partition(":")
    load: Callable[[EngineConfig, Callable[[], None]], Stepper] = getattr(import_module(module), name)
    return load(asked.config, beat)


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
    os._exit(status)  # engines leave threads and exit handlers behind, which can hang
