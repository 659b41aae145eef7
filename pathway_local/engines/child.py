"""The engine's own process: `python -m pathway_local.engines.child SEAL REQUESTS REPLIES GATE`.

REQUESTS and REPLIES are pipes, GATE is a local socket to the parent's `gatekeeper`, or -1. The process seals itself
before it imports anything that opens a connection or starts a thread. Then it loads the engine and answers passes until
its parent kills it, or is gone.
"""

import os
import queue
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn, Protocol

from pathway_local.engines.wire import (
    TO_ENGINE,
    Alive,
    Failed,
    Frames,
    FromEngine,
    Load,
    Ready,
    Results,
    frame,
)
from pathway_local.errors import EngineError
from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult
from pathway_local.sealing.landlock import keep_to
from pathway_local.sealing.launch import TEMPORARY, engine_files, settle
from pathway_local.sealing.seal import close_off
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


class Channel:
    """The child's end of the pipes. After `listen` a thread reads, so that the parent can always write."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = requests, os.fdopen(replies, "wb")
        self._arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._frames = Frames(TO_ENGINE)
        self._last_beat = 0.0

    def load(self) -> Load:
        """Wait for the first message, without a thread."""
        while self._arrived.empty():
            self._read()
        first: Load = self._arrived.get()
        return first

    def listen(self) -> None:
        """Start the thread that reads."""
        threading.Thread(target=self._listen, daemon=True).start()

    def passes(self, *, wait: bool) -> list[Pass]:
        """Return all passes that have arrived; with `wait`, at least one."""
        found = [self._arrived.get()] if wait else []
        while not self._arrived.empty():
            found.append(self._arrived.get())
        return found

    def send(self, message: FromEngine) -> None:
        """Write one message; wait while the pipe is full."""
        self._replies.write(frame(message))
        self._replies.flush()

    def beat(self) -> None:
        """Tell the parent that this process is alive."""
        if time.monotonic() - self._last_beat >= BEAT:
            self._last_beat = time.monotonic()
            self.send(Alive())

    def _listen(self) -> None:
        while True:
            self._read()

    def _read(self) -> None:
        """Read once. Ends this process if the parent is gone."""
        piece = os.read(self._requests, 1 << 20)
        if not piece:
            os._exit(0)
        for message in self._frames.feed(piece):
            self._arrived.put(message)


def main(arguments: Sequence[str]) -> None:
    """Serve one engine, until it fails."""
    wanted: Any = arguments[0]
    requests, replies, gate = map(int, arguments[1:])
    for pipe in filter(lambda number: number >= 0, (requests, replies, gate)):
        os.set_inheritable(pipe, False)
    settle()
    channel = Channel(requests, replies)
    asked = channel.load()
    files = engine_files(asked.config.model)
    seal = close_off(wanted, gate, files)
    _end_with_parent(requests, replies)
    try:
        if seal.files:
            keep_to(files)  # after the watcher's start: it removes folders, and nobody may reach into it
        if wanted == "required":
            seal.require()
        channel.listen()
        if asked.log:
            os.environ.update(LOGGING)
        engine = _load(asked, channel.beat)
    except Exception as error:  # noqa: BLE001  whatever it is, the parent reports it
        traceback.print_exc()  # an exception behind it may be the cause
        channel.send(_cause(error))
        return
    channel.send(Ready(engine.facts, seal))
    try:
        _serve(engine, channel)
    except Exception as error:  # noqa: BLE001  its text may quote a case: send its kind alone
        channel.send(Failed(kind=type(error).__name__, memory=_is_memory(error)))


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


def _serve(engine: Stepper, channel: Channel) -> NoReturn:
    held = 0
    while True:
        for item in channel.passes(wait=not held):
            engine.submit(item)
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
    main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)  # engines leave threads and exit handlers behind, which can hang
