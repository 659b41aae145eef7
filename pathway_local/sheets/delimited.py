"""CSV and TSV files as rows."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from pathway_local.errors import CasesError
from pathway_local.sheets.columns import is_known
from pathway_local.sheets.header import FILLED, find_header, header_note, looked_at, names_in
from pathway_local.sheets.kinds import NewCells, Sheet, SheetKind
from pathway_local.sheets.lines import LINE_LIMIT, Lines, RowTooLong, count_lines, find_encoding, own_text
from pathway_local.sheets.row import ROW_LIMIT, CellValue, Row, column_names, delimited_cell, has_surrogates

QUOTES = "its quotes don't match: write a quote inside a quoted cell twice"
DECIMALS_LOOKED_AT = 1_000
"""Rows that show whether a sheet writes 1,5 or 1.5."""

_FRACTION = re.compile(r"-?\d+([.,])(?:\d{1,2}|\d{4,})")
"""A number with a decimal mark; three digits behind a mark may be thousands."""

TOO_LONG = f"it has more than {ROW_LIMIT:,} characters or {LINE_LIMIT:,} lines, perhaps from a quote that never closes"


class DelimitedSheet(Sheet):
    """A file of records with fields separated by the delimiter that its header shows."""

    unit = "line"

    def __init__(self, path: Path, encoding: str = "", header_row: int | None = None) -> None:
        self.path = path
        self.encoding = find_encoding(path, header=True, chosen=encoding)
        self.notes = self.encoding.notes(path)
        self.delimiter = self._sniff(header_row)
        rows = looked_at((fields for _, fields in self._records()), header_row or 0)
        place = find_header(rows, header_row, path.name)
        # A record that can't be read looks blank. It may be the header, so none may stand above the one found.
        above = [row for row, _ in islice(self._records(), len(rows) if place is None else place + 1)]
        for row in above if not header_row else above[-1:]:
            if said := row.problem or (self._damage(row) if row is above[-1] else ""):
                raise CasesError(f"{path.name} line {row.line}: the header can't be read: {said}")
        self.columns = column_names(path, [] if place is None else rows[place])
        self.header_row, self._header_line = above[-1].number, above[-1].line
        if not header_row and not all(row.blank for row in above[:-1]):
            self.notes += (header_note(self.header_row),)
        self._header = "".join(row.raw or "" for row in above)
        """The header's text as it is in the file, with all that stands above it."""
        self._width = above[-1].width or 0
        """The header's fields, empty ones at its end included."""

    def rows(self) -> Iterator[Row]:
        """Yield every row below the header."""
        return (self._row(row, fields) for row, fields in self._records() if row.line > self._header_line)

    def place(self, row: Row) -> str:
        """Return the row's line, and its row in a spreadsheet if cells above have several lines."""
        return f"row {row.number} (line {row.line})" if row.number != row.line else super().place(row)

    def count(self) -> int | None:
        """Return the number of lines that end outside quotes, without the header; None for a large file."""
        lines = count_lines(self.path, self.encoding, quotes=True)
        return None if lines is None else max(lines - 1, 0)

    def _records(self) -> Iterator[tuple[Row, list[str]]]:
        """Yield every record, including the header and blank ones: a row without its cells, and its fields."""
        with Lines(self.path, self.encoding, newline="") as lines:
            # Without strict=True the reader would accept a quote left open at the end of the file.
            reader = _reader(lines, self.delimiter, strict=True)
            for number in count(1):
                start = lines.begin()
                fields: list[str] = []
                problem = ""
                try:
                    fields = next(reader)
                except StopIteration:
                    return
                except (csv.Error, RowTooLong) as error:
                    problem = TOO_LONG if isinstance(error, RowTooLong) else QUOTES
                    # Only the first line is lost: the rest is read again, as other rows.
                    lines.retry_from_second()
                width, blank = None if problem else len(fields), not (problem or any(fields))
                yield Row(number, start, problem=problem, raw=lines.row, width=width, blank=blank), fields

    def copy(self, file: BinaryIO, columns: Sequence[str], rows: NewCells) -> int:
        """Write every record as it is, with the new fields before its line break, right of all empty ones."""
        encoding, decimal = self.encoding.of_copies, self._decimal()
        width = max(self._width, *(row.width or 0 for row in self.rows() if not row.problem), 0)
        header = self._extended(self._header, [*[""] * (width - self._width), *columns], decimal)
        file.write(encoding.mark + encoding.encode(header))
        for row, cells in rows:
            text = own_text(self.path, row)
            # A record with too many fields, or with fields that can't be told apart, gets no new ones: they would
            # end up below wrong columns.
            if cells is None or row.width is None or row.width > width:
                file.write(encoding.encode(text))
            else:
                file.write(encoding.encode(self._extended(text, [*[""] * (width - row.width), *cells], decimal)))
        return 0

    def _decimal(self) -> str:
        """Return the decimal mark of the sheet's own fractions; if it has none, the comma that goes with semicolons."""
        cells = (cell for row in islice(self.rows(), DECIMALS_LOOKED_AT) for cell in row.cells.values())
        marks = [found[1] for cell in cells if (found := _FRACTION.fullmatch(cell.strip()))]
        commas = 2 * marks.count(",") - len(marks) or (self.delimiter == ";")
        return "," if commas > 0 else "."

    def _extended(self, text: str, fields: Sequence[CellValue], decimal: str) -> str:
        body = text.rstrip("\r\n")
        return f"{body}{self.delimiter}{_line(fields, self.delimiter, decimal)}{text[len(body) :]}"

    def _row(self, row: Row, fields: Sequence[str]) -> Row:
        if row.blank:
            return row
        problem, wanted = row.problem or self._damage(row), len(self.columns)
        if not problem and (len(fields) < wanted or any(fields[wanted:])):
            problem = f"it has {row.width:,} fields where the header has {wanted:,}"
        # A footer is often a record of one field, which shows what it is.
        cells = {} if problem and len(fields) > 1 else dict(zip(self.columns, fields, strict=False))
        return replace(row, problem=problem, cells=cells)

    def _damage(self, row: Row) -> str:
        damaged = row.raw is not None and has_surrogates(row.raw)
        return f"it has bytes that are not {self.encoding.name}" if damaged else ""

    def _sniff(self, header_row: int | None) -> str:
        """Return the delimiter that splits the header into most names of columns that are known, else into most fields.

        Without a known name, the first line counts, which is a title if no delimiter splits it. In a file whose ending
        promises tabs, a header that tabs split has them: its names may hold commas.
        """
        with Lines(self.path, self.encoding, newline="") as lines, suppress(RowTooLong):
            sample = []
            for line in islice(lines, max(FILLED, header_row or 0)):
                sample.append(line)
                lines.begin()  # or all lines together would be too long for a row

        def split(mark: str) -> tuple[int, ...]:
            rows = list(_reader(sample, mark, strict=False))
            if header_row:
                width = len(rows[header_row - 1]) if header_row <= len(rows) else 0
                return mark == own and width > 1, width
            place = find_header(rows, None, self.path.name)
            names = [] if place is None else names_in(rows[place])
            kept = mark == own and len(names) > 1
            return kept, sum(map(is_known, names)), len(next(filter(any, rows), ())), len(names)

        own = "" if self.path.suffix.lower() == ".csv" else "\t"
        return max(f"{own},;\t", key=split)


def _reader(lines: Iterable[str], delimiter: str, *, strict: bool) -> Iterator[list[str]]:
    csv.field_size_limit(max(csv.field_size_limit(), ROW_LIMIT + 1))
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def _line(values: Iterable[CellValue], delimiter: str, decimal: str = ".") -> str:
    """Return the values as fields of a record, without its line break."""
    line = io.StringIO()
    # The writer quotes a line break in a field only if its own line end has that character, so it needs both here.
    cells = [delimited_cell(value, decimal) for value in values]
    csv.writer(line, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
    return line.getvalue().removesuffix("\r\n")


def _write(file: BinaryIO, columns: Sequence[str], rows: Iterable[Mapping[str, CellValue]], *, delimiter: str) -> int:
    file.write(f"{_line(columns, delimiter)}\r\n".encode())
    for row in rows:
        file.write(f"{_line([row.get(column) for column in columns], delimiter)}\r\n".encode())
    return 0


CSV = SheetKind(DelimitedSheet, partial(_write, delimiter=","), DelimitedSheet.copy, encodings=True, header_rows=True)
"""Read with commas, semicolons or tabs, whichever its header shows; written with commas."""

TSV = SheetKind(DelimitedSheet, partial(_write, delimiter="\t"), DelimitedSheet.copy, encodings=True, header_rows=True)
"""Read like CSV, since spreadsheets save text with any separator; written with tabs."""
