"""Checks the ZIP archive of an XLSX workbook before any part of it is unpacked."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

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


def cells_over_rows(path: Path, part: str) -> Iterator[tuple[int, int]]:
    """Yield the column (from 0) and the first row of each cell of a sheet's `part` that is merged over several rows."""
    with zipfile.ZipFile(path) as archive:
        for chunk in _chunks(archive, part):
            for column, first, last in MERGED.findall(chunk):
                if int(last) > int(first):
                    yield column_index_from_string(column.decode()) - 1, int(first)


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
