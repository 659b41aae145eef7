"""Decides where a judge runs here, and refuses one whose weights can't fit; the card of a judge shows it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from pydantic import JsonValue

from pathway_local.errors import EngineError, EngineMissing, OutOfMemory, WeightsMissing
from pathway_local.judges.engine_settings import CACHE_BYTES, MEMORY_SHARE, PARALLEL, computed_in
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.registry import complete, weights_folder
from pathway_local.system.machine import GB, GPU_BUILD, Device, Machine, uses_gpu

MOST_SHARE = 0.90
"""The engine takes at most this share of a GPU's memory, unless a judge's entry sets it."""

RESERVE = 1.5 * GB
"""Bytes beside the weights without which no engine runs: activations, and a short case."""

GPU_MARGIN = 1.5 * GB
"""Bytes of a GPU's free memory that the engine leaves alone. CUDA takes about 0.6 GB of them for the engine itself
before vLLM compares its share with what is free; the rest is for other programs that grow meanwhile."""

SMALL_ENOUGH_FOR_CPU = 3 * GB
"""Bytes of weights up to which a judge runs on the processor, unless its entry says otherwise."""

_LIST = "`pathway-local judges list` shows which judges fit here."


@dataclass(frozen=True, slots=True)
class Placement:
    """The place where a judge runs: on `gpus` GPUs, or on the processor if that is 0.

    `share`: how much of each GPU's memory the engine takes, with a `note` that says so; None on the processor, if the
    settings decide it, or if the GPU's memory is unknown.
    """

    gpus: int
    share: float | None = None
    note: str = ""

    @property
    def where(self) -> str:
        """The place as the end of a sentence."""
        return f"on {self.gpus} GPU{'s' * (self.gpus > 1)}" if self.gpus else "without a GPU"


def weights_bytes(spec: JudgeSpec, number: int = 2) -> float | None:
    """Return the bytes of a judge's weights in memory, 16-bit ones with `number` bytes each; None if not known."""
    if spec.weights_gb is None:
        return None
    return spec.weights_gb * GB * (number / 2 if spec.precision in ("bf16", "fp16") else 1)


def smallest_gpu(spec: JudgeSpec) -> int | None:
    """Return the gigabytes of a GPU that has one left for cases beside the judge's weights; None if not known."""
    own = weights_bytes(spec)
    return ceil((own + RESERVE + GB) / MOST_SHARE / GB) if own else None


def check_fits_here(
    spec: JudgeSpec, machine: Machine, settings: Mapping[str, object] | None = None, dtype: str | None = None
) -> Placement:
    """Return where the judge runs here, with the engine's `settings` and `dtype` if they differ from its entry.

    Raises EngineMissing if it needs a GPU that this machine lacks, and OutOfMemory if its weights do not fit.
    """
    chosen = spec.engine if settings is None else settings
    devices = place(spec, machine, chosen)
    own = weights_bytes(spec, 4 if (dtype or computed_in(spec, machine)) == "float32" else 2)
    if not devices:
        refuse_too_large(spec, own, machine.free_memory, f"{machine.free_memory / GB:.1f} GB of memory are free")
        return Placement(0)
    totals = [device.total for device in devices if device.total]
    if CACHE_BYTES in chosen or len(totals) < len(devices):
        return Placement(len(devices))
    share, room = memory_share(devices, chosen), min(totals)
    used = max((device.total or 0) - device.free for device in devices if device.free is not None) if totals else 0
    others = f"other programs hold {used / GB:.1f} GB of GPU memory (nvidia-smi lists them): " * (used > GPU_MARGIN)
    each = " on each GPU" * (len(devices) > 1)
    said = f"{others}the engine takes {share * room / GB:.1f} of {room / GB:.1f} GB of GPU memory{each}"
    refuse_too_large(spec, own, len(devices) * share * room, said)
    return Placement(len(devices)) if MEMORY_SHARE in chosen else Placement(len(devices), share, said)


def place(spec: JudgeSpec, machine: Machine, settings: Mapping[str, object]) -> Sequence[Device]:
    """Return the GPUs that one engine of the judge takes; none if it runs on the processor. Raises EngineMissing."""
    if machine.gpus and uses_gpu():
        return machine.gpus[: gpus_of_one(spec, machine, settings)]
    own = weights_bytes(spec)
    if spec.cpu or (own is not None and own <= SMALL_ENOUGH_FOR_CPU and "cpu" not in spec.model_fields_set):
        return ()
    slowly = f" To let it run on the processor, slowly, put {spec.to_add('cpu: true')} into your models.yaml."
    if machine.gpus:
        said = f"judge {spec.name!r} needs a GPU, but the installed engine runs only on the processor"
        raise EngineMissing(said, f"Install the GPU build: {GPU_BUILD}.{slowly}")
    least = f" of {gb} GB" if (gb := smallest_gpu(spec)) else ""
    raise EngineMissing(f"judge {spec.name!r} needs a GPU{least}, and this machine has none", f"{_LIST}{slowly}")


def memory_share(devices: Sequence[Device], settings: Mapping[str, object]) -> float:
    """Return the share of each GPU that the engine takes: what the settings say, else what is free less a margin."""
    asked = settings.get(MEMORY_SHARE)
    if isinstance(asked, int | float):
        return float(asked)
    free = [(each.free - GPU_MARGIN) / each.total for each in devices if each.total and each.free is not None]
    return max(0.0, min([MOST_SHARE, *(int(100 * share) / 100 for share in free)]))


def refuse_too_large(spec: JudgeSpec, own: float | None, room: float, said: str) -> None:
    """Raise OutOfMemory if an engine with the judge's weights, if their size is known, can't run in so many bytes."""
    if (own or 0) + RESERVE > room:
        needs = f"{(own or 0) / GB:.1f} GB of weights, and {RESERVE / GB:g} GB beside them"
        raise OutOfMemory(f"judge {spec.name!r} does not fit: {needs}; {said}", _LIST)


def gpus_of_one(spec: JudgeSpec, machine: Machine, settings: Mapping[str, object]) -> int:
    """Return the GPUs that one engine takes under these settings. Raises EngineMissing if there are fewer."""
    wanted = gpus_named(settings)
    if wanted > len(machine.gpus):
        said = f"judge {spec.name!r} is set to use {wanted} GPUs, and this machine has {len(machine.gpus)}"
        raise EngineMissing(said, f"Correct {PARALLEL} in its entry, or run it on another machine.")
    return wanted


def gpus_named(settings: Mapping[str, object]) -> int:
    """Return the GPUs among which these settings split a judge; 1 if they are none that vLLM takes."""
    tensor, pipeline = settings.get(PARALLEL, 1), settings.get("pipeline_parallel_size", 1)
    return max(1, tensor * pipeline) if isinstance(tensor, int) and isinstance(pipeline, int) else 1


@dataclass(frozen=True, slots=True)
class JudgeCard:
    """A judge on this machine: its folder, if its weights are here, and where it runs, or why it can't."""

    spec: JudgeSpec
    folder: Path | None
    placed: Placement | EngineError

    @property
    def fits(self) -> str:
        """Whether it runs here, in a word or two."""
        if isinstance(self.placed, Placement):
            return "yes"
        return "no GPU" if isinstance(self.placed, EngineMissing) else "no"

    @property
    def entry(self) -> dict[str, JsonValue]:
        """The entry's keys that say something, as a file of YAML holds them."""
        told = self.spec.model_dump(mode="json", exclude={"name", "origin"}, exclude_none=True)
        told |= {"thinking": told.get("thinking", self.spec.thinks), "min_gpu_gb": smallest_gpu(self.spec) or ""}
        return {key: value for key, value in told.items() if value not in ("", [], {})}


def judge_card(entry: JudgeSpec, machine: Machine) -> JudgeCard:
    """Return the card of an entry, completed from its folder; if that is broken, the card shows the entry only."""
    spec, folder = entry, None
    try:
        spec = complete(entry)
        with suppress(WeightsMissing):
            folder = weights_folder(spec)
        return JudgeCard(spec, folder, check_fits_here(spec, machine))
    except EngineError as error:
        return JudgeCard(spec, folder, error)
