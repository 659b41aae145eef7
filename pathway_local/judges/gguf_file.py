"""Reads a GGUF file (version 3): what it says about a model, and its tensors as numbers.

The format is described in docs/gguf.md of ggml, the kinds of blocks in ggml-common.h. All numbers are little-endian.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pathway_local.errors import EngineError

_TEXT, _LIST = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_DEEPEST = 4
_USUAL_ALIGNMENT = 32

_F32 = np.dtype("<f4")
_Q8_0 = np.dtype([("scale", "<f2"), ("numbers", "i1", 32)])
_Q4_1 = np.dtype([("scale", "<f2"), ("least", "<f2"), ("pairs", "u1", 16)])


def _q8_0(blocks: NDArray[Any]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = blocks["scale"].astype(np.float32)[:, None] * blocks["numbers"]
    return found


def _q4_1(blocks: NDArray[Any]) -> NDArray[np.float32]:
    steps = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1)
    scale, least = (blocks[name].astype(np.float32)[:, None] for name in ("scale", "least"))
    found: NDArray[np.float32] = steps * scale + least
    return found


_KINDS: Mapping[int, tuple[int, np.dtype[Any], Callable[[NDArray[Any]], NDArray[np.float32]]]] = {
    0: (1, _F32, lambda blocks: blocks),
    3: (32, _Q4_1, _q4_1),
    8: (32, _Q8_0, _q8_0),
}
"""The kinds of tensors that we read: numbers in a block, the block, and its numbers in float32."""


@dataclass(frozen=True, slots=True)
class _Place:
    shape: tuple[int, ...]
    kind: int
    offset: int


class GgufFile:
    """The `facts` of a GGUF file by key, and its tensors by name. Raises EngineError for a file that is none."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        try:
            if self._take(4) != b"GGUF" or self._number("I") != 3:
                raise EngineError("it is no GGUF file of version 3")
            tensors, facts = self._number("Q"), self._number("Q")
            self.facts = {self._text(): self._value(self._number("I")) for _ in range(facts)}
            self._places = {self._text(): self._place() for _ in range(tensors)}
            step = self.facts.get("general.alignment", _USUAL_ALIGNMENT)
            self._begin = -(-self._at // step) * step
        except (struct.error, KeyError, ValueError, TypeError, ZeroDivisionError):
            raise EngineError("it is damaged") from None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each tensor, outermost dimension first."""
        return {name: place.shape for name, place in self._places.items()}

    def tensor(self, name: str) -> NDArray[np.float32]:
        """Return a tensor in float32. Raises EngineError if its kind is none that we read, or if it is cut off."""
        place = self._places[name]
        if place.kind not in _KINDS:
            raise EngineError(f"its tensor {name[:60]!r} is of kind {place.kind}, and only F32, Q4_1 and Q8_0 are read")
        size, block, numbers = _KINDS[place.kind]
        try:
            blocks = np.frombuffer(self._data, block, prod(place.shape) // size, self._begin + place.offset)
            return numbers(blocks).reshape(place.shape)
        except ValueError:
            raise EngineError(f"its tensor {name[:60]!r} is damaged") from None

    def _take(self, length: int) -> bytes:
        found = self._data[self._at : self._at + length]
        if len(found) < length:
            raise ValueError("the file ends too early")
        self._at += length
        return found

    def _number(self, code: str) -> Any:
        [found] = struct.unpack(f"<{code}", self._take(struct.calcsize(f"<{code}")))
        return found

    def _text(self) -> str:
        return self._take(self._number("Q")).decode()

    def _value(self, kind: int, depth: int = 0) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind == _LIST and depth < _DEEPEST:
            inner, length = self._number("I"), self._number("Q")
            return [self._value(inner, depth + 1) for _ in range(length)]
        return self._number(_NUMBERS[kind])

    def _place(self) -> _Place:
        sizes = [self._number("Q") for _ in range(self._number("I"))]
        return _Place(tuple(reversed(sizes)), self._number("I"), self._number("Q"))
