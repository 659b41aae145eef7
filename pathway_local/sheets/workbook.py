"""XLSX workbooks as rows, and rows as XLSX workbooks."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from datetime import date
from io import BytesIO
from itertools import chain, islice, repeat, zip_longest
from pathlib import Path
from typing import Any, BinaryIO

import openpyxl
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import Cell
from openpyxl.styles import Alignment, Font
from openpyxl.utils import get_column_letter
from openpyxl.utils.cell import coordinate_from_string

from pathway_local.errors import CasesError, PathwayError, UnknownName, UsageError
from pathway_local.sheets.columns import LOOKED_AT, find_header, names_in
from pathway_local.sheets.kinds import NewCells, Page, Sheet, SheetKind
from pathway_local.sheets.row import Row, column_names, plain_text, workbook_cell
from pathway_local.sheets.workbook_outline import (
    LAST_COLUMN,
    LAST_ROW,
    Cells,
    Outline,
    check_archive,
    check_copyable,
    damaged,
)
from pathway_local.verdict import Value

WIDTH = 28
"""Characters in a new column's line; longer texts are wrapped."""

HEADER, WRAPPED = Font(bold=True), Alignment(wrap_text=True, vertical="top")

_DATE = re.compile(r"(19|20)\d\d-\d\d-\d\d")


class WorkbookSheet(Sheet):
    """A visible sheet of an XLSX workbook: the one called `title`, else the first.

    A formula counts as the value that the workbook stores for it, and a merged cell belongs to each of its rows.
    """

    def __init__(self, path: Path, header_row: int | None = None, title: str = "") -> None:
        self.path = path
        check_archive(path)
        with _open(path) as book:
            seen = {page.title: page for page in book.worksheets if page.sheet_state == "visible"}
            seen = seen or {page.title: page for page in book.worksheets[:1]}
            if title and title not in seen:
                raise UnknownName("sheet", title, seen)
            self.title = title or next(iter(seen))
            self._outline = Outline.of(path, seen[self.title]._worksheet_path)
            cells = islice(_rows(seen[self.title]), max(LOOKED_AT, header_row or 0))
            rows = [[plain_text(cell.value) for cell in row] for row in cells]
            hidden = [page.title for page in book.worksheets if page.title not in seen]
        self.others = tuple(each for each in seen if each != self.title)
        if self.others or hidden:
            # A copy of the workbook holds hidden sheets, too, and they may say who is behind a number.
            told = f" (hidden: {', '.join(map(repr, hidden))})" if hidden else ""
            self.notes = (f"the sheet {self.title!r} is read, one of {len(seen) + len(hidden)}{told}",)
        self.columns = column_names(path, self._names(rows, header_row))
        self.hidden = frozenset(name for place, name in enumerate(self.columns) if place in self._outline.hidden)

    def _names(self, rows: Sequence[list[str]], header_row: int | None) -> list[str]:
        """Find the header, which reaches as far as its merged cells, and return the names of its columns."""
        place = find_header(rows, header_row, self.path.name)
        reaching = [(first, last) for _, first, last in self._outline.merged if first - 1 <= place < last]
        self.header_row = max((last for _, last in reaching), default=place + 1)
        header = rows[min((first - 1 for first, _ in reaching), default=place) : self.header_row]
        if any(last > self.header_row for *_, last in self._outline.merged):
            self.notes += ("a cell that is merged over several rows belongs to each of them",)
        return names_in([next(filter(str.strip, reversed(names)), "") for names in zip_longest(*header, fillvalue="")])

    def rows(self) -> Iterator[Row]:
        """Yield every row below the header."""
        with ExitStack() as stack:
            values = _rows(stack.enter_context(_open(self.path))[self.title])
            # When values are read, a formula without a stored result looks like an empty cell. Only a second reading,
            # of the formulas themselves, tells them apart. It doubles the time, so sheets without formulas skip it.
            written: Iterator[Cells] = repeat(())
            if self._outline.formulas:
                written = _rows(stack.enter_context(_open(self.path, formulas=True))[self.title])
            filled = self._outline.fill(values)
            for line, (cells, sources) in enumerate(zip(filled, written, strict=False), 1):
                if line > self.header_row:
                    yield self._row(line, cells, sources)

    def copy(self, file: BinaryIO, columns: Sequence[str], rows: NewCells) -> int:
        """Write the whole workbook, with the new cells right of everything that is in this sheet."""
        check_copyable(self.path)
        try:
            book = openpyxl.load_workbook(self.path, rich_text=True)
        except Exception as error:  # noqa: BLE001  see `_open`
            raise damaged(self.path, error) from None
        page: Any = book[self.title]
        new = [(row, cells) for row, cells in rows if cells is not None]
        # Stray cells and merged areas may reach beyond the header, and must not be written over.
        filled = [row.width or 0 for row, _ in new]
        merged = [area.max_col for area in page.merged_cells.ranges]
        first = max(len(self.columns), *filled, *merged) + 1
        if first + len(columns) > LAST_COLUMN:
            raise UsageError(f"{self.path.name} has no room for {len(columns)} more columns", "Save it as CSV.")
        cut = 0
        for line, cells in [(self.header_row, list[Value](columns)), *((row.number, cells) for row, cells in new)]:
            for column, value in enumerate(cells, first):
                cut += fill_cell(page.cell(line, column), value)
                if line == self.header_row:
                    page.cell(line, column)._style = copy(page.cell(line, len(self.columns))._style)
                else:
                    _format(page.cell(line, column))
        _extend_filter(page, len(self.columns), first - 1 + len(columns))
        # A width may be that of all columns on: a second one for some of these would be an error in the file.
        if all((each.max or 0) < first for each in page.column_dimensions.values()):
            for column in range(first, first + len(columns)):
                page.column_dimensions[get_column_letter(column)].width = WIDTH
        self._save(book, file)
        return cut

    def _save(self, book: Any, file: BinaryIO) -> None:
        try:
            save_book(book, file)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001  see `_open`
            raise CasesError(
                f"{self.path.name} can't be copied ({type(error).__name__})", "Save it as CSV, and copy that."
            ) from None

    def _row(self, line: int, cells: Cells, sources: Cells) -> Row:
        texts = dict.fromkeys(self.columns, "")
        bad_cells: dict[str, str] = {}
        for place, (column, cell) in enumerate(zip(self.columns, cells, strict=False)):
            if cell.data_type == "e":
                bad_cells[column] = "an error value of the spreadsheet"
            elif cell.value is None and _is_uncalculated(cell, sources[place : place + 1]):
                bad_cells[column] = "a formula without its result (open the file in a spreadsheet and save it)"
            else:
                texts[column] = plain_text(cell.value)
        where = f"row {line}"
        filled = [at for at, cell in enumerate(cells, 1) if cell.value not in (None, "")]
        width = max((len(self.columns), *filled))
        if width > len(self.columns):
            return Row(line, where, problem="it has cells to the right of the last column", width=width)
        if not bad_cells and not any(texts.values()):
            return Row(line, where, blank=True)
        cells_read = {column: text for column, text in texts.items() if column not in bad_cells}
        return Row(line, where, cells_read, bad_cells=bad_cells, width=width)


@contextmanager
def _open(path: Path, *, formulas: bool = False) -> Iterator[Any]:
    """Open the workbook, to be read as a stream. Raises CasesError for any error in it, now or while it is read."""
    # The library's warnings quote cells.
    warnings.filterwarnings("ignore", module=r"openpyxl\b")
    book = None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=not formulas, keep_links=False)
        if not book.worksheets:
            raise CasesError(f"{path.name} has no sheet with cells")
        yield book
    except PathwayError:
        raise
    except Exception as error:  # noqa: BLE001  a damaged workbook can make the library raise anything
        raise damaged(path, error) from None
    finally:
        if book is not None:
            book.close()


def _rows(page: Any) -> Iterator[Cells]:
    """Return all rows of cells; ignore the size that the sheet states, since one that is too small would hide rows."""
    page.reset_dimensions()
    return page.iter_rows(max_row=LAST_ROW)  # type: ignore[no-any-return]


def _is_uncalculated(cell: Any, source: Cells) -> bool:
    # A formula with an empty text as its result is stored as a text; one without a result has no type.
    return bool(source) and source[0].data_type == "f" and cell.data_type == "n"


def fill_cell(cell: Cell, value: Value) -> bool:
    """Put a value into a workbook's cell, a text always as a text. Return whether it was cut."""
    filled, cut = workbook_cell(value)
    cell.value = None if filled == "" else filled  # an empty text makes the cell invalid
    # The library takes "#REF!" for an error and "=1" for a formula.
    if isinstance(cell.value, str):
        cell.data_type = "s"
    return cut


def _write(file: BinaryIO, pages: Iterator[Page]) -> int:
    book = openpyxl.Workbook(write_only=True)
    try:
        cut = sum(_fill(book, page) for page in pages)
    except BaseException:
        for sheet in book.worksheets:  # left open, each would write to stderr when it is collected
            with suppress(OSError):  # on a full disk closing fails as well; the first error is the one to tell
                sheet.close()
        raise
    save_book(book, file)
    return cut


def save_book(book: openpyxl.Workbook, file: BinaryIO) -> None:
    """Write a workbook: packed in memory first, since on a full disk the library would leave its archive half open."""
    packed = BytesIO()
    book.save(packed)
    file.write(packed.getbuffer())


def _fill(book: Any, page: Page) -> int:
    """Add a sheet with a frozen header and a filter; return the texts cut."""
    sheet, columns = book.create_sheet(page.title), page.columns
    sheet.sheet_format.defaultColWidth = WIDTH
    sheet.freeze_panes = "A2"
    cut = number = 0
    for number, row in enumerate(chain([dict(zip(columns, columns, strict=True))], page.rows)):
        if number == LAST_ROW:
            raise UsageError(
                f"a workbook holds no more than {LAST_ROW - 1:,} rows below its header", "Write .csv or .parquet."
            )
        cells = [WriteOnlyCell(sheet) for _ in columns]
        for cell, value in zip(cells, (row.get(column) for column in columns), strict=True):
            cut += fill_cell(cell, value)
            if number == 0:
                cell.font = HEADER
            else:
                _format(cell)
        sheet.append(cells)
    sheet.auto_filter.ref = f"A1:{get_column_letter(max(len(columns), 1))}{number + 1}"
    return cut


def _extend_filter(page: Any, last: int, wanted: int) -> None:
    """Let a filter that ends at the `last` of the sheet's own columns end at the `wanted` one."""
    first, _, end = (page.auto_filter.ref or "").partition(":")
    column, row = coordinate_from_string(end) if end else ("", 0)
    if column == get_column_letter(last):
        page.auto_filter.ref = f"{first}:{get_column_letter(wanted)}{row}"


def _format(cell: Any) -> None:
    """Show fractions with two decimals or their own, and ISO dates as dates, and wrap long texts."""
    if isinstance(cell.value, float):
        # A computed fraction has many digits; one that a person wrote, such as a price of 0.0492, keeps its own.
        computed = cell.value != round(cell.value, 6)
        cell.number_format = "0.00" if computed else "0.0#####"
    elif isinstance(cell.value, str) and _DATE.fullmatch(cell.value):
        with suppress(ValueError):  # such as 2026-02-30
            cell.value = date.fromisoformat(cell.value)
            cell.number_format = "yyyy-mm-dd"
    elif isinstance(cell.value, str) and (len(cell.value) > WIDTH or "\n" in cell.value):
        cell.alignment = WRAPPED


WORKBOOK = SheetKind(WorkbookSheet, _write, WorkbookSheet.copy, ("header_row", "title"))
