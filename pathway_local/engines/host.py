"""An engine in a sealed process of its own, started again when it dies: what is in flight is not lost."""

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from pathway_local.engines.failures import look_there, start_error
from pathway_local.engines.process import LOOK, EngineProcess, Gone
from pathway_local.engines.vllm import has_workers
from pathway_local.engines.wire import Died, Failed, FromEngine, Ready, Results
from pathway_local.errors import EngineDied, EngineError, EngineUnexplained, Stopped, UnknownName
from pathway_local.judges.weights import check_folder
from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult, enqueue
from pathway_local.sealing.levels import UNFILTERED, Attempt, Wanted

KINDS = ("vllm", "transformers", "scripted")
HANG_LIMIT = 300.0
"""Seconds without a sign of life after which an engine that has passes in flight counts as dead."""

CPU_HANG_LIMIT = 1800.0
"""The same on the processor, where one step may take in prompts of 32,768 tokens: minutes of a large judge's work."""

START_LIMIT = 1800.0
"""Seconds that loading may take: weights of many gigabytes are read, and a GPU's kernels compiled."""

CULPRITS = 10
"""So many cases set aside with no result between them, and the engine is given up: it seems to die of any."""

_LEAVE_OUT = "What was judged is stored, those cases as failures: leave them out if the same command ends so again."


def engine_kind(name: str) -> str:
    """The engine that a name stands for: "auto" is vLLM where it is installed, else transformers."""
    if name == "auto":
        return "vllm" if find_spec("vllm") else "transformers"
    if name not in KINDS:
        raise UnknownName("engine", name, ["auto", *KINDS[:2]])
    return name


def start(
    kind: str,
    config: EngineConfig,
    *,
    seal: Wanted = "auto",
    hang_limit: float | None = None,
    notify: Callable[[str], None] = lambda notice: None,
    stopped: Callable[[], bool] = lambda: False,
    log: Path | None = None,
) -> "Host":
    """Load an engine in a process of its own; returns when it is ready. Raises EngineError by cause.

    `hang_limit` is in seconds; without it, it is HANG_LIMIT or CPU_HANG_LIMIT. `notify` is told, in a line without case
    text, when the engine has died and is started again. `stopped` is asked about each second while the engine is waited
    for, here and for results: once it says so, Stopped is raised. `log` gets all that the engine prints while it loads.
    """
    kind = engine_kind(kind)
    if kind != "scripted" and config.settings.get("load_format") != "dummy":
        check_folder(Path(config.model), Path(config.model).name)
    return Host(kind, config, seal=seal, hang_limit=hang_limit, notify=notify, stopped=stopped, log=log)


class Host:
    """An Engine whose work is done in a child process.

    Dies or hangs the child, it is started again and gets back what was in flight. After a second death, passes
    that were in flight both times run alone, until the one that kills the engine is found: it comes back with
    `finish` "error", and the rest goes on together. When memory runs out, half as many are in flight from then on.
    After CULPRITS of them with no result between it is given up.
    """

    def __init__(
        self,
        kind: str,
        config: EngineConfig,
        *,
        seal: Wanted,
        hang_limit: float | None,
        notify: Callable[[str], None],
        stopped: Callable[[], bool],
        log: Path | None,
    ) -> None:
        self._kind, self._config, self._log = kind, config, log
        self._seal: Attempt = seal
        self.notify, self.stopped = notify, stopped
        self._waiting: deque[Pass] = deque()
        self._held: dict[str, Pass] = {}
        self._strikes: Counter[str] = Counter()
        self._done: list[PassResult] = []
        self._window: int | None = None
        self._culprits = 0
        self._memory_ran_out = False
        self._cause = ""
        self.facts: EngineFacts
        self._process: EngineProcess | None = None
        self._running()
        self.hang_limit = hang_limit or (CPU_HANG_LIMIT if self.facts.device == "cpu" else HANG_LIMIT)

    @property
    def pid(self) -> int | None:
        """The child's process id; None between a death and the next start."""
        return self._process.pid if self._process else None

    def submit(self, item: Pass) -> None:
        """Queue a pass; returns at once, except that a dead child is started again first."""
        enqueue(self._waiting, item)
        self._hand_out()

    def results(self) -> list[PassResult]:
        """Wait for at least one result; empty only if nothing is in flight.

        Raises EngineError if the engine is given up, Stopped if it is no longer to be waited for.
        """
        heard = time.monotonic()
        while not self._done and (self._held or self._waiting):
            self._hand_out()
            process = self._running()
            self._heed_stop()
            try:
                messages = process.receive(min(LOOK, max(0.0, heard + self.hang_limit - time.monotonic())))
            except Gone:
                self._heed_stop()
                self._bury(process, "")
            else:
                self._read(messages)
                if not messages and time.monotonic() - heard < self.hang_limit:
                    continue
                if not messages:
                    self._bury(process, f"gave no sign of life for {self.hang_limit:.0f} s")
            heard = time.monotonic()
        done, self._done = self._done, []
        return done

    def close(self) -> None:
        """End the child and free the model's memory."""
        process, self._process = self._process, None
        if process:
            process.close()

    def _heed_stop(self) -> None:
        if self.stopped():
            raise Stopped("stopped while the engine was waited for")

    def _hand_out(self) -> None:
        while self._waiting and len(self._held) < self._room():
            if self._process and not self._held and self._process.has_ended():
                self._bury(self._process, "")
            process = self._running()
            item = self._waiting.popleft()
            self._held[item.id] = item
            process.send(process.passes.message(item))

    def _room(self) -> float:
        """How many passes the child may hold: one alone while one that saw two deaths is next or under way."""
        if self._strikes and any(self._strikes[name] > 1 for name in (self._waiting[0].id, *self._held)):
            return 1
        return self._window or float("inf")

    def _read(self, messages: list[FromEngine]) -> None:
        for message in messages:
            match message:
                case Died():
                    self._memory_ran_out |= message.memory
                    self._cause = message.kind
                case Results():
                    for result in message.results:
                        del self._held[result.id], self._strikes[result.id]
                    self._done += message.results
                    self._culprits = 0

    def _running(self) -> EngineProcess:
        """The child, started if there is none. Raises EngineDied where it died of too many cases in a row."""
        if self._process is None:
            if self._culprits >= CULPRITS:
                raise EngineDied(f"the engine died of {CULPRITS} cases in a row, each alone", _LEAVE_OUT)
            try:
                self._start()
            except EngineUnexplained as error:
                self._start_unfiltered(error)
        assert self._process
        return self._process

    def _start(self) -> None:
        several = self._kind == "vllm" and has_workers(self._config)
        self._process = process = EngineProcess(self._kind, self._config, self._seal, several=several, log=self._log)
        try:
            self.facts = self._ready(process)
        except BaseException:
            self._process = None
            process.kill()
            raise
        finally:
            if said := process.output.log_ended:
                self.notify(f"{self._log} does not have all that the engine wrote: {said}")

    def _start_unfiltered(self, error: EngineUnexplained) -> None:
        """Start again without the filter on system calls, unless it was required: it may have been in the way.

        Raises the first error where the engine does not start so either.
        """
        if self._seal != "auto":
            raise error
        self._seal = UNFILTERED
        try:
            self._start()
        except EngineError:
            raise error from None
        self.facts = replace(self.facts, seal_limit=f"the engine does not start under a filter ({error})")

    def _ready(self, process: EngineProcess) -> EngineFacts:
        """Wait until the child has loaded the engine."""
        until = time.monotonic() + START_LIMIT
        said = Failed()
        try:
            while (left := until - time.monotonic()) > 0:
                self._heed_stop()
                for message in process.receive(min(LOOK, left)):
                    if isinstance(message, Ready):
                        process.output.forget()
                        process.note_shared_memory()
                        return message.facts
                    said = message if isinstance(message, Failed) else said
        except Gone:
            ended = process.kill()
            raise start_error(self._kind, said, process.output.text, ended, self._log) from None
        raise EngineDied(f"the judge was not loaded within {START_LIMIT / 60:.0f} minutes", look_there(self._log))

    def _bury(self, process: EngineProcess, how: str) -> None:
        """After a death: put what was in flight back in front, and note who was there."""
        self._process = None
        ended = process.kill()
        held = list(self._held.values())
        self._held.clear()
        memory = (self._memory_ran_out or process.output.memory_ran_out) and len(held) > 1
        self._memory_ran_out = False
        if memory:
            self._window = len(held) // 2
            self.notify(f"memory ran out with {len(held)} requests in flight: going on with {self._window} at a time")
        else:
            how = how or f"died ({self._cause or ended})"
            self._cause = ""
            self.notify(f"the engine {how} with {len(held)} requests in flight: it is started again")
            held = self._struck(held)
        self._waiting.extendleft(reversed(held))

    def _struck(self, held: list[Pass]) -> list[Pass]:
        """Count this death for those in flight; who was alone at a second one is the culprit and is given back."""
        self._strikes.update(item.id for item in held)
        if len(held) != 1 or self._strikes[held[0].id] < 2:
            return held
        [culprit] = held
        self._strikes = Counter(dict.fromkeys(self._strikes.keys() - {culprit.id}, 1))
        self._done.append(PassResult(culprit.id, finish="error", error="the engine died twice while it held this case"))
        self._culprits += 1
        # One from the end is next: neighbours that kill alike must not look like an engine that dies of anything.
        self._waiting.rotate(1)
        return []
