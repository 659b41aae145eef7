"""XLSX workbooks as rows; their ZIP archive is checked before any part of it is unpacked."""

import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from datetime import date
from io import BytesIO
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, BinaryIO

import openpyxl
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import Cell
from openpyxl.styles import Alignment, Font
from openpyxl.utils import column_index_from_string, get_column_letter
from openpyxl.utils.cell import coordinate_from_string

from pathway_local.errors import CasesError, UsageError
from pathway_local.sheets.header import find_header, header_note, looked_at, names_in
from pathway_local.sheets.kinds import NewCells, Page, Sheet, SheetKind
from pathway_local.sheets.row import CellValue, Row, cell_kind, column_names, plain_text, workbook_cell

PART_LIMIT = 16 * 2**20
"""Bytes of an unpacked part that is harmless however tightly it was packed."""

KEPT_LIMIT = 512 * 2**20
"""Unpacked bytes of all parts that stay in memory: shared texts, styles, everything but the sheets."""

SHEETS_LIMIT = 4 * 2**30
"""Unpacked bytes of the sheets, which are read row by row."""

RATIO_LIMIT = 200
"""The tightest packing of a part over PART_LIMIT; a sheet full of text shrinks to a tenth."""

TAG = 128
"""Bytes of the longest tag looked for."""

OLD_OFFICE = b"\xd0\xcf\x11\xe0"
MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]{0,40}?ref=["']([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})["']""")
FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")


def check_archive(path: Path) -> None:
    """Raise CasesError if the file is not a workbook, or would unpack to far more than a workbook does."""
    with path.open("rb") as file:
        if file.read(4) == OLD_OFFICE:
            raise CasesError(
                f"{path.name} is an old .xls, or has a password", "Save it as .xlsx without a password, or as CSV."
            )
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise damaged(path, error) from None
    # The archive states the sizes; a part with too small a stated size fails when it is read.
    sheets = sum(part.file_size for part in parts if _is_sheet(part))
    kept = sum(part.file_size for part in parts if not _is_sheet(part))
    packed_tight = any(p.file_size > max(PART_LIMIT, p.compress_size * RATIO_LIMIT) for p in parts)
    if sheets > SHEETS_LIMIT or kept > KEPT_LIMIT or packed_tight:
        raise CasesError(f"{path.name} would unpack to far too much data", "Save it as CSV or Parquet.")


def check_copyable(path: Path) -> None:
    """Raise CasesError if the workbook is too large to be held in memory as a whole."""
    with zipfile.ZipFile(path) as archive:
        if sum(part.file_size for part in archive.infolist()) > KEPT_LIMIT:
            raise CasesError(f"{path.name} is too large to be copied", "Save it as CSV, and copy that.")


def has_formulas(path: Path) -> bool:
    """Whether any sheet has a formula."""
    with zipfile.ZipFile(path) as archive:
        parts = filter(_is_sheet, archive.infolist())
        return any(any(map(FORMULA.search, _chunks(archive, part.filename))) for part in parts)


def cells_over_rows(path: Path, part: str) -> Iterator[tuple[int, int, int]]:
    """Yield column (from 0), first and last row of each cell of a sheet's `part` that is merged over several rows."""
    with zipfile.ZipFile(path) as archive:
        for chunk in _chunks(archive, part):
            for column, first, last in MERGED.findall(chunk):
                if int(last) > int(first) > 0:
                    yield column_index_from_string(column.decode()) - 1, int(first), int(last)


def _chunks(archive: zipfile.ZipFile, part: str) -> Iterator[bytes]:
    """Yield a part in pieces, each behind the end of the one before: else a tag on two pieces would be missed."""
    tail = b""
    with archive.open(part) as file:
        while chunk := file.read(2**20):
            yield tail + chunk
            tail = chunk[-TAG:]


def damaged(path: Path, error: Exception) -> CasesError:
    """Return the error for a workbook that can't be read."""
    return CasesError(
        f"{path.name} is not an XLSX workbook, or is damaged ({type(error).__name__})",
        "Open it in a spreadsheet and save it again.",
    )


def _is_sheet(part: zipfile.ZipInfo) -> bool:
    return part.filename.lstrip("/").startswith("xl/worksheets/")


LAST_ROW, LAST_COLUMN = 1_048_576, 16_384

MOST_BELOW = 10
"""Rows below the first over which a merged cell of a header is read."""

LOOKED_AT, WIDEST = 200, 60
"""Rows that decide how wide a column is, and its most characters: longer texts are wrapped."""

HEADER, WRAPPED = Font(bold=True), Alignment(wrap_text=True, vertical="top")

_DATE = re.compile(r"(19|20)\d\d-\d\d-\d\d")

Cells = Sequence[Any]


class WorkbookSheet(Sheet):
    """A visible sheet of an XLSX workbook: the one called `title`, else the first.

    A first sheet of one column at most is a cover page if another sheet has more columns and more rows: that one is
    read, and `notes` say so.
    Its header is found by `find_header`, unless `header_row` names its row. A formula counts as the value that the
    workbook stores for it, and a merged cell is in its first row alone.
    """

    unit = "row"

    def __init__(self, path: Path, title: str = "", header_row: int | None = None) -> None:
        self.path = path
        check_archive(path)
        names = self._look(title, header_row if title else None)
        cover, table = self.title, "" if title or len(names) > 1 else self._behind_the_cover()
        if table or (header_row and not title):
            names = self._look(table or self.title, header_row)
        if table:
            self.notes += (f"its first sheet {cover!r} has one column at most, so it is taken for a cover page",)
        self.columns = column_names(path, names)

    def _look(self, title: str, header_row: int | None) -> Sequence[str]:
        """Look at the sheet called `title`, else the first, and return the names of its columns."""
        with _open(self.path, title) as page:
            self.title: str = page.title
            seen = {each.title: each.sheet_state == "visible" for each in page.parent.worksheets}
            self.others = tuple(title for title in seen if seen[title] and title != self.title)
            self._last_row: int | None = page.max_row
            rows = looked_at(([plain_text(cell.value) for cell in cells] for cells in _rows(page)), header_row or 0)
            over_rows = list(cells_over_rows(self.path, page._worksheet_path))
            for column, first, last in over_rows:
                # A name may reach over all rows of a header.
                if first <= len(rows) and column < len(rows[first - 1]):
                    for cells in rows[first : min(last, first + MOST_BELOW)]:
                        cells.extend([""] * (column + 1 - len(cells)))
                        cells[column] = rows[first - 1][column]
            place = find_header(rows, header_row, self.path.name)
            self._formulas = has_formulas(self.path)
        self.header_row = 0 if place is None else place + 1
        # A copy of the workbook holds hidden sheets, too, and they may say who is behind a number.
        hidden = ", ".join(repr(title) for title in seen if not seen[title])
        told = f"the sheet {self.title!r} is read, one of {len(seen)}{f' (hidden: {hidden})' if hidden else ''}"
        self.notes = (told,) if len(seen) > 1 else ()
        self.guessed_header = any(map(any, rows[: self.header_row - 1])) and not header_row
        if self.guessed_header:
            self.notes += (header_note(self.header_row),)
        if any(last > self.header_row for *_, last in over_rows):
            self.notes += ("a cell that is merged over several rows counts in the first of them alone",)
        return [] if place is None else names_in(rows[place])

    def _behind_the_cover(self) -> str:
        """Return the title of the first other visible sheet with several columns and more rows; empty without one."""
        for title in self.others:
            with suppress(CasesError):  # without a header, a sheet has no rows to read
                other = WorkbookSheet(self.path, title)
                if len(other.columns) > 1 and (other.count() or 0) > (self.count() or 0):
                    return title
        return ""

    def rows(self) -> Iterator[Row]:
        """Yield every row below the header."""
        with ExitStack() as stack:
            values = _rows(stack.enter_context(_open(self.path, self.title)))
            # When values are read, a formula without a stored result looks like an empty cell. Only a second reading,
            # of the formulas themselves, tells them apart. It doubles the time, so sheets without formulas skip it.
            written: Iterator[Cells] = repeat(())
            if self._formulas:
                written = _rows(stack.enter_context(_open(self.path, self.title, formulas=True)))
            for line, (cells, sources) in enumerate(zip(values, written, strict=False), 1):
                if line > self.header_row:
                    yield self._row(line, cells, sources)

    def count(self) -> int | None:
        """Return the number of rows below the header, if the workbook states its size."""
        return max(self._last_row - self.header_row, 0) if self._last_row else None

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
        for line, cells in [(self.header_row, list[CellValue](columns)), *((row.line, cells) for row, cells in new)]:
            for column, value in enumerate(cells, first):
                cut += fill_cell(page.cell(line, column), value)
                if line == self.header_row:
                    page.cell(line, column)._style = copy(page.cell(line, len(self.columns))._style)
                else:
                    _format(page.cell(line, column))
        _extend_filter(page, len(self.columns), first - 1 + len(columns))
        # A width may be that of all columns on: a second one for some of these would be an error in the file.
        if all((each.max or 0) < first for each in page.column_dimensions.values()):
            for place, name in enumerate(columns):
                _widen(page, first + place, name, (cells[place] for _, cells in new[:LOOKED_AT]))
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
        kinds: dict[str, str] = {}
        bad_cells: dict[str, str] = {}
        for place, (column, cell) in enumerate(zip(self.columns, cells, strict=False)):
            if cell.data_type == "e":
                bad_cells[column] = "an error value of the spreadsheet"
            elif cell.value is None and _is_uncalculated(cell, sources[place : place + 1]):
                bad_cells[column] = "a formula without its result (open the file in a spreadsheet and save it)"
            else:
                texts[column] = plain_text(cell.value)
                if kind := cell_kind(cell.value):
                    kinds[column] = kind
        filled = [place for place, cell in enumerate(cells, 1) if cell.value not in (None, "")]
        width = max((len(self.columns), *filled))
        if width > len(self.columns):
            return Row(line, line, problem="it has cells to the right of the last column", width=width)
        if not bad_cells and not any(texts.values()):
            return Row(line, line, blank=True)
        cells_read = {column: text for column, text in texts.items() if column not in bad_cells}
        return Row(line, line, cells_read, bad_cells=bad_cells, width=width, kinds=kinds)


@contextmanager
def _open(path: Path, title: str = "", *, formulas: bool = False) -> Iterator[Any]:
    """Open the visible sheet with that title, else the first one, to be read as a stream.

    Raises CasesError for any error in it, now or while it is read.
    """
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


def fill_cell(cell: Cell, value: CellValue) -> bool:
    """Put a value into a workbook's cell, a text always as a text. Return whether it was cut."""
    filled, cut = workbook_cell(value)
    cell.value = None if filled == "" else filled  # an empty text makes the cell invalid
    # The library takes "#REF!" for an error and "=1" for a formula.
    if isinstance(cell.value, str):
        cell.data_type = "s"
    return cut


def _write(file: BinaryIO, columns: Sequence[str], rows: Iterable[Mapping[str, CellValue]]) -> int:
    return _write_pages(file, [Page("verdicts", columns, rows)])


def _write_pages(file: BinaryIO, pages: Iterable[Page]) -> int:
    book = openpyxl.Workbook(write_only=True)
    try:
        cut = sum(_fill(book, page.title, page.columns, page.rows) for page in pages)
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


def _fill(book: Any, title: str, columns: Sequence[str], rows: Iterable[Mapping[str, CellValue]]) -> int:
    """Add a sheet with a frozen header, a filter and columns as wide as their first rows need; return the texts cut."""
    sheet = book.create_sheet(title)
    stream = iter(rows)
    first = list(islice(stream, LOOKED_AT))
    for place, column in enumerate(columns, 1):
        _widen(sheet, place, column, (row.get(column) for row in first))
    sheet.freeze_panes = "A2"
    cut = 0
    number = 0
    for number, row in enumerate(chain([dict(zip(columns, columns, strict=True))], first, stream)):
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


def _widen(sheet: Any, place: int, name: str, cells: Iterable[CellValue]) -> None:
    lengths = [len(name) + 4, *(len(_seen(cell)) + 2 for cell in cells)]
    sheet.column_dimensions[get_column_letter(place)].width = min(max(lengths), WIDEST)


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
    elif isinstance(cell.value, str) and (len(cell.value) > WIDEST or "\n" in cell.value):
        cell.alignment = WRAPPED


def _seen(value: CellValue) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "" if value is None else str(value)


WORKBOOK = SheetKind(WorkbookSheet, _write, WorkbookSheet.copy, header_rows=True, write_pages=_write_pages)
