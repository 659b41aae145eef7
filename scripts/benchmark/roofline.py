"""The shortest time that the same work could take: by the machine's rate of arithmetic and of moving bytes."""

from collections.abc import Mapping

from benchmark.shape import Shape
from benchmark.variants import Measured


def shortest(shape: Shape, dtype: str, measured: Measured, roof: Mapping[str, float], seats: int) -> float:
    """Seconds, as the sum of two parts (Williams, Waterman and Patterson 2009, one bound for each part).

    Reading prompts is bound by arithmetic: two operations for each weight and token that the cache did not save.
    Writing is bound by bytes: the weights once for each step of `seats` sequences, as many as the engine takes into a
    batch, and each sequence's keys and values for each token that it writes. `roof` has the rates that were measured:
    `flops` and `bytes` a second.
    """
    width = 4 if dtype == "float32" else 2
    arithmetic = 2 * shape.parameters * (measured.prompt - measured.cached) / roof["flops"]
    steps = measured.generated / min(seats, measured.cases)
    held = (measured.prompt + measured.generated / 2) / measured.cases
    moved = steps * shape.parameters * width + measured.generated * held * shape.token_bytes * width / 2
    return float(arithmetic + moved / roof["bytes"])
