"""The variants that are measured, the engine that each runs in, and what one measurement gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pathway_local.errors import UnknownName, UsageError

BASE, FREE = "constrained", "free"
JUDGES = ("judge", "judge without probabilities")
ENGINES = {
    BASE: "guidance",
    FREE: "guidance",
    "prometheus-eval": "guidance",
    **dict.fromkeys(JUDGES, "judge"),
    "naive": "auto",
}
"""By variant, its engine: `judge` is the product's, the others are vLLM by itself with that backend for grammars."""

USUAL = (BASE, "judge", FREE, "judge without probabilities", "naive")
"""What is measured where nothing is named; prometheus-eval is rarely installed."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One variant once: wall time and processor time of all its processes in seconds, cases, and tokens.

    `generated` leaves out the token that ends a reply, and those that are asked for probabilities alone.
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
    """How an engine was loaded: seconds until it was ready, GiB in use on all GPUs then, and what it settled on."""

    seconds: float
    gpu_gib: float | None
    settled: Mapping[str, Any] = field(default_factory=dict)


def groups(variants: Sequence[str], *, alone: bool) -> list[list[str]]:
    """The variants that are measured in turn, round by round, before the next group begins.

    `alone`: one group for each engine, so that each has the whole GPU. Else all are one group: what a processor's pace
    does between two groups would else be taken for a difference between variants. Raises UsageError.
    """
    for name in variants:
        if name not in ENGINES:
            raise UnknownName("variant", name, ENGINES)
    if FREE in variants and BASE not in variants[: variants.index(FREE)]:
        raise UsageError(f"{FREE} writes as many tokens as {BASE} wrote", f"Name {BASE} before it.")
    if not alone:
        return [list(variants)]
    by_engine: dict[str, list[str]] = {}
    for name in variants:
        by_engine.setdefault(ENGINES[name], []).append(name)
    return list(by_engine.values())
