"""What passes between a host and its engine's process: one JSON object a line. Nothing is pickled.

Ids go as Base64 of 32-bit numbers: as JSON numbers they took four times as long to write and to read.
"""

import json
from array import array
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from pathway_local.engines.passes import EngineConfig, Pass, PassResult, Sampling

Message = dict[str, Any]

BLOCK = 64
"""The ids of a pass are compared with those of the pass before in blocks of so many."""

TEMPORARY = "PATHWAY_LOCAL_TEMPORARY"
"""Environment variable: the folder for temporary files of an engine's process, which goes when that ends."""


def line(message: Mapping[str, object]) -> bytes:
    """A message as bytes, its newline included. NaN and infinities travel as Python writes them."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class MessageLines:
    """Puts messages together again from whatever pieces a pipe hands over."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[Message]:
        """The messages that this piece completes."""
        *whole, self._rest = (self._rest + piece).split(b"\n")
        return [json.loads(each) for each in whole]


@lru_cache(64)
def _settings(sampling: Sampling) -> Message:
    return asdict(sampling)


class PassWriter:
    """Writes passes as JSON values; the ids that a pass begins with like the one before, a rubric's text, go once."""

    def __init__(self) -> None:
        self._last: tuple[int, ...] = ()

    def message(self, item: Pass) -> Message:
        """A pass for the reader of all that was written before."""
        shared, self._last = _shared(self._last, item.ids), item.ids
        return {
            "id": item.id,
            "shared": shared,
            "ids": _packed(item.ids[shared:]),
            "grammar": item.grammar,
            "max_tokens": item.max_tokens,
            "sampling": _settings(item.sampling),
            "stop_ids": item.stop_ids,
            "logprob_ids": item.logprob_ids,
        }


class PassReader:
    """Reads what one PassWriter wrote, in that order."""

    def __init__(self) -> None:
        self._last: tuple[int, ...] = ()

    def read(self, message: Message) -> Pass:
        """The next pass."""
        self._last = self._last[: message["shared"]] + _unpacked(message["ids"])
        return Pass(
            id=message["id"],
            ids=self._last,
            grammar=message["grammar"],
            max_tokens=message["max_tokens"],
            sampling=Sampling(**message["sampling"]),
            stop_ids=tuple(message["stop_ids"]),
            logprob_ids=tuple(message["logprob_ids"]),
        )


def _shared(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    at = 0
    while at < len(second) and first[at : at + BLOCK] == second[at : at + BLOCK]:
        at += BLOCK
    return min(at, len(second))


def result_message(result: PassResult) -> Message:
    """A result as JSON values; JSON has no whole-number keys, so log-probabilities go as pairs."""
    return {
        "id": result.id,
        "ids": _packed(result.ids),
        "finish": result.finish,
        "logprobs": [list(each.items()) for each in result.logprobs],
        "cached_tokens": result.cached_tokens,
        "error": result.error,
    }


def read_result(message: Message) -> PassResult:
    """The result that `result_message` wrote."""
    logprobs = tuple(map(dict, message["logprobs"]))
    return PassResult(**message | {"ids": _unpacked(message["ids"]), "logprobs": logprobs})


def _packed(ids: Sequence[int]) -> str:
    return b64encode(array("I", ids).tobytes()).decode()


def _unpacked(text: str) -> tuple[int, ...]:
    return tuple(array("I", b64decode(text)))


def config_message(config: EngineConfig) -> Message:
    """A configuration as JSON values."""
    return {
        "model": config.model,
        "dtype": config.dtype,
        "max_model_len": config.max_model_len,
        "settings": dict(config.settings),
    }
