"""Estimates how many cases fit on a GPU beside a judge's weights.

    memory x utilisation - reserve - weights  =  bytes left for cases
    one case  =  full layers x width x tokens  +  sliding layers x width x min(tokens, window)  +  states

`width` is what a token keeps in a layer (`architecture`), times the bytes of a number in the cache. vLLM hands memory
out in pages of 16 tokens. A model with recurrent layers has one pool for pages and states, so vLLM makes a page of its
full layers as large as one state; and while it caches prefixes, a case holds two states of each recurrent layer
(vLLM 0.32, `MambaSpec`, mode "align").
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pathway_local.errors import UsageError
from pathway_local.judges.architecture import Architecture, Attention
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.system.machine import GB

PAGE = 16
STATES_PER_CASE = 2

MOST_SHARE = 0.90
"""The engine takes at most this share of a GPU's memory, unless a judge's entry sets it."""

CPU_PART = 4
"""On the processor, the cache takes at most this fraction of the free memory: 1/CPU_PART."""

CPU_FEW = 1024
"""Tokens of a short case. On the processor, where windows save nothing, longer cases take memory in proportion."""

# Bits of one stored weight and its share of a scale: 16 bits for 32 weights under w4a16, 8 bits for 32 under mxfp4 and
# for 16 under nvfp4. A scale of fp8 (32 bits for 128 x 128) adds nothing that counts.
BITS = {
    "fp32": 32.0,
    "bf16": 16.0,
    "fp16": 16.0,
    "fp8": 8.0,
    "int8": 8.0,
    "w4a16": 4.5,
    "mxfp4": 4.25,
    "nvfp4": 4.5,
    "awq": 4.25,
    "gptq": 4.25,
}
# Precisions that vLLM can convert 16-bit weights to while it loads them, by the names of its `quantization` setting
# (vLLM 0.32, config/quantization.py). It converts part by part, so the 16-bit weights never fill the memory.
ON_LOADING = {
    "fp8": "fp8",
    "fp8_per_tensor": "fp8",
    "fp8_per_channel": "fp8",
    "fp8_per_block": "fp8",
    "mxfp8": "fp8",
    "mxfp4": "mxfp4",
}
TO_8_BITS = "fp8_per_tensor"
COMMON = {"bf16": ("bf16", "fp16"), "fp8": ("fp8", "int8"), "4-bit": ("w4a16", "mxfp4", "nvfp4", "awq", "gptq")}


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU of `gb` decimal gigabytes. The engine takes `utilisation` of it, `reserve_gb` of that for activations."""

    gb: float
    utilisation: float = MOST_SHARE
    reserve_gb: float = 1.5

    @property
    def usable(self) -> float:
        """Bytes for weights and cases."""
        return (self.gb * self.utilisation - self.reserve_gb) * GB


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Bytes of weights in one precision. `estimated`: from the number of parameters; no such files are listed."""

    judge: str
    precision: str
    weights: float
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Fit:
    """How a checkpoint fits on a GPU: bytes `per_case`, and bytes `left` for cases (below zero: none)."""

    checkpoint: Checkpoint
    gpu: Gpu
    tokens: int
    per_case: float
    left: float

    @property
    def cases(self) -> int:
        """Cases of that length in flight at once."""
        return max(0, int(self.left // self.per_case))

    @property
    def fits(self) -> bool:
        """Whether at least one case can be judged."""
        return self.cases > 0

    def arithmetic(self) -> str:
        """Return the sum, in words."""
        return (
            f"{self.gpu.gb:g} GB x {self.gpu.utilisation:g} - {self.gpu.reserve_gb:g} GB reserve "
            f"- {self.checkpoint.weights / GB:.1f} GB weights = {self.left / GB:.1f} GB for cases "
            f"of {self.per_case / GB:.3f} GB ({self.tokens:,} tokens)"
        )


def case_bytes(architecture: Architecture, tokens: int, kv_bytes: int = 2) -> float:
    """Return the bytes that one case of `tokens` tokens holds; `kv_bytes` is 2 for a 16-bit cache, 1 for fp8."""
    full, state = architecture.full, architecture.state
    page = _page(architecture, kv_bytes)
    held = full.layers * full.width * kv_bytes * _round_up(tokens, page)
    if architecture.sliding:
        held += _window_bytes(architecture.sliding, tokens, kv_bytes)
    if state and full.layers:
        # vLLM puts recurrent layers into groups as large as that of the full layers; a state takes a page in each.
        groups = -(-state.layers // full.layers)
        held += STATES_PER_CASE * groups * full.layers * full.width * kv_bytes * page
    elif state:
        held += STATES_PER_CASE * state.layers * state.size
    return held


def cpu_cache_bytes(architecture: Architecture, tokens: int, kv_bytes: int = 2, short: int = 1) -> int:
    """Return the bytes of a cache on the processor for a case of `tokens` tokens and this many short ones.

    Prompts are processed whole there, so that even a sliding window keeps all of a prompt.
    """
    few = case_bytes(architecture, CPU_FEW, kv_bytes)
    return int(few * (tokens / CPU_FEW + short))


def cpu_context(architecture: Architecture, cache: float, kv_bytes: int = 2) -> int:
    """Return the longest case in tokens that `cache` bytes hold on the processor: the inverse of `cpu_cache_bytes`."""
    few = case_bytes(architecture, CPU_FEW, kv_bytes)
    return max(0, int((cache / few - 1) * CPU_FEW))


def case_formula(architecture: Architecture, tokens: int, kv_bytes: int = 2) -> str:
    """Return the arithmetic of `case_bytes` in words."""
    full, parts = architecture.full, []
    if full.layers:
        held = _round_up(tokens, _page(architecture, kv_bytes))
        parts.append(f"{full.layers} layers x {_width(full)} x {kv_bytes} bytes x {held:,} tokens")
    if slide := architecture.sliding:
        kept = _round_up(min(tokens, slide.window) if slide.window else tokens, PAGE)
        parts.append(f"{slide.layers} sliding layers x {_width(slide)} x {kv_bytes} bytes x {kept:,} tokens")
    if architecture.state:
        parts.append(f"{STATES_PER_CASE} states of {architecture.state.layers} recurrent layers")
    return f"{' + '.join(parts)} = {case_bytes(architecture, tokens, kv_bytes) / GB:.3f} GB"


def _width(layer: Attention) -> str:
    if layer.latent:
        return f"{layer.latent} numbers"
    return f"2 x {layer.kv_heads} heads x {layer.head_size}"


def _page(architecture: Architecture, kv_bytes: int) -> int:
    full, state = architecture.full, architecture.state
    if not state or not full.layers:
        return PAGE
    return _round_up(-(-state.size // (full.width * kv_bytes)), PAGE)


def _window_bytes(sliding: Attention, tokens: int, kv_bytes: int) -> int:
    kept = min(tokens, sliding.window) if sliding.window else tokens
    return sliding.layers * sliding.width * kv_bytes * _round_up(kept, PAGE)


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step


def checkpoints(spec: JudgeSpec) -> list[Checkpoint]:
    """Return the judge's own weights, its variants, and an estimate for each common precision that none of them has."""
    listed = [(f"{spec.name}:{name}", one.precision, one.weights_gb) for name, one in spec.variants.items()]
    found = [own_checkpoint(spec), *(_checkpoint(spec, *each) for each in listed)]
    there = {one.precision for one in found if one}
    for name, same in COMMON.items():
        if spec.parameters and there.isdisjoint(same):
            weights = spec.parameters.total * BITS[same[0]] / 8 * GB
            found.append(Checkpoint(f"{spec.name} in {name}", same[0], weights, estimated=True))
    return [one for one in found if one]


def own_checkpoint(spec: JudgeSpec) -> Checkpoint | None:
    """Return the judge's own weights as they are in memory, in the precision that its engine settings ask for."""
    stored = _checkpoint(spec, spec.name, spec.precision, spec.weights_gb)
    made = ON_LOADING.get(str(spec.engine.get("quantization")))
    if stored is None or made is None or BITS[spec.precision] < 16:
        return stored
    return replace(stored, precision=made, weights=stored.weights * BITS[made] / BITS[spec.precision], estimated=True)


def _checkpoint(spec: JudgeSpec, judge: str, precision: str, weights_gb: float | None) -> Checkpoint | None:
    if weights_gb is not None:
        return Checkpoint(judge, precision, weights_gb * GB)
    if spec.parameters is None:
        return None
    return Checkpoint(judge, precision, spec.parameters.total * BITS[precision] / 8 * GB)


def fit(checkpoint: Checkpoint, architecture: Architecture, gpu: Gpu, tokens: int, kv_bytes: int = 2) -> Fit:
    """Return how weights and cases of `tokens` tokens (prompt and reply) fit on a GPU."""
    per_case = case_bytes(architecture, tokens, kv_bytes)
    return Fit(checkpoint, gpu, tokens, per_case, gpu.usable - checkpoint.weights)


def fits(spec: JudgeSpec, gpu: Gpu, prompt: int, verdict: int, kv_bytes: int = 2) -> list[Fit]:
    """Return how a judge's checkpoints fit on a GPU, its own first. Raises UsageError if its size is unknown."""
    if spec.architecture is None or not (found := checkpoints(spec)):
        hint = (
            "Copy its folder to this machine, or put its layers, kv_heads, head_size and weights_gb into models.yaml."
        )
        raise UsageError(f"judge {spec.name!r}: its entry does not say enough to estimate its memory", hint)
    return [fit(one, spec.architecture, gpu, prompt + verdict, kv_bytes) for one in found]


def advice(spec: JudgeSpec, found: Iterable[Fit]) -> str:
    """Say in a sentence how many cases fit at once; if none does, why, and which variant would fit."""
    own, *others = found
    if spec.context is not None and own.tokens > spec.context:
        return (
            f"{own.tokens:,} tokens of prompt and verdict are more than the context of {spec.name}, {spec.context:,}."
        )
    if own.fits:
        return f"{spec.name} fits, with {own.cases:,} cases in flight: {own.arithmetic()}."
    short = own.per_case - own.left
    said = f"{spec.name} does not fit, {short / GB:.1f} GB short: {own.arithmetic()}."
    would = [one for one in others if one.fits]
    real = [one for one in would if not one.checkpoint.estimated]
    if real:
        return f"{said} {real[0].checkpoint.judge} would, with {real[0].cases:,} cases in flight."
    if would and would[0].checkpoint.precision == "fp8" and BITS[own.checkpoint.precision] == 16:
        setting = f"{spec.name}: {{engine: {{quantization: {TO_8_BITS}}}}}"
        return f"{said} In fp8 it would: put `{setting}` into your models.yaml, and vLLM converts its weights."
    if would:
        return f"{said} In {would[0].checkpoint.precision} it would, but no such weights are listed."
    return f"{said} No variant of it fits: use a smaller judge or a larger GPU."
