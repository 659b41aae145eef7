"""An engine that gives every case the same reply at once, so that only our own work takes time."""

import json
import math
import os
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
"""Environment variable: a JSON file with the ids of the reply."""


class InstantEngine:
    """Answers each pass with the same ids, and gives all ids that are asked about the same probability."""

    def __init__(self, config: EngineConfig) -> None:
        self.facts = EngineFacts(INSTANT.name, "1", config.max_model_len or USUAL_CONTEXT, "none", "none")
        self._reply = tuple(json.loads(Path(os.environ[REPLY]).read_text()))
        self._held: list[Pass] = []

    def submit(self, item: Pass) -> None:
        """Queue a pass."""
        self._held.append(item)

    def step(self) -> list[PassResult]:
        """Answer everything that was submitted."""
        answers, self._held = [self._answer(item) for item in self._held], []
        return answers

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
