"""A row of a sheet, with its cells as text; and values as cells, safe for a spreadsheet and whole in JSON."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from msgspec import Struct

from pathway_local.errors import CasesError, UsageError
from pathway_local.verdict import Value, storable

CELL_LIMIT = 16 * 2**20
"""Characters in one cell; a longer one counts as damage, not as a text to judge."""

ROW_LIMIT = 2 * CELL_LIMIT
"""Characters in one row of a text file: a quote that never closes would otherwise fill the memory."""

COLUMN_LIMIT = 2_000

NAME_LENGTH, NAME_WORDS = 40, 3
_SENTENCE = re.compile(r"""[.,;:!?…](?=["')\]”’»]*(\s|$))|[。，、；：！？“”„«»"@\n]|\w['’]\w""")
"""Punctuation found in texts, but not in names such as score_rubric.criteria or Answer (bot)."""

_ABBREVIATED = re.compile(r"(?i:\b(?:lfd|\w*nr|no|num|núm)\.(?=\s|$)|^\w{1,12}\.$|\b[dl]['’](?=\w))")
"""Marks that names have, too: "Lfd. Nr.", "Matrikelnr.", "réponse de l'IA"."""


class Row(Struct, frozen=True):
    """One row below the header.

    `number` is the row's number at the left of a spreadsheet that shows the file: the header and blank rows count, and
    a cell of several lines takes one row. Files that no spreadsheet shows count their lines or items. `place` is where
    a person finds the row, such as "line 7". A `blank` row holds nothing, as rows below the last one of a sheet often
    do. `cells` has every cell that could be read, by column; a cell that is missing differs from an empty one.
    `problem` says why the whole row can't be read, `bad_cells` why one cell can't. `raw` is the row's text in a file of
    lines (None if it is too long to keep), and `width` its number of fields (None if they can't be told apart). In a
    file whose cells have types, `values` has the values that are no texts.
    """

    number: int
    place: str
    cells: Mapping[str, str] = {}
    problem: str = ""
    bad_cells: Mapping[str, str] = {}
    raw: str | None = None
    width: int | None = None
    blank: bool = False
    values: Mapping[str, Any] = {}


def column_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a header; an unnamed one becomes "column 3". CasesError if they can't be used as names."""
    if not any(name.strip() for name in names):
        raise CasesError(f"{path.name} has no header", "Name the columns in the first row.")
    if len(names) > COLUMN_LIMIT:
        raise CasesError(
            f"{path.name} has {len(names):,} columns, over the limit of {COLUMN_LIMIT:,}",
            "Keep only the columns that the cases need.",
        )
    if any(flaw(name) for name in names):
        raise CasesError(f"{path.name} has a header that is not text", "Save it again, as UTF-8.")
    named = tuple(name if name.strip() else f"column {place}" for place, name in enumerate(names, 1))
    twice = [shown(name) for name, times in Counter(named).items() if times > 1]
    if twice:
        called = f"called {twice[0]}" if all(map(is_like_a_name, named)) else "of the same name: is the header missing?"
        raise CasesError(f"{path.name} has several columns {called}", "Give each column its own name.")
    return named


def refuse_columns(source: Path, new: Sequence[str], present: Collection[str]) -> None:
    """Raise UsageError if the sheet `source` has one of the new columns already."""
    for column in new:
        if column in present:
            raise UsageError(f"{source.name} already has a column {shown(column)}", "Rename or remove that column.")


def shown(name: str) -> str:
    """Return a column's name for a message. Hide one that looks like a text: without a header, it is a case's text."""
    if not is_like_a_name(name):
        return f"(a name of {len(name):,} characters)"
    return name if name == name.strip() else repr(name)


def is_like_a_name(name: str) -> bool:
    """Whether a header's text is a short name of few words, not a sentence, number or address."""
    return (
        name.isprintable()
        and len(name) <= NAME_LENGTH
        and len(name.split()) <= NAME_WORDS
        and any(map(str.isalpha, name))
        and not _SENTENCE.search(_ABBREVIATED.sub("", name.strip()))
    )


def flaw(text: str) -> str:
    """Return why a text can't be a cell; "" if it can."""
    if len(text) > CELL_LIMIT:
        return f"more than {CELL_LIMIT:,} characters"
    if "\0" in text:
        return "a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair"
    return ""


def plain_text(value: object) -> str:
    """Return a typed cell as text: 5 for 5.0, ISO dates, compact JSON for lists. TypeError for bytes.

    NaN becomes an empty text: data frames write it for an empty cell.
    """
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float() if math.isnan(value):
            return ""
        case float() if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        case datetime() if value.tzinfo is None and value.time() == time():
            return value.date().isoformat()
        case date() | time():
            return value.isoformat()
        case bytes():
            raise TypeError
        case list() | tuple() | dict():
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain_text)
    return str(value)


def typed_row(
    number: int, place: str, values: Mapping[Any, Any], read: Callable[[Any], object] = lambda value: value
) -> Row:
    """Return a row of typed values, each by its column; `read` returns one as Python has it, or raises."""
    if len(values) > COLUMN_LIMIT:
        return Row(number, place, problem=f"it has {len(values):,} keys, over the limit of {COLUMN_LIMIT:,}")
    if any(not isinstance(key, str) or flaw(key) or not key.strip() for key in values):
        return Row(number, place, problem="it has a key that can't be a column's name")
    cells: dict[str, str] = {}
    others: dict[str, object] = {}
    bad_cells: dict[str, str] = {}
    for column, given in values.items():
        try:
            value = read(given)
            cells[column] = plain_text(value)
            if not isinstance(value, str):
                others[column] = value
        except (TypeError, ValueError, OverflowError, LookupError, RecursionError):
            bad_cells[column] = f"a value of type {getattr(given, 'type', type(given).__name__)} that is no text"
    return Row(number, place, cells, bad_cells=bad_cells, values=others)


# Spreadsheets skip control characters and marks without a width, and run a formula behind them; some read full-width
# and small forms of its signs as the signs.
_SIGNS = "[=+\\-@＝＋－＠﹦﹢﹣﹫\0-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
_NUMBER = r"[+-]?\d+([.,]\d+)?"
_FORMULA = re.compile(rf"(?!{_NUMBER}\Z){_SIGNS}")
# Where the comma is the decimal mark, spreadsheets split a CSV file at semicolons, whatever quotes stand around them.
_PART = re.compile(rf"""(;[ "]*)(?!{_NUMBER}(;|\Z))(?={_SIGNS})""")
_GUARDED = re.compile(rf"""(;[ "]*)'(?={_SIGNS})""")
TEXT_LIMIT = 32_767
"""UTF-16 code units that a workbook's cell holds."""

CUT_MARK = " … [cut]"
EXACT_LIMIT = 10**15
"""The smallest whole number that could lose digits in a spreadsheet."""

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def json_text(value: Value | Mapping[str, Value]) -> str:
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
    text = text[1:] if text.startswith("'") and _would_run(text[1:]) else text
    return _GUARDED.sub(r"\1", text)


def may_run(text: str) -> bool:
    """Whether a spreadsheet may run a cell that is copied as it is, or a part of it behind a semicolon."""
    return _would_run(text.lstrip(' "')) or bool(_PART.search(text))


def _would_run(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula; a number such as -5 is none."""
    return bool(_FORMULA.match(text))


def delimited_cell(value: Value, decimal: str = ".") -> int | float | str:
    """Return the value as a field of a CSV or TSV file, a fraction with this decimal mark."""
    cell = spreadsheet_cell(value)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(cell).replace(".", decimal)
    # An apostrophe keeps a part behind a semicolon a text, too.
    return "" if cell is None else _PART.sub(r"\1'", cell) if isinstance(cell, str) else cell


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


def is_cut(text: str) -> bool:
    """Whether a text is as long as a workbook's cell can be, so that its end may be missing."""
    return len(text.encode("utf-16-le", "surrogatepass")) >= 2 * (TEXT_LIMIT - 1)


def finite(value: Value | Mapping[str, Value]) -> Value:
    """Return the value without anything that JSON can't hold."""
    match value:
        case str():
            return storable(value)
        case float() if not math.isfinite(value):
            return None
        case list():
            return [finite(item) for item in value]
        case Mapping():
            return {storable(key): finite(item) for key, item in value.items()}
    return value
