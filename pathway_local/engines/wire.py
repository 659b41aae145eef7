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


_ENCODE = json.JSONEncoder(separators=(",", ":")).encode


def line(message: Mapping[str, object]) -> bytes:
    """A message as bytes, its newline included. NaN and infinities travel as Python writes them."""
    return _ENCODE(message).encode() + b"\n"


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
    """Writes passes as JSON values; what they have in common, the rubric's text and its grammar, goes once."""

    def __init__(self) -> None:
        self._last: tuple[int, ...] = ()
        self._least = 0
        self._grammar = ""

    def message(self, item: Pass) -> Message:
        """A pass for the reader of all that was written before.

        Where it is constrained and names no grammar, it has the last one that was named.
        """
        shared = _shared(self._last, item.ids, self._least)
        self._last = item.ids
        if not self._least <= shared <= 2 * self._least:
            self._least = shared  # another rubric's passes from here on
        message: Message = {
            "id": item.id,
            "shared": shared,
            "ids": _packed(item.ids[shared:]),
            "constrained": item.grammar is not None,
            "max_tokens": item.max_tokens,
            "sampling": _settings(item.sampling),
            "stop_ids": item.stop_ids,
            "logprob_ids": item.logprob_ids,
        }
        if item.grammar is not None and item.grammar != self._grammar:
            self._grammar = message["grammar"] = item.grammar
        return message


class PassReader:
    """Reads what one PassWriter wrote, in that order."""

    def __init__(self) -> None:
        self._last: tuple[int, ...] = ()
        self._grammar = ""

    def read(self, message: Message) -> Pass:
        """The next pass."""
        self._last = self._last[: message["shared"]] + _unpacked(message["ids"])
        self._grammar = message.get("grammar", self._grammar)
        return Pass(
            id=message["id"],
            ids=self._last,
            grammar=self._grammar if message["constrained"] else None,
            max_tokens=message["max_tokens"],
            sampling=Sampling(**message["sampling"]),
            stop_ids=tuple(message["stop_ids"]),
            logprob_ids=tuple(message["logprob_ids"]),
        )


def _shared(first: tuple[int, ...], second: tuple[int, ...], least: int) -> int:
    """How many ids both begin with, to a block; `least` at once if they do, as passes of one rubric do."""
    at = least if least <= len(second) and first[:least] == second[:least] else 0
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
    ids = _unpacked(message["ids"])
    return PassResult(message["id"], ids, message["finish"], logprobs, message["cached_tokens"], message["error"])


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
