"""Advises users about an engine that does not load, by the words of vLLM and of any library that fails."""

from collections.abc import Mapping

from pathway_local.errors import EngineError, EngineMissing, EngineUnexplained, OutOfMemory, WeightsMissing
from pathway_local.system.machine import CPU_BUILD

Remedies = Mapping[type[EngineError], Mapping[str, str]]
"""Patterns by the error that they mean, each with its hint; the first pattern that matches decides."""

SMALLER = "Use a smaller judge or one in fewer bits, lower its context, or stop other programs that hold memory."

REMEDIES: Remedies = {
    OutOfMemory: {
        r"out of memory|OutOfMemoryError|MemoryError|can(?:'t|not) allocate memory": SMALLER,
        r"its process was killed by SIGKILL": f"Linux sends it when memory runs out. {SMALLER}",
    },
    EngineMissing: {
        r"Failed to find C compiler|No working C\+\+ compiler|InvalidCxxCompiler|Python\.h: No such file"
        r"|No such file or directory: '\S*(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+)'": (
            "Install a compiler and Python's headers: `sudo apt-get install build-essential python3-dev`."
        ),
    },
    EngineError: {
        r"\[Errno (?:28|30|122)\]|\[Errno 13\].*(?:cache|pathway-local/)": (
            'Free space, make the folder writable, or move caches: `export XDG_CACHE_HOME="$HOME/caches"`.'
        ),
    },
    EngineUnexplained: {
        r"its process was killed by SIGBUS": (
            "It usually means that a disk or shared memory (/dev/shm) is full, or that a file was cut short: "
            "free space there, or fetch the weights again."
        ),
        r"its process was killed by SIGILL": (
            "It means an instruction that this processor lacks: the engine is built for another one."
        ),
        r"its process was killed by SIG(?:SEGV|ABRT|FPE)": (
            "It usually means a fault in a library: install the engine again, and read what --engine-log FILE keeps."
        ),
        r"its process was killed by": "Another program sent it, such as a batch system at one of its limits.",
    },
    WeightsMissing: {
        r"cannot find any model weights|SafetensorError|HeaderToo|incomplete metadata": (
            "A file of the judge's weights is damaged or missing: fetch or copy them again."
        ),
    },
}
"""Remedies for any engine, after its own."""

_NO_GPU = f"Install the CPU build of vLLM: {CPU_BUILD}. Or add --engine transformers."

VLLM_REMEDIES: Remedies = {
    OutOfMemory: {
        r"is less than desired GPU memory utilization": (
            "Stop other programs on the GPU (nvidia-smi lists them), or lower the share in the judge's entry, "
            "such as `engine: {gpu_memory_utilization: 0.7}`."
        ),
        r"which is larger than the available KV cache memory": (
            "Lower the judge's context, in its entry in models.yaml, to what fits. Or use a smaller judge."
        ),
        r"is less than requested memory for kv": (
            "Free memory, or ask for less in the judge's entry, such as `engine: {kv_cache_memory_bytes: 4000000000}`."
        ),
        r"No available memory for the cache blocks": (
            "The weights leave no memory for a case. Give the judge a larger share in its entry: "
            "`engine: {gpu_memory_utilization: 0.95}`; or use one in fewer bits."
        ),
    },
    EngineMissing: {
        r"driver on your system is too old|driver version is insufficient": (
            f"The GPU's driver is too old: update the NVIDIA driver (`nvidia-smi` shows its version). {_NO_GPU}"
        ),
        r"no kernel image is available": (
            f"The engine's build has no kernels for this GPU: use another GPU. {_NO_GPU}"
        ),
        r"Failed to infer device type|No CUDA GPUs are available|Found no NVIDIA driver|libcuda\.so": (
            f"This build of the engine needs a GPU and finds none that it can use. {_NO_GPU}"
        ),
        r"Could not find nvcc|nvcc: (?:command )?not found|No such file or directory: '\S*nvcc'": (
            "Install the CUDA toolkit and name its folder in CUDA_HOME, or set VLLM_USE_FLASHINFER_SAMPLER=0."
        ),
    },
}
