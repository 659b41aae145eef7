"""Runs the variants, one engine at a time on a GPU, round by round, and keeps what was measured."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.stage import Stage
from benchmark.variants import BASE, Load, Measured, groups
from pathway_local.errors import PathwayError
from pathway_local.rubrics.output_format import Detail

WARM_UP = 998
"""The seed of cases that are not measured."""

DETAIL_SEEDS = 10_000
"""What is added to seeds from one detail to the next, whose prompts begin alike."""

Runs = dict[str, list[Measured]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is measured. `alone`: one engine at a time. `minutes`: no round begins later."""

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
        """Cases that warm an engine up: on a GPU enough for the sizes of batches that kernels are compiled for."""
        return min(self.cases, 128) if self.alone else 8


@dataclass(slots=True)
class Found:
    """What was measured so far: runs by detail and variant, round by round; engines; and groups that failed."""

    dtype: str = ""
    runs: dict[str, Runs] = field(default_factory=dict)
    loads: dict[str, Load] = field(default_factory=dict)
    roof: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def compare(wanted: Wanted, stage: Stage, found: Found, note: Callable[[str], None], save: Callable[[], None]) -> None:
    """Fill `found`; `note` gets a line about each measurement, `save` is called after every round.

    A group that fails is noted, and the next one begins: time on a GPU is short.
    """
    found.dtype, found.loads = stage.dtype, stage.loads
    found.runs |= {detail: {name: [] for name in wanted.variants} for detail in wanted.details}
    parts, began = groups(wanted.variants, alone=wanted.alone), time.monotonic()
    whole = 60 * wanted.minutes if wanted.minutes else float("inf")
    for at, part in enumerate(parts, 1):
        try:
            if time.monotonic() - began < whole:
                _measure(wanted, stage, found, part, began + whole * at / len(parts), note, save)
            else:
                note(f"no time is left for {', '.join(part)}")
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
    until: float,
    note: Callable[[str], None],
    save: Callable[[], None],
) -> None:
    """One group: warm its engines up, then measure its variants in turn. Its first round is measured in any case."""
    for detail in wanted.details:
        for name in part:
            stage.measure(name, detail, wanted.warm_up, WARM_UP)
    for number in range(wanted.rounds):
        if number and time.monotonic() > until:
            note(f"{', '.join(part)}: {number} of {wanted.rounds} rounds, for lack of time")
            break
        for at, detail in enumerate(wanted.details):
            for name in part:
                measured = stage.measure(name, detail, wanted.cases, number + DETAIL_SEEDS * at)
                found.runs[detail][name].append(measured)
                rate = measured.cases / measured.seconds
                note(f"round {number + 1}, {detail}: {name} {measured.seconds:.1f} s, {rate:.1f} cases/s")
        save()
    if BASE in part:
        found.roof = stage.roof()
