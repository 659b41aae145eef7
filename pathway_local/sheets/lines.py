"""Reads text files in their encoding; numbers their lines and limits their size."""

import codecs
from collections import deque
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from pathway_local.errors import CasesError, UsageError
from pathway_local.sheets.row import ROW_LIMIT, Row

LINE_LIMIT = 200_000
"""Lines of one row. Each is kept as an object, and a quote that never closes takes in all lines after it."""

SAVE_AS_UTF8 = 'Save it as UTF-8 (in a spreadsheet: "CSV UTF-8"), or name its encoding, such as --encoding cp1252.'

MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class RowTooLong(Exception):
    """A row has more than ROW_LIMIT characters or LINE_LIMIT lines."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """A file's encoding by Python's name, and whether a byte order mark begins the file."""

    codec: str
    bom: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """The note for users about copies in another encoding."""
        return () if self.of_copies is self else (f"copies of this file are UTF-8, not {self.codec.upper()}",)

    @property
    def of_copies(self) -> "Encoding":
        """The encoding of a copy with added cells, which hold letters that only Unicode has."""
        return self if self.codec in ("utf-8", *MARKS.values()) else Encoding("utf-8", True)

    def beginning(self, text: str = "") -> bytes:
        """Return a text at the beginning of the file, behind the byte order mark, if it has one."""
        return ("\ufeff" * self.bom + text).encode(self.codec)


def find_encoding(path: Path, chosen: str = "") -> Encoding:
    """Return the user's `chosen` encoding, else UTF-16 if the file begins with its mark, else UTF-8."""
    with path.open("rb") as file:
        start = file.read(3)
    marked = MARKS.get(start[:2], "")
    codec = _codec(chosen) if chosen else marked or "utf-8"
    if codec == "utf-16":
        codec = marked or "utf-16-le"
    bom = codec == marked or (codec == "utf-8" and start == codecs.BOM_UTF8)
    return Encoding(codec, bom)


def _codec(chosen: str) -> str:
    """Python's name of an encoding. Raises UsageError."""
    try:
        codec = codecs.lookup(chosen).name
        "\n".encode(codec)  # refuses codecs that make no text, such as hex
    except (LookupError, UnicodeError):
        raise UsageError(f"no encoding is called {chosen!r}", "For example --encoding cp1252 or utf-8.") from None
    return codec.removesuffix("-sig")


def not_text(path: Path, encoding: Encoding, line_ends: int) -> CasesError:
    """Return the error for bytes that are not in the encoding, behind so many line ends."""
    return CasesError(f"{path.name} is not {encoding.codec.upper()}: line {line_ends + 1}", SAVE_AS_UTF8)


class Lines:
    """A text file's lines, one at a time; the lines of the current row are kept.

    A cell in quotes may hold line breaks, so a row is as many lines as the CSV reader takes after `begin`. A stray
    quote makes it take far too many: then `retry_from_second` puts all but the first back, and the quote costs only
    its own row instead of everything that it seemed to enclose. The limits bound the memory that this takes.
    """

    def __init__(self, path: Path, encoding: Encoding, newline: str) -> None:
        self.number = 0
        self._path, self._encoding = path, encoding
        self._file: TextIO = path.open(encoding=encoding.codec, newline=newline)
        self._again: deque[str | None] = deque()
        self._row: list[str | None] = []
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._file.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._read()
        if line == "":
            raise StopIteration
        self.number += 1
        self._row.append(line)
        self._size += len(line or "")
        if line is None or self._size > ROW_LIMIT or len(self._row) > LINE_LIMIT:
            raise RowTooLong
        return line

    def ahead(self, most: int) -> list[str]:
        """Return the first lines, up to one that is too long; they are read again."""
        self._again.extend(islice(iter(self._read, ""), most))
        return [line for line in takewhile(bool, self._again) if line]

    def begin(self) -> int:
        """Start a row; return the number of its first line."""
        self._row, self._size = [], 0
        return self.number + 1

    @property
    def row(self) -> str | None:
        """The text of the row so far; None if one of its lines was too long to keep."""
        kept = [line for line in self._row if line is not None]
        return "".join(kept) if len(kept) == len(self._row) else None

    def retry_from_second(self) -> None:
        """Put the row's lines after its first back, to be read again; the row is then its first line alone."""
        rest = self._row[1:]
        self._again.extendleft(reversed(rest))
        self.number -= len(rest)
        del self._row[1:]

    def _read(self) -> str | None:
        """Return the next line; "" at the end, None for one that is too long. CasesError for bytes that are no text."""
        at = self.number + len(self._again)
        try:
            line = self._file.readline(ROW_LIMIT + 1)
            if not at and self._encoding.bom:
                line = line.removeprefix("\ufeff")
            if len(line) <= ROW_LIMIT:
                return line
            # Its remainder is read in pieces and dropped, so that the next line begins where a line begins.
            while line and not line.endswith(("\n", "\r")):
                line = self._file.readline(ROW_LIMIT)
        except UnicodeError as error:
            read = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
            raise not_text(self._path, self._encoding, at + read.count(b"\n")) from None
        return None


def own_text(path: Path, row: Row) -> str:
    """Return the row's text as it is in the file. Raises CasesError if it was too long to keep."""
    if row.raw is None:
        raise CasesError(f"{path.name} {row.place} is too long to be copied", "Shorten or remove that row.")
    return row.raw
