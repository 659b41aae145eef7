"""vLLM by itself: `python -m benchmark.raw CONFIG` generates from the work in each file that stdin names.

CONFIG is the engine's, as JSON. An answer on stdout begins with ANSWER.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.msgpack import decode
from msgspec.structs import replace

from pathway_local.engines.vllm import engine_options, use_cpu
from pathway_local.passes import EngineConfig, Pass
from pathway_local.sealing.launch import settle
from pathway_local.system.machine import is_cpu_build

ANSWER = "PATHWAY-LOCAL-BENCH "


class Asked(Struct, frozen=True):
    """Passes; with `lengths`, each is written without its grammar and exactly so long."""

    passes: tuple[Pass, ...]
    lengths: tuple[int, ...] = ()


def load(config: EngineConfig) -> Any:
    """Return vLLM's `LLM` with the settings and grammars of a judge's engine."""
    options = engine_options(config, is_cpu_build())
    options["structured_outputs_config"] = {"backend": "guidance"}
    if is_cpu_build():
        use_cpu(eager=bool(options["enforce_eager"]))
    from vllm import LLM

    return LLM(**options)


def generate(llm: Any, asked: Asked) -> dict[str, Any]:
    """Generate all replies in one call; return the seconds and tokens that it took."""
    from vllm import SamplingParams, TokensPrompt

    from pathway_local.engines.vllm_core import sampling_params

    passes = list(asked.passes)
    if asked.lengths:
        passes = [replace(item, grammar=None, max_tokens=n) for item, n in zip(passes, asked.lengths, strict=True)]
    settings = [sampling_params(item, SamplingParams) for item in passes]
    for each in settings if asked.lengths else ():
        each.ignore_eos = True
    llm.reset_prefix_cache()
    began = time.perf_counter()
    done = llm.generate([TokensPrompt(prompt_token_ids=list(item.ids)) for item in passes], settings, use_tqdm=False)
    seconds = time.perf_counter() - began
    lengths = [len(output.outputs[0].token_ids) for output in done]
    ended = sum(output.outputs[0].finish_reason == "stop" for output in done)  # its last token is no part of the reply
    cached = sum(output.num_cached_tokens or 0 for output in done)
    prompt, written = sum(len(item.ids) for item in passes), sum(lengths) - ended
    return {"seconds": seconds, "lengths": lengths, "prompt": prompt, "cached": cached, "generated": written}


def main() -> None:
    """Serve until stdin ends."""
    settle()  # the same environment as a judge's engine, so that both use the same compile caches
    llm = load(EngineConfig(**json.loads(sys.argv[1])))
    print(ANSWER + "{}", flush=True)
    for line in sys.stdin:
        asked = decode(Path(line.strip()).read_bytes(), type=Asked)
        print(ANSWER + json.dumps(generate(llm, asked)), flush=True)
    os._exit(0)  # vLLM's threads can hang at exit


if __name__ == "__main__":
    main()
