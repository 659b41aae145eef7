"""The base class of all engines, which describes one without its libraries; and how engines share a machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from pydantic import JsonValue

from pathway_local.errors import UsageError
from pathway_local.judges.engine_settings import MEMORY_SHARE
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.placement import check_fits_here, gpus_of_one
from pathway_local.judges.weights import weight_files
from pathway_local.passes import EngineConfig
from pathway_local.system.machine import Machine, uses_gpu

WINDOW = 256
"""Requests to keep in flight if the engine takes smaller batches."""

START_LIMIT, SLOWEST_DISK = 1800.0, 50e6
"""Seconds that loading may take beside the reading of the weights, since kernels are compiled for a GPU; and the bytes
per second at which a network's disk may give the weights."""

HANG_LIMIT = 300.0
"""Seconds without a sign of life after which an engine with passes in flight counts as dead."""

CPU_HANG_LIMIT = 1800.0
"""The same on the processor: one step may read a whole context, which takes a large judge minutes."""


Fitted = tuple[dict[str, JsonValue], tuple[str, ...]]
"""Settings that the judge's entry leaves open and that are no part of the rater, and notes that tell the user."""


class EngineKind:
    """One engine; each has a subclass that overrides the methods in which it differs, and one object of it.

    `loader` names, as "module:name", the class or function that the engine's own process calls with the configuration
    and a function that sends a sign of life; it returns a `child.Stepper`. `libraries` are modules without which the
    engine cannot start, its own first; `install_hint` says how to get them. `packages` are the distributions whose
    versions a run's manifest records.
    """

    name: ClassVar[str]
    loader: ClassVar[str]
    libraries: ClassVar[tuple[str, ...]]
    packages: ClassVar[tuple[str, ...]] = ()
    install_hint: ClassVar[str] = ""

    def is_installed(self) -> bool:
        """Whether `--engine auto` may choose this engine."""
        return all(map(find_spec, self.libraries))

    def options(self, judge: JudgeSpec) -> dict[str, JsonValue]:
        """Return the judge's settings, which belong to the rater. Raises PathwayError."""
        return dict(judge.engine)

    def fitted(
        self, judge: JudgeSpec, machine: Machine, options: Mapping[str, JsonValue], dtype: str, steps: float
    ) -> Fitted:
        """Return what one engine needs to load the judge on this machine, or this part of one.

        It is for a job of about `steps` decoding steps. Raises EngineMissing, OutOfMemory.
        """
        check_fits_here(judge, machine, options, dtype)
        return {}, ()

    def window(self, config: EngineConfig) -> int:
        """Requests to keep in flight: enough that the engine never waits for the next one."""
        return WINDOW

    def has_workers(self, config: EngineConfig) -> bool:
        """Whether the engine starts processes of its own, which connect to each other."""
        return False

    def start_limit(self, config: EngineConfig) -> float:
        """Return the seconds that loading may take."""
        shards = weight_files(Path(config.model))
        return START_LIMIT + sum(path.stat().st_size for path in shards if path.is_file()) / SLOWEST_DISK

    def hang_limit(self, device: str) -> float:
        """Seconds of silence after which the engine counts as dead."""
        return CPU_HANG_LIMIT if device == "cpu" else HANG_LIMIT


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """How the engines of a judge load it: settings and notes as in `Fitted`.

    `gpus` has an entry for each engine: the GPUs that it may see, as CUDA_VISIBLE_DEVICES names them, empty for all.
    """

    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ("",)


def parts_for(gpus: str, judge: JudgeSpec, machine: Machine, options: Mapping[str, JsonValue]) -> list[Machine]:
    """Return the part of the machine for each engine: one for no `gpus`, else for that number of GPUs or "all".

    Raises UsageError if the machine can't be divided so.
    """
    if not gpus:
        return [machine]
    if not (machine.gpus and uses_gpu()):
        raise UsageError("--gpus: the installed engine finds no GPU here", "Leave it out, or see doctor.")
    there, one = len(machine.gpus), gpus_of_one(judge, machine, options)
    number = there - there % one if gpus == "all" else int(gpus)
    if number > there:
        raise UsageError(f"--gpus {number}: this machine has {there}", "Give --gpus all to use those.")
    if number % one or not number:
        said = f"--gpus {number}: an engine of judge {judge.name!r} takes {one} GPUs"
        raise UsageError(said, f"Give a multiple of {one}, or all; the judge's entry sets tensor_parallel_size.")
    ids = [gpu.id for gpu in machine.gpus]
    if number > one and (len(set(ids)) < there or any(not name or "?" in name for name in ids)):
        raise UsageError("--gpus: the driver does not tell the GPUs apart", "Install nvidia-smi, or leave it out.")
    return [replace(machine, gpus=machine.gpus[at : at + one]) for at in range(0, number, one)]


def load_plan(
    gpus: str,
    kind: EngineKind,
    judge: JudgeSpec,
    machine: Machine,
    options: Mapping[str, JsonValue],
    dtype: str,
    steps: float,
) -> LoadPlan:
    """Return one plan for all engines, which fits the smallest part of the machine.

    It is for a job of about `steps` decoding steps. Raises EngineMissing, OutOfMemory.
    """
    parts = parts_for(gpus, judge, machine, options)
    fitted = [kind.fitted(judge, part, options, dtype, steps / len(parts)) for part in parts]
    settings, notes = min(fitted, key=lambda each: float(each[0].get(MEMORY_SHARE, 1.0)))  # type: ignore[arg-type]
    seen = tuple(",".join(gpu.id for gpu in part.gpus) if gpus else "" for part in parts)
    several = (f"{len(parts)} engines side by side",) if len(parts) > 1 else ()
    return LoadPlan(settings, (*several, *notes), seen)
