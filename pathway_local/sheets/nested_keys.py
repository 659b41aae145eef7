"""Reads what lies inside cells: a text, a list of texts, or keys of objects, named with dots (`choices.0.text`)."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice

from msgspec.structs import replace

from pathway_local.sheets.kinds import Sheet
from pathway_local.sheets.row import Row, plain_text

SAMPLE_ROWS = 100

Path = tuple[str, ...]
"""A column, then the keys and, in lists, the places from 0 that lead to a value in its cell."""


def nested_keys(sheet: Sheet, named: Iterable[str]) -> dict[str, Path]:
    """Return the paths of those dotted names that are no columns, and lead to a value in the first rows."""
    paths = {name: tuple(name.split(".")) for name in named if "." in name and name not in sheet.columns}
    rows = islice((row for row in sheet.rows() if not row.blank), SAMPLE_ROWS if paths else 0)
    return {name: paths[name] for row in rows for name in paths if _at(row, paths[name]) is not _NOTHING}


def with_nested(row: Row, wanted: Mapping[str, Path]) -> Row:
    """Return the row with a cell for each of these paths, by its name, except for paths that the row lacks."""
    values = {name: _at(row, path) for name, path in wanted.items()}
    found = {name: value for name, value in values.items() if value is not _NOTHING}
    others = {name: value for name, value in found.items() if not isinstance(value, str)}
    texts = {name: plain_text(value) for name, value in found.items()}
    return replace(row, cells={**row.cells, **texts}, values={**row.values, **others})


SEPARATOR = "\n\n"
"""Stands between the texts of a list."""

TEXT_KEYS = ("content", "text", "value", "message", "messages", "conversations", "choices", "output")
"""Keys by which the text in an object is found, in this order; a message names none of a person's own keys."""

ERROR_VALUE = re.compile(
    r"#(N/A|N/D|NV|(DIV|¡DIV)/0!|(NAME|NOM|NOME|¿NOMBRE)\?|(N/A|¡?(REF|NULL?|NULO|NU[LM]|NÚM|NOMBRE|ZAHL|BEZUG|WERT|"
    r"VALUE|VALEUR|VALOR|SPILL|CALC|ERROR|ÜBERLAUF|DESBORDAMIENTO|DESPEJAR|PROPAGATION))!)"
)
"""Errors of a spreadsheet in five languages, which a text file holds as texts."""


class NotText(ValueError):
    """A cell does not hold a text to judge; the message says what it holds and what to do."""


def text_in(row: Row, column: str, name: str, *, typed: bool, joins: bool) -> str:
    """Return the text in a cell, which is that of the input `name`. A list of texts is these texts. Raises NotText.

    In a `typed` file a text is a text, whatever it looks like; elsewhere one that is a JSON object, or a list with one,
    is an object. Of several texts in a list, only an input that `joins` reads all.
    """
    text, value = row.cells[column], row.values.get(column)
    if ERROR_VALUE.fullmatch(text.strip()):
        raise NotText("holds an error value of the spreadsheet")
    if not typed and value is None:
        value = _parsed(text)
        value = value if any(isinstance(each, Mapping) for each in _items(value)) else None
    if isinstance(value, bool | int | float | Decimal) and typed:
        raise NotText("is a number or a boolean: write it as a text")
    if isinstance(value, list | Mapping):
        return _text_of(value, column, name, joins=joins)
    return text


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def _text_of(value: object, column: str, name: str, *, joins: bool) -> str:
    place = ""
    while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value, place = value[0], f"{place}.0"
    if any(isinstance(each, Mapping) for each in _items(value)):
        what = "a list of objects" if isinstance(value, list) else "an object"
        keys = _keys_of_text(value)
        named = f"name the text in it, such as --map {name}={column}{place}.{'.'.join(keys)}" if keys else ""
        raise NotText(f"is {what}: {named or 'write it as one text'}")
    if not all(isinstance(each, str) for each in _items(value)):
        raise NotText("is a list with more than texts: write it as one text")
    if len(_items(value)) > 1 and not joins:
        raise NotText(f"lists {len(_items(value))} texts: name one, such as --map {name}={column}{place}.0")
    return SEPARATOR.join(map(str, _items(value)))


def _keys_of_text(value: object) -> list[str]:
    """Return the keys and places that lead to the one text in a value: of messages, the last; empty if unclear."""
    if isinstance(value, str):
        return []
    if isinstance(value, Mapping):
        key = next((key for key in TEXT_KEYS if value.get(key)), "")
        inner = value.get(key)
    else:
        items = _items(value)
        spoken = all(isinstance(each, Mapping) and {"role", "from"} & {*each} for each in items)
        key = str(len(items) - 1) if items and (spoken or len(items) == 1) else ""
        inner = items[-1] if key else None
    further = _keys_of_text(inner) if key else []
    return [key, *further] if further or isinstance(inner, str) else []


_NOTHING = object()


def _at(row: Row, path: Path) -> object:
    """Return the value to which keys and places lead in a cell's JSON; _NOTHING if there is none."""
    column, *keys = path
    value = row.values[column] if column in row.values else _parsed(row.cells.get(column, ""))
    for key in keys:
        if isinstance(value, list) and key.isdecimal() and len(key) < 5:
            value = value[int(key)] if int(key) < len(value) else _NOTHING
        else:
            value = value.get(key, _NOTHING) if isinstance(value, Mapping) else _NOTHING
    return value


def _parsed(text: str) -> object:
    """Return the JSON object or list in a cell; None if the cell holds anything else."""
    try:
        return json.loads(text) if text.lstrip().startswith(("{", "[")) else None
    except (ValueError, RecursionError):
        return None
