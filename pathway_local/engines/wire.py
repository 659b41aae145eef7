"""The messages between a host and its engine's process: MessagePack, each after its length. Nothing is pickled.

Each end decodes the messages that the other may send, and refuses all others.
"""

from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.msgpack import Decoder, Encoder

from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult
from pathway_local.sealing.seal import Seal

LENGTH = 4
"""Bytes before each message, which hold its length."""

Message = TypeVar("Message")


class Load(Struct, frozen=True, tag=True):
    """To the engine's process, once: `loader`, as "module:name", loads `config`; with `log` vLLM logs meanwhile."""

    loader: str
    config: EngineConfig
    log: bool = False


class Ready(Struct, frozen=True, tag=True):
    """From the engine's process, once: what was loaded, under which seal."""

    facts: EngineFacts
    seal: Seal


class Failed(Struct, frozen=True, tag=True):
    """From the engine's process, at its end: why it ends. `error` names an error of ours, `kind` any other.

    Once passes have arrived, it names the kind alone, since an error's text may quote a case.
    """

    error: str = ""
    kind: str = ""
    message: str = ""
    hint: str = ""
    memory: bool = False


class Alive(Struct, frozen=True, tag=True):
    """From the engine's process: a sign of life."""


class Results(Struct, frozen=True, tag=True):
    """From the engine's process: results of passes."""

    results: tuple[PassResult, ...]


ToEngine = Load | Pass
FromEngine = Ready | Failed | Alive | Results

TO_ENGINE: "Decoder[ToEngine]" = Decoder(ToEngine)
FROM_ENGINE: "Decoder[FromEngine]" = Decoder(FromEngine)
_ENCODE = Encoder().encode


def frame(message: ToEngine | FromEngine) -> bytes:
    """Return a message as bytes, after its length."""
    body = _ENCODE(message)
    return len(body).to_bytes(LENGTH) + body


class Frames(Generic[Message]):
    """Decodes messages of one kind from the pieces that a pipe delivers."""

    def __init__(self, decoder: "Decoder[Message]") -> None:
        self._decode = decoder.decode
        self._rest = b""

    def feed(self, piece: bytes) -> list[Message]:
        """Return the messages that this piece completes."""
        found, held, at = [], memoryview(self._rest + piece), 0
        while (begin := at + LENGTH) <= len(held):
            end = begin + int.from_bytes(held[at:begin])
            if end > len(held):
                break
            found.append(self._decode(held[begin:end]))
            at = end
        self._rest = bytes(held[at:])
        return found
