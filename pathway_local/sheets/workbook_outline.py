"""Looks over the archive of an XLSX workbook before any part of it is unpacked or parsed."""

import re
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from openpyxl.cell.read_only import EMPTY_CELL
from openpyxl.utils import column_index_from_string

from pathway_local.errors import CasesError

PART_LIMIT = 16 * 2**20
"""Bytes of an unpacked part that is harmless however tightly it was packed."""

KEPT_LIMIT = 512 * 2**20
"""Unpacked bytes of all parts that stay in memory: shared texts, styles, everything but the sheets."""

SHEETS_LIMIT = 4 * 2**30
"""Unpacked bytes of the sheets, which are read row by row."""

RATIO_LIMIT = 200
"""The tightest packing of a part over PART_LIMIT; a sheet full of text shrinks to a tenth."""

STYLES_LIMIT, MERGED_LIMIT = 2 * 2**20, 100_000
"""Unpacked bytes of the styles, which take a hundred times as many in memory, and cells of a sheet that are merged."""

STRETCH = 2**20
"""Bytes between two tags of which a workbook has never as many: a cell holds 32,767 characters."""

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384

OLD_OFFICE = b"\xd0\xcf\x11\xe0"
TAGS = re.compile(
    rb"""<(?:\w+:)?(?:(row|c|f)\b|(col)\b([^>]*)"""
    rb"""|mergeCell\b[^>]{0,200}?ref=["']([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})["'])"""
)
Cells = Sequence[Any]
AS_CSV = "Save it as CSV or Parquet."
HIDDEN = re.compile(rb"""(min|max|hidden)=["'](\w+)["']""")


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
            if _unpacks_to_too_much(parts) or any(_has_long_tag(archive, part) for part in parts):
                raise CasesError(f"{path.name} would unpack to far too much data", AS_CSV)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError) as error:
        raise damaged(path, error) from None


def _unpacks_to_too_much(parts: Sequence[zipfile.ZipInfo]) -> bool:
    # The archive states the sizes; a part with too small a stated size fails when it is read.
    sheets = sum(part.file_size for part in parts if _is_sheet(part))
    kept = sum(part.file_size for part in parts if not _is_sheet(part))
    packed_tight = any(p.file_size > max(PART_LIMIT, p.compress_size * RATIO_LIMIT) for p in parts)
    styles = sum(part.file_size for part in parts if part.filename.endswith("styles.xml"))
    return sheets > SHEETS_LIMIT or kept > KEPT_LIMIT or packed_tight or styles > STYLES_LIMIT


def _has_long_tag(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    """Whether a part has a stretch without any tag's beginning, as that of a tag with millions of attributes."""
    if not part.filename.endswith((".xml", ".rels")) or part.filename.startswith("customXml/"):  # not parsed
        return False
    with archive.open(part) as file:
        return any(len(piece) == STRETCH and b"<" not in piece for piece in iter(partial(file.read, STRETCH), b""))


def check_copyable(path: Path) -> None:
    """Raise CasesError if the workbook is too large to be held in memory as a whole."""
    with zipfile.ZipFile(path) as archive:
        if sum(part.file_size for part in archive.infolist()) > KEPT_LIMIT:
            raise CasesError(f"{path.name} is too large to be copied", "Save it as CSV, and copy that.")


@dataclass(slots=True)
class Outline:
    """A sheet's outline, read from its XML before any cell: its rows, whether it has formulas, and its hidden columns.

    `merged` has the column (from 0), the first and the last row of each cell that is merged over several rows.
    """

    rows: int = 0
    formulas: bool = False
    hidden: set[int] = field(default_factory=set)
    merged: list[tuple[int, int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path, part: str) -> Self:
        """Look over a part of the workbook. Raises CasesError for more rows, columns or merged cells than allowed."""
        found, width = cls(), 0
        with zipfile.ZipFile(path) as archive:
            for tag, col, about, column, first, last in _tags(archive, part):
                width = 0 if tag == b"row" else width + (tag == b"c")
                found.rows += tag == b"row"
                found.formulas |= tag == b"f"
                if col:
                    told = dict(HIDDEN.findall(about))
                    if told.get(b"hidden") in (b"1", b"true"):
                        found.hidden.update(range(int(told[b"min"]) - 1, min(int(told[b"max"]), LAST_COLUMN)))
                elif column and int(last) > int(first) > 0:
                    found.merged.append((column_index_from_string(column.decode()) - 1, int(first), int(last)))
                if width > LAST_COLUMN or found.rows > LAST_ROW or len(found.merged) > MERGED_LIMIT:
                    raise CasesError(f"{path.name} has more rows, columns or merged cells than can be read", AS_CSV)
        found.merged.sort(key=itemgetter(1))
        return found

    def fill(self, rows: Iterable[Cells]) -> Iterator[Cells]:
        """Yield the rows of a sheet; a cell that is merged over several of them belongs to each."""
        waiting, reaching = deque(self.merged), dict[int, tuple[int, Any]]()
        for line, cells in enumerate(rows, 1):
            own = cells
            for column, (last, cell) in list(reaching.items()):
                own = [*own, *[EMPTY_CELL] * (column + 1 - len(own))]
                own[column] = cell
                if last == line:
                    del reaching[column]
            while waiting and waiting[0][1] == line:
                column, _, last = waiting.popleft()
                if column < len(own):
                    reaching[column] = last, own[column]
            yield own


def _tags(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[bytes, ...]]:
    """Yield the groups of TAGS for each tag of a part, which is read in pieces that end before a tag."""
    rest = b""
    with archive.open(part) as file:
        while chunk := file.read(2**20):
            rest += chunk
            end = max(rest.rfind(b"<"), 0)
            yield from (found.groups(b"") for found in TAGS.finditer(rest, 0, end))
            rest = rest[end : end + 2**20]
    yield from (found.groups(b"") for found in TAGS.finditer(rest))


def damaged(path: Path, error: Exception) -> CasesError:
    """Return the error for a workbook that can't be read."""
    return CasesError(
        f"{path.name} is not an XLSX workbook, or is damaged ({type(error).__name__})",
        "Open it in a spreadsheet and save it again.",
    )


def _is_sheet(part: zipfile.ZipInfo) -> bool:
    return part.filename.lstrip("/").startswith("xl/worksheets/")
