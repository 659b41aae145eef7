"""A case: one thing to judge."""

import hashlib
from collections.abc import Mapping

from msgspec import Struct


class Case(Struct, frozen=True):
    """One thing to judge: its id, its inputs by name and its metadata.

    `row` counts data rows from 1 in the order of the cases file. `numbered` says that the id is only
    that row number: such ids move when a sheet is sorted, so they join nothing unless the texts match.
    """

    id: str
    inputs: Mapping[str, str]
    metadata: Mapping[str, str] = {}
    row: int = 0
    numbered: bool = False


class BadRow(Struct, frozen=True):
    """A row of a cases file that is no case: `where` names file and line, `reason` holds no case text.

    Where the row's own id can't be used, `id` is one made up from file and line.
    """

    id: str
    row: int
    where: str
    reason: str
    numbered: bool = False


def fingerprint(key: bytes, inputs: Mapping[str, str]) -> str:
    """A keyed hash of input texts, 32 hex digits: tells whether a case is the same without keeping its text.

    Keyed BLAKE2b (RFC 7693) over the inputs sorted by name, each name and text with its length in front.
    """
    parts: list[bytes] = []
    for name in sorted(inputs):
        for part in (name.encode(), inputs[name].encode("utf-8", "surrogatepass")):
            parts += (len(part).to_bytes(8, "little"), part)
    return hashlib.blake2b(b"".join(parts), key=key, digest_size=16).hexdigest()
