"""Tables out: rows of values in a file of their own."""

import csv
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pathway_local.errors import UsageError
from pathway_local.sheets.cells import arrow_column, delimited_cell, json_text, workbook_cell
from pathway_local.sheets.workbook import LAST_ROW
from pathway_local.system.output_file import check_output, output_file, temporary_files_in
from pathway_local.verdict import Value

if TYPE_CHECKING:
    from openpyxl.cell.cell import Cell

Rows = Iterable[Mapping[str, Value]]


@dataclass
class Written:
    """What was written: the rows, and how many texts were cut because a workbook's cell holds no more."""

    rows: int = 0
    cut_cells: int = 0


def write_table(path: Path, columns: Sequence[str], rows: Rows, *, force: bool = False) -> Written:
    """Write a CSV, TSV, JSONL, XLSX or Parquet file, by its suffix, or CSV to stdout where `path` is "-".

    A column that a row lacks is empty there. CSV and XLSX get no text that a spreadsheet would run as a
    formula. CSV, TSV, JSONL and XLSX are written as the rows come; Parquet needs all of them for its types.
    Raises OutputExists, and UsageError where the file can't be written; then nothing is left of it.
    """
    written = Written()
    if str(path) == "-":
        _write_delimited(sys.stdout.buffer, columns, rows, written, ",")
        return written
    write = _writer(path)
    with output_file(path, force=force) as file, temporary_files_in(path.parent):
        write(file, columns, rows, written)
    return written


def check_table(path: Path, *, force: bool) -> None:
    """Raise what `write_table` would raise for this path, before any work is done for it."""
    if str(path) != "-":
        _writer(path)
        check_output(path, force=force)


def delimited_line(cells: Iterable[Value], delimiter: str, end: str = "\r\n") -> str:
    """The values as a line of a CSV or TSV file."""
    line = io.StringIO()
    # Written with this end, fields with any kind of line break in them are quoted.
    csv.writer(line, delimiter=delimiter, lineterminator="\r\n").writerow([delimited_cell(cell) for cell in cells])
    return line.getvalue().removesuffix("\r\n") + end


def fill_cell(cell: "Cell", value: Value) -> bool:
    """Put a value into a workbook's cell, a text always as a text; whether it had to be cut."""
    cell.value, cut = workbook_cell(value)
    if isinstance(cell.value, str):
        cell.data_type = "s"
    return cut


def _write_csv(file: BinaryIO, columns: Sequence[str], rows: Rows, written: Written) -> None:
    _write_delimited(file, columns, rows, written, ",")


def _write_tsv(file: BinaryIO, columns: Sequence[str], rows: Rows, written: Written) -> None:
    _write_delimited(file, columns, rows, written, "\t")


def _write_delimited(file: BinaryIO, columns: Sequence[str], rows: Rows, written: Written, delimiter: str) -> None:
    file.write(delimited_line(columns, delimiter).encode())
    for row in rows:
        file.write(delimited_line((row.get(column) for column in columns), delimiter).encode())
        written.rows += 1
    file.flush()


def _write_json_lines(file: BinaryIO, columns: Sequence[str], rows: Rows, written: Written) -> None:
    for row in rows:
        file.write(json_text({column: row.get(column) for column in columns}).encode() + b"\n")
        written.rows += 1


def _write_workbook(file: BinaryIO, columns: Sequence[str], rows: Rows, written: Written) -> None:
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("verdicts")

    def append(values: Iterable[Value]) -> None:
        cells = [WriteOnlyCell(sheet) for _ in columns]
        written.cut_cells += sum(fill_cell(cell, value) for cell, value in zip(cells, values, strict=True))
        sheet.append(cells)

    try:
        append(columns)
        for row in rows:
            written.rows += 1
            if written.rows == LAST_ROW:
                raise UsageError(
                    f"a workbook holds no more than {LAST_ROW - 1:,} rows below its header", "Write .csv or .parquet."
                )
            append(row.get(column) for column in columns)
    except BaseException:
        sheet.close()  # left open, it would complain on stderr when it is collected
        raise
    book.save(file)


def _write_parquet(file: BinaryIO, columns: Sequence[str], rows: Rows, written: Written) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    values: dict[str, list[Value]] = {column: [] for column in columns}
    for row in rows:
        for column in columns:
            values[column].append(row.get(column))
        written.rows += 1
    pq.write_table(pa.table({column: arrow_column(cells) for column, cells in values.items()}), file)


_WRITERS: dict[str, Callable[[BinaryIO, Sequence[str], Rows, Written], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
    ".xlsx": _write_workbook,
    ".parquet": _write_parquet,
}


def _writer(path: Path) -> Callable[[BinaryIO, Sequence[str], Rows, Written], None]:
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        kinds = ", ".join(_WRITERS)
        raise UsageError(f"{path.name} is none of the kinds of table that can be written", f"They are {kinds}.")
    return write
