"""Reads text files: finds their encoding from the first bytes; numbers their lines and limits their size."""

import codecs
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from pathway_local.errors import CasesError
from pathway_local.sheets.row import ROW_LIMIT, Row

SAMPLE = 2**20
LINE_LIMIT = 200_000
"""Lines of one row. Each is kept as an object, and a quote that never closes takes in all lines after it."""

COUNT_LIMIT = 200_000_000
"""Bytes of the largest file that is read to its end only to count its rows."""

SAVE_AS_UTF8 = 'Save it as UTF-8 (in a spreadsheet: "CSV UTF-8").'


class RowTooLong(Exception):
    """A row has more than ROW_LIMIT characters or LINE_LIMIT lines."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """Turns bytes into text, and the text into the same bytes again.

    Damaged bytes become lone surrogates, which no undamaged file holds: so a row with one is known to be damaged, and
    can still be written with the bytes that it had.
    """

    codec: str
    errors: str
    bom: bool

    @property
    def name(self) -> str:
        """The encoding as people write it."""
        return "UTF-8" if self.codec == "utf-8" else "UTF-16"

    @property
    def mark(self) -> bytes:
        """The byte order mark that the file begins with, if any."""
        return self.encode("\ufeff") if self.bom else b""

    def encode(self, text: str) -> bytes:
        """Return the bytes that were read as this text, even those that were damaged."""
        return text.encode(self.codec, self.errors)


def find_encoding(path: Path, *, header: bool) -> Encoding:
    """Return UTF-8, or UTF-16 with a byte order mark. CasesError if it is neither, or its `header` is damaged."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
    if sample.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise CasesError(f"{path.name} is UTF-32", SAVE_AS_UTF8)
    for mark, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if sample.startswith(mark):
            if path.stat().st_size % 2:
                raise CasesError(f"{path.name} is UTF-16 and ends in the middle of a character", SAVE_AS_UTF8)
            return Encoding(codec, "surrogatepass", bom=True)
    _check_utf8(path, sample, header)
    return Encoding("utf-8", "surrogateescape", sample.startswith(codecs.BOM_UTF8))


def _check_utf8(path: Path, sample: bytes, header: bool) -> None:
    """Raise CasesError if the whole file seems to be in another encoding; a few damaged rows are only bad rows."""
    lines = sample.split(b"\n")
    if b"\0" in lines[0]:
        raise CasesError(f"{path.name} is not UTF-8: line 1 has NUL bytes", SAVE_AS_UTF8)
    if len(sample) == SAMPLE and len(lines) > 1:
        lines.pop()  # the sample may end in the middle of a character
    bad: list[tuple[int, int]] = []
    good = 0
    for number, line in enumerate(lines, 1):
        try:
            good += not line.decode().isascii()
        except UnicodeDecodeError as error:
            bad.append((number, error.start + 1))
    if bad and ((header and bad[0][0] == 1) or (len(bad) > 2 and not good)):
        raise CasesError(f"{path.name} is not UTF-8: line {bad[0][0]}, byte {bad[0][1]}", SAVE_AS_UTF8)


class Lines:
    """A text file's lines, one at a time; the lines of the current row are kept.

    A cell in quotes may hold line breaks, so a row is as many lines as the CSV reader takes after `begin`. A stray
    quote makes it take far too many: then `retry_from_second` puts all but the first back, and the quote costs only
    its own row instead of everything that it seemed to enclose. The limits bound the memory that this takes.
    """

    def __init__(self, path: Path, encoding: Encoding, newline: str) -> None:
        self.number = 0
        self._encoding = encoding
        self._file: TextIO = path.open(encoding=encoding.codec, errors=encoding.errors, newline=newline)
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
        """Return the next line; "" at the end, None for a line that is too long."""
        line = self._file.readline(ROW_LIMIT + 1)
        if self.number == 0 and self._encoding.bom:
            line = line.removeprefix("\ufeff")
        if len(line) <= ROW_LIMIT:
            return line
        # Its remainder is read in pieces and dropped, so that the next line begins where a line begins.
        while line and not line.endswith(("\n", "\r")):
            line = self._file.readline(ROW_LIMIT)
        return None


def count_lines(path: Path, encoding: Encoding, *, quotes: bool) -> int | None:
    """Count the lines that hold anything; with `quotes`, only those that end outside quotes. None for a large file."""
    if path.stat().st_size > COUNT_LIMIT:
        return None
    quoted, count = False, 0
    with path.open(encoding=encoding.codec, errors=encoding.errors) as file:
        for line in file:
            quoted ^= quotes and line.count('"') % 2 == 1
            count += not quoted and not line.isspace()
    return count


def own_text(path: Path, row: Row) -> str:
    """Return the row's text as it is in the file. Raises CasesError if it was too long to keep."""
    if row.raw is None:
        raise CasesError(f"{path.name} line {row.line} is too long to be copied", "Shorten or remove that row.")
    return row.raw
