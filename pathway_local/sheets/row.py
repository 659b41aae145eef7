"""A row of a sheet, with its cells as text, and the rules for all sheets' cells and column names."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from pathway_local.errors import CasesError, UsageError
from pathway_local.verdict import Value, is_nested_deep

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

CellValue = Value | date | time
"""A cell with the type that its sheet gave it; a datetime is a date."""

_READERS: Mapping[str, Callable[[str], CellValue]] = {
    "json": json.loads,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
}


class Row(Struct, frozen=True):
    """One row below the header.

    `number` is the row's number at the left of a spreadsheet that shows the file: the header and blank rows count, and
    a cell of several lines takes one row. Files that no spreadsheet shows count their lines or items. `line` is the
    row's first line in a text file, elsewhere its number. A `blank` row holds nothing, as rows below the last one of a
    sheet often do. `cells` has every cell that could be read, by column; a cell
    that is missing differs from an empty one. `problem` says why the whole row can't be read, `bad_cells` why one cell
    can't. `raw` is the row's text as it is in a text file (None if it is too long to keep), and `width` its number
    of fields (None if they can't be told apart). `kinds` has the `cell_kind` each cell that was no text; None for files
    in which all is text.
    """

    number: int
    line: int
    cells: Mapping[str, str] = {}
    problem: str = ""
    bad_cells: Mapping[str, str] = {}
    raw: str | None = None
    width: int | None = None
    blank: bool = False
    kinds: Mapping[str, str] | None = None


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
    return "half of a surrogate pair" if has_surrogates(text) else ""


def has_surrogates(text: str) -> bool:
    """Whether a text has code points that no encoding can write."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def plain_text(value: object) -> str:
    """Return a typed cell as text: 5 for 5.0, ISO dates, compact JSON for lists. ValueError for bytes that aren't text.

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
            return value.decode()
        case list() | tuple() | dict():
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain_text)
    return str(value)


def cell_kind(value: object) -> str:
    """Return the kind by which `typed_value` reads the text of a cell as this value again; "" if it stays a text."""
    match value:
        case bool() | int():
            return "json"
        case float():
            return "json" if math.isfinite(value) else ""
        case Decimal():
            exact = value.is_finite() and Decimal(str(float(value))) == value
            return "json" if exact else ""  # other decimals would lose digits
        case datetime():
            return "datetime" if "T" in plain_text(value) else "date"
        case date():
            return "date"
        case time():
            return "time"
        case list() | tuple() | dict():
            return "" if is_nested_deep(value) else "json"
    return ""


def typed_value(text: str, kind: str) -> CellValue:
    """Return the value of a cell from its text and its kind. Raises ValueError if they don't fit."""
    return _READERS[kind](text) if kind else text
