"""Measures the variants round by round, on a GPU one engine at a time."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.stage import Stage
from benchmark.variants import Load, Measured, groups
from pathway_local.errors import PathwayError
from pathway_local.rubrics.output_format import Detail

WARM_UP = 998
"""The seed of the cases that warm engines up."""

DETAIL_SEEDS = 10_000
"""Added to the seeds of each further detail: its prompts begin alike, and would be found in the cache."""

Runs = dict[str, list[Measured]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The settings of a comparison. `alone`: load one engine at a time. `minutes`: for all rounds, without loading."""

    shape: str
    cases: int
    rounds: int
    rubrics: Sequence[str]
    details: Sequence[Detail]
    variants: Sequence[str]
    settings: Mapping[str, Any]
    core: str
    alone: bool
    reply_tokens: int | None = None
    minutes: float | None = None

    @property
    def warm_up(self) -> int:
        """Cases that warm an engine up; a GPU needs enough for the batch sizes that it compiles kernels for."""
        return min(self.cases, 128) if self.alone else 8


@dataclass(slots=True)
class Found:
    """The results so far: runs by detail and variant, how each engine was loaded, and why groups failed."""

    dtype: str = ""
    runs: dict[str, Runs] = field(default_factory=dict)
    loads: dict[str, Load] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def compare(wanted: Wanted, stage: Stage, found: Found, note: Callable[[str], None], save: Callable[[], None]) -> None:
    """Fill `found`. Give `note` a line before each load and after each measurement; call `save` after every round.

    Note a group that fails and go on with the next: time on a GPU is short.
    """
    found.dtype, found.loads = stage.dtype, stage.loads
    found.runs |= {detail: {name: [] for name in wanted.variants} for detail in wanted.details}
    parts = groups(wanted.variants, alone=wanted.alone)
    share = 60 * wanted.minutes / len(parts) if wanted.minutes else float("inf")
    for part in parts:
        try:
            _measure(wanted, stage, found, part, share, note, save)
        except PathwayError as error:
            found.failures[", ".join(part)] = str(error)
            note(f"{', '.join(part)}: {error}")
        finally:
            stage.free()
            save()


def _measure(
    wanted: Wanted,
    stage: Stage,
    found: Found,
    part: Sequence[str],
    seconds: float,
    note: Callable[[str], None],
    save: Callable[[], None],
) -> None:
    """Load and warm up a group's engines, then measure its variants in turn until `seconds` are over."""
    began = time.monotonic()
    for name in part:
        note(f"loading and warming up: {name}")
        for detail in wanted.details:
            stage.measure(name, detail, wanted.warm_up, WARM_UP)
    ready = time.monotonic()
    note(f"ready after {ready - began:.0f} s: {', '.join(part)}")
    for number in range(wanted.rounds):
        if number and time.monotonic() - ready > seconds:
            note(f"{', '.join(part)}: stopped after {number} of {wanted.rounds} rounds (--minutes)")
            break
        for at, detail in enumerate(wanted.details):
            for name in part:
                measured = stage.measure(name, detail, wanted.cases, number + DETAIL_SEEDS * at)
                found.runs[detail][name].append(measured)
                rate = measured.cases / measured.seconds
                note(f"round {number + 1}, {detail}: {name} {measured.seconds:.1f} s, {rate:.1f} cases/s")
        save()
