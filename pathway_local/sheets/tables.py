"""Writes tables: rows of values in a new file."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pathway_local.errors import UsageError
from pathway_local.sheets.delimited import CSV
from pathway_local.sheets.kinds import KINDS, Writer, kind_of
from pathway_local.system.output_file import check_output, output_file, temporary_files_in
from pathway_local.verdict import Value


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Value]], *, force: bool = False) -> int:
    """Write a table in the format of the path's ending, or CSV to stdout if `path` is "-".

    Returns how many texts were cut because a workbook's cell holds no more. A column that a row lacks stays empty.
    CSV and XLSX get no text that a spreadsheet would run as a formula. Rows are written as they come, except to
    Parquet, which needs all of them for its types. Raises OutputExists, and UsageError if the file can't be
    written; then nothing of it is left.
    """
    write = _writer(path)
    if str(path) == "-":
        cut = write(sys.stdout.buffer, columns, rows)
        sys.stdout.buffer.flush()
        return cut
    with output_file(path, force=force) as file, temporary_files_in(path.parent):
        return write(file, columns, rows)


def check_table(path: Path, *, force: bool) -> None:
    """Raise the errors that `write_table` would raise for this path, before any work is done."""
    _writer(path)
    if str(path) != "-":
        check_output(path, force=force)


def _writer(path: Path) -> Writer:
    kind = CSV if str(path) == "-" else kind_of(path)
    if kind is None or kind.write is None:
        kinds = {ending: kind_of(Path(f"table{ending}")) for ending in KINDS}
        endings = ", ".join(ending for ending, each in kinds.items() if each and each.write)
        raise UsageError(
            f"{path.name} is not a kind of table that can be written", f"Name a file that ends in one of: {endings}."
        )
    return kind.write
