"""Computes the shortest time that the same work could take on this machine."""

from collections.abc import Mapping

from benchmark.shape import Shape
from benchmark.variants import Measured


def shortest(shape: Shape, dtype: str, measured: Measured, roof: Mapping[str, float], seats: int) -> float:
    """Return seconds, as the sum of two parts (roofline model: Williams, Waterman and Patterson 2009).

    Reading prompts is bound by arithmetic: two operations per weight and token that was not cached. Writing is bound
    by memory: each step of `seats` sequences reads all weights, and each token reads its sequence's keys and values.
    `roof` holds the measured `flops` and `bytes` per second.
    """
    width = 4 if dtype == "float32" else 2
    arithmetic = 2 * shape.parameters * (measured.prompt - measured.cached) / roof["flops"]
    steps = measured.generated / min(seats, measured.cases)
    held = (measured.prompt + measured.generated / 2) / measured.cases
    moved = steps * shape.parameters * width + measured.generated * held * shape.token_bytes * width / 2
    return float(arithmetic + moved / roof["bytes"])
