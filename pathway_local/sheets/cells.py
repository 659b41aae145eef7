"""Values as the cells of a table: safe for a spreadsheet, and whole in JSON."""

import json
import math
import re
from collections.abc import Mapping
from datetime import date, time

from pathway_local.sheets.row import CellValue, plain_text
from pathway_local.verdict import Value, storable

# Spreadsheets skip control characters and marks without a width, and run a formula behind them; some read full-width
# and small forms of its signs as the signs.
_FORMULA = re.compile("[=+\\-@＝＋－＠﹦﹢﹣﹫\0-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
TEXT_LIMIT = 32_767
"""UTF-16 code units that a workbook's cell holds."""

CUT_MARK = " … [cut]"
FIRST_YEAR = 1900
EXACT_LIMIT = 10**15
"""The smallest whole number that could lose digits in a spreadsheet."""

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def json_text(value: CellValue | Mapping[str, CellValue]) -> str:
    """Return the value as JSON; dates are ISO texts, NaN and infinity become null."""
    return json.dumps(finite(value), ensure_ascii=False, allow_nan=False)


def spreadsheet_cell(value: CellValue) -> bool | int | float | str | None:
    """Return the value as a spreadsheet's cell: lists and objects as JSON, and no text that would run as a formula.

    Dates become ISO texts.
    """
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < EXACT_LIMIT else str(value)
        case float():
            return value if math.isfinite(value) else None
        case date() | time():
            return plain_text(value)
        case str():
            text = storable(value)
            return f"'{text}" if _would_run(text) else text  # an apostrophe in front keeps it a text
    return json_text(value)


def without_guard(text: str) -> str:
    """Return a text from a file that we may have written, without the apostrophe that `spreadsheet_cell` put first."""
    return text[1:] if text.startswith("'") and _would_run(text[1:]) else text


def may_run(text: str) -> bool:
    """Whether a spreadsheet may take a cell that is copied as it is for a formula, or a part of it behind a semicolon.

    Where the comma is the decimal mark, spreadsheets split a CSV file at semicolons.
    """
    return any(map(_would_run, (part.lstrip(' "') for part in text.split(";"))))


def _would_run(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula; a number such as -5 is none."""
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text)


def delimited_cell(value: CellValue, decimal: str = ".") -> int | float | str:
    """Return the value as a field of a CSV or TSV file, a fraction with this decimal mark."""
    cell = spreadsheet_cell(value)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(cell).replace(".", decimal)
    return "" if cell is None else cell


def workbook_cell(value: CellValue) -> tuple[bool | int | float | str | date | time | None, bool]:
    """Return the value as a cell of an XLSX workbook, and whether its text was cut."""
    if isinstance(value, date | time) and _is_in_workbooks(value):
        return value, False
    cell = spreadsheet_cell(value)
    if not isinstance(cell, str):
        return cell, False
    text = _NOT_XML.sub("\ufffd", cell)
    # The limit counts UTF-16 units, of which an emoji takes two: a cut by characters would leave too many. A pair
    # that the cut divides is dropped ("ignore"), since half of one can't be written.
    units = text.encode("utf-16-le")
    if len(units) <= 2 * TEXT_LIMIT:
        return text, False
    return units[: 2 * (TEXT_LIMIT - len(CUT_MARK))].decode("utf-16-le", "ignore") + CUT_MARK, True


def _is_in_workbooks(value: date | time) -> bool:
    """Whether a workbook can hold the date or time: it has no time zones, and its days begin in 1900."""
    return getattr(value, "tzinfo", None) is None and (isinstance(value, time) or value.year >= FIRST_YEAR)


def is_cut(text: str) -> bool:
    """Whether a text is as long as a workbook's cell can be, so that its end may be missing."""
    return len(text.encode("utf-16-le", "surrogatepass")) >= 2 * (TEXT_LIMIT - 1)


def finite(value: CellValue | Mapping[str, CellValue]) -> Value:
    """Return the value without anything that JSON can't hold."""
    match value:
        case date() | time():
            return plain_text(value)
        case str():
            return storable(value)
        case float() if not math.isfinite(value):
            return None
        case list():
            return [finite(item) for item in value]
        case Mapping():
            return {storable(key): finite(item) for key, item in value.items()}
    return value
