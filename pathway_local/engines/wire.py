"""What passes between a host and its engine's process: MessagePack, each message behind its length. Nothing is pickled.

Each end decodes what the other may say and nothing else.
"""

from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.msgpack import Decoder, Encoder
from msgspec.structs import replace

from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult

LENGTH = 4
"""Bytes in front of a message that hold its length."""

Message = TypeVar("Message")


class Load(Struct, frozen=True, tag=True):
    """To the engine's process, once: `loader`, as "module:function", loads `config`; with `log` vLLM logs meanwhile."""

    loader: str
    config: EngineConfig
    log: bool = False


class Work(Struct, frozen=True, tag=True):
    """To the engine's process: a pass without its shared ids, and these where they are not those of the pass before."""

    item: Pass
    shared: tuple[int, ...] | None = None


class Close(Struct, frozen=True, tag=True):
    """To the engine's process: free the memory and end."""


class Ready(Struct, frozen=True, tag=True):
    """From the engine's process, once: what was loaded."""

    facts: EngineFacts


class Failed(Struct, frozen=True, tag=True):
    """From the engine's process: why nothing was loaded. `error` names an error of ours, `kind` any other."""

    error: str = ""
    kind: str = ""
    message: str = ""
    hint: str = ""
    memory: bool = False


class Alive(Struct, frozen=True, tag=True):
    """From the engine's process: work goes on."""


class Results(Struct, frozen=True, tag=True):
    """From the engine's process: what was finished."""

    results: tuple[PassResult, ...]


class Died(Struct, frozen=True, tag=True):
    """From the engine's process, at its end: what kind of error the engine met, and whether memory ran out."""

    kind: str
    memory: bool


ToEngine = Load | Work | Close
FromEngine = Ready | Failed | Alive | Results | Died

_ENCODE = Encoder().encode


def frame(message: ToEngine | FromEngine) -> bytes:
    """A message as bytes, behind its length."""
    body = _ENCODE(message)
    return len(body).to_bytes(LENGTH) + body


class Frames(Generic[Message]):
    """Puts messages of a kind together again from whatever pieces a pipe hands over."""

    def __init__(self, decoder: "Decoder[Message]") -> None:
        self._decode = decoder.decode
        self._rest = b""

    @classmethod
    def to_engine(cls) -> "Frames[ToEngine]":
        """What an engine's process is told."""
        return Frames(Decoder(ToEngine))

    @classmethod
    def from_engine(cls) -> "Frames[FromEngine]":
        """What an engine's process says."""
        return Frames(Decoder(FromEngine))

    def feed(self, piece: bytes) -> list[Message]:
        """The messages that this piece completes."""
        found, held, at = [], memoryview(self._rest + piece), 0
        while (begin := at + LENGTH) <= len(held):
            end = begin + int.from_bytes(held[at:begin])
            if end > len(held):
                break
            found.append(self._decode(held[begin:end]))
            at = end
        self._rest = bytes(held[at:])
        return found


class PassWriter:
    """Writes passes; the ids that those of a rubric share go where they are not those of the pass before."""

    def __init__(self) -> None:
        self._shared: tuple[int, ...] = ()

    def message(self, item: Pass) -> Work:
        """A pass for the reader of all that was written before."""
        same = item.shared is self._shared or item.shared == self._shared
        self._shared = item.shared
        return Work(replace(item, shared=()), None if same else item.shared)


class PassReader:
    """Reads what one PassWriter wrote, in that order."""

    def __init__(self) -> None:
        self._shared: tuple[int, ...] = ()

    def read(self, work: Work) -> Pass:
        """The next pass."""
        if work.shared is not None:
            self._shared = work.shared
        return replace(work.item, shared=self._shared)
