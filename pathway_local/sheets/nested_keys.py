"""Finds keys inside cells that hold a JSON object, and names them with dots: `score_rubric.criteria`."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice

from pathway_local.sheets.kinds import Sheet
from pathway_local.sheets.row import COLUMN_LIMIT, Row, flaw, plain_text

SAMPLE_ROWS = 100
DEPTH = 6

Path = tuple[str, ...]
"""A column, then the keys that lead to a value in its cell."""


def nested_keys(sheet: Sheet) -> dict[str, Path]:
    """Return the keys in the cells of the first 100 rows by their dotted names, without those that are also columns."""
    found: dict[str, Path] = {}
    filled = (row for row in sheet.rows() if not row.blank)
    for row in islice(filled, SAMPLE_ROWS):
        for column, text in row.cells.items():
            for path in _paths((column,), _object(text)):
                found.setdefault(".".join(path), path)
        if len(found) > COLUMN_LIMIT:
            break
    return {name: path for name, path in found.items() if name not in sheet.columns}


def nested_cells(row: Row, wanted: Mapping[str, Path]) -> dict[str, str]:
    """Return the row's texts at these paths, by name; a path that the row lacks is left out."""
    objects = {path[0]: _object(row.cells.get(path[0], "")) for path in wanted.values()}
    found: dict[str, str] = {}
    for name, (column, *keys) in wanted.items():
        value: object = objects[column]
        for key in keys:
            value = value.get(key, _NOTHING) if isinstance(value, Mapping) else _NOTHING
        if value is not _NOTHING:
            found[name] = plain_text(value)
    return found


_NOTHING = object()


def _object(text: str) -> Mapping[str, object]:
    """Return the JSON object in a cell; an empty one if the cell holds anything else."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _paths(path: Path, value: Mapping[str, object]) -> Iterator[Path]:
    for key, inner in value.items():
        # With a dot in a key, a dotted name could mean two paths.
        if not key.strip() or "." in key or flaw(key):
            continue
        yield (*path, key)
        if isinstance(inner, Mapping) and len(path) < DEPTH:
            yield from _paths((*path, key), inner)
