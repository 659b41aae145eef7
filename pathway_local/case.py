"""A case: one thing to judge; and a reference to it without its texts."""

import hashlib
import unicodedata
from collections.abc import Mapping

from msgspec import Struct

from pathway_local.verdict import Failure, storable

BAD_ROW = "bad-row"
"""The kind of failure of a row that can't be read as a case."""

DUPLICATE = "duplicate-id"
"""The kind of failure of a row whose id an earlier row has."""


class Case(Struct, frozen=True):
    """One thing to judge: its id, its inputs by name and its metadata.

    `row` is its number at the left of a spreadsheet that shows the cases file (`sheets.row.Row.number`); it is also the
    id if the file has no column of ids.
    """

    id: str
    inputs: Mapping[str, str]
    metadata: Mapping[str, str] = {}
    row: int = 0

    def ref(self, hash: str) -> "CaseRef":
        """Return the case without its texts; `hash` is their fingerprint."""
        return CaseRef(self.id, self.row, self.metadata, hash)


class CaseRef(Struct, frozen=True):
    """A case without its texts: once its prompt is rendered, the loop and the run hold nothing else of it.

    `hash` is the `fingerprint` of the texts that a rubric reads; empty for a row that could not be read.
    """

    id: str
    row: int = 0
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
    metadata: Mapping[str, str] = {}
    kind: str = BAD_ROW

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.source} {self.place}"

    @property
    def ref(self) -> CaseRef:
        """The case that the run stores for the row."""
        return CaseRef(self.id, self.row, self.metadata)

    @property
    def failure(self) -> Failure:
        """The outcome that the run stores for the row."""
        return Failure(self.kind, f"{self.where}: {self.reason}", self.source, self.row, self.reason)


def fingerprint(key: bytes, inputs: Mapping[str, str]) -> str:
    """Return keyed hashes of input texts, which show whether a case is the same without keeping its texts.

    "HASH answer:HASH question:HASH", each of 32 hex digits: first of all texts to the letter, then of each by itself,
    as `text_hash` makes it and `hash_by_input` reads it.
    """
    parts: list[bytes] = []
    for name in sorted(inputs):
        for part in (name.encode(), inputs[name].encode("utf-8", "surrogatepass")):
            parts += (len(part).to_bytes(8, "little"), part)
    single = (f"{name}:{text_hash(key, inputs[name])}" for name in sorted(inputs))
    return " ".join((_keyed(key, b"".join(parts)), *single))


def text_hash(key: bytes, text: str) -> str:
    """Return a keyed hash of one text that stays the same when a spreadsheet rewrites the text.

    Spreadsheets change white space, write a line end as `_x000D_`, compose accents, and put an apostrophe before a
    text that would run as a formula.
    """
    words = unicodedata.normalize("NFC", text).replace("_x000D_", " ").split()
    return _keyed(key, " ".join(words).lstrip("'").encode("utf-8", "surrogatepass"))


def hash_by_input(case_hash: str) -> dict[str, str]:
    """Return the `text_hash` of each input in a case's `fingerprint`; empty for one that is missing."""
    pairs = (part.rpartition(":") for part in case_hash.split(" ")[1:])
    return {name: digest for name, _, digest in pairs}


def _keyed(key: bytes, data: bytes) -> str:
    """Keyed BLAKE2b (RFC 7693)."""
    return hashlib.blake2b(data, key=key, digest_size=16).hexdigest()


def placed(case_id: str, place: str, reason: str) -> str:
    """Return a sentence about a case, with the place where a person finds it."""
    # A row without an id got its place as one.
    return f"{place if case_id.startswith(place) else f'{case_id} ({place})'}: {reason}"


def part_of_case(case_id: str, parts: int) -> int:
    """Return in which of so many parts of a split run a case is, from 0: by its id alone, unrelated to every `rank`."""
    digest = hashlib.blake2b(storable(case_id).encode(), key=b"part", digest_size=16).digest()
    return int.from_bytes(digest) % parts


def rank(case_id: str, seed: int) -> bytes:
    """Return a permanent random number of a case, by which samples are drawn: the lowest ranks come first.

    So a seed draws the same cases in any order of the file, and a larger sample contains the smaller one.
    """
    return hashlib.blake2b(storable(case_id).encode(), key=str(seed).encode()[:64], digest_size=16).digest()
