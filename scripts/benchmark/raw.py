"""Measures vLLM by itself: `python -m benchmark.raw SETTINGS` reads a request per line and answers on stdout.

SETTINGS is JSON with the engine's configuration, and its `backend` for grammars. A
request names a variant and a file that holds an `Asked`; the answer begins with ANSWER.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.msgpack import Decoder
from msgspec.structs import replace

from pathway_local.engines.vllm import CORE_APART, engine_options, use_cpu
from pathway_local.engines.wire import PassReader, Work
from pathway_local.passes import EngineConfig, Pass
from pathway_local.sealing.launch import settle
from pathway_local.system.machine import is_cpu_build

ANSWER = "PATHWAY-LOCAL-BENCH "
CHUNK = 32
Told = dict[str, Any]


class Asked(Struct, frozen=True):
    """The work of one measurement: passes and the lengths of their replies, or `naive`'s chats."""

    passes: tuple[Work, ...] = ()
    lengths: tuple[int, ...] = ()
    chats: list[Any] = []
    schema: dict[str, Any] = {}
    max_tokens: int = 0


class Raw:
    """One `LLM` of vLLM; each variant takes all of its work at once and returns seconds and tokens."""

    def __init__(self, config: EngineConfig, backend: str) -> None:
        options = engine_options(config, is_cpu_build())
        options["structured_outputs_config"] = {"backend": backend}
        os.environ.setdefault(CORE_APART, "0")
        if is_cpu_build():
            use_cpu(eager=bool(options["enforce_eager"]))
        from vllm import LLM

        self._llm = LLM(**options)
        self.variants: Mapping[str, Callable[[Asked], Told]] = {
            "constrained": self.constrained,
            "free": self.free,
            "naive": self.naive,
        }

    def settled(self) -> Told:
        """Return the settings that vLLM settled on."""
        config = self._llm.llm_engine.vllm_config
        graphs, scheduler = config.compilation_config, config.scheduler_config
        return {
            "enforce_eager": config.model_config.enforce_eager,
            "cuda_graphs_up_to": None if config.model_config.enforce_eager else graphs.max_cudagraph_capture_size,
            "max_num_seqs": scheduler.max_num_seqs,
            "max_num_batched_tokens": scheduler.max_num_batched_tokens,
            "cache_tokens": config.cache_config.num_gpu_blocks * config.cache_config.block_size,
            "cache_dtype": config.cache_config.cache_dtype,
            "quantization": config.model_config.quantization,
            "core": "own" if os.environ.get(CORE_APART) == "1" else "same",
        }

    def close(self) -> None:
        """End a core that runs in its own process."""
        self._llm.llm_engine.engine_core.shutdown(timeout=5)

    def constrained(self, work: Asked) -> Told:
        """Generate from the same ids under the same grammars as `judge`, in one call."""
        return self._generate(list(map(PassReader().read, work.passes)))

    def free(self, work: Asked) -> Told:
        """Generate without grammars, each reply as long as the constrained one."""
        passes = map(PassReader().read, work.passes)
        same = [replace(item, grammar=None, max_tokens=n) for item, n in zip(passes, work.lengths, strict=True)]
        return self._generate(same, True)

    def _generate(self, passes: Sequence[Pass], whole: bool = False) -> Told:
        from vllm import SamplingParams, TokensPrompt

        from pathway_local.engines.vllm_core import sampling_params

        settings = [sampling_params(item, SamplingParams) for item in passes]
        for each in settings if whole else ():
            each.ignore_eos = True
        self._llm.reset_prefix_cache()
        began = time.perf_counter()
        prompts = [TokensPrompt(prompt_token_ids=list(item.ids)) for item in passes]
        done = self._llm.generate(prompts, settings, use_tqdm=False)
        seconds = time.perf_counter() - began
        lengths = [len(output.outputs[0].token_ids) for output in done]
        cached = sum(output.num_cached_tokens or 0 for output in done)
        return {
            "seconds": seconds,
            "lengths": lengths,
            "generated": sum(lengths) - sum(output.outputs[0].finish_reason == "stop" for output in done),
            "prompt": sum(len(item.ids) for item in passes),
            "cached": cached,
        }

    def naive(self, work: Asked) -> Told:
        """Send chunks through `LLM.chat`, the case before the rubric; read JSON by a regex, with a second try."""
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        params = SamplingParams(
            temperature=0.0,
            max_tokens=work.max_tokens,
            structured_outputs=StructuredOutputsParams(json=work.schema),
        )
        self._llm.reset_prefix_cache()
        generated = asked = failed = 0
        began = time.perf_counter()
        for start in range(0, len(work.chats), CHUNK):
            chats = work.chats[start : start + CHUNK]
            for _ in range(2):
                replies = self._llm.chat(chats, params, use_tqdm=False)
                asked += len(chats)
                generated += sum(len(reply.outputs[0].token_ids) for reply in replies)
                chats = [c for c, r in zip(chats, replies, strict=True) if not _score(r.outputs[0].text)]
                if not chats:
                    break
            failed += len(chats)
        seconds = time.perf_counter() - began
        return {"seconds": seconds, "generated": generated, "asked": asked, "failed": failed}


def _score(text: str) -> bool:
    return re.search(r'"score"\s*:\s*[1-5]\s*\}', text) is not None


def main(arguments: Sequence[str]) -> None:
    """Serve until stdin ends."""
    settle()  # the same environment as a judge's engine, so that both use the same compile caches
    told = json.loads(arguments[0])
    raw = Raw(EngineConfig(**told["config"]), told["backend"])
    print(ANSWER + json.dumps(raw.settled()), flush=True)
    read = Decoder(Asked).decode
    for line in sys.stdin:
        asked = json.loads(line)
        given = read(Path(asked["file"]).read_bytes()) if "file" in asked else Asked()
        print(ANSWER + json.dumps(raw.variants[asked["variant"]](given)), flush=True)
    raw.close()


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # vLLM's threads can hang at exit
