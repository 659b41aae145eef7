"""Values as the cells of a table: safe for a spreadsheet, whole in JSON, typed in Parquet."""

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pathway_local.verdict import Value, storable

if TYPE_CHECKING:
    import pyarrow as pa

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
TEXT_LIMIT = 32_767
"""UTF-16 code units that a workbook's cell holds."""

CUT_MARK = " … [cut]"
EXACT_LIMIT = 10**15
"""Whole numbers from here on lose digits in a spreadsheet."""

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def json_text(value: Value) -> str:
    """The value as JSON; a number that is none becomes null."""
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)


def spreadsheet_cell(value: Value) -> bool | int | float | str | None:
    """The value as a spreadsheet's cell: lists and objects as JSON, no text that would run as a formula."""
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < EXACT_LIMIT else str(value)
        case float():
            return value if math.isfinite(value) else None
        case str():
            return escape_formula(storable(value))
    return json_text(value)


def escape_formula(text: str) -> str:
    """The text with an apostrophe in front where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def delimited_cell(value: Value) -> int | float | str:
    """The value as a field of a CSV or TSV file."""
    cell = spreadsheet_cell(value)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return "" if cell is None else cell


def workbook_cell(value: Value) -> tuple[bool | int | float | str | None, bool]:
    """The value as a cell of an XLSX workbook, and whether its text had to be cut."""
    cell = spreadsheet_cell(value)
    if not isinstance(cell, str):
        return cell, False
    text = _NOT_XML.sub("\ufffd", cell)
    units = text.encode("utf-16-le")
    if len(units) <= 2 * TEXT_LIMIT:
        return text, False
    return units[: 2 * (TEXT_LIMIT - len(CUT_MARK))].decode("utf-16-le", "ignore") + CUT_MARK, True


def arrow_column(values: Sequence[Value]) -> "pa.Array | pa.ChunkedArray":
    """The values as a Parquet column: of booleans, whole numbers, numbers, texts or lists of texts; else as JSON."""
    import pyarrow as pa  # slow to import, and most tables are not Parquet

    present = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in present) and present:
        return pa.array(values, pa.bool_())
    if all(_is_number(value) for value in present) and present:
        whole = all(isinstance(value, int) for value in present)
        return pa.array([_finite(value) for value in values], pa.int64() if whole else pa.float64())
    if all(isinstance(value, list) and all(isinstance(item, str) for item in value) for value in present) and present:
        return pa.array([_finite(value) for value in values], pa.list_(pa.string()))
    return pa.array([_arrow_text(value) for value in values], pa.string())


def _arrow_text(value: Value) -> str | None:
    if value is None:
        return None
    return storable(value) if isinstance(value, str) else json_text(value)


def _is_number(value: Value) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and (isinstance(value, float) or abs(value) < 2**63)
    )


def _finite(value: Value) -> Value:
    """The value with nothing in it that JSON can't hold."""
    match value:
        case str():
            return storable(value)
        case float() if not math.isfinite(value):
            return None
        case list():
            return [_finite(item) for item in value]
        case dict():
            return {storable(key): _finite(item) for key, item in value.items()}
    return value
