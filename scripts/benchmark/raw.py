"""vLLM by itself, in a process of its own, as a judge's engine has one."""

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
from msgspec.structs import replace

from benchmark.processes import below, kill
from pathway_local.engines.vllm import CPU_PART, engine_options, use_cpu
from pathway_local.errors import EngineError
from pathway_local.passes import EngineConfig, Pass
from pathway_local.sealing.launch import settle
from pathway_local.system.machine import free_memory, is_cpu_build

LAST_LINES = 30
_SPAWN = multiprocessing.get_context("spawn")


class RawProcess:
    """The process, with vLLM loaded. Raises EngineError if it ends."""

    def __init__(self, config: EngineConfig) -> None:
        self._pipe, there = _SPAWN.Pipe()
        self._log = tempfile.NamedTemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = _SPAWN.Process(target=_serve, args=(there, config, self._log.name))
        self._process.start()
        there.close()
        try:
            self._answer()
        except BaseException:
            self.close()
            raise

    def generate(self, passes: Sequence[Pass], lengths: Sequence[int]) -> dict[str, Any]:
        """Return the seconds and tokens of all replies; with `lengths`, each has no grammar and is exactly so long."""
        self._pipe.send((passes, lengths))
        return self._answer()

    def close(self) -> None:
        """Kill the process and its children, so that the next engine finds the GPU's memory free."""
        assert self._process.pid, "it was started"
        kill([psutil.Process(self._process.pid), *below(self._process.pid)])
        self._process.join()

    def _answer(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self._pipe.recv()
        except EOFError:
            last = Path(self._log.name).read_text("utf-8", "replace").strip().splitlines()[-LAST_LINES:]
            # The last line alone often says no more than "see root cause above".
            print(*last, sep="\n", file=sys.stderr, flush=True)
            raise EngineError(f"vLLM by itself ended: {''.join(last[-1:])}") from None
        return found


def _serve(pipe: Connection, config: EngineConfig, log: str) -> None:
    """Load vLLM, then generate what comes through the pipe; whatever vLLM prints goes to the log."""
    with Path(log).open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    settle()  # the same environment as a judge's engine, so that both use the same compile caches
    options = engine_options(config, is_cpu_build())
    options["structured_outputs_config"] = {"backend": "guidance"}
    if is_cpu_build():
        use_cpu(eager=bool(options["enforce_eager"]))
        options.setdefault("kv_cache_memory_bytes", free_memory() // CPU_PART)
    from vllm import LLM

    llm = LLM(**options)
    pipe.send({})
    while True:
        pipe.send(_generated(llm, *pipe.recv()))


def _generated(llm: Any, passes: Sequence[Pass], lengths: Sequence[int]) -> dict[str, Any]:
    from vllm import SamplingParams, TokensPrompt

    from pathway_local.engines.vllm_core import sampling_params

    if lengths:
        passes = [replace(item, grammar=None, max_tokens=n) for item, n in zip(passes, lengths, strict=True)]
    settings = [sampling_params(item, SamplingParams) for item in passes]
    for each in settings if lengths else ():
        each.ignore_eos = True
    llm.reset_prefix_cache()
    began = time.perf_counter()
    done = llm.generate([TokensPrompt(prompt_token_ids=list(item.ids)) for item in passes], settings, use_tqdm=False)
    seconds = time.perf_counter() - began
    written = [len(output.outputs[0].token_ids) for output in done]
    ended = sum(output.outputs[0].finish_reason == "stop" for output in done)  # its last token is no part of the reply
    cached = sum(output.num_cached_tokens or 0 for output in done)
    prompt, generated = sum(len(item.ids) for item in passes), sum(written) - ended
    return {"seconds": seconds, "lengths": written, "prompt": prompt, "cached": cached, "generated": generated}
