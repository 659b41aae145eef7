"""A copy of the user's own sheet, rows in order, with columns added to it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pathway_local.case import BadRow, Case
from pathway_local.errors import CasesError, UsageError
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.cells import arrow_column, json_text
from pathway_local.sheets.delimited import DelimitedSheet
from pathway_local.sheets.json_lines import JsonLinesSheet
from pathway_local.sheets.parquet import ParquetSheet
from pathway_local.sheets.row import Row, shown
from pathway_local.sheets.tables import Written, delimited_line, fill_cell
from pathway_local.sheets.workbook import WorkbookSheet
from pathway_local.system.output_file import output_file, temporary_files_in
from pathway_local.verdict import Value

LAST_COLUMN = 16_384

NewCells = Callable[[Case | BadRow], Mapping[str, Value]]


def add_columns(
    cases: CasesFile, target: Path, columns: Sequence[str], values: NewCells, *, force: bool = False
) -> Written:
    """Copy the cases file to `target`, of the same kind, with `columns` to the right of its own.

    `values` gives the new cells of a case, or of a row that is none; a column that it leaves out is empty.
    The user's cells are copied as they are, to the byte in CSV, TSV and JSONL, also rows that can't be read
    (they get no new cells where their fields can't be told apart). A workbook keeps its other sheets, formats
    and widths; drawings may be lost. Raises OutputExists; UsageError where the sheet has one of the columns
    already, or the file can't be written; CasesError where the sheet can't be copied. Then nothing is left.
    """
    source = cases.path
    if target.suffix.lower() != source.suffix.lower():
        raise UsageError(f"{target.name} is of another kind than {source.name}", f"Name a {source.suffix} file.")
    if target.exists() and target.samefile(source):
        raise UsageError(f"{target.name} is the sheet that is to be copied", "Name another file.")
    _refuse_present(source, columns, cases.columns)
    with output_file(target, force=force) as file, temporary_files_in(target.parent):
        copy = _Copy(cases, file, columns, values)
        match cases.sheet:
            case DelimitedSheet() as sheet:
                copy.delimited(sheet)
            case JsonLinesSheet() as sheet:
                copy.json_lines(sheet)
            case ParquetSheet() as sheet:
                copy.parquet(sheet)
            case WorkbookSheet() as sheet:
                copy.workbook(sheet)
    return copy.written


def _refuse_present(source: Path, columns: Sequence[str], present: Iterable[str]) -> None:
    both = [column for column in columns if column in present]
    if both:
        raise UsageError(f"{source.name} has a column {shown(both[0])} already", "Rename it, or leave it out.")


def _row_text(source: Path, row: Row) -> str:
    if row.raw is None:
        raise CasesError(f"{source.name} line {row.line} is too long to be copied")
    return row.raw


class _Copy:
    def __init__(self, cases: CasesFile, file: BinaryIO, columns: Sequence[str], values: NewCells) -> None:
        self.cases = cases
        self.file = file
        self.columns = columns
        self.values = values
        self.written = Written()

    def delimited(self, sheet: DelimitedSheet) -> None:
        """Add fields to the text of each record."""
        self._put(sheet.header, sheet, self.columns)
        for row, item in self.cases.rows():
            text = _row_text(sheet.path, row)
            if item is None or row.width is None or row.width > len(sheet.columns):
                self._put(text, sheet)
            else:
                fill: list[Value] = [""] * (len(sheet.columns) - row.width)
                self._put(text, sheet, [*fill, *self._cells(item)])

    def json_lines(self, sheet: JsonLinesSheet) -> None:
        """Add keys to the text of each object."""
        for row, item in self.cases.rows():
            text = _row_text(sheet.path, row)
            if item is not None and not row.problem:
                _refuse_present(sheet.path, self.columns, row.cells)
                body = text.rstrip()
                added = json_text(dict(zip(self.columns, self._cells(item), strict=True)))[1:-1]
                text = f"{body[:-1]}{', ' if row.cells and added else ''}{added}}}{text[len(body) :]}"
            self._put(text, sheet)

    def parquet(self, sheet: ParquetSheet) -> None:
        """Add typed columns; the cells of all rows must be known for their types."""
        new = [self._cells(item) for _, item in self.cases.rows() if item is not None]
        added = [arrow_column([cells[place] for cells in new]) for place in range(len(self.columns))]
        schema = sheet.schema
        for column, cells in zip(self.columns, added, strict=True):
            schema = schema.append(pa.field(column, cells.type))
        start = 0
        with pq.ParquetWriter(self.file, schema) as writer:
            for batch in sheet.batches():
                rows = batch.num_rows
                own = pa.Table.from_batches([batch]).cast(sheet.schema).columns
                table = pa.table([*own, *(cells.slice(start, rows) for cells in added)], schema=schema)
                for piece in table.combine_chunks().to_batches():
                    writer.write_batch(piece)
                start += rows

    def workbook(self, sheet: WorkbookSheet) -> None:
        """Add cells to the sheet's rows, right of everything that is in it."""
        book = sheet.book()
        page = book[sheet.title]
        new = [(row, self._cells(item)) for row, item in self.cases.rows() if item is not None]
        filled = [row.width or 0 for row, _ in new]
        merged = [area.max_col for area in page.merged_cells.ranges]
        first = max(len(sheet.columns), *filled, *merged) + 1
        if first + len(self.columns) > LAST_COLUMN:
            raise UsageError(f"{sheet.path.name} has no room for {len(self.columns)} more columns")
        lines = [(sheet.header_row, list[Value](self.columns)), *((row.line, cells) for row, cells in new)]
        for line, cells in lines:
            for column, value in enumerate(cells, first):
                self.written.cut_cells += fill_cell(page.cell(line, column), value)
        sheet.save(book, self.file)

    def _cells(self, item: Case | BadRow) -> list[Value]:
        self.written.rows += 1
        values = self.values(item)
        return [values.get(column) for column in self.columns]

    def _put(self, text: str, sheet: DelimitedSheet | JsonLinesSheet, fields: Sequence[Value] = ()) -> None:
        """Write a row of the sheet in its encoding, with fields added before its line break."""
        if fields and isinstance(sheet, DelimitedSheet):
            body = text.rstrip("\r\n")
            text = f"{body}{sheet.delimiter}{delimited_line(fields, sheet.delimiter, end=text[len(body) :])}"
        if sheet.encoding.bom and not self.file.tell():
            text = f"\ufeff{text}"
        self.file.write(text.encode(sheet.encoding.codec, sheet.encoding.errors))
