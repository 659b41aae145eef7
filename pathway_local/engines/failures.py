"""Why an engine did not start, from what its process said: the error that a user can act on."""

from pathway_local import errors
from pathway_local.engines.wire import Failed
from pathway_local.errors import EngineError, EngineMissing, EngineUnexplained, OutOfMemory, WeightsMissing
from pathway_local.installed import CPU_BUILD, EITHER_BUILD, TORCH_ALONE

_MEMORY = (
    "out of memory",
    "outofmemoryerror",
    "memoryerror",
    "cannot allocate memory",
    "can't allocate memory",
    "no available memory for the cache blocks",
    "less than desired gpu memory utilization",
    "larger than the available kv cache memory",
    "less than requested memory for kv",
)
_HARDWARE = (
    "failed to infer device type",
    "no cuda gpus are available",
    "found no nvidia driver",
    "nvidia driver on your system is too old",
    "libcuda.so",
    "no kernel image is available",
)
_WEIGHTS = ("cannot find any model weights", "safetensorerror", "headertoo", "incomplete metadata")

_SMALLER = "Take a smaller judge or one in fewer bits, lower its context, or free memory that others hold."
_NO_GPU = f"Take the CPU build of vLLM: {CPU_BUILD}. Or give --engine transformers."
_INSTALL = {
    "vllm": f"Install it: {EITHER_BUILD}. Or give --engine transformers.",
    "transformers": f"It needs torch: {TORCH_ALONE}.",
}


def start_error(kind: str, failed: Failed, printed: str) -> EngineError:
    """The error for an engine that could not be loaded.

    `failed` is what its process sent before it ended, empty if nothing; `printed` are its last lines.
    """
    if failed.error:
        made: type[EngineError] = getattr(errors, failed.error)
        return made(failed.message, failed.hint)
    said = f"{failed.kind}: {failed.message}"
    everything = f"{said}\n{printed}".lower()
    if failed.kind in ("ModuleNotFoundError", "ImportError"):
        return EngineMissing(f"the engine {kind} is not installed here: {failed.message[:300]}", _INSTALL.get(kind, ""))
    if failed.memory or _any(_MEMORY, everything):
        return OutOfMemory("the judge does not fit into memory", _SMALLER)
    if _any(_HARDWARE, everything):
        return EngineMissing("this build of the engine needs a GPU, and finds none that it can use", _NO_GPU)
    if _any(_WEIGHTS, everything):
        return WeightsMissing("the judge's weights can't be read: a file is damaged", "Fetch or copy them again.")
    last = said if failed.kind else next((text for text in reversed(printed.splitlines()) if text.strip()), "")
    return EngineUnexplained(f"the judge can't be loaded: {last.strip()[:300] or 'its process ended without a word'}")


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return any(pattern in text for pattern in patterns)
