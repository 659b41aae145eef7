"""The base class of all engines: describes an engine without its libraries, and advises if one does not load."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from pydantic import JsonValue

from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.placement import check_fits_here
from pathway_local.judges.weights import weight_files
from pathway_local.passes import EngineConfig
from pathway_local.system.machine import Machine

WINDOW = 256
"""Requests to keep in flight if the engine takes smaller batches."""

START_LIMIT, SLOWEST_DISK = 1800.0, 50e6
"""Seconds that loading may take beside the reading of the weights, since kernels are compiled for a GPU; and the bytes
per second at which a network's disk may give the weights."""

HANG_LIMIT = 300.0
"""Seconds without a sign of life after which an engine with passes in flight counts as dead."""

CPU_HANG_LIMIT = 1800.0
"""The same on the processor: one step may read a whole context, which takes a large judge minutes."""


Fitted = tuple[dict[str, JsonValue], tuple[str, ...]]
"""Settings that the judge's entry leaves open and that are no part of the rater, and notes that tell the user."""


class EngineKind:
    """One engine; each has a subclass that overrides the methods in which it differs, and one object of it.

    `loader` names, as "module:name", the class or function that the engine's own process calls with the configuration
    and a function that sends a sign of life; it returns a `child.Stepper`. `libraries` are modules without which the
    engine cannot start, its own first; `install_hint` says how to get them. `packages` are the distributions whose
    versions a run's manifest records.
    """

    name: ClassVar[str]
    loader: ClassVar[str]
    libraries: ClassVar[tuple[str, ...]]
    packages: ClassVar[tuple[str, ...]] = ()
    install_hint: ClassVar[str] = ""

    def is_installed(self) -> bool:
        """Whether `--engine auto` may choose this engine."""
        return all(map(find_spec, self.libraries))

    def options(self, judge: JudgeSpec) -> dict[str, JsonValue]:
        """Return the judge's settings, which belong to the rater. Raises PathwayError."""
        return dict(judge.engine)

    def fitted(
        self, judge: JudgeSpec, machine: Machine, options: Mapping[str, JsonValue], dtype: str, steps: float
    ) -> Fitted:
        """Return what one engine needs to load the judge on this machine, or this part of one.

        It is for a job of about `steps` decoding steps. Raises EngineMissing, OutOfMemory.
        """
        check_fits_here(judge, machine, options, dtype)
        return {}, ()

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
