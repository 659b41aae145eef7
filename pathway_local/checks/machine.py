"""Checks of this machine: versions that we tested together, the seal, the environment, GPUs, memory and disk."""

import os
import platform
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pathway_local import __version__
from pathway_local.check import Check, checked
from pathway_local.engines.engine_list import ENGINES, installed_packages
from pathway_local.errors import EngineError
from pathway_local.judges.weights import models_home
from pathway_local.sealing.seal import FILTER, FILTERS_NOTHING, NO_NAMESPACE, is_closed
from pathway_local.sealing.trial import try_seal
from pathway_local.system.machine import (
    CPU_BUILD,
    EITHER_BUILD,
    GB,
    GPU_BUILD,
    TORCH_ALONE,
    Machine,
    free_disk,
    uses_gpu,
)

LITTLE_MEMORY, LITTLE_DISK = 2 * GB, GB

_ALLOW = (
    "Allow users to make namespaces: Ubuntu since 23.10 needs "
    "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile, Debian before 11 "
    "`sudo sysctl kernel.unprivileged_userns_clone=1`; in a container, start it with --network none."
)
_OUTSIDE_CODE = ("LD_PRELOAD", "PYTHONPATH", "VLLM_PLUGINS")
_GPU_FILES = ("/dev/nvidiactl", "/dev/nvidia-uvm")


def machine_checks(machine: Machine, folder: Path) -> Iterator[Check]:
    """Check the machine; runs would go to `folder`. Takes some seconds, half a minute with a GPU."""
    on_gpu = bool(machine.gpus) and uses_gpu()
    tried: dict[str, str] = {}
    yield checked("seal", lambda: _seal(tried, cuda=on_gpu))
    yield _outside_code(os.environ)
    yield _gpu(machine)
    if on_gpu:
        yield _cuda(tried.get("cuda", "no: the seal could not be tried"))
    yield _memory(machine)
    for name, place in {"run": folder, "models": models_home(), "temporary files": Path(tempfile.gettempdir())}.items():
        yield _disk(name, place)


def _seal(tried: dict[str, str], *, cuda: bool) -> Check:
    try:
        tried |= try_seal(cuda=cuda)
    except EngineError as error:
        return Check("seal", "problem", str(error), "Run `python -m pathway_local.sealing.trial` to see why.")
    level, why = tried["seal"], tried["seal_limit"]
    if is_closed(level) and FILTER in level:
        return Check("seal", "ok", f"{level}: the engine reaches no network and no other program's socket")
    if is_closed(level):
        return Check("seal", "note", f"{level}: no network, but {why or FILTERS_NOTHING}")
    if level == FILTER:
        found = f"filter: {why or NO_NAMESPACE}, so only a filter on system calls keeps the engine off networks"
        return Check("seal", "note", found, "" if why else _ALLOW)
    said = f"{level}: the engine could reach the network" + (f", since {why}" if why else "")
    return Check("seal", "problem", said, "" if why else _ALLOW)


def _outside_code(environment: Mapping[str, str]) -> Check:
    found = [name for name in _OUTSIDE_CODE if environment.get(name)]
    if not found:
        return Check("environment", "ok", "no variable loads foreign code into the engine")
    said = f"{', '.join(found)} can load foreign code into the engine"
    return Check("environment", "note", said, f"Unless you set them on purpose: unset {' '.join(found)}")


def _gpu(machine: Machine) -> Check:
    slow = "" if machine.bf16 else ", in float32, since this one has no bfloat16"
    if not machine.gpus:
        wanted = uses_gpu()
        fix = f"Install the driver, or the CPU build: {CPU_BUILD}." if wanted else ""
        found = (
            "none, and the installed engine needs one" if wanted else f"none; the engine runs on the processor{slow}"
        )
        return Check("GPU", "problem" if wanted else "ok", found, fix)
    if not uses_gpu():
        found = f"{machine.described()}, but the installed engine runs on the processor{slow}"
        return Check("GPU", "note", found, f"Install the GPU build: {GPU_BUILD}.")
    missing = [name for name in _GPU_FILES if not Path(name).exists()]
    if missing:
        # The driver's helper makes them, but it is set-uid root and so can't run inside the seal.
        fix = "Run once as root: nvidia-modprobe -u -c=0"
        return Check("GPU", "problem", f"{machine.described()}, but {', '.join(missing)} is missing", fix)
    return Check("GPU", "ok", machine.described())


def _cuda(found: str) -> Check:
    if found.startswith("no:"):
        fix = "Run `nvidia-smi`; if it lists the GPU, try the same outside the seal with `judge --seal off`."
        return Check("CUDA inside the seal", "problem", found.removeprefix("no: "), fix)
    return Check("CUDA inside the seal", "ok", found)


def _memory(machine: Machine) -> Check:
    free = f"{machine.free_memory / GB:.1f} GB free"
    if machine.free_memory < LITTLE_MEMORY:
        return Check("memory", "problem", free, "Stop other programs, or raise this container's limit.")
    return Check("memory", "ok", free)


def _disk(name: str, folder: Path) -> Check:
    free = free_disk(folder)
    found = f"{free / GB:.1f} GB free for {folder.absolute()}"
    if free < LITTLE_DISK:
        return Check(f"disk, {name}", "problem", found, "Free some space, or name another folder.")
    return Check(f"disk, {name}", "ok", found)


_REINSTALL = f"Install this release's versions: {EITHER_BUILD}."


def version_checks() -> Iterator[Check]:
    """Check what is installed, without importing it."""
    found = installed_packages()
    listed = ", ".join(f"{name} {known}" for name, known in found.items())
    yield Check("versions", "ok", f"pathway-local {__version__}, Python {platform.python_version()}, {listed}")
    yield _engine(found)


def _engine(found: Mapping[str, str]) -> Check:
    """Check the engine that judges use unless the user names another: the first one that is installed."""
    for engine in ENGINES:
        version = next((found[name] for name in engine.builds if name in found), "")
        if version and engine is not ENGINES[0]:
            said = f"{ENGINES[0].name} is not installed: judges run through {engine.name}, which is slower"
            return Check("engine", "note", said)
        if version and not version.startswith(engine.tested):
            tested = " and ".join(each.rstrip(".") for each in engine.tested)
            said = f"this release was not tested with {engine.name} {version}, but with {tested}"
            return Check("engine", "note", said, _REINSTALL)
        if version:
            return Check("engine", "ok", f"{engine.name} {version}, tested with this release")
    fix = f"Install the usual one: {EITHER_BUILD}. Or a slower one: {TORCH_ALONE}."
    return Check("engine", "problem", "no engine is installed", fix)
