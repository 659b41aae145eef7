"""Says why an engine did not start: by the error that its process sent, or by the last lines that it printed."""

import re
from pathlib import Path

from pathway_local import errors
from pathway_local.engines.engine import EngineKind
from pathway_local.engines.wire import Failed
from pathway_local.errors import EngineError, EngineMissing, OutOfMemory, WeightsMissing
from pathway_local.system.machine import CPU_BUILD

SHOWN, LINES = 400, 4
"""Characters of a message, and last lines of what was printed, that an error shows."""

SMALLER = (
    "Stop other programs that hold memory (`nvidia-smi` lists those on a GPU), use a smaller judge or one in fewer "
    "bits, or set less in its entry: `context`, or `engine: {gpu_memory_utilization: 0.7}`."
)

REMEDIES: tuple[tuple[type[EngineError], str, str], ...] = (
    (
        OutOfMemory,
        r"out of memory|OutOfMemoryError|MemoryError|can(?:'t|not) allocate memory|killed by SIGKILL"
        r"|desired GPU memory utilization|requested memory for kv|No available memory for the cache"
        r"|Cannot auto-fit max_model_len",
        SMALLER,
    ),
    (
        EngineMissing,
        r"Failed to find C compiler|No working C\+\+ compiler|InvalidCxxCompiler|Python\.h: No such file|nvcc"
        r"|No such file or directory: '\S*(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+)'",
        "Install a compiler and Python's headers: `sudo apt-get install build-essential python3-dev`; for nvcc the "
        "CUDA toolkit, and name its folder in CUDA_HOME.",
    ),
    (
        EngineMissing,
        r"driver on your system is too old|driver version is insufficient|no kernel image is available"
        r"|Failed to infer device type|No CUDA GPUs are available|Found no NVIDIA driver|libcuda\.so",
        "This build of the engine finds no GPU that it can use: update the NVIDIA driver (`nvidia-smi` shows its "
        f"version), or install the CPU build of vLLM: {CPU_BUILD}. `pathway-local doctor` tries CUDA inside the seal.",
    ),
    (
        EngineMissing,
        r"Model architectures .* are not supported|does not recognize this architecture",
        "Update vLLM if the model is newer, or use another judge: code that comes with a model is never run.",
    ),
    (
        WeightsMissing,
        r"cannot find any model weights|SafetensorError|HeaderToo|incomplete metadata|No such file or directory: "
        r"'[^']*(?:\.json|\.safetensors|\.jinja)'",
        "A file of the judge is damaged, or was moved after the check: fetch or copy its folder again.",
    ),
    (
        EngineError,
        r"\[Errno (?:13|28|30|122)\]",
        "Free space in $TMPDIR and ~/.cache/pathway-local, and make them writable for you, and the judge's folder "
        "readable: an engine has no rights of root.",
    ),
)
"""Frequent reasons why an engine does not start: the error, how libraries name it, and what to do; the first counts."""


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
    cause = one_line(f"{failed.kind}: {failed.message}") if failed.kind else f"its process ended: {ended}"
    if failed.kind == "ModuleNotFoundError" and failed.message.endswith(tuple(map(repr, kind.libraries))):
        return EngineMissing(f"the engine {kind.name} is not installed here: {cause}", kind.install_hint)
    said = f"the judge can't be loaded: {cause}"
    for lines in ([cause], printed.splitlines()):
        for error, pattern, hint in REMEDIES:
            if line := next((line for line in lines if re.search(pattern, line, re.IGNORECASE)), ""):
                return error(said if line is cause else f"{said}: {one_line(line)}", hint)
    if failed.kind in ("ModuleNotFoundError", "ImportError"):
        return EngineMissing(said, f"A part of the engine is missing. {kind.install_hint}")
    if failed.memory:
        return OutOfMemory(said, SMALLER)
    last = [one_line(line) for line in printed.splitlines() if line.strip()][-LINES:]
    return EngineError(": ".join([said, *([" | ".join(last)] if last else [])]), look_there(log))


def look_there(log: Path | None) -> str:
    """Return a hint that names the place of everything that the engine printed while it loaded."""
    if log:
        return f"Read {log}: it has all that the engine printed while it loaded."
    return "Add --engine-log FILE to keep all that the engine prints while it loads, and read it."


def one_line(text: str) -> str:
    """Return a text without colors and control characters, in one line, cut at SHOWN."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).partition(" [type=")[0]  # pydantic quotes its input after that
    return " ".join("".join(letter if letter.isprintable() else " " for letter in plain).split())[:SHOWN]
