"""Turns what an engine's process said before it ended into an error that a user can act on."""

import re
from collections.abc import Callable
from pathlib import Path

from pathway_local import errors
from pathway_local.engines.cause import described, last_exception, one_line, tells_nothing
from pathway_local.engines.engine import EngineKind
from pathway_local.engines.wire import Failed
from pathway_local.errors import EngineError, EngineMissing, EngineUnexplained, OutOfMemory, WeightsMissing
from pathway_local.system.installed import CPU_BUILD, EITHER_BUILD

SHOWN = 300
"""Characters of a library's message that an error shows."""

GIB = 1 << 30

_SMALLER = "Use a smaller judge or one in fewer bits, lower its context, or stop other programs that hold memory."
_NO_GPU = f"Install the CPU build of vLLM: {CPU_BUILD}. Or add --engine transformers."

Told = tuple[str, str]
"""An error's message (empty: show the exception itself) and its hint."""


def _share(found: re.Match[str]) -> Told:
    free, total, share, asked = map(float, found.groups())
    fits = max(0.01, int(100 * (free - 0.01) / total) / 100)  # 0.01: vLLM rounds what it says
    said = f"the engine takes {share:g} of a GPU's {total:.2f} GiB = {asked:.2f} GiB, and only {free:.2f} GiB are free"
    hint = "Stop other programs on the GPU (nvidia-smi lists them), or lower the share in the judge's entry:"
    return said, f"{hint} `engine: {{gpu_memory_utilization: {fits:.2f}}}`."


def _context(found: re.Match[str]) -> Told:
    tokens, needed, left, fits = found.groups()
    said = f"a context of {tokens} tokens needs {needed} GiB of cache, and {left} GiB are left beside the weights"
    return said, f"Lower it in the judge's entry: `context: {fits}`." if fits else _SMALLER


def _cache(found: re.Match[str]) -> Told:
    free, total, asked = map(float, found.groups())
    said = f"the cache of {asked:.2f} GiB does not fit: {free:.2f} of {total:.2f} GiB are free"
    fits = int(0.9 * free * GIB)
    return said, f"Free memory, or ask for less in the judge's entry: `engine: {{kv_cache_memory_bytes: {fits}}}`."


def _allocation(found: re.Match[str]) -> Told:
    asked, total, free = found.groups()
    return f"memory ran out: {asked} more were needed, and of the GPU's {total} only {free} are free", _SMALLER


def _driver(found: re.Match[str]) -> Told:
    version = int(found[1] or 0)
    runs = f": it runs CUDA {version // 1000}.{version % 1000 // 10} at most" if version else ""
    said = f"the GPU's driver is too old for the CUDA that the engine is built for{runs}"
    return said, f"Update the NVIDIA driver (`nvidia-smi` shows its version). {_NO_GPU}"


def _hint(hint: str, said: str = "") -> Callable[[re.Match[str]], Told]:
    return lambda found: (said, hint)


_CAUSES: tuple[tuple[str, type[EngineError], Callable[[re.Match[str]], Told]], ...] = (
    (
        r"Free memory on device \S+ \(([\d.]+)/([\d.]+) GiB\) on startup is less than desired GPU memory utilization "
        r"\(([\d.]+), ([\d.]+) GiB\)",
        OutOfMemory,
        _share,
    ),
    (
        r"max seq len \((\d+)\), \(([\d.]+) GiB KV cache is needed, which is larger than the available KV cache memory "
        r"\(([\d.]+) GiB\)(?:.*?estimated maximum model length is (\d+))?",
        OutOfMemory,
        _context,
    ),
    (
        r"Available memory on node \S+ \(([\d.]+)/([\d.]+) GiB\) on kv cache allocation is less than requested memory "
        r"for kv \(([\d.]+)[^)]*\)",
        OutOfMemory,
        _cache,
    ),
    (
        r"out of memory\. Tried to allocate ([\d.]+ \w+)\. GPU \d+ has a total capacity of ([\d.]+ \w+) of which "
        r"([\d.]+ \w+) is free",
        OutOfMemory,
        _allocation,
    ),
    (
        r"No available memory for the cache blocks",
        OutOfMemory,
        _hint(
            "Give it a larger share in its entry: `engine: {gpu_memory_utilization: 0.95}`; or use one in fewer bits.",
            "the judge's weights leave no memory for a case",
        ),
    ),
    (
        r"out of memory|OutOfMemoryError|MemoryError|can(?:'t|not) allocate memory",
        OutOfMemory,
        _hint(_SMALLER),
    ),
    (
        r"its process was killed by signal 9",
        OutOfMemory,
        _hint(f"Linux does that when memory runs out. {_SMALLER}"),
    ),
    (
        r"driver on your system is too old(?: \(found version (\d+)\))?|driver version is insufficient()",
        EngineMissing,
        _driver,
    ),
    (
        r"no kernel image is available",
        EngineMissing,
        _hint(f"The engine's build has no kernels for this GPU: use another GPU. {_NO_GPU}"),
    ),
    (
        r"Failed to infer device type|No CUDA GPUs are available|Found no NVIDIA driver|libcuda\.so",
        EngineMissing,
        _hint(_NO_GPU, "this build of the engine needs a GPU and finds none that it can use"),
    ),
    (
        r"Could not find nvcc|nvcc: (?:command )?not found|No such file or directory: '\S*nvcc'",
        EngineMissing,
        _hint("Install the CUDA toolkit and name its folder in CUDA_HOME, or set VLLM_USE_FLASHINFER_SAMPLER=0."),
    ),
    (
        r"Failed to find C compiler|No working C\+\+ compiler|InvalidCxxCompiler|Python\.h: No such file"
        r"|No such file or directory: '\S*(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+)'",
        EngineMissing,
        _hint("Install a compiler and Python's headers: `sudo apt-get install build-essential python3-dev`."),
    ),
    (
        r"\[Errno (?:28|30|122)\]|\[Errno 13\].*(?:cache|pathway-local/)",
        EngineError,
        _hint('Free space, make the folder writable, or move caches: `export XDG_CACHE_HOME="$HOME/caches"`.'),
    ),
    (
        r"cannot find any model weights|SafetensorError|HeaderToo|incomplete metadata",
        WeightsMissing,
        _hint("Fetch or copy them again.", "the judge's weights can't be read: a file is damaged"),
    ),
    (
        r"^(?:ModuleNotFoundError|ImportError)\b",
        EngineMissing,
        _hint(f"Install the engine again, with all that it needs: {EITHER_BUILD}."),
    ),
)
"""Causes by the words of the libraries; the first pattern that matches decides."""


def start_error(
    kind: EngineKind, failed: Failed, printed: str, ended: str = "", log: Path | None = None
) -> EngineError:
    """Return the error for an engine that could not be loaded.

    `failed` is the last message of its process, empty if it sent none; `printed` are its last lines, `ended` says how
    it ended, and `log`, if given, holds everything that it printed.
    """
    if failed.error:
        made: type[EngineError] = getattr(errors, failed.error)
        return made(failed.message, failed.hint)
    cause = described(failed.kind, failed.message) if failed.kind else ""
    if not cause or tells_nothing(cause):
        cause = last_exception(printed) or cause  # vLLM's workers print their exceptions
    if failed.kind == "ModuleNotFoundError" and failed.message.endswith(tuple(map(repr, kind.libraries))):
        return EngineMissing(f"the engine {kind.name} is not installed here: {cause[:SHOWN]}", kind.install_hint)
    by_signal = f"its process was {ended}" if ended.startswith("killed") and not cause else ""
    shown = f"the judge can't be loaded: {(cause or by_signal or _last_line(printed) or 'its process ended')[:SHOWN]}"
    text = f"{shown}\n{printed}" if not cause or tells_nothing(cause) else cause
    for pattern, error, told in _CAUSES:
        if found := re.search(pattern, text, re.IGNORECASE):
            said, hint = told(found)
            return error(said or shown, hint)
    if failed.memory:
        return OutOfMemory(shown, _SMALLER)
    return EngineUnexplained(shown, look_there(log))


def look_there(log: Path | None) -> str:
    """Return a hint that names the place of everything that the engine printed while it loaded."""
    if log:
        return f"Read {log}: it has all that the engine printed while it loaded."
    return "Add --engine-log FILE to keep all that the engine prints while it loads, and read it."


def _last_line(printed: str) -> str:
    return next((one_line(text) for text in reversed(printed.splitlines()) if text.strip()), "")
