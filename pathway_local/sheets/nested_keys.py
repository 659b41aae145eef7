"""Reads what lies inside cells: keys of JSON objects, named with dots (`score_rubric.criteria`), and lists of texts."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from msgspec.structs import replace

from pathway_local.sheets.kinds import Sheet
from pathway_local.sheets.row import COLUMN_LIMIT, Row, cell_kind, flaw, plain_text

SAMPLE_ROWS = 100
DEPTH = 6

Path = tuple[str, ...]
"""A column, then the keys and, in lists, the places from 0 that lead to a value in its cell."""


def nested_keys(sheet: Sheet, named: Iterable[str]) -> dict[str, Path]:
    """Return the keys in the cells of the first 100 rows by their dotted names, without those that are also columns.

    A place in a list, such as `choices.0.text`, counts only if it is `named`.
    """
    found: dict[str, Path] = {}
    filled = (row for row in sheet.rows() if not row.blank)
    for row in islice(filled, SAMPLE_ROWS):
        for column, text in row.cells.items():
            for path in _paths((column,), _parsed(text)):
                found.setdefault(".".join(path), path)
        for name in named:
            column, *keys = name.split(".")
            if column in row.cells and _at(keys, row.cells[column]) is not _NOTHING:
                found.setdefault(name, (column, *keys))
        if len(found) > COLUMN_LIMIT:
            break
    return {name: path for name, path in found.items() if name not in sheet.columns}


def with_nested(row: Row, wanted: Mapping[str, Path]) -> Row:
    """Return the row with a cell for each of these paths, by its name, except for paths that the row lacks."""
    values = {name: _at(keys, row.cells.get(column, "")) for name, (column, *keys) in wanted.items()}
    found = {name: value for name, value in values.items() if value is not _NOTHING}
    cells = {**row.cells, **{name: plain_text(value) for name, value in found.items()}}
    return replace(row, cells=cells, kinds={**(row.kinds or {}), **{name: cell_kind(found[name]) for name in found}})


SEPARATOR = "\n\n"
"""Stands between the texts of a list."""


def texts_in(value: object) -> list[str] | None:
    """Return the texts of a list, also of one that is alone in another list; None for anything else.

    Raises ValueError for a list that has texts, lists or nothing among other things: it is neither texts nor messages.
    """
    while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    if not isinstance(value, list):
        return None
    if all(isinstance(each, str) for each in value):
        return value
    if any(each is None or isinstance(each, str | list) for each in value):
        raise ValueError
    return None


def listed_texts(row: Row, column: str) -> list[str] | None:
    """Return the texts in a cell that its file has as a list of texts; None for another cell. ValueError as above."""
    text = row.cells.get(column, "")
    return texts_in(json.loads(text)) if row.kinds and row.kinds.get(column) and text.startswith("[") else None


_NOTHING = object()


def _at(keys: Iterable[str], text: str) -> object:
    """Return the value to which keys and places lead in a cell's JSON; _NOTHING if there is none."""
    value = _parsed(text)
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


def _paths(path: Path, value: object) -> Iterator[Path]:
    """Yield the path of each key in an object and in the objects inside it."""
    for key, inner in value.items() if isinstance(value, Mapping) and len(path) <= DEPTH else ():
        # With a dot in a key, a dotted name could mean two paths.
        if not key.strip() or "." in key or flaw(key):
            continue
        yield (*path, key)
        yield from _paths((*path, key), inner)
