"""Values as the cells of a table: safe for a spreadsheet, and whole in JSON."""

import json
import math
import re

from pathway_local.verdict import Value, storable

# Spreadsheets skip control characters and marks without a width, and run a formula behind them; some read full-width
# and small forms of its signs as the signs.
_FORMULA = re.compile("[=+\\-@＝＋－＠﹦﹢﹣﹫\0-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
TEXT_LIMIT = 32_767
"""UTF-16 code units that a workbook's cell holds."""

CUT_MARK = " … [cut]"
EXACT_LIMIT = 10**15
"""The smallest whole number that could lose digits in a spreadsheet."""

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def json_text(value: Value) -> str:
    """Return the value as JSON; NaN and infinity become null."""
    return json.dumps(finite(value), ensure_ascii=False, allow_nan=False)


def spreadsheet_cell(value: Value) -> bool | int | float | str | None:
    """Return the value as a spreadsheet's cell: lists and objects as JSON, and no text that would run as a formula."""
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < EXACT_LIMIT else str(value)
        case float():
            return value if math.isfinite(value) else None
        case str():
            text = storable(value)
            return f"'{text}" if _would_run(text) else text  # an apostrophe in front keeps it a text
    return json_text(value)


def without_guard(text: str) -> str:
    """Return a text from a file that we may have written, without the apostrophe that `spreadsheet_cell` put first."""
    return text[1:] if text.startswith("'") and _would_run(text[1:]) else text


def _would_run(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula; a number such as -5 is none."""
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text)


def delimited_cell(value: Value, decimal: str = ".") -> int | float | str:
    """Return the value as a field of a CSV or TSV file, a fraction with this decimal mark."""
    cell = spreadsheet_cell(value)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(cell).replace(".", decimal)
    return "" if cell is None else cell


def workbook_cell(value: Value) -> tuple[bool | int | float | str | None, bool]:
    """Return the value as a cell of an XLSX workbook, and whether its text was cut."""
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


def finite(value: Value) -> Value:
    """Return the value without anything that JSON can't hold."""
    match value:
        case str():
            return storable(value)
        case float() if not math.isfinite(value):
            return None
        case list():
            return [finite(item) for item in value]
        case dict():
            return {storable(key): finite(item) for key, item in value.items()}
    return value
