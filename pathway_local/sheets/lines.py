"""Reads text files: finds their encoding; numbers their lines and limits their size."""

import codecs
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from pathway_local.errors import CasesError, UsageError
from pathway_local.sheets.row import ROW_LIMIT, Row

SAMPLE = 2**20
LINE_LIMIT = 200_000
"""Lines of one row. Each is kept as an object, and a quote that never closes takes in all lines after it."""

COUNT_LIMIT = 200_000_000
"""Bytes of the largest file that is read to its end only to count its rows."""

SAVE_AS_UTF8 = 'Save it as UTF-8 (in a spreadsheet: "CSV UTF-8"), or name its encoding, such as --encoding cp1251.'

OLDER = {"cp1252": "Windows-1252", "mac-roman": "Mac Roman", "cp850": "DOS 850"}
"""Encodings without any mark in which spreadsheets in western Europe save CSV files."""

LETTERS = frozenset("äöüßÄÖÜéèêëàâçñóíáúãõôîïùûœåøæÉÀÇÑÅØÆ„“”‘’‚–—…€«»§°£¿¡")
"""Characters that such files have in number. Read in a wrong encoding, few of their bytes become one of them."""

ENOUGH = 1_000
"""Lines that are not UTF-8, without any that is, after which no further line is looked at."""

WIDE = 0.4
"""Share of zero bytes in every second place: in UTF-16, western text has over nine tenths."""


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
        return "UTF-16" if self.codec.startswith("utf-16") else OLDER.get(self.codec, self.codec.upper())

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
    """Return the user's `chosen` encoding, else the one that the bytes show.

    That is UTF-8 or UTF-16, or, if no line with other than ASCII letters is UTF-8, the encoding of OLDER that makes
    the most letters of them. CasesError if it is none of these or a mix, or its `header` is damaged.
    """
    with path.open("rb") as file:
        start = file.read(4096)
    codec = _codec(chosen) if chosen else _utf16(start)
    if codec.startswith("utf-16"):
        if path.stat().st_size % 2:
            raise CasesError(f"{path.name} is UTF-16 and ends in the middle of a character", SAVE_AS_UTF8)
        return Encoding(codec, "surrogatepass", start.startswith("\ufeff".encode(codec)))
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise CasesError(f"{path.name} is UTF-32", SAVE_AS_UTF8)
    if b"\0" in start.partition(b"\n")[0]:
        raise CasesError(f"{path.name} is not UTF-8: line 1 has NUL bytes", SAVE_AS_UTF8)
    codec = codec or _older(path, header) or "utf-8"
    return Encoding(codec, "surrogateescape", codec == "utf-8" and start.startswith(codecs.BOM_UTF8))


def _codec(chosen: str) -> str:
    """Python's name of an encoding. Raises UsageError."""
    try:
        codec = codecs.lookup(chosen).name
        "\n".encode(codec, "surrogateescape")  # refuses codecs that make no text, such as hex
    except (LookupError, UnicodeError):
        raise UsageError(f"no encoding is called {chosen!r}", "For example --encoding cp1252 or utf-8.") from None
    return {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(codec, codec)


def _utf16(start: bytes) -> str:
    """Return the UTF-16 of a file's start, by its byte order mark, else by every second byte; "" if it is another."""
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return ""
    zeros = [start[place::2].count(0) / max(len(start) // 2, 1) for place in (0, 1)]
    if start.startswith(codecs.BOM_UTF16_LE) or (not zeros[0] and zeros[1] > WIDE):
        return "utf-16-le"
    return "utf-16-be" if start.startswith(codecs.BOM_UTF16_BE) or (not zeros[1] and zeros[0] > WIDE) else ""


def _older(path: Path, header: bool) -> str:
    """Return a file's older encoding; "" for UTF-8, where a few damaged rows are only bad rows. Raises CasesError."""
    good, number, first = 0, 1, (0, 0)
    bad: list[bytes] = []
    with path.open("rb") as file:
        # The first umlaut can come late. So the file is read until a line is UTF-8, or many are not.
        while not good and len(bad) < ENOUGH and (chunk := file.read(SAMPLE)):
            chunk += file.readline(ROW_LIMIT)
            for line in [] if chunk.isascii() else chunk.split(b"\n"):
                try:
                    good += not line.decode().isascii()
                except UnicodeDecodeError as error:
                    bad.append(line)
                    first = first if first[0] else (number, error.start + 1)
                number += 1
            number += chunk.count(b"\n") if chunk.isascii() else -1
    found = "" if good else _most_letters(b"".join(bad))
    if not found and bad and ((header and first[0] == 1) or len(bad) > max(good, 2)):
        raise CasesError(f"{path.name} is not UTF-8: line {first[0]}, byte {first[1]}", SAVE_AS_UTF8)
    return found


def _most_letters(sample: bytes) -> str:
    """Return the older encoding that turns most bytes beyond ASCII into western letters; "" if that is below half."""
    beyond = bytes(byte for byte in sample if byte > 127)
    shares = {codec: sum(letter in LETTERS for letter in beyond.decode(codec, "replace")) for codec in OLDER}
    best = max(OLDER, key=lambda codec: shares[codec])
    return best if 2 * shares[best] > len(beyond) else ""


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
