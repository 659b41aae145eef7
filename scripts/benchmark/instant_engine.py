"""An engine that gives every case the same reply, at once or at a set pace, so that only our own work takes time."""

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from pydantic import JsonValue

from pathway_local.engines.engine import EngineKind, Fitted
from pathway_local.engines.engine_list import ENGINES
from pathway_local.judges.judge_spec import USUAL_CONTEXT, JudgeSpec
from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult
from pathway_local.system.machine import Machine

REPLY = "PATHWAY_LOCAL_BENCH_REPLY"
"""Environment variable: a JSON file with the ids of the reply. An engine that closes writes beside it for how
long it held passes, and the time from its first to its last one, in a file that `times_file` names."""

PACE = "PATHWAY_LOCAL_BENCH_PACE"
"""Environment variable: passes that each engine answers in a second; without it, all at once."""

WARM_UP = 16
"""Passes after which the clock starts: a short job has loaded the engine, and then it waits for the measured one."""

BATCH = 32
"""Passes that an engine with a pace answers together."""


def times_file(pid: int | str) -> Path:
    """Return the file with the times of the engine of that process."""
    return Path(f"{os.environ[REPLY]}.{pid}")


class InstantEngine:
    """Answers each pass with the same ids, and gives all ids that are asked about the same probability."""

    def __init__(self, config: EngineConfig) -> None:
        self.facts = EngineFacts(INSTANT.name, "1", config.max_model_len or USUAL_CONTEXT, "none", "none")
        self._reply = tuple(json.loads(Path(os.environ[REPLY]).read_text()))
        self._pace = float(os.environ.get(PACE) or 0)
        self._held: list[Pass] = []
        self._answered, self._busy = 0, 0.0
        self._first = self._since = self._last = time.monotonic()

    def submit(self, item: Pass) -> None:
        """Queue a pass."""
        if not self._held:
            self._since = time.monotonic()
            if self._answered <= WARM_UP:
                self._first, self._busy = self._since, 0.0
        self._held.append(item)

    def step(self) -> list[PassResult]:
        """Answer everything that was submitted, or as much as the pace allows."""
        most = BATCH if self._pace else len(self._held)
        some = self._held[:most]
        if self._pace:
            time.sleep(len(some) / self._pace)
        del self._held[:most]
        answers = [self._answer(item) for item in some]
        self._answered += len(answers)
        self._last = time.monotonic()
        if not self._held:
            self._busy += self._last - self._since
        return answers

    def close(self) -> None:
        """Write the times."""
        times_file(os.getpid()).write_text(json.dumps([self._busy, self._last - self._first]))

    def _answer(self, item: Pass) -> PassResult:
        reply = self._reply if item.max_tokens > 1 else ()
        shares = (_even(item.logprob_ids),) * (len(reply) + 1) if item.logprob_ids else ()
        return PassResult(item.id, reply, logprobs=shares)


@lru_cache(16)
def _even(ids: tuple[int, ...]) -> dict[int, float]:
    return dict.fromkeys(ids, -math.log(len(ids)))


def load(config: EngineConfig, _beat: Callable[[], None]) -> InstantEngine:
    """The engine, which takes no time to load."""
    return InstantEngine(config)


class _Instant(EngineKind):
    name = "instant"
    loader = f"{__name__}:load"
    libraries = (__name__,)

    def fitted(
        self, judge: JudgeSpec, machine: Machine, options: Mapping[str, JsonValue], dtype: str, steps: float | None
    ) -> Fitted:
        """Needs no memory."""
        return {}, ()


INSTANT = _Instant()


def register() -> None:
    """Add this engine to those of this process."""
    if INSTANT not in ENGINES:
        ENGINES.append(INSTANT)
