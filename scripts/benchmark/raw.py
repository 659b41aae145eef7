"""vLLM by itself, in a process of its own, as a judge's engine has one."""

import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import psutil
from msgspec.structs import replace

from benchmark.processes import below, kill
from pathway_local.engines.vllm import CPU_PART, engine_options, use_cpu
from pathway_local.passes import EngineConfig, Pass
from pathway_local.sealing.launch import settle
from pathway_local.system.machine import free_memory, is_cpu_build

_LOADED: list[Any] = []
"""In that process, vLLM's engine."""


class RawProcess:
    """The process, with vLLM loaded. Raises BrokenProcessPool if it ends; what vLLM says of it goes to stderr."""

    def __init__(self, config: EngineConfig) -> None:
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _load, (config,))
        self._process = psutil.Process(self._pool.submit(os.getpid).result())

    def generate(self, passes: Sequence[Pass], lengths: Sequence[int]) -> dict[str, Any]:
        """Return the seconds and tokens of all replies; with `lengths`, each has no grammar and is exactly so long."""
        return self._pool.submit(_generated, passes, lengths).result()

    def close(self) -> None:
        """Kill the process and its children, so that the next engine finds the GPU's memory free."""
        kill([self._process, *below(self._process.pid)])
        self._pool.shutdown()


def _load(config: EngineConfig) -> None:
    os.dup2(sys.stderr.fileno(), 1)  # stdout is for the figures
    settle()  # the same environment as a judge's engine, so that both use the same compile caches
    options = engine_options(config, is_cpu_build())
    options["structured_outputs_config"] = {"backend": "guidance"}
    if is_cpu_build():
        use_cpu(eager=bool(options["enforce_eager"]))
        options.setdefault("kv_cache_memory_bytes", free_memory() // CPU_PART)
    from vllm import LLM

    _LOADED.append(LLM(**options))


def _generated(passes: Sequence[Pass], lengths: Sequence[int]) -> dict[str, Any]:
    from vllm import SamplingParams, TokensPrompt

    from pathway_local.engines.vllm_core import sampling_params

    if lengths:
        passes = [replace(item, grammar=None, max_tokens=n) for item, n in zip(passes, lengths, strict=True)]
    settings = [sampling_params(item, SamplingParams) for item in passes]
    for each in settings if lengths else ():
        each.ignore_eos = True
    [llm] = _LOADED
    llm.reset_prefix_cache()
    began = time.perf_counter()
    done = llm.generate([TokensPrompt(prompt_token_ids=list(item.ids)) for item in passes], settings, use_tqdm=False)
    seconds = time.perf_counter() - began
    written = [len(output.outputs[0].token_ids) for output in done]
    ended = sum(output.outputs[0].finish_reason == "stop" for output in done)  # its last token is no part of the reply
    cached = sum(output.num_cached_tokens or 0 for output in done)
    prompt, generated = sum(len(item.ids) for item in passes), sum(written) - ended
    return {"seconds": seconds, "lengths": written, "prompt": prompt, "cached": cached, "generated": generated}
