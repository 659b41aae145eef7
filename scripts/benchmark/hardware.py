"""What a figure was measured on."""

import os
import platform
from pathlib import Path
from typing import Any

from pathway_local.installed import vllm_version
from pathway_local.judges.machine import this_machine


def hardware() -> dict[str, Any]:
    """Processors, GPUs, load and versions."""
    named = Path("/proc/cpuinfo").read_text().partition("model name")[2].partition("\n")[0]
    return {
        "processor": named.strip("\t :"),
        "processors": os.cpu_count(),
        "gpus": [gpu.name for gpu in this_machine().gpus],
        "load": os.getloadavg()[0],
        "vllm": vllm_version(),
        "python": platform.python_version(),
    }


def hardware_line() -> str:
    """The same in a line."""
    told = hardware()
    gpus = ", ".join(told["gpus"]) or "no GPU"
    return f"{told['processors']} x {told['processor']}, {gpus}, vLLM {told['vllm']}, load {told['load']:.1f}"
