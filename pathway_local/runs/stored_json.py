"""The JSON that a run holds, each kind with its type: a text of another type is damage, and never a surprise later."""

import json
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from msgspec import Meta, MsgspecError, Struct
from msgspec.json import Decoder

from pathway_local.runs.file_errors import damaged
from pathway_local.verdict import Value, storable

T = TypeVar("T")

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_LARGEST = Meta(ge=-(2**53), le=2**53)  # a larger number is no score, and overflows where figures are computed


class Stored(Generic[T]):
    """Reads the stored JSON of one type."""

    def __init__(self, kind: Any) -> None:
        self._decode = Decoder(kind).decode

    def read(self, path: Path, text: Any) -> T:
        """Return the value of a text in the run at `path`. Raises RunDamaged."""
        try:
            value: T = self._decode(text)
        except (MsgspecError, ValueError, TypeError, RecursionError):
            raise damaged(path, "something stored in it can't be read") from None
        return value


class StoredScore(Struct, frozen=True, forbid_unknown_fields=True):
    """A score as a run stores it."""

    value: Annotated[int, _LARGEST] | Annotated[float, _LARGEST]
    probabilities: dict[str, Annotated[float, Meta(ge=0, le=1)]] = {}
    mass: Annotated[float, _LARGEST] | None = None


class StoredEntry(Struct, frozen=True):
    """An entry of the audit trail as a run stores it."""

    at: str
    event: str
    who: dict[str, Any]
    facts: dict[str, Any]


TEXTS_BY_NAME = Stored[dict[str, str]](dict[str, str])
"""A case's metadata."""

SCORES = Stored[dict[str, StoredScore]](dict[str, StoredScore])
VALUES_BY_NAME = Stored[dict[str, Value]](dict[str, Any])
"""A verdict's fields, a rater's spec, a job's facts."""

TEXTS = Stored[list[str]](list[str])
"""A verdict's marks, a command."""

COUNTS = Stored[dict[str, int]](dict[str, int])
ENTRY = Stored[StoredEntry](StoredEntry)
SETTING = Stored[Value](Any)


def to_json(value: object) -> str:
    """Return compact JSON that can be stored. Raises ValueError for a number that is not finite."""
    return storable(_ENCODE(value))
