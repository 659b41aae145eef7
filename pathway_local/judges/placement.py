"""Decides where a judge runs on this machine and estimates whether it fits there; vLLM has the last word when it loads.

    memory x share - reserve - weights  =  bytes left for cases
    one case  =  full layers x width x tokens  +  sliding layers x width x min(tokens, window)  +  states

`width` is what a token keeps in a layer (`architecture`), times the bytes of a number in the cache. While vLLM caches
prefixes, a case holds two states of each recurrent layer (vLLM 0.32, `MambaSpec`, mode "align"). Pages round this up by
a percent of a whole context.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from pathway_local.errors import EngineMissing, OutOfMemory
from pathway_local.judges.architecture import Architecture
from pathway_local.judges.engine_settings import CACHE_BYTES, MEMORY_SHARE, PARALLEL, computed_in, most_parallel
from pathway_local.judges.judge_folder import SMALL_ENOUGH_FOR_CPU
from pathway_local.judges.judge_spec import FOLDER, JudgeSpec, Variant
from pathway_local.system.machine import GB, GPU_BUILD, Device, Machine, uses_gpu

STATES_PER_CASE = 2

MOST_SHARE = 0.90
"""The engine takes at most this share of a GPU's memory, unless a judge's entry sets it."""

RESERVE = 1.5
"""Decimal gigabytes for activations."""

GPU_MARGIN = 1.5
"""Decimal gigabytes of a GPU's free memory that the engine leaves alone. CUDA takes about 0.6 GB of them for the engine
itself before vLLM compares its share with what is free; the rest is for other programs that grow meanwhile."""

CPU_PART = 4
"""On the processor, the cache takes at most this fraction of the free memory: 1/CPU_PART."""

CPU_FEW = 1024
"""Tokens of a short case. On the processor, where windows save nothing, longer cases take memory in proportion."""

SURE_CONTEXT = 32_768
"""Tokens of context that a judge gets if they fit. It gets more only if they fit into half of the memory that we
estimate for cases: an engine does not start if it finds less memory than its context needs."""

USUAL_TOKENS = 5000
"""Tokens of a usual case, prompt and reply; the registry's figures are for cases of this length."""

# Bits of one stored weight and its share of a scale: 16 bits for 32 weights under w4a16, 8 bits for 32 under mxfp4 and
# for 16 under nvfp4. A scale of fp8 (32 bits for 128 x 128) adds nothing that counts.
BITS = {"fp32": 32.0, "bf16": 16.0, "fp16": 16.0, "fp8": 8.0, "int8": 8.0} | {
    "w4a16": 4.5,
    "mxfp4": 4.25,
    "nvfp4": 4.5,
    "awq": 4.25,
    "gptq": 4.25,
}
# Precisions that vLLM can convert 16-bit weights to while it loads them, by the names of its `quantization` setting
# (vLLM 0.32, config/quantization.py). It converts part by part, so the 16-bit weights never fill the memory.
ON_LOADING = dict.fromkeys(("fp8", "fp8_per_tensor", "fp8_per_channel", "fp8_per_block", "mxfp8"), "fp8") | {
    "mxfp4": "mxfp4"
}

_LIST = "`pathway-local judges list` shows which judges fit here."


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a judge runs: on `gpus` GPUs, or on the processor if that is 0.

    `context`: tokens for prompt and reply here, perhaps fewer than the model supports. `cases`: how many cases of
    USUAL_TOKENS fit at once; None if unknown. `share`: how much of each GPU's memory the engine takes, with a `note`
    that says so; None on the processor, if the settings decide it, or if the GPU's memory is unknown.
    """

    gpus: int
    context: int
    cases: int | None = None
    share: float | None = None
    note: str = ""


def case_bytes(architecture: Architecture, tokens: int, kv_bytes: int = 2) -> int:
    """Return the bytes that one case of `tokens` tokens holds; `kv_bytes` is 2 for a 16-bit cache, 1 for fp8."""
    full, slide, state = architecture.full, architecture.sliding, architecture.state
    held = full.layers * full.width * kv_bytes * tokens
    if slide:
        held += slide.layers * slide.width * kv_bytes * min(tokens, slide.window or tokens)
    return held + (STATES_PER_CASE * state.layers * state.size if state else 0)


def cpu_cache_bytes(architecture: Architecture, tokens: int, kv_bytes: int = 2, short: int = 1) -> int:
    """Return the bytes of a cache on the processor for a case of `tokens` tokens and this many short ones.

    Prompts are processed whole there, so that even a sliding window keeps all of a prompt.
    """
    return int(case_bytes(architecture, CPU_FEW, kv_bytes) * (tokens / CPU_FEW + short))


def cpu_context(architecture: Architecture, cache: float, kv_bytes: int = 2) -> int:
    """Return the longest case in tokens that `cache` bytes hold on the processor: the inverse of `cpu_cache_bytes`."""
    return max(0, int((cache / case_bytes(architecture, CPU_FEW, kv_bytes) - 1) * CPU_FEW))


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of weights in one precision."""

    bytes: float
    precision: str


def weights_of(spec: JudgeSpec, stored: JudgeSpec | Variant) -> Weights | None:
    """Return the weights of a judge or of its variant as they are in memory; None if their size is unknown."""
    precision = stored.precision
    if stored.weights_gb is not None:
        size = stored.weights_gb * GB
    elif spec.parameters:
        size = spec.parameters.total * BITS[precision] / 8 * GB
    else:
        return None
    made = ON_LOADING.get(str(spec.engine.get("quantization"))) if stored is spec and BITS[precision] >= 16 else None
    return Weights(size * BITS[made] / BITS[precision], made) if made else Weights(size, precision)


@dataclass(frozen=True, slots=True)
class Room:
    """Memory that a judge may fill: `share` of `gb` decimal gigabytes on each of `parts` GPUs, which split the judge.

    `number`: bytes of a number that a judge of 16- or 32-bit weights computes with; 16-bit weights are converted to it.
    """

    gb: float
    share: float = MOST_SHARE
    parts: int = 1
    words: str = ""
    number: int = 2

    def size(self, weights: Weights) -> float:
        """Return the bytes that the weights take."""
        return weights.bytes * (self.number / 2 if BITS[weights.precision] == 16 else 1)

    def left(self, weights: Weights) -> float:
        """Return the bytes left for cases, on all parts together; below zero if the weights don't fit."""
        return (self.gb * self.share - RESERVE) * self.parts * GB - self.size(weights)

    def cases(self, weights: Weights, shape: Architecture, tokens: int) -> int:
        """Return how many cases fit at once."""
        return max(0, int(self.left(weights) // case_bytes(shape, tokens, self.cached(weights))))

    def cached(self, weights: Weights) -> int:
        """Return the bytes of a number in the cache."""
        return self.number if BITS[weights.precision] >= 16 else 2


def sure_context(spec: JudgeSpec) -> int:
    """Return the context in tokens of a judge whose memory we can't estimate."""
    return min(SURE_CONTEXT, spec.context or SURE_CONTEXT)


def usual_tokens(spec: JudgeSpec) -> int:
    """Return the length of a usual case of this judge in tokens, at most its context."""
    return min(USUAL_TOKENS, spec.context or USUAL_TOKENS)


def check_fits_here(
    spec: JudgeSpec, machine: Machine, settings: Mapping[str, object] | None = None, dtype: str | None = None
) -> Placement:
    """Return where the judge runs here, with the engine's `settings` and `dtype` if they differ from its entry.

    Raises EngineMissing if it needs a GPU that this machine lacks, and OutOfMemory with the arithmetic if it does not
    fit. A judge of unknown size passes.
    """
    chosen = spec.engine if settings is None else settings
    number = 4 if (dtype or computed_in(spec, machine)) == "float32" else 2
    if not (machine.gpus and uses_gpu()):
        own = weights_of(spec, spec)
        small = own is not None and own.bytes <= SMALL_ENOUGH_FOR_CPU and "cpu" not in spec.model_fields_set
        if not (spec.cpu or small):
            raise _no_gpu(spec, machine, own)
        free = machine.free_memory / GB
        return _placed(spec, 0, Room(free, 1.0, 1, f"{free:.1f} GB of free memory", number))
    devices = machine.gpus[: gpus_of_one(spec, machine, chosen)]
    share = chosen.get(MEMORY_SHARE, _open_share(devices))
    totals = [device.total for device in devices if device.total]
    if CACHE_BYTES in chosen or len(totals) < len(devices) or not isinstance(share, int | float):
        return Placement(len(devices), sure_context(spec))
    _refuse_full(spec, devices, share, is_set=MEMORY_SHARE in chosen)
    gb, used = min(totals) / GB, _used_by_others(devices)
    words = f"{gb:.1f} GB x {share:g}" + (f" (other programs hold {used:.1f} GB)" if used else "")
    words = f"{len(devices)} x {words}" if len(devices) > 1 else words
    placed = _placed(spec, len(devices), Room(gb, float(share), len(devices), words, number))
    if MEMORY_SHARE in chosen:
        return placed
    takes = f"the engine takes {share * gb:.1f} of {gb:.1f} GB of GPU memory"
    takes += " on each GPU" if len(devices) > 1 else ""
    others = f"other programs hold {used:.1f} GB of GPU memory (nvidia-smi lists them): " if used else ""
    return Placement(placed.gpus, placed.context, placed.cases, float(share), others + takes)


def gpus_of_one(spec: JudgeSpec, machine: Machine, settings: Mapping[str, object]) -> int:
    """Return the GPUs that one engine takes under these settings; a size of `auto` is estimated from the entry."""
    tensor = settings.get(PARALLEL, 1)
    if tensor == "auto":
        # The key-value heads divide the attention heads, which an entry does not give.
        tensor = most_parallel(len(machine.gpus), spec.kv_heads, spec.kv_heads)
    pipeline = settings.get("pipeline_parallel_size", 1)
    wanted = tensor * pipeline if isinstance(tensor, int) and isinstance(pipeline, int) else 1
    if wanted > len(machine.gpus):
        said = f"judge {spec.name!r} is set to use {wanted} GPUs, and this machine has {len(machine.gpus)}"
        raise EngineMissing(said, f"Set `engine: {{{PARALLEL}: auto}}`, or run it on another machine.")
    return max(1, wanted)


def _open_share(devices: tuple[Device, ...]) -> float:
    """Return the share of each GPU that the engine takes if its settings leave it open: what is free less a margin."""
    free = [(device.free - GPU_MARGIN * GB) / device.total for device in devices if device.free and device.total]
    return max(0.0, min([MOST_SHARE, *(int(100 * share) / 100 for share in free)]))


def _refuse_full(spec: JudgeSpec, devices: tuple[Device, ...], share: float, *, is_set: bool) -> None:
    """Raise OutOfMemory if less than this share of a GPU is free, or nothing at all."""
    for device in devices:
        if device.free is not None and device.total and (share <= 0 or device.free < share * device.total):
            free, whole = device.free / GB, device.total / GB
            said = f"only {free:.1f} of a GPU's {whole:.1f} GB are free"
            hint = "Stop other programs on the GPU (nvidia-smi lists them)"
            if is_set:
                said += f", and its entry asks for {share:g} of all = {share * whole:.1f} GB"
                hint += f", or leave {MEMORY_SHARE} out of the entry: then the engine takes what is free"
            raise OutOfMemory(f"judge {spec.name!r}: {said}", f"{hint}.")


def _used_by_others(devices: tuple[Device, ...]) -> float:
    """Return the most decimal gigabytes that other programs hold on one of these GPUs; 0 if it does not matter."""
    held = [(device.total - device.free) / GB for device in devices if device.total and device.free is not None]
    return max((used for used in held if used > GPU_MARGIN), default=0)


def _no_gpu(spec: JudgeSpec, machine: Machine, own: Weights | None) -> EngineMissing:
    name = spec.name.partition(":")[0]
    entry = f"mine: {{source: {spec.source}, cpu: true}}" if spec.origin == FOLDER else f"{name}: {{cpu: true}}"
    room = own is None or own.bytes < machine.free_memory
    slowly = f" To let it run on the processor, slowly, put `{entry}` into your models.yaml." if room else ""
    if machine.gpus:
        said = f"judge {spec.name!r} needs a GPU, but the installed engine runs only on the processor"
        return EngineMissing(said, f"Install the GPU build: {GPU_BUILD}.{slowly}")
    least = f" of {spec.min_gpu_gb:g} GB" if spec.min_gpu_gb else ""
    return EngineMissing(f"judge {spec.name!r} needs a GPU{least}, and this machine has none", f"{_LIST}{slowly}")


def _placed(spec: JudgeSpec, gpus: int, room: Room) -> Placement:
    own, shape, usual = weights_of(spec, spec), spec.architecture, usual_tokens(spec)
    if own is None or shape is None:
        return Placement(gpus, sure_context(spec))
    left, per_case = room.left(own), case_bytes(shape, usual, room.cached(own))
    if not room.cases(own, shape, usual):
        said = (
            f"judge {spec.name!r} does not fit, {(per_case - left) / GB:.1f} GB short: {room.words} "
            f"- {RESERVE * room.parts:g} GB reserve - {room.size(own) / GB:.1f} GB weights "
            f"= {left / GB:.1f} GB for a case of {per_case / GB:.2f} GB ({usual:,} tokens)"
        )
        raise OutOfMemory(said, _variant_that_fits(spec, shape, room, usual) or _LIST)
    if not gpus:
        left = min(left, room.gb * GB / CPU_PART)
    context = _context(spec, shape, left, room.number, on_gpu=gpus > 0)
    return Placement(gpus, context, max(1, int(left // per_case)))


def _variant_that_fits(spec: JudgeSpec, shape: Architecture, room: Room, tokens: int) -> str:
    for name, variant in spec.variants.items():
        weights = weights_of(spec, variant)
        if weights and variant.weights_gb is not None and (cases := room.cases(weights, shape, tokens)):
            return f"{spec.name}:{name} would fit, with {cases:,} cases in flight."
    return ""


def _context(spec: JudgeSpec, shape: Architecture, left: float, number: int, *, on_gpu: bool) -> int:
    """Return the context in tokens that the judge gets with `left` bytes for its cases; see SURE_CONTEXT."""

    def longest(room: float) -> int:
        most = spec.context or SURE_CONTEXT
        if not on_gpu:
            return min(most, cpu_context(shape, room, number))
        # By bisection: behind a window, a case grows more slowly.
        return max(0, bisect_right(range(most + 1), room, key=lambda tokens: case_bytes(shape, tokens, number)) - 1)

    return max(min(longest(left), SURE_CONTEXT), longest(left / 2))
