"""CSV and TSV files as rows."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pathway_local.errors import CasesError
from pathway_local.sheets.lines import LINE_LIMIT, Lines, RowTooLong, count_lines, find_encoding
from pathway_local.sheets.row import ROW_LIMIT, Row, column_names, has_surrogates

QUOTES = "its quotes don't pair up: a quote inside a quoted cell must be doubled"
TOO_LONG = f"it has more than {ROW_LIMIT:,} characters or {LINE_LIMIT:,} lines, perhaps from a quote that never closes"


@dataclass(frozen=True, slots=True)
class RawRow:
    """The header or a row as it stands in the file: its first line, its fields or why there are none, its text."""

    line: int
    fields: list[str]
    problem: str
    raw: str | None

    @property
    def blank(self) -> bool:
        """Whether all its fields are empty."""
        return not self.problem and not any(self.fields)


class DelimitedSheet:
    """A CSV or TSV file. A .csv may be separated by commas, semicolons or tabs, as its header shows."""

    unit = "line"
    notes: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.path = path
        self.encoding = find_encoding(path, header=True)
        self.delimiter = self._sniff() if path.suffix.lower() == ".csv" else "\t"
        above = ""
        for header in self.records():
            above += header.raw or ""
            if not header.blank:
                break
        else:
            raise CasesError(f"{path.name} has no header", "Give the columns names in the first row.")
        problem = header.problem or self._damage(header)
        if problem:
            raise CasesError(f"{path.name} line {header.line}: the header can't be read: {problem}")
        self.columns = column_names(path, header.fields)
        self.header = above
        """The header's own text, with the blank lines above it."""
        self._header_line = header.line

    def rows(self) -> Iterator[Row]:
        """Every row below the header."""
        number = 0
        for record in self.records():
            if record.line > self._header_line:
                number += not record.blank
                yield self._row(record, 0 if record.blank else number)

    def count(self) -> int | None:
        """The lines that end outside quotes, less the header; None for a big file."""
        lines = count_lines(self.path, self.encoding, quotes=True)
        return None if lines is None else max(lines - 1, 0)

    def records(self) -> Iterator[RawRow]:
        """Every record of the file, with the header and with blank ones."""
        with Lines(self.path, self.encoding, newline="") as lines:
            # Not strict, the reader would take a quote left open at the end of the file for a cell.
            reader = _reader(lines, self.delimiter, strict=True)
            while True:
                start = lines.begin()
                fields: list[str] = []
                problem = ""
                try:
                    fields = next(reader)
                except StopIteration:
                    return
                except (csv.Error, RowTooLong) as error:
                    problem = TOO_LONG if isinstance(error, RowTooLong) else QUOTES
                    lines.retry_from_second()
                yield RawRow(start, fields, problem, lines.row)

    def _row(self, record: RawRow, number: int) -> Row:
        width = None if record.problem else len(record.fields)
        problem = record.problem or self._damage(record)
        if not problem and not record.blank and width != len(self.columns):
            problem = f"it has {width:,} fields where the header has {len(self.columns):,}"
        cells = {} if problem or record.blank else dict(zip(self.columns, record.fields, strict=True))
        return Row(number, record.line, cells, problem, raw=record.raw, width=width)

    def _damage(self, record: RawRow) -> str:
        damaged = record.raw is not None and has_surrogates(record.raw)
        return f"it has bytes that are not {self.encoding.name}" if damaged else ""

    def _sniff(self) -> str:
        """The mark that splits the first line into most fields."""
        with Lines(self.path, self.encoding, newline="") as lines:
            try:
                line = next((line for line in lines if line.strip()), "")
            except RowTooLong:
                line = ""
        counts = {mark: len(next(_reader([line], mark, strict=False), [])) for mark in ",;\t"}
        return max(counts, key=lambda mark: counts[mark])


def _reader(lines: Iterable[str], delimiter: str, *, strict: bool) -> Iterator[list[str]]:
    csv.field_size_limit(max(csv.field_size_limit(), ROW_LIMIT + 1))
    return csv.reader(lines, delimiter=delimiter, strict=strict)
