"""Divides a machine's GPUs among the engines of one judge."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from pathway_local.engines.engine import EngineKind
from pathway_local.errors import UsageError
from pathway_local.judges.engine_settings import MEMORY_SHARE
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.placement import gpus_of_one
from pathway_local.system.machine import Machine, uses_gpu


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
