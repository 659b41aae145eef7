"""Runs our engine as on a GPU, without one: asynchronous scheduling, and an executor that replies at once.

vLLM's platform for processors switches asynchronous scheduling off; here alone it stays on.
"""

import os
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from pathway_local.engines import vllm
from pathway_local.engines.vllm import CORE_APART, GPU_SEQUENCES, VllmEngine, engine_options, use_cpu
from pathway_local.passes import EngineConfig, PassResult
from pathway_local.sealing.launch import SWITCHES

SETTLED = {"block_size": 16, "max_num_seqs": GPU_SEQUENCES, "max_num_batched_tokens": 16_384}
"""Settings as on a card of 80 GB."""

FIXED = {
    "async_scheduling": True,
    "distributed_executor_backend": "instant_executor.InstantExecutor",
    "enforce_eager": True,
}


class GpuLoop(VllmEngine):
    """Our engine with that executor, as `executor`; unless `corrected`, vLLM's core goes its own way."""

    def __init__(self, config: EngineConfig, *, corrected: bool = True) -> None:
        with _as_on_a_gpu(corrected=corrected):
            super().__init__(replace(config, settings=SETTLED | dict(config.settings)))
        self.vllm = self._engine
        self.core = self.vllm.engine_core.engine_core
        self.executor = self.core.model_executor
        assert self.core.async_scheduling and self.core.batch_queue_size > 1, "this is not the loop of a GPU"

    def close(self) -> None:
        """Free the model's memory."""
        self.vllm.engine_core.shutdown(timeout=0)

    def results(self) -> list[PassResult]:
        """Step until some passes have finished; empty only if none is in flight."""
        while not (done := self.step()) and self._held:
            pass
        return done


def prompt_hash(ids: Sequence[int]) -> int:
    """Return the number by which the executor tells prompts apart."""
    return zlib.crc32(array("q", ids))


@contextmanager
def _as_on_a_gpu(*, corrected: bool) -> Iterator[None]:
    os.environ.update(SWITCHES | {CORE_APART: "0"})
    use_cpu(eager=True)  # before vLLM is imported
    from vllm.platforms.cpu import CpuPlatform

    from pathway_local.engines import vllm_core

    settle = CpuPlatform.check_and_update_config.__func__

    def settled(platform: Any, config: Any) -> None:
        settle(platform, config)
        config.scheduler_config.async_scheduling = True

    with (
        patch.object(CpuPlatform, "check_and_update_config", classmethod(settled)),
        patch.object(vllm, "engine_options", lambda config, _: {**engine_options(config, False), **FIXED}),
        patch.object(vllm_core, "correct", vllm_core.correct if corrected else lambda *_: ""),
    ):
        yield
