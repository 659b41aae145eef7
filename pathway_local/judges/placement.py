"""Decides where a judge runs on this machine, and whether it fits there."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pathway_local.errors import EngineMissing, OutOfMemory
from pathway_local.judges.architecture import Architecture
from pathway_local.judges.engine_settings import CACHE_BYTES, MEMORY_SHARE, PARALLEL, computed_in, most_parallel
from pathway_local.judges.judge_folder import SMALL_ENOUGH_FOR_CPU
from pathway_local.judges.judge_spec import FOLDER, JudgeSpec
from pathway_local.judges.memory import (
    BITS,
    CPU_PART,
    MOST_SHARE,
    Checkpoint,
    Fit,
    Gpu,
    case_bytes,
    checkpoints,
    cpu_context,
    fit,
    own_checkpoint,
)
from pathway_local.system.installed import GPU_BUILD, uses_gpu
from pathway_local.system.machine import GB, Device, Machine

SURE_CONTEXT = 32_768
"""Tokens of context that a judge gets if they fit. It gets more only if they fit into half of the memory that we
estimate for cases: an engine does not start if it finds less memory than its context needs."""

USUAL_TOKENS = 5000
"""Tokens of a usual case, prompt and reply; the registry's figures are for cases of this length."""

GPU_MARGIN = 1.5
"""Decimal gigabytes of a GPU's free memory that the engine leaves alone. CUDA takes about 0.6 GB of them for the engine
itself before vLLM compares its share with what is free; the rest is for other programs that grow meanwhile."""

_LIST = "`pathway-local judges list` shows which judges fit here"


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


@dataclass(frozen=True, slots=True)
class _Room:
    """Memory that a judge may fill: `share` of `gb` decimal gigabytes on each of `parts` GPUs, which split the judge.

    `number`: bytes of a number that a judge of 16- or 32-bit weights computes with; 16-bit weights are converted to it.
    """

    gb: float
    share: float
    parts: int
    words: str
    number: int = 2

    def fit(self, own: Checkpoint, spec: JudgeSpec, tokens: int) -> Fit | None:
        """Return how the judge fits into all parts together; None if its layers are unknown."""
        if spec.architecture is None:
            return None
        reserve = Gpu(self.gb).reserve_gb * self.parts
        whole = Gpu(self.gb * self.parts, utilisation=self.share, reserve_gb=reserve)
        number = self.number if BITS[own.precision] >= 16 else 2
        if BITS[own.precision] == 16:
            own = replace(own, weights=own.weights * number / 2)
        found = fit(own, spec.architecture, whole, tokens, number)
        return replace(found, per_case=found.per_case * _copies(spec.architecture, self.parts))


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
        if not _runs_without_gpu(spec):
            raise _no_gpu(spec, machine)
        free = machine.free_memory / GB
        return _placed(spec, machine, 0, _Room(free, 1.0, 1, f"{free:.1f} GB of free memory", number))
    devices = machine.gpus[: gpus_of_one(spec, machine, chosen)]
    room = _gpu_room(spec, devices, chosen, number)
    if room is None:
        return Placement(len(devices), sure_context(spec))
    placed = _placed(spec, machine, len(devices), room)
    return placed if MEMORY_SHARE in chosen else replace(placed, share=room.share, note=_share_note(devices, room))


def _runs_without_gpu(spec: JudgeSpec) -> bool:
    own = own_checkpoint(spec)
    small = own is not None and own.weights <= SMALL_ENOUGH_FOR_CPU
    return spec.cpu or (small and "cpu" not in spec.model_fields_set)


def _copies(shape: Architecture, parts: int) -> float:
    """Return how many GPUs hold a copy of each key and value: vLLM never splits a head or a latent vector."""
    return max(1.0, parts / (1 if shape.full.latent else shape.full.kv_heads))


def _no_gpu(spec: JudgeSpec, machine: Machine) -> EngineMissing:
    entry, own = _entry(spec, "cpu: true"), own_checkpoint(spec)
    room = own is None or own.weights < machine.free_memory
    slowly = f" To let it run on the processor, slowly, put `{entry}` into your models.yaml." if room else ""
    if machine.gpus:
        said = f"judge {spec.name!r} needs a GPU, but the installed engine runs only on the processor"
        return EngineMissing(said, f"Install the GPU build: {GPU_BUILD}.{slowly}")
    least = f" of {spec.min_gpu_gb:g} GB" if spec.min_gpu_gb else ""
    return EngineMissing(f"judge {spec.name!r} needs a GPU{least}, and this machine has none", f"{_LIST}.{slowly}")


def _entry(spec: JudgeSpec, key: str) -> str:
    """Return a line for models.yaml that sets a key of this judge's entry, or adds an entry for a folder."""
    if spec.origin == FOLDER:
        return f"mine: {{source: {spec.source}, {key}}}"
    return f"{spec.name.partition(':')[0]}: {{{key}}}"


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


def _gpu_room(
    spec: JudgeSpec, devices: tuple[Device, ...], settings: Mapping[str, object], number: int
) -> _Room | None:
    """Return the memory that the engine takes of these GPUs, by the smallest; None if it can't be known beforehand."""
    totals = [device.total for device in devices if device.total]
    share = settings.get(MEMORY_SHARE, _open_share(devices))
    if CACHE_BYTES in settings or len(totals) < len(devices) or not isinstance(share, int | float):
        return None
    gb = min(totals) / GB
    for device in devices:
        if device.free is not None and device.total and (share <= 0 or device.free < share * device.total):
            free, whole = device.free / GB, device.total / GB
            said = f"only {free:.1f} of a GPU's {whole:.1f} GB are free"
            hint = "Stop other programs on the GPU (nvidia-smi lists them)"
            if MEMORY_SHARE in settings:
                said += f", and its entry asks for {share:g} of all = {share * whole:.1f} GB"
                hint += f", or leave {MEMORY_SHARE} out of the entry: then the engine takes what is free"
            raise OutOfMemory(f"judge {spec.name!r}: {said}", f"{hint}.")
    words = f"{gb:.1f} GB x {share:g}"
    if used := _used_by_others(devices):
        words += f" (other programs hold {used:.1f} GB)"
    return _Room(gb, float(share), len(devices), f"{len(devices)} x {words}" if len(devices) > 1 else words, number)


def _open_share(devices: tuple[Device, ...]) -> float:
    """Return the share of each GPU that the engine takes if its settings leave it open: what is free less a margin."""
    free = [(device.free - GPU_MARGIN * GB) / device.total for device in devices if device.free and device.total]
    return max(0.0, min([MOST_SHARE, *(int(100 * share) / 100 for share in free)]))


def _share_note(devices: tuple[Device, ...], room: _Room) -> str:
    """Say how much memory the engine takes, and how much other programs hold."""
    each = " on each GPU" if len(devices) > 1 else ""
    takes = f"takes {room.share * room.gb:.1f} of {room.gb:.1f} GB of GPU memory{each}"
    if used := _used_by_others(devices):
        return f"other programs hold {used:.1f} GB of GPU memory (nvidia-smi lists them): the engine {takes}"
    return f"the engine {takes}"


def _used_by_others(devices: tuple[Device, ...]) -> float:
    """Return the most decimal gigabytes that other programs hold on one of these GPUs; 0 if it does not matter."""
    held = [(device.total - device.free) / GB for device in devices if device.total and device.free is not None]
    return max((used for used in held if used > GPU_MARGIN), default=0)


def _placed(spec: JudgeSpec, machine: Machine, gpus: int, room: _Room) -> Placement:
    own = own_checkpoint(spec)
    usual = usual_tokens(spec)
    found = room.fit(own, spec, usual) if own else None
    if found is None or spec.architecture is None:
        return Placement(gpus, sure_context(spec))
    if not found.fits:
        raise OutOfMemory(_short(spec, found, room), _what_would(spec, machine, room, usual))
    if gpus:
        left, cases = found.left / _copies(spec.architecture, room.parts), found.cases
    else:
        left = min(found.left, room.gb * GB / CPU_PART)
        cases = max(1, int(left // found.per_case))
    return Placement(gpus, _context(spec, spec.architecture, left, room.number, on_gpu=gpus > 0), cases)


def _short(spec: JudgeSpec, found: Fit, room: _Room) -> str:
    return (
        f"judge {spec.name!r} does not fit, {(found.per_case - found.left) / GB:.1f} GB short: {room.words} "
        f"- {found.gpu.reserve_gb:g} GB reserve - {found.checkpoint.weights / GB:.1f} GB weights "
        f"= {found.left / GB:.1f} GB for a case of {found.per_case / GB:.2f} GB ({found.tokens:,} tokens)"
    )


def _what_would(spec: JudgeSpec, machine: Machine, room: _Room, tokens: int) -> str:
    """Suggest a variant that fits, more of this machine's GPUs, or where to look."""
    own = own_checkpoint(spec)
    for one in checkpoints(spec):
        found = None if one.estimated else room.fit(one, spec, tokens)
        if found and found.fits:
            return f"{one.judge} would fit, with {found.cases:,} cases in flight."
    here = [device.total for device in machine.gpus if device.total]
    parts = most_parallel(len(here), spec.kv_heads, spec.kv_heads)
    if len(here) == len(machine.gpus) and parts > room.parts and uses_gpu():
        gb = min(here) / GB
        found = replace(room, gb=gb, parts=parts).fit(own, spec, tokens) if own else None
        if found and found.fits:
            return f"It would fit on {parts} of the GPUs here: set `engine: {{{PARALLEL}: auto}}`."
    if own and computed_in(spec, machine) != spec.dtype:
        found = replace(room, number=2).fit(own, spec, tokens)
        if found and found.fits:
            entry = _entry(spec, "dtype: bfloat16")
            return f"In bfloat16 it would fit, but slowly on this processor: put `{entry}` into your models.yaml."
    return f"{_LIST}; `pathway-local judges fit` estimates for other GPUs."


def _context(spec: JudgeSpec, shape: Architecture, left: float, number: int, *, on_gpu: bool) -> int:
    """Return the context in tokens that the judge gets with `left` bytes for its cases; see SURE_CONTEXT."""

    def longest(room: float) -> int:
        most = spec.context or SURE_CONTEXT
        if not on_gpu:
            return min(most, cpu_context(shape, room, number))
        # By bisection: memory comes in pages, so the formula of a case has no inverse.
        return max(0, bisect_right(range(most + 1), room, key=lambda tokens: case_bytes(shape, tokens, number)) - 1)

    return max(min(longest(left), SURE_CONTEXT), longest(left / 2))
