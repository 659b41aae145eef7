"""The kinds of file that hold tables: one register for reading, writing and copying them."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from pathway_local.errors import CasesError, UsageError
from pathway_local.sheets.row import Row
from pathway_local.verdict import Value

KINDS = {
    ".csv": "pathway_local.sheets.delimited.CSV",
    ".tsv": "pathway_local.sheets.delimited.TSV",
    ".txt": "pathway_local.sheets.delimited.TSV",
    ".jsonl": "pathway_local.sheets.json_lines.JSON_LINES",
    ".ndjson": "pathway_local.sheets.json_lines.JSON_LINES",
    ".json": "pathway_local.sheets.json_lines.JSON_LIST",
    ".parquet": "pathway_local.sheets.parquet.PARQUET",
    ".xlsx": "pathway_local.sheets.workbook.WORKBOOK",
}
"""The module and name of the SheetKind of each ending. Names, not objects: a module that loads a large library is
imported only when a file of its kind is opened or written."""

OTHER_WORKBOOKS = (".ods", ".xls", ".xlsb", ".xlsm", ".numbers")
"""Workbooks that no library of ours reads; the programs that write them can save them as .xlsx."""

FLAGS = {"encoding": "--encoding", "header_row": "--header-row", "title": "--sheet"}
"""Options that say how to read a file."""

NewCells = Iterable[tuple[Row, Sequence[Value] | None]]
"""Every row of a sheet with the cells to add to it; None for a blank row."""


class Sheet(ABC):
    """A file of rows below named columns, read as a stream; each kind of file has its own subclass.

    `told` has the options by which the user said how to read it, `notes` say which choices were made. `title` is its
    name in a file of several sheets, `others` are those of the further sheets that a user sees. `header_row` is the row
    that names its columns, 0 if none does. `typed` says whether its cells have types, so that a list is no text.
    `hidden` are the columns that a user does not see, `unkept` those that can't be kept, each with what it holds. Of a
    table in Python, `own_id` is the name of its index.
    """

    path: Path
    columns: tuple[str, ...]
    title = ""
    told: Mapping[str, Any] = {}
    notes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    header_row = 0
    hidden: frozenset[str] = frozenset()
    own_id = ""
    unkept: Mapping[str, str] = {}
    typed = False

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """Yield every row below the header, even blank ones, from the start at each call. CasesError if damaged."""

    def sha256(self) -> str:
        """Return the hash of the whole file, 64 hex digits."""
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise CasesError(f"{self.path} can't be read: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows below named columns: a file, or a sheet of a workbook."""

    title: str
    columns: Sequence[str]
    rows: Iterable[Mapping[str, Value]]


Writer = Callable[[BinaryIO, Iterator[Page]], int]
"""Writes the first page to a file, a workbook all of them; returns how many texts were cut to fit their cells."""


@dataclass(frozen=True, slots=True)
class SheetKind:
    """The functions of a kind of file. Only `read` is required; a kind without `write` or `copy` refuses that.

    `copy` writes the sheet to a file with columns added to its right, and returns how many texts were cut. `options`
    are those of FLAGS that `read` takes as arguments.
    """

    read: Callable[..., Sheet]
    write: Writer | None = None
    copy: Callable[[Any, BinaryIO, Sequence[str], NewCells], int] | None = None
    options: Collection[str] = ()


def kind_of(path: Path) -> SheetKind | None:
    """Return the kind of a file by its ending; None if no kind has that ending."""
    module, _, name = KINDS.get(path.suffix.lower(), "").rpartition(".")
    kind: SheetKind | None = getattr(import_module(module), name) if module else None
    return kind


def open_sheet(path: Path, encoding: str = "", header_row: int | None = None, title: str = "") -> Sheet:
    """Open the file as a sheet, in the encoding, with the header's row and the sheet's title that the user named.

    Raises CasesError if it can't be read as one, UsageError for an encoding that does not exist, or if either can't
    apply.
    """
    if path.name.startswith("~$"):
        said = f"{path.name} is no workbook, but Excel's mark that it has {path.name[2:]} open"
        raise CasesError(said, f"Name {path.name[2:]}, and save it in Excel first if it has changed.")
    kind = kind_of(path)
    if kind is None:
        hint = f"Name a file that ends in one of these: {', '.join(KINDS)}."
        if path.suffix.lower() in OTHER_WORKBOOKS:
            hint = f"Open it in the program that made it, save or export it as {path.stem}.xlsx, and name that file."
        raise CasesError(f"{path.name} is not a kind of file that can be read", hint)
    try:
        if not path.exists():
            raise CasesError(f"{path} does not exist", "Check its name.")
        if not path.is_file():
            raise CasesError(f"{path} is not a file", "Name a file, not a folder or a device.")
        if not path.stat().st_size:
            raise CasesError(f"{path.name} is empty")
        given = {"encoding": encoding, "header_row": header_row, "title": title}
        told = {name: value for name, value in given.items() if value}
        for flag in (FLAGS[name] for name in told if name not in kind.options):
            raise UsageError(f"{flag} is not for {path.suffix} files", "Leave it out.")
        sheet = kind.read(path, **told)
        sheet.told = told
        return sheet
    except OSError as error:
        raise CasesError(f"{path} can't be read: {error.strerror}") from None
