"""CSV and TSV files as rows."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from pathway_local.errors import CasesError
from pathway_local.sheets.columns import LOOKED_AT, find_header, is_known, names_in
from pathway_local.sheets.kinds import NewCells, Page, Sheet, SheetKind
from pathway_local.sheets.lines import LINE_LIMIT, Lines, RowTooLong, find_encoding, own_text
from pathway_local.sheets.row import ROW_LIMIT, Row, column_names, delimited_cell
from pathway_local.verdict import Value

QUOTES = "its quotes don't match: write a quote inside a quoted cell twice"
SAMPLE = 20
"""Lines that show the delimiter."""

TOO_LONG = f"it has more than {ROW_LIMIT:,} characters or {LINE_LIMIT:,} lines, perhaps from a quote that never closes"


class DelimitedSheet(Sheet):
    """A file of records with fields separated by the delimiter that its header shows."""

    def __init__(self, path: Path, encoding: str = "", header_row: int | None = None) -> None:
        self.path = path
        self.encoding = find_encoding(path, encoding)
        self.notes = self.encoding.notes
        with Lines(path, self.encoding, newline="") as lines:
            self.delimiter = self._sniff(lines.ahead(max(SAMPLE, header_row or 0)), header_row or 0)
            first = list(islice(self._records(lines), max(LOOKED_AT, header_row or 0)))
        self.header_row = find_header([fields for _, fields in first], header_row, path.name) + 1
        above = [row for row, _ in first[: self.header_row]]
        # A record that can't be read may be the header, so none may stand above the one found.
        for row in above if not header_row else above[-1:]:
            if row.problem:
                raise CasesError(f"{path.name} {row.place}: the header can't be read: {row.problem}")
        self.columns = column_names(path, names_in(first[self.header_row - 1][1]))
        self._header = "".join(row.raw or "" for row in above)
        """The header's text as it is in the file, with all that stands above it."""
        self._width = above[-1].width or 0
        """The header's fields, empty ones at its end included."""

    def rows(self) -> Iterator[Row]:
        """Yield every row below the header."""
        with Lines(self.path, self.encoding, newline="") as lines:
            for row, fields in islice(self._records(lines), self.header_row, None):
                yield self._row(row, fields)

    def _records(self, lines: Lines) -> Iterator[tuple[Row, list[str]]]:
        """Yield every record, including the header and blank ones: a row without its cells, and its fields."""
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
            place = f"line {start}" if number == start else f"row {number} (line {start})"
            width, blank = None if problem else len(fields), not (problem or any(fields))
            yield Row(number, place, problem=problem, raw=lines.row, width=width, blank=blank), fields

    def copy(self, file: BinaryIO, columns: Sequence[str], rows: NewCells) -> int:
        """Write every record as it is, with the new fields before its line break, right of all empty ones."""
        encoding = self.encoding.of_copies
        width = max(self._width, *(row.width or 0 for row in self.rows() if not row.problem), 0)
        header = self._extended(self._header, [*[""] * (width - self._width), *columns])
        file.write(encoding.beginning(header))
        for row, cells in rows:
            text = own_text(self.path, row)
            # A record with too many fields, or with fields that can't be told apart, gets no new ones: they would
            # end up below wrong columns.
            if cells is None or row.width is None or row.width > width:
                file.write(text.encode(encoding.codec))
            else:
                file.write(self._extended(text, [*[""] * (width - row.width), *cells]).encode(encoding.codec))
        return 0

    def _extended(self, text: str, fields: Sequence[Value]) -> str:
        body = text.rstrip("\r\n")
        # Where semicolons separate, the comma is the decimal mark.
        added = _line(fields, self.delimiter, "," if self.delimiter == ";" else ".")
        return f"{body}{self.delimiter}{added}{text[len(body) :]}"

    def _row(self, row: Row, fields: Sequence[str]) -> Row:
        if row.blank:
            return row
        problem, wanted = row.problem, len(self.columns)
        if not problem and (len(fields) < wanted or any(fields[wanted:])):
            problem = f"it has {row.width:,} fields where the header has {wanted:,}"
        # A footer is often a record of one field, which shows what it is.
        cells = {} if problem and len(fields) > 1 else dict(zip(self.columns, fields, strict=False))
        return replace(row, problem=problem, cells=cells)

    def _sniff(self, sample: Sequence[str], header_row: int) -> str:
        """Return the delimiter that splits the first rows into most known names of columns, else into most fields.

        If the user named the header's row, only this row counts. In a file whose ending promises tabs, a header that
        tabs split has them: its names may hold commas.
        """

        def split(mark: str) -> tuple[bool, int, int]:
            rows = list(_reader(sample, mark, strict=False))
            rows = [row for row in (rows[header_row - 1 : header_row] if header_row else rows) if any(row)]
            known = max((sum(map(is_known, row)) for row in rows), default=0)
            fields = len(rows[0]) if rows else 0
            return mark == own and fields > 1, known, fields

        own = "" if self.path.suffix.lower() == ".csv" else "\t"
        return max(f"{own},;\t", key=split)


def _reader(lines: Iterable[str], delimiter: str, *, strict: bool) -> Iterator[list[str]]:
    csv.field_size_limit(max(csv.field_size_limit(), ROW_LIMIT + 1))
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def _line(values: Iterable[Value], delimiter: str, decimal: str = ".") -> str:
    """Return the values as fields of a record, without its line break."""
    line = io.StringIO()
    # The writer quotes a line break in a field only if its own line end has that character, so it needs both here.
    cells = [delimited_cell(value, decimal) for value in values]
    csv.writer(line, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
    return line.getvalue().removesuffix("\r\n")


def _write(file: BinaryIO, pages: Iterator[Page], *, delimiter: str) -> int:
    page = next(pages)
    for cells in chain([page.columns], ([row.get(column) for column in page.columns] for row in page.rows)):
        file.write(f"{_line(cells, delimiter)}\r\n".encode())
    return 0


OPTIONS = ("encoding", "header_row")
CSV = SheetKind(DelimitedSheet, partial(_write, delimiter=","), DelimitedSheet.copy, OPTIONS)
"""Read with commas, semicolons or tabs, whichever its header shows; written with commas."""

TSV = SheetKind(DelimitedSheet, partial(_write, delimiter="\t"), DelimitedSheet.copy, OPTIONS)
"""Read like CSV, since spreadsheets save text with any separator; written with tabs."""
