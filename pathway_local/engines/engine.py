"""The base class of all engines: describes an engine without its libraries, and advises if one does not load."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from pydantic import JsonValue

from pathway_local.errors import EngineError, EngineMissing, EngineUnexplained, OutOfMemory, WeightsMissing
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.placement import check_fits_here
from pathway_local.judges.weights import weight_files
from pathway_local.passes import EngineConfig
from pathway_local.system.machine import CPU_BUILD, Machine

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
        r"No such file or directory: '[^']*/judges/": (
            "The judge's files were moved or deleted after the check: put them back, and run the same command again."
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
        r"is less than requested memory for kv": (
            "Free memory, or ask for less in the judge's entry, such as `engine: {kv_cache_memory_bytes: 4000000000}`."
        ),
        r"No available memory for the cache blocks|Cannot auto-fit max_model_len": (
            "The weights leave no memory for a case. Give the judge a larger share in its entry: "
            "`engine: {gpu_memory_utilization: 0.95}`; or use one in fewer bits."
        ),
    },
    EngineMissing: {
        r"driver on your system is too old|driver version is insufficient": (
            f"The GPU's driver is too old: update the NVIDIA driver (`nvidia-smi` shows its version). {_NO_GPU}"
        ),
        r"Model architectures .* are not supported|does not recognize this architecture": (
            "Update vLLM if the model is newer, or use another judge: code that comes with a model is never run."
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


WINDOW = 256
"""Requests to keep in flight if the engine takes smaller batches."""

START_LIMIT, SLOWEST_DISK = 1800.0, 50e6
"""Seconds that loading may take beside the reading of the weights, since kernels are compiled for a GPU; and the bytes
per second at which a network's disk may give the weights."""

HANG_LIMIT = 300.0
"""Seconds without a sign of life after which an engine with passes in flight counts as dead."""

CPU_HANG_LIMIT = 1800.0
"""The same on the processor: one step may read a whole context, which takes a large judge minutes."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """How an engine loads a judge on this machine.

    `settings`: those that the judge's entry leaves open and that are no part of the rater; `notes` tell the user about
    them. `gpus` has an entry for each engine to load: the GPUs that it may see, as CUDA_VISIBLE_DEVICES names them,
    empty for all.
    """

    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ("",)


class EngineKind:
    """One engine; each has a subclass that overrides the methods in which it differs, and one object of it.

    `loader` names, as "module:name", the class or function that the engine's own process calls with the configuration
    and a function that sends a sign of life; it returns a `child.Stepper`. `libraries` are modules without which the
    engine cannot start, its own first; `install_hint` says how to get them. `packages` are the distributions whose
    versions a run's manifest records; the engine itself is any one of its `builds`, and versions that we tested begin
    as in `tested`. `remedies` know the words with which the engine fails to load.
    """

    name: ClassVar[str]
    loader: ClassVar[str]
    libraries: ClassVar[tuple[str, ...]]
    packages: ClassVar[tuple[str, ...]] = ()
    builds: ClassVar[tuple[str, ...]] = ()
    tested: ClassVar[tuple[str, ...]] = ()
    install_hint: ClassVar[str] = ""
    remedies: ClassVar[Remedies] = {}

    def is_installed(self) -> bool:
        """Whether `--engine auto` may choose this engine."""
        return all(map(find_spec, self.libraries))

    def options(self, judge: JudgeSpec, machine: Machine) -> dict[str, JsonValue]:
        """Return the judge's settings as this machine runs them; they belong to the rater. Raises PathwayError."""
        return dict(judge.engine)

    def load_plan(
        self, judge: JudgeSpec, machine: Machine, options: Mapping[str, JsonValue], dtype: str, steps: float | None
    ) -> LoadPlan:
        """Return how to load the judge for a job of about `steps` decoding steps (None: unknown, many).

        Raises EngineMissing, OutOfMemory.
        """
        check_fits_here(judge, machine, options, dtype)
        return LoadPlan()

    def window(self, config: EngineConfig) -> int:
        """Requests to keep in flight: enough that the engine never waits for the next one."""
        return WINDOW

    def has_workers(self, config: EngineConfig) -> bool:
        """Whether the engine starts processes of its own, which connect to each other."""
        return False

    def start_limit(self, config: EngineConfig) -> float:
        """Return the seconds that loading may take."""
        shards = weight_files(Path(config.model))
        return START_LIMIT + sum(path.stat().st_size for path in shards if path.is_file()) / SLOWEST_DISK

    def hang_limit(self, device: str) -> float:
        """Seconds of silence after which the engine counts as dead."""
        return CPU_HANG_LIMIT if device == "cpu" else HANG_LIMIT
