"""Decides where a judge runs on this machine and estimates whether it fits there; vLLM has the last word when it loads.

    memory x share - reserve - weights  =  bytes left for cases
    one case  =  full layers x width x tokens  +  sliding layers x width x min(tokens, window)  +  states

`width` is what a token keeps in a layer (`architecture`), times the bytes of a number in the cache. While vLLM caches
prefixes, a case holds two states of each recurrent layer (vLLM 0.32, `MambaSpec`, mode "align"). Pages round this up by
a percent of a whole context.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pathway_local.errors import EngineMissing, OutOfMemory
from pathway_local.judges.architecture import Layers
from pathway_local.judges.engine_settings import CACHE_BYTES, MEMORY_SHARE, PARALLEL, computed_in, most_parallel
from pathway_local.judges.judge_spec import FOLDER, JudgeSpec
from pathway_local.system.machine import GB, GPU_BUILD, Device, Machine, uses_gpu

STATES_PER_CASE = 2

MOST_SHARE = 0.90
"""The engine takes at most this share of a GPU's memory, unless a judge's entry sets it."""

RESERVE = 1.5
"""Decimal gigabytes for activations."""

GPU_MARGIN = 1.5
"""Decimal gigabytes of a GPU's free memory that the engine leaves alone. CUDA takes about 0.6 GB of them for the engine
itself before vLLM compares its share with what is free; the rest is for other programs that grow meanwhile."""

SMALL_ENOUGH_FOR_CPU = 3 * GB
"""Bytes of weights up to which a judge runs on the processor, unless its entry says otherwise."""

CPU_PART = 4
"""On the processor, the cache takes at most this fraction of the free memory: 1/CPU_PART."""

CPU_FEW = 1024
"""Tokens of a short case. On the processor, where windows save nothing, longer cases take memory in proportion."""

SURE_CONTEXT = 32_768
"""Tokens of context that a judge gets if they fit. It gets more only if they fit into half of the memory that we
estimate for cases: an engine does not start if it finds less memory than its context needs."""

USUAL_TOKENS = 5000
"""Tokens of a usual case, prompt and reply."""

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

_STOP = "Stop other programs on the GPU (nvidia-smi lists them)"
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


def case_bytes(layers: Layers, tokens: int, number: int = 2) -> int:
    """Return the bytes that one case of `tokens` tokens holds, with `number` bytes for a number in the cache."""
    slide, state = layers.sliding, layers.recurrent
    held = (layers.layers or 0) * layers.width * number * tokens
    if slide:
        held += slide.layers * 2 * slide.kv_heads * slide.head_size * number * min(tokens, slide.window)
    return held + (STATES_PER_CASE * state.layers * state.size if state else 0)


def cpu_cache_bytes(layers: Layers, tokens: int, number: int = 2, short: int = 1) -> int:
    """Return the bytes of a cache on the processor for a case of `tokens` tokens and this many short ones.

    Prompts are processed whole there, so that even a sliding window keeps all of a prompt.
    """
    return int(case_bytes(layers, CPU_FEW, number) * (tokens / CPU_FEW + short))


def longest_case(size: Callable[[Layers, int, int], int], layers: Layers, most: int, memory: float, number: int) -> int:
    """Return the tokens of the longest case, up to `most`, of which `size` is at most so many bytes of memory."""
    return max(0, bisect_right(range(most + 1), memory, key=lambda tokens: size(layers, tokens, number)) - 1)


def weights_bytes(spec: JudgeSpec, number: int = 2) -> float | None:
    """Return the bytes of a judge's weights in memory, 16-bit ones with `number` bytes each; None if not known."""
    bits = BITS[spec.precision]
    if spec.weights_gb is not None:
        size = spec.weights_gb * GB
    elif spec.parameters:
        size = spec.parameters.total * bits / 8 * GB
    else:
        return None
    made = ON_LOADING.get(str(spec.engine.get("quantization"))) if bits >= 16 else None
    return size * BITS[made] / bits if made else size * number / 2 if bits == 16 else size


def memory_for(gb: float, share: float = MOST_SHARE, parts: int = 1) -> float:
    """Return the bytes for weights and cases in this share of the memory of so many GPUs, `gb` gigabytes each."""
    return (gb * share - RESERVE) * parts * GB


def gpus_that_hold(spec: JudgeSpec, cases: int, sizes: Iterable[int]) -> list[int]:
    """Return those of these sizes of a GPU, in decimal gigabytes, that hold the judge and so many usual cases."""
    own, layers = weights_bytes(spec), spec.architecture
    if own is None or layers is None:
        return []
    needed = own + cases * case_bytes(layers, usual_tokens(spec))
    return [gb for gb in sizes if memory_for(gb) >= needed]


def smallest_gpu(spec: JudgeSpec) -> int | None:
    """Return the decimal gigabytes of the smallest GPU that holds the judge and a usual case; None if not known."""
    return next(iter(gpus_that_hold(spec, 1, range(1, 10_000))), None)


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
        _refuse_without_gpu(spec, machine)
        free = machine.free_memory / GB
        return _placed(spec, 0, memory_for(free, 1.0), f"{free:.1f} GB of free memory - {RESERVE:g} GB reserve", number)
    devices = machine.gpus[: gpus_of_one(spec, machine, chosen)]
    totals = [device.total for device in devices if device.total]
    if CACHE_BYTES in chosen or len(totals) < len(devices):
        return Placement(len(devices), sure_context(spec))
    share = chosen[MEMORY_SHARE] if MEMORY_SHARE in chosen else _open_share(spec, devices)
    if not isinstance(share, int | float):
        return Placement(len(devices), sure_context(spec))
    _refuse_share(spec, devices, share)
    gb, parts, used = min(totals) / GB, len(devices), _used_by_others(devices)
    words = (
        f"{parts} x " * (parts > 1) + f"{gb:.1f} GB x {share:g}" + f" (other programs hold {used:.1f} GB)" * (used > 0)
    )
    words += f" - {RESERVE * parts:g} GB reserve"
    placed = _placed(spec, parts, memory_for(gb, share, parts), words, number)
    if MEMORY_SHARE in chosen:
        return placed
    others = f"other programs hold {used:.1f} GB of GPU memory (nvidia-smi lists them): " * (used > 0)
    takes = f"the engine takes {share * gb:.1f} of {gb:.1f} GB of GPU memory" + " on each GPU" * (parts > 1)
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


def _open_share(spec: JudgeSpec, devices: Sequence[Device]) -> float:
    """Return the share of each GPU that the engine takes if its settings leave it open: what is free less a margin.

    Raises OutOfMemory if that is nothing.
    """
    free = [(device.free - GPU_MARGIN * GB) / device.total for device in devices if device.free and device.total]
    share = min([MOST_SHARE, *(int(100 * each) / 100 for each in free)])
    if share <= 0:
        said = f"judge {spec.name!r}: other programs hold {_used_by_others(devices):.1f} GB of a GPU, almost all of it"
        raise OutOfMemory(said, f"{_STOP}.")
    return share


def _refuse_share(spec: JudgeSpec, devices: Sequence[Device], share: float) -> None:
    """Raise OutOfMemory if less than this share of a GPU is free: vLLM says so only after it has started."""
    for device in devices:
        if device.total and device.free is not None and device.free < share * device.total:
            said = f"judge {spec.name!r}: only {device.free / GB:.1f} of a GPU's {device.total / GB:.1f} GB are free"
            hint = f"or leave {MEMORY_SHARE} out of the entry: then the engine takes what is free."
            raise OutOfMemory(f"{said}, and its entry asks for {share:g} of all", f"{_STOP}, {hint}")


def _used_by_others(devices: Sequence[Device]) -> float:
    """Return the most decimal gigabytes that other programs hold on one of these GPUs; 0 if it does not matter."""
    held = [(device.total - device.free) / GB for device in devices if device.total and device.free is not None]
    return max((used for used in held if used > GPU_MARGIN), default=0)


def _refuse_without_gpu(spec: JudgeSpec, machine: Machine) -> None:
    """Raise EngineMissing if the judge is too large for a processor and its entry does not say otherwise."""
    own = weights_bytes(spec)
    if spec.cpu or (own is not None and own <= SMALL_ENOUGH_FOR_CPU and "cpu" not in spec.model_fields_set):
        return
    name = spec.name.partition(":")[0]
    entry = f"mine: {{source: {spec.source}, cpu: true}}" if spec.origin == FOLDER else f"{name}: {{cpu: true}}"
    slowly = f" To let it run on the processor, slowly, put `{entry}` into your models.yaml."
    slowly = slowly if own is None or own < machine.free_memory else ""
    if machine.gpus:
        said = f"judge {spec.name!r} needs a GPU, but the installed engine runs only on the processor"
        raise EngineMissing(said, f"Install the GPU build: {GPU_BUILD}.{slowly}")
    least = f" of {gb} GB" if (gb := smallest_gpu(spec)) else ""
    raise EngineMissing(f"judge {spec.name!r} needs a GPU{least}, and this machine has none", f"{_LIST}{slowly}")


def _placed(spec: JudgeSpec, gpus: int, memory: float, words: str, number: int) -> Placement:
    """Return the place of a judge in so much memory, which `words` explain. Raises OutOfMemory."""
    own, layers, usual = weights_bytes(spec, number), spec.architecture, usual_tokens(spec)
    if own is None or layers is None:
        return Placement(gpus, sure_context(spec))
    left, one = memory - own, case_bytes(layers, usual, number)
    if left < one:
        said = (
            f"judge {spec.name!r} does not fit, {(one - left) / GB:.1f} GB short: {words} - {own / GB:.1f} GB weights "
            f"= {left / GB:.1f} GB for a case of {one / GB:.2f} GB ({usual:,} tokens)"
        )
        raise OutOfMemory(said, _variant_that_fits(spec, memory, one, number) or _LIST)
    if not gpus:
        left = min(left, (memory + RESERVE * GB) / CPU_PART)
    size, most = case_bytes if gpus else cpu_cache_bytes, spec.context or SURE_CONTEXT
    fits, sure = (longest_case(size, layers, most, room, number) for room in (left, left / 2))
    return Placement(gpus, max(min(fits, SURE_CONTEXT), sure), max(1, int(left // one)))


def _variant_that_fits(spec: JudgeSpec, memory: float, one: int, number: int) -> str:
    for name in spec.variants:
        own = weights_bytes(spec.variant(name), number)
        if own is not None and (cases := int((memory - own) // one)) > 0:
            return f"{spec.name}:{name} would fit, with {cases:,} cases in flight."
    return ""
