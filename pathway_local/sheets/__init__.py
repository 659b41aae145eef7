"""Files of rows below named columns: one class for each kind of file, all read as a stream.

Each has its `path`, its `columns`, `notes` on what it decided (for people to read), and a `unit`: what
`Row.line` counts, "line" or "row". `rows()` gives every row in order, blank ones too, from the start at each
call, and raises CasesError where it can't go on; `count()` says about how many there are, None where that
takes long to find out.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Union

from pathway_local.errors import CasesError
from pathway_local.sheets.delimited import DelimitedSheet
from pathway_local.sheets.json_lines import JsonLinesSheet
from pathway_local.sheets.workbook import WorkbookSheet

if TYPE_CHECKING:
    from pathway_local.sheets.parquet import ParquetSheet

Sheet = Union[DelimitedSheet, JsonLinesSheet, "ParquetSheet", WorkbookSheet]


def _parquet(path: Path) -> "ParquetSheet":
    from pathway_local.sheets.parquet import ParquetSheet  # its library takes long to import

    return ParquetSheet(path)


KINDS: dict[str, Callable[[Path], Sheet]] = {
    ".csv": DelimitedSheet,
    ".tsv": DelimitedSheet,
    ".jsonl": JsonLinesSheet,
    ".ndjson": JsonLinesSheet,
    ".parquet": _parquet,
    ".xlsx": WorkbookSheet,
}


def open_sheet(path: Path) -> Sheet:
    """The file as a sheet, by its suffix; CasesError where it can't be read as one."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        hint = "Write each of its objects on a line of its own: jq -c '.[]' FILE.json > FILE.jsonl"
        said = f"{path.name} is none of the kinds of file that can be read: {', '.join(KINDS)}"
        raise CasesError(said, hint if path.suffix.lower() == ".json" else "")
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
