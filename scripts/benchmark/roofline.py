"""Computes the shortest time that the same work could take on this machine."""

from collections.abc import Mapping

from benchmark.shape import Shape
from benchmark.variants import Measured


def shortest(shape: Shape, dtype: str, measured: Measured, roof: Mapping[str, float], seats: int) -> float:
    """Return seconds: for each part of the work, the larger of its arithmetic and its way from memory.

    A prompt's tokens that were not cached take two operations for each weight of the layers, and attend to all before
    them. A decoding step of `seats` sequences reads all weights once, and uses each for every sequence: on an H100
    arithmetic is the larger part from 266 sequences on. Each written token reads its sequence's keys and values, but
    those of the rubric, which all sequences share, stay in the processor's own cache. `roof` holds the measured `flops`
    and `bytes` per second (roofline model: Williams, Waterman and Patterson 2009).
    """
    flops, moved, width = roof["flops"], roof["bytes"], 4 if dtype == "float32" else 2
    cases, weights = measured.cases, shape.linear + shape.output
    prompt, new = measured.prompt / cases, (measured.prompt - measured.cached) / cases
    attended = 4 * shape.layers * shape.heads * shape.head  # operations for each token that a token attends to
    reading = new * (2 * shape.linear + attended * (prompt - new / 2)) / flops
    together = min(seats, cases)
    step = max(2 * weights * together / flops, weights * width / moved)
    held = prompt + measured.generated / cases / 2
    unshared = (held - measured.shared / cases) * shape.token_bytes * width / 2
    attention = max(attended * held / flops, unshared / moved)
    return float(cases * reading + measured.generated * (step / together + attention))
