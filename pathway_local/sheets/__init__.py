"""Files of rows below named columns: one class for each kind of file, all read as a stream."""

from collections.abc import Callable
from pathlib import Path

from pathway_local.errors import CasesError
from pathway_local.sheets.delimited import DelimitedSheet
from pathway_local.sheets.json_lines import JsonLinesSheet
from pathway_local.sheets.parquet import ParquetSheet
from pathway_local.sheets.row import Sheet
from pathway_local.sheets.workbook import WorkbookSheet

KINDS: dict[str, Callable[[Path], Sheet]] = {
    ".csv": DelimitedSheet,
    ".tsv": DelimitedSheet,
    ".jsonl": JsonLinesSheet,
    ".ndjson": JsonLinesSheet,
    ".parquet": ParquetSheet,
    ".xlsx": WorkbookSheet,
}


def open_sheet(path: Path) -> Sheet:
    """The file as a sheet, by its suffix; CasesError where it can't be read as one."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise CasesError(f"{path.name} is none of the kinds of file that can be read: {', '.join(KINDS)}")
    try:
        if not path.exists():
            raise CasesError(f"{path} does not exist")
        if not path.is_file():
            raise CasesError(f"{path} is no file", "Name a file, not a folder or a device.")
        if not path.stat().st_size:
            raise CasesError(f"{path.name} is empty")
        return kind(path)
    except OSError as error:
        raise CasesError(f"{path} can't be read: {error.strerror}") from None
