"""One engine in a sealed process of its own, and the passes that it holds."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pathway_local.engines.engine_list import engine_kind
from pathway_local.engines.process import LOOK, EngineProcess, Gone
from pathway_local.engines.start_error import look_there, start_error
from pathway_local.engines.wire import Failed, Load, Ready, Results
from pathway_local.errors import EngineDied, Stopped
from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult
from pathway_local.sealing.seal import Seal, Wanted

Notify = Callable[[str], None]

REMEMBERED = 10_000
"""Finished passes that an engine remembers: the passes that continue them go to the prefix cache with their prompts."""


@dataclass(slots=True)
class Waiting:
    """A pass without a result: how many deaths an engine has died that held it, and the engine of the last one."""

    item: Pass
    strikes: int = 0
    died_in: "SupervisedEngine | None" = None


class SupervisedEngine:
    """One engine: loads it, sends it passes and receives their results.

    `hang_limit` is in seconds; the default is the engine's own. `log` receives everything that the engine prints while
    it loads. `held` are the passes in flight; their number stays below `most`, and `finished` are the latest that this
    process has answered. `deaths` counts in a row, without a result between them.
    """

    def __init__(
        self,
        engine: str,
        config: EngineConfig,
        *,
        seal: Wanted = "auto",
        hang_limit: float | None = None,
        log: Path | None = None,
    ) -> None:
        self._kind, self._config, self._log = engine_kind(engine), config, log
        self._wanted: Wanted = seal
        self._hang_limit = hang_limit
        self.facts: EngineFacts | None = None
        self.seal = Seal()
        self.process: EngineProcess | None = None
        self.held: dict[str, Waiting] = {}
        self.finished: dict[str, None] = {}
        self.most = self._kind.window(config)
        self.deaths = 0
        self._memory_ran_out, self._cause = False, ""
        self._heard = 0.0
        """When the process last said something, or got its first pass; by `time.monotonic`."""

    @property
    def pid(self) -> int | None:
        """Return the process's id; None between a death and the next start."""
        return self.process.pid if self.process else None

    def load(self, notify: Notify, stopped: Callable[[], bool]) -> None:
        """Start the process and wait until the engine is loaded. Raises EngineError by cause, Stopped."""
        load = Load(self._kind.loader, self._config, self._log is not None)
        process = EngineProcess(load, self._wanted, self._log, several=self._kind.has_workers(self._config))
        try:
            loaded = self._ready(process, stopped)
            if isinstance(loaded, Ready):
                self.facts, self.seal, self.process = loaded.facts, loaded.seal, process
                return
            ended = process.kill()
        except BaseException:
            process.kill()
            raise
        finally:
            if said := process.output.log_ended:
                notify(f"{self._log} is incomplete: {said}")
        raise start_error(self._kind, loaded, process.output.text, ended, self._log)

    def send(self, one: Waiting) -> None:
        """Send a pass to the engine; returns at once."""
        assert self.process
        if not self.held:
            self._heard = time.monotonic()
        self.held[one.item.id] = one
        self.process.send(one.item)

    def receive(self) -> list[PassResult]:
        """Return the results that have arrived, possibly none. Raises Gone if the process has ended."""
        assert self.process
        found: list[PassResult] = []
        messages = self.process.receive(0.0)
        for message in messages:
            match message:
                case Failed():
                    self._memory_ran_out |= message.memory
                    self._cause = message.kind
                case Results():
                    for result in message.results:
                        del self.held[result.id]
                        self.finished[result.id] = None
                    found += message.results
                    self.deaths = 0
        if messages:
            self._heard = time.monotonic()
        while len(self.finished) > REMEMBERED:
            del self.finished[next(iter(self.finished))]  # the oldest
        return found

    @property
    def hang_limit(self) -> float:
        """Seconds of silence after which an engine that holds passes counts as dead."""
        assert self.facts
        return self._hang_limit or self._kind.hang_limit(self.facts.device)

    def silence_left(self) -> float:
        """Return the seconds until the engine counts as dead if it says nothing."""
        return max(0.0, self._heard + self.hang_limit - time.monotonic())

    def end(self) -> tuple[str, list[Waiting], bool]:
        """Kill the process; return how it ended, the passes that it held, and whether memory ran out."""
        assert self.process
        process, self.process = self.process, None
        ended, memory = process.kill(), self._memory_ran_out or process.output.memory_ran_out
        how = f"died ({self._cause or ended})"
        held = list(self.held.values())
        self.held.clear()
        self.finished.clear()
        self.deaths += 1
        self._memory_ran_out, self._cause = False, ""
        return how, held, memory

    def close(self) -> None:
        """Kill the process, which frees the model's memory. Raises EngineDied if it does not end."""
        process, self.process = self.process, None
        if process:
            process.kill()

    def _ready(self, process: EngineProcess, stopped: Callable[[], bool]) -> Ready | Failed:
        """Wait until the engine is loaded; return what was loaded, or what the process said before it ended."""
        limit = self._kind.start_limit(self._config)
        until = time.monotonic() + limit
        said = Failed()
        with suppress(Gone):
            while (left := until - time.monotonic()) > 0:
                if stopped():
                    raise Stopped("stopped while the engine was loaded")
                for message in process.receive(min(LOOK, left)):
                    if isinstance(message, Ready):
                        process.output.forget()
                        process.note_shared_memory()
                        return message
                    said = message if isinstance(message, Failed) else said
            raise EngineDied(f"the judge was not loaded within {limit / 60:.0f} minutes", look_there(self._log))
        return said
