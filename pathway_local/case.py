"""A case: one thing to judge; and a reference to it without its texts."""

import hashlib
from collections.abc import Mapping

from msgspec import Struct

from pathway_local.verdict import Failure, storable

BAD_ROW = "bad-row"
"""The kind of failure of a row that can't be read as a case."""

DUPLICATE = "duplicate-id"
"""The kind of failure of a row whose id an earlier row has."""

BAD_ROWS = (BAD_ROW, DUPLICATE)
"""The kinds of failures of rows of a cases file: they are about the row, whoever judges."""


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

    def ref(self, hash: str) -> "CaseRef":
        """Return the case without its texts; `hash` is their fingerprint."""
        return CaseRef(self.id, self.row, self.numbered, self.metadata, hash)


class CaseRef(Struct, frozen=True):
    """A case without its texts: once its prompt is rendered, the loop and the run hold nothing else of it.

    `hash` is the `fingerprint` of the texts that a rubric reads; empty for a row that could not be read.
    """

    id: str
    row: int = 0
    numbered: bool = False
    metadata: Mapping[str, str] = {}
    hash: str = ""


class BadRow(Struct, frozen=True):
    """A row of a cases file that can't be read as a case; `reason` holds no case text.

    `source` is the file's name, `place` the row's place in it for a person, such as "line 7". The `id` of a row
    without a usable one is made up from both. `metadata` has the cells that could be read, so that the row still
    counts in its group.
    """

    id: str
    row: int
    source: str
    place: str
    reason: str
    numbered: bool = False
    metadata: Mapping[str, str] = {}
    kind: str = BAD_ROW

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.source} {self.place}"

    @property
    def ref(self) -> CaseRef:
        """The case that the run stores for the row."""
        return CaseRef(self.id, self.row, self.numbered, self.metadata)

    @property
    def failure(self) -> Failure:
        """The outcome that the run stores for the row."""
        return Failure(self.kind, f"{self.where}: {self.reason}", self.source, self.row, self.reason)


def fingerprint(key: bytes, inputs: Mapping[str, str]) -> str:
    """Return a keyed hash of input texts, 32 hex digits. It shows whether a case is the same without keeping its text.

    Keyed BLAKE2b (RFC 7693) over the inputs sorted by name, each name and text with its length in front.
    """
    parts: list[bytes] = []
    for name in sorted(inputs):
        for part in (name.encode(), inputs[name].encode("utf-8", "surrogatepass")):
            parts += (len(part).to_bytes(8, "little"), part)
    return hashlib.blake2b(b"".join(parts), key=key, digest_size=16).hexdigest()


def placed(case_id: str, place: str, reason: str) -> str:
    """Return a sentence about a case, with the place where a person finds it."""
    # A row without an id got its place as one.
    return f"{place if case_id.startswith(place) else f'{case_id} ({place})'}: {reason}"


def shard_of(case_id: str, shards: int) -> int:
    """Return which of so many shards a case is in, from 0: by its id alone, and unrelated to every `rank`."""
    digest = hashlib.blake2b(storable(case_id).encode(), key=b"shard", digest_size=16).digest()
    return int.from_bytes(digest) % shards


def rank(case_id: str, seed: int) -> bytes:
    """Return a permanent random number of a case, by which samples are drawn: the lowest ranks come first.

    So a seed draws the same cases in any order of the file, and a larger sample contains the smaller one.
    """
    return hashlib.blake2b(storable(case_id).encode(), key=str(seed).encode()[:64], digest_size=16).digest()
