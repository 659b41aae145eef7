"""Checks the ZIP archive of an XLSX workbook before any part of it is unpacked."""

import re
import zipfile
from pathlib import Path

from pathway_local.errors import CasesError

PART_LIMIT = 16 * 2**20
"""Bytes of an unpacked part that is harmless however tightly it was packed."""

KEPT_LIMIT = 512 * 2**20
"""Unpacked bytes of all parts that stay in memory: shared texts, styles, everything but the sheets."""

SHEETS_LIMIT = 4 * 2**30
"""Unpacked bytes of the sheets, which are read row by row."""

RATIO_LIMIT = 200
"""The tightest packing of a part over PART_LIMIT; a sheet full of text shrinks to a tenth."""

OLD_OFFICE = b"\xd0\xcf\x11\xe0"
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
        for part in filter(_is_sheet, archive.infolist()):
            tail = b""
            with archive.open(part) as file:
                while chunk := file.read(2**20):
                    # The tail of the last chunk goes in front, or a tag divided between two chunks would be missed.
                    if FORMULA.search(tail + chunk):
                        return True
                    tail = chunk[-64:]
    return False


def damaged(path: Path, error: Exception) -> CasesError:
    """Return the error for a workbook that can't be read."""
    return CasesError(
        f"{path.name} is not an XLSX workbook, or is damaged ({type(error).__name__})",
        "Open it in a spreadsheet and save it again.",
    )


def _is_sheet(part: zipfile.ZipInfo) -> bool:
    return part.filename.lstrip("/").startswith("xl/worksheets/")
