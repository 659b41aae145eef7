"""XLSX workbooks as rows."""

import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO

from pathway_local.errors import CasesError
from pathway_local.sheets.row import Row, column_names, plain_text

PART_LIMIT = 16 * 2**20
"""Bytes of a workbook's part, unpacked, below which nothing about it can do harm."""

KEPT_LIMIT = 512 * 2**20
"""Bytes, unpacked, of the parts that stay in memory: the shared texts, the styles and all that is no sheet."""

SHEETS_LIMIT = 4 * 2**30
"""Bytes, unpacked, of the sheets themselves, which are read row by row."""

RATIO_LIMIT = 200
"""How many times smaller than its content a part over PART_LIMIT may be; a sheet full of text is 10 times smaller."""

LAST_ROW = 1_048_576
OLD_OFFICE = b"\xd0\xcf\x11\xe0"
FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")

Cells = Sequence[Any]


class WorkbookSheet:
    """The first visible sheet of an XLSX workbook, or the one with that title, below its first row that holds anything.

    `titles` has those of all visible sheets in their order.
    A formula counts as the value that the workbook has stored for it.
    """

    unit = "row"

    def __init__(self, path: Path, title: str = "") -> None:
        self.path = path
        _check_archive(path)
        with _sheet(path, title) as sheet:
            self.titles = tuple(each.title for each in sheet.parent.worksheets if each.sheet_state == "visible")
            self.title: str = sheet.title
            sheets = len(sheet.parent.worksheets)
            self._last_row: int | None = sheet.max_row
            self.header_row, header = _header(sheet)
            self._formulas = _has_formulas(path)
        self.notes: tuple[str, ...] = (f"reads its sheet {self.title!r}, one of {sheets}",) if sheets > 1 else ()
        self.columns = column_names(path, header)

    def rows(self) -> Iterator[Row]:
        """Every row below the header."""
        number = 0
        with ExitStack() as stack:
            values = _rows(stack.enter_context(_sheet(self.path, self.title)))
            written: Iterator[Cells] = repeat(())
            if self._formulas:
                written = _rows(stack.enter_context(_sheet(self.path, self.title, formulas=True)))
            for line, (cells, sources) in enumerate(zip(values, written, strict=False), 1):
                if line > self.header_row:
                    row = self._row(number + 1, line, cells, sources)
                    number += not row.blank
                    yield row

    def count(self) -> int | None:
        """The rows below the header, as far as the workbook states its size."""
        return max(self._last_row - self.header_row, 0) if self._last_row else None

    def book(self) -> Any:
        """The whole workbook with all its sheets, to be changed. CasesError where it is too large for that."""
        with zipfile.ZipFile(self.path) as archive:
            if sum(part.file_size for part in archive.infolist()) > KEPT_LIMIT:
                raise CasesError(f"{self.path.name} is too large to be copied", "Save it as CSV, and copy that.")
        try:
            import openpyxl  # slow to import, and most commands read no workbook

            return openpyxl.load_workbook(self.path, rich_text=True)
        except Exception as error:  # noqa: BLE001  see `_sheet`
            raise _damaged(self.path, error) from None

    def save(self, book: Any, file: BinaryIO) -> None:
        """Write the workbook that `book` gave, changed, to `file`. CasesError where it holds what can't be written."""
        try:
            book.save(file)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001  see `_sheet`
            raise CasesError(
                f"{self.path.name} can't be copied ({type(error).__name__})", "Save it as CSV, and copy that."
            ) from None

    def _row(self, number: int, line: int, cells: Cells, sources: Cells) -> Row:
        texts = dict.fromkeys(self.columns, "")
        bad_cells: dict[str, str] = {}
        for place, (column, cell) in enumerate(zip(self.columns, cells, strict=False)):
            if cell.data_type == "e":
                bad_cells[column] = "an error value of the spreadsheet"
            elif cell.value is None and _is_uncalculated(cell, sources[place : place + 1]):
                bad_cells[column] = "a formula without its result (open and save it in a spreadsheet once)"
            else:
                texts[column] = plain_text(cell.value)
        filled = [place for place, cell in enumerate(cells, 1) if cell.value not in (None, "")]
        width = max((len(self.columns), *filled))
        if width > len(self.columns):
            return Row(number, line, problem="it has cells beyond the header's last", width=width)
        if not bad_cells and not any(texts.values()):
            return Row(0, line)
        cells_read = {column: text for column, text in texts.items() if column not in bad_cells}
        return Row(number, line, cells_read, bad_cells=bad_cells, width=width)


def _check_archive(path: Path) -> None:
    """Refuse, before any of it is unpacked, what is no workbook or would unpack to far more than it should."""
    with path.open("rb") as file:
        if file.read(4) == OLD_OFFICE:
            raise CasesError(
                f"{path.name} is an old .xls, or has a password", "Save it as .xlsx without a password, or as CSV."
            )
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise _damaged(path, error) from None
    sheets = sum(part.file_size for part in parts if _is_sheet(part))
    kept = sum(part.file_size for part in parts if not _is_sheet(part))
    packed_tight = any(p.file_size > max(PART_LIMIT, p.compress_size * RATIO_LIMIT) for p in parts)
    if sheets > SHEETS_LIMIT or kept > KEPT_LIMIT or packed_tight:
        raise CasesError(f"{path.name} would unpack to far too much", "Save it as CSV or Parquet.")


def _is_sheet(part: zipfile.ZipInfo) -> bool:
    return part.filename.lstrip("/").startswith("xl/worksheets/")


def _has_formulas(path: Path) -> bool:
    """Whether any sheet has a formula: only then is it worth reading the sheet twice, for values and formulas."""
    with zipfile.ZipFile(path) as archive:
        for part in filter(_is_sheet, archive.infolist()):
            tail = b""
            with archive.open(part) as file:
                while chunk := file.read(2**20):
                    if FORMULA.search(tail + chunk):
                        return True
                    tail = chunk[-64:]
    return False


@contextmanager
def _sheet(path: Path, title: str = "", *, formulas: bool = False) -> Iterator[Any]:
    """The sheet with that title, else the first visible one, read-only.

    CasesError for whatever goes wrong in it, now or while it is read.
    """
    import openpyxl

    # The library's warnings quote cells.
    warnings.filterwarnings("ignore", module=r"openpyxl\b")
    book = None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=not formulas, keep_links=False)
        sheets = book.worksheets
        if not sheets:
            raise CasesError(f"{path.name} has no sheet with cells")
        visible = [sheet for sheet in sheets if sheet.sheet_state == "visible"]
        yield next((sheet for sheet in visible if sheet.title == title), (visible or sheets)[0])
    except CasesError:
        raise
    except Exception as error:  # noqa: BLE001  a damaged workbook raises whatever its parts lead the library to
        raise _damaged(path, error) from None
    finally:
        if book is not None:
            book.close()


def _damaged(path: Path, error: Exception) -> CasesError:
    return CasesError(
        f"{path.name} is no XLSX workbook, or a damaged one ({type(error).__name__})",
        "Open it in a spreadsheet and save it anew.",
    )


def _rows(sheet: Any) -> Iterator[Cells]:
    """The rows of cells from the first; a stated size that is too small would hide rows."""
    sheet.reset_dimensions()
    rows: Iterator[Cells] = sheet.iter_rows(max_row=LAST_ROW)
    return rows


def _header(sheet: Any) -> tuple[int, list[str]]:
    """The number of the first row that holds anything, and its texts up to the last that is not empty."""
    for line, cells in enumerate(_rows(sheet), 1):
        names = [plain_text(cell.value) for cell in cells]
        if any(name.strip() for name in names):
            while not names[-1].strip():
                names.pop()
            return line, names
    return 0, []


def _is_uncalculated(cell: Any, source: Cells) -> bool:
    # A formula whose result is the empty text is stored as a text; one without a result has no type.
    return bool(source) and source[0].data_type == "f" and cell.data_type == "n"
