"""Writes tables: rows of values as a new file, and copies of the user's own sheet with columns added."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import chain
from pathlib import Path

from pathway_local.case import BadRow, Case
from pathway_local.errors import UsageError
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.delimited import CSV
from pathway_local.sheets.kinds import KINDS, Page, Writer, kind_of
from pathway_local.sheets.row import Row, refuse_columns
from pathway_local.system.private_file import check_output, output_file, temporary_files_in
from pathway_local.system.visible import visible
from pathway_local.verdict import Value


def write_table(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[Mapping[str, Value]],
    further: Iterable[Page] = (),
    *,
    title: str = "verdicts",
    force: bool = False,
) -> int:
    """Write a table in the format of the path's ending, or CSV to stdout if `path` is "-".

    Returns how many texts were cut because a workbook's cell holds no more. A column that a row lacks stays empty.
    CSV and XLSX get no text that a spreadsheet would run as a formula. A workbook's sheet has the `title`, and the
    `further` sheets come behind it. Rows are written as they come, except to
    Parquet, which needs all of them for its types. Raises OutputExists, and UsageError if the file can't be written;
    then nothing of it is left.
    """
    write, pages = _writer(path), chain([Page(title, columns, rows)], further)
    if str(path) != "-":
        with output_file(path, force=force) as file, temporary_files_in(path.parent):
            return write(file, pages)
    if sys.stdout.isatty():
        shown = BytesIO()
        cut = write(shown, pages)
        sys.stdout.write(visible(shown.getvalue().decode().replace("\r\n", "\n"), lines=True))
        return cut
    cut = write(sys.stdout.buffer, pages)
    sys.stdout.buffer.flush()
    return cut


def check_table(path: Path, *, force: bool) -> None:
    """Raise the errors that `write_table` would raise for this path, before any work is done."""
    _writer(path)
    if str(path) != "-":
        check_output(path, force=force)


def add_columns(
    cases: CasesFile,
    target: Path,
    columns: Sequence[str],
    values: Callable[[Case | BadRow], Mapping[str, Value]],
    *,
    force: bool = False,
) -> int:
    """Copy the cases file to `target`, of the same kind, with `columns` to the right of its own.

    `values` gives the new cells of a case or a bad row; a column that it leaves out stays empty. The user's cells
    are copied as they are, to the byte in CSV, TSV and JSONL, including rows that can't be read (they get no new
    cells if their fields can't be told apart). A workbook keeps its other sheets, formats and widths; drawings may
    be lost. Returns how many texts were cut because a workbook's cell holds no more. Raises OutputExists; UsageError if
    the sheet has one of the columns already, or the file can't be written; CasesError if the sheet can't be copied.
    Then nothing is left.
    """
    source, kind = cases.path, kind_of(cases.path)
    if kind is None or kind.copy is None:
        said = f"{source.name} can't be copied: columns can't be added to {source.suffix} files"
        raise UsageError(said, "Save it as .csv, and copy that.")
    if kind_of(target) is not kind:
        raise UsageError(f"{target.name} is of another kind than {source.name}", f"Name a {source.suffix} file.")
    if target.exists() and target.samefile(source):
        raise UsageError(f"{target.name} is the sheet to be copied", "Name another file.")
    refuse_columns(source, columns, cases.columns)

    def new_cells() -> Iterator[tuple[Row, list[Value] | None]]:
        # Rows and cases come from one pass over the sheet, so cells can't shift against the rows that they belong to.
        for row, item in cases.rows():
            cells = values(item) if item else {}
            yield row, None if row.blank else [cells.get(column) for column in columns]

    with output_file(target, force=force) as file, temporary_files_in(target.parent):
        return kind.copy(cases.sheet, file, columns, new_cells())


def _writer(path: Path) -> Writer:
    kind = CSV if str(path) == "-" else kind_of(path)
    if kind is None or kind.write is None:
        kinds = {ending: kind_of(Path(f"table{ending}")) for ending in KINDS}
        endings = ", ".join(ending for ending, each in kinds.items() if each and each.write)
        raise UsageError(
            f"{path.name} is not a kind of table that can be written", f"Name a file that ends in one of: {endings}."
        )
    return kind.write
