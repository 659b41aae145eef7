"""Reads text files: finds their encoding; numbers their lines and limits their size."""

import codecs
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from pathway_local.errors import CasesError, UsageError
from pathway_local.sheets.row import ROW_LIMIT, Row

SAMPLE = 2**16
LINE_LIMIT = 200_000
"""Lines of one row. Each is kept as an object, and a quote that never closes takes in all lines after it."""

COUNT_LIMIT = 200_000_000
"""Bytes of the largest file that is read to its end only to count its rows."""

SAVE_AS_UTF8 = 'Save it as UTF-8 (in a spreadsheet: "CSV UTF-8"), or name its encoding, such as --encoding cp1251.'

WINDOWS = "cp1252"
"""The only encoding without any mark that is found: spreadsheets in western Europe save CSV files in it."""

LETTERS = frozenset("äöüßÄÖÜéèêëàâçñóíáúãõôîïùûœåøæÉÀÇÑÅØÆ„“”‘’‚–—…€«»§°£¿¡")
"""Characters that such files have in number. Read in a wrong encoding, few of their bytes become one of them."""

ENOUGH = 1_000
"""Lines that are not UTF-8, without any that is, after which no further line is looked at."""


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
        return (
            "UTF-16"
            if self.codec.startswith("utf-16")
            else "Windows-1252"
            if self.codec == WINDOWS
            else self.codec.upper()
        )

    def notes(self, path: Path) -> tuple[str, ...]:
        """Return the notes for users about a file that is not UTF-8."""
        if self.codec == "utf-8":
            return ()
        copied = "" if self.of_copies is self else " (copies are UTF-8)"
        return (
            f"{path.name} is read as {self.name}{copied}; if letters look wrong, name its encoding: --encoding NAME",
        )

    @property
    def of_copies(self) -> "Encoding":
        """The encoding of a copy with added cells, which hold letters that only Unicode has."""
        return self if self.codec.startswith("utf") else Encoding("utf-8", "surrogateescape", bom=True)

    @property
    def mark(self) -> bytes:
        """The byte order mark that the file begins with, if any."""
        return self.encode("\ufeff") if self.bom else b""

    def encode(self, text: str) -> bytes:
        """Return the bytes that were read as this text, even those that were damaged."""
        return text.encode(self.codec, self.errors)


def find_encoding(path: Path, *, header: bool, chosen: str = "") -> Encoding:
    """Return the user's `chosen` encoding, else UTF-8, UTF-16 by its mark, or Windows-1252.

    CasesError if it is none of these or a mix, or its `header` is damaged.
    """
    with path.open("rb") as file:
        start = file.read(4096)
    marks = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    codec = _codec(chosen) if chosen else marks.get(start[:2], "")
    if codec.startswith("utf-16") and path.stat().st_size % 2:
        raise CasesError(f"{path.name} is UTF-16 and ends in the middle of a character", SAVE_AS_UTF8)
    if b"\0" in start.partition(b"\n")[0] and (not codec.startswith("utf-16") or start[2:4] == b"\0\0"):
        raise CasesError(f"{path.name} is not UTF-8: line 1 has NUL bytes", SAVE_AS_UTF8)
    if codec.startswith("utf-16"):
        return Encoding(codec, "surrogatepass", start[:2] in marks)
    codec = codec or (WINDOWS if _is_windows(path, header) else "utf-8")
    return Encoding(codec, "surrogateescape", codec == "utf-8" and start.startswith(codecs.BOM_UTF8))


def _codec(chosen: str) -> str:
    """Python's name of an encoding. Raises UsageError."""
    try:
        codec = codecs.lookup(chosen).name
        "\n".encode(codec, "surrogateescape")  # refuses codecs that make no text, such as hex
    except (LookupError, UnicodeError):
        raise UsageError(f"no encoding is called {chosen!r}", "For example --encoding cp1252 or utf-8.") from None
    return {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(codec, codec)


def _is_windows(path: Path, header: bool) -> bool:
    """Whether most bytes beyond ASCII are western letters of Windows-1252, and no line with any is UTF-8.

    A few damaged lines of UTF-8 are only bad rows. CasesError for more of them, or a damaged `header`.
    """
    good, bad, first = False, 0, (0, 0)
    beyond = b""
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(ROW_LIMIT), b""), 1):
            if good or bad == ENOUGH:
                break
            try:
                good = not line.decode().isascii()
            except UnicodeDecodeError as error:
                first = first if bad else (number, error.start + 1)
                bad += 1
                beyond += bytes(byte for byte in line[:SAMPLE] if byte > 127)
    letters = sum(letter in LETTERS for letter in beyond.decode(WINDOWS, "replace"))
    found = not good and 2 * letters > len(beyond)
    if not found and bad and ((header and first[0] == 1) or bad > 2):
        raise CasesError(f"{path.name} is not UTF-8: line {first[0]}, byte {first[1]}", SAVE_AS_UTF8)
    return found


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
    quoted, count, lines = False, 0, 0
    with path.open(encoding=encoding.codec, errors=encoding.errors) as file:
        for line in file:
            quoted ^= quotes and line.count('"') % 2 == 1
            lines += not line.isspace()
            count += not quoted and not line.isspace()
    return lines if quoted else count  # a stray quote seems to enclose all that follows


def own_text(path: Path, row: Row) -> str:
    """Return the row's text as it is in the file. Raises CasesError if it was too long to keep."""
    if row.raw is None:
        raise CasesError(f"{path.name} line {row.line} is too long to be copied", "Shorten or remove that row.")
    return row.raw
