"""The variants, the engine of each, and the values that a measurement returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pathway_local.errors import UnknownName, UsageError

BASE, FREE = "constrained", "free"
JUDGES = ("judge", "judge without probabilities")
ENGINES = {
    BASE: "guidance",
    FREE: "guidance",
    **dict.fromkeys(JUDGES, "judge"),
    "naive": "auto",
}
"""The engine of each variant: `judge` is the product's, the others are vLLM with that backend for grammars."""

USUAL = (BASE, "judge", FREE, "judge without probabilities", "naive")
"""The default."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement: wall seconds, processor seconds of all processes, cases and tokens.

    `generated` leaves out the tokens that end replies and those of passes for probabilities.
    """

    seconds: float
    cpu: float
    cases: int
    prompt: int
    cached: int
    generated: int
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """How an engine was loaded: seconds until it was ready, GiB in use on all GPUs, and the settings it settled on."""

    seconds: float
    gpu_gib: float | None
    settled: Mapping[str, Any] = field(default_factory=dict)


def groups(variants: Sequence[str], *, alone: bool) -> list[list[str]]:
    """Return groups of variants; those of a group take turns, round by round. Raises UsageError.

    `alone` makes a group per engine, so that each has the whole GPU. Otherwise all are one group: a processor's pace
    drifts, and between groups that would look like a difference between variants.
    """
    for name in variants:
        if name not in ENGINES:
            raise UnknownName("variant", name, ENGINES)
    if FREE in variants and BASE not in variants[: variants.index(FREE)]:
        raise UsageError(f"{FREE} needs the lengths of {BASE}'s replies", f"Name {BASE} before it.")
    if not alone:
        return [list(variants)]
    by_engine: dict[str, list[str]] = {}
    for name in variants:
        by_engine.setdefault(ENGINES[name], []).append(name)
    return list(by_engine.values())
