"""Advises users about an engine that does not load, by the words of vLLM and of any library that fails."""

import re
from collections.abc import Callable, Mapping

from pathway_local.errors import EngineError, EngineMissing, EngineUnexplained, OutOfMemory, WeightsMissing
from pathway_local.system.machine import CPU_BUILD

Advice = tuple[str, str]
"""An error's message (empty: show the exception itself) and its hint."""

Remedies = Mapping[type[EngineError], Mapping[str, Callable[[re.Match[str]], Advice]]]
"""Patterns by the error that they mean, each with its advice; the first pattern that matches decides."""

SMALLER = "Use a smaller judge or one in fewer bits, lower its context, or stop other programs that hold memory."


def advise(hint: str, said: str = "") -> Callable[[re.Match[str]], Advice]:
    """Return advice that is the same for every match."""
    return lambda found: (said, hint)


def _allocation(found: re.Match[str]) -> Advice:
    asked, total, free = found.groups()
    return f"memory ran out: {asked} more were needed, but only {free} of the GPU's {total} are free", SMALLER


REMEDIES: Remedies = {
    OutOfMemory: {
        r"out of memory\. Tried to allocate ([\d.]+ \w+)\. GPU \d+ has a total capacity of ([\d.]+ \w+) of which "
        r"([\d.]+ \w+) is free": _allocation,
        r"out of memory|OutOfMemoryError|MemoryError|can(?:'t|not) allocate memory": advise(SMALLER),
        r"its process was killed by SIGKILL": advise(f"Linux sends it when memory runs out. {SMALLER}"),
    },
    EngineMissing: {
        r"Failed to find C compiler|No working C\+\+ compiler|InvalidCxxCompiler|Python\.h: No such file"
        r"|No such file or directory: '\S*(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+)'": advise(
            "Install a compiler and Python's headers: `sudo apt-get install build-essential python3-dev`."
        ),
    },
    EngineError: {
        r"\[Errno (?:28|30|122)\]|\[Errno 13\].*(?:cache|pathway-local/)": advise(
            'Free space, make the folder writable, or move caches: `export XDG_CACHE_HOME="$HOME/caches"`.'
        ),
    },
    EngineUnexplained: {
        r"its process was killed by SIGBUS": advise(
            "It usually means that a disk or shared memory (/dev/shm) is full, or that a file was cut short: "
            "free space there, or fetch the weights again."
        ),
        r"its process was killed by SIGILL": advise(
            "It means an instruction that this processor lacks: the engine is built for another one."
        ),
        r"its process was killed by SIG(?:SEGV|ABRT|FPE)": advise(
            "It usually means a fault in a library: install the engine again, and read what --engine-log FILE keeps."
        ),
        r"its process was killed by": advise("Another program sent it, such as a batch system at one of its limits."),
    },
    WeightsMissing: {
        r"cannot find any model weights|SafetensorError|HeaderToo|incomplete metadata": advise(
            "Fetch or copy them again.", "the judge's weights can't be read: a file is damaged"
        ),
    },
}
"""Remedies for any engine, after its own."""


GIB = 1 << 30

_NO_GPU = f"Install the CPU build of vLLM: {CPU_BUILD}. Or add --engine transformers."


def _share(found: re.Match[str]) -> Advice:
    free, total, share, asked = map(float, found.groups())
    fits = max(0.01, int(100 * (free - 0.01) / total) / 100)  # 0.01: vLLM rounds what it says
    said = f"the engine takes {share:g} of a GPU's {total:.2f} GiB = {asked:.2f} GiB, but only {free:.2f} GiB are free"
    hint = "Stop other programs on the GPU (nvidia-smi lists them), or lower the share in the judge's entry:"
    return said, f"{hint} `engine: {{gpu_memory_utilization: {fits:.2f}}}`."


def _context(found: re.Match[str]) -> Advice:
    tokens, needed, left, fits = found.groups()
    said = f"a context of {tokens} tokens needs {needed} GiB of cache, but the weights leave only {left} GiB"
    return said, f"Lower it in the judge's entry: `context: {fits}`." if fits else SMALLER


def _cache(found: re.Match[str]) -> Advice:
    free, total, asked = map(float, found.groups())
    said = f"the cache of {asked:.2f} GiB does not fit: {free:.2f} of {total:.2f} GiB are free"
    fits = int(0.9 * free * GIB)
    return said, f"Free memory, or ask for less in the judge's entry: `engine: {{kv_cache_memory_bytes: {fits}}}`."


def _driver(found: re.Match[str]) -> Advice:
    version = int(found[1] or 0)
    runs = f": it runs CUDA {version // 1000}.{version % 1000 // 10} at most" if version else ""
    said = f"the GPU's driver is too old for the CUDA that the engine is built for{runs}"
    return said, f"Update the NVIDIA driver (`nvidia-smi` shows its version). {_NO_GPU}"


VLLM_REMEDIES: Remedies = {
    OutOfMemory: {
        r"Free memory on device \S+ \(([\d.]+)/([\d.]+) GiB\) on startup is less than desired GPU memory utilization "
        r"\(([\d.]+), ([\d.]+) GiB\)": _share,
        r"max seq len \((\d+)\), \(([\d.]+) GiB KV cache is needed, which is larger than the available KV cache memory "
        r"\(([\d.]+) GiB\)(?:.*?estimated maximum model length is (\d+))?": _context,
        r"Available memory on node \S+ \(([\d.]+)/([\d.]+) GiB\) on kv cache allocation is less than requested memory "
        r"for kv \(([\d.]+)[^)]*\)": _cache,
        r"No available memory for the cache blocks": advise(
            "Give it a larger share in its entry: `engine: {gpu_memory_utilization: 0.95}`; or use one in fewer bits.",
            "the judge's weights leave no memory for a case",
        ),
    },
    EngineMissing: {
        r"driver on your system is too old(?: \(found version (\d+)\))?|driver version is insufficient()": _driver,
        r"no kernel image is available": advise(
            f"The engine's build has no kernels for this GPU: use another GPU. {_NO_GPU}"
        ),
        r"Failed to infer device type|No CUDA GPUs are available|Found no NVIDIA driver|libcuda\.so": advise(
            _NO_GPU, "this build of the engine needs a GPU and finds none that it can use"
        ),
        r"Could not find nvcc|nvcc: (?:command )?not found|No such file or directory: '\S*nvcc'": advise(
            "Install the CUDA toolkit and name its folder in CUDA_HOME, or set VLLM_USE_FLASHINFER_SAMPLER=0."
        ),
    },
}
