"""Rows that a Python program holds, as a sheet: dicts, a pandas data frame, an Arrow table, or a file's path."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from pathway_local.errors import CasesError, UsageError
from pathway_local.sheets.kinds import Sheet
from pathway_local.sheets.row import Row, column_names, plain_text, typed_row

NAME = Path("cases")
"""The name of the rows in messages and in the run, in place of a file's."""

_HINT = "Give dicts, such as [{'question': '…', 'answer': '…'}], a table, or the path of a file."
_MISSING = ("NAType", "NaTType")
"""Types of pandas' marks for an empty cell."""


class InMemorySheet(Sheet):
    """Rows as dicts; the columns are the keys of all of them, unless they are given."""

    typed = True
    path = NAME

    def __init__(self, items: Sequence[object], columns: Sequence[str] | None = None, own_id: str = "") -> None:
        if not items:
            raise CasesError("the cases are empty", "Give one row or more.")
        self._items, self.own_id = items, own_id
        found: dict[str, None] = {}
        unkept: dict[str, str] = {}
        for row in self.rows():
            found |= dict.fromkeys([*row.cells, *row.bad_cells])
            unkept = {**row.bad_cells, **unkept}
        names = columns if columns is not None else list(found)
        if not names:
            raise CasesError("no item of the cases is a dict with columns", _HINT)
        self.columns, self.unkept = column_names(NAME, names), unkept

    def rows(self) -> Iterator[Row]:
        """Yield every item as a row."""
        return (_row(number, item) for number, item in enumerate(self._items, 1))

    def sha256(self) -> str:
        """Return a hash of all cells."""
        whole = hashlib.sha256()
        for row in self.rows():
            whole.update(json.dumps([row.problem, dict(row.cells), dict(row.bad_cells)]).encode() + b"\n")
        return whole.hexdigest()


def sheet_or_path(cases: object) -> Path | InMemorySheet:
    """Return a file's path, or the rows that Python holds as a sheet. Raises UsageError, CasesError."""
    if isinstance(cases, str | os.PathLike):
        return Path(cases)
    table: Any = cases
    if hasattr(table, "itertuples") and hasattr(table, "columns"):
        named = [name for name in table.index.names if name is not None]
        if set(named) & set(table.columns):
            raise CasesError("the table has an index of the name of a column", "Rename it.")
        table = table.reset_index() if named else table
        return _sheet(list(table.columns), table.itertuples(index=False, name=None), named[0] if named else "")
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa

        try:
            arrow = pa.table(table)
            return _sheet(arrow.column_names, zip(*(column.to_pylist() for column in arrow.columns), strict=True))
        except (pa.ArrowException, ValueError):  # a column alone, such as a pandas Series; or nanoseconds
            raise UsageError(f"the cases are a {type(cases).__name__} that can't be read", _HINT) from None
    if isinstance(cases, Iterable) and not isinstance(cases, Mapping | bytes):
        return InMemorySheet(list(cases))
    raise UsageError(f"the cases are a {type(cases).__name__}", _HINT)


def _sheet(columns: Sequence[object], rows: Iterable[tuple[object, ...]], own_id: str = "") -> InMemorySheet:
    names = [name for name in columns if isinstance(name, str)]
    if len(names) < len(columns):
        raise CasesError("the table has a column whose name is not text", "Name its columns.")
    column_names(NAME, names)  # of columns with one name, a dict would keep only one
    return InMemorySheet([dict(zip(names, row, strict=True)) for row in rows], names, own_id)


def _row(number: int, item: object) -> Row:
    place = f"item {number}"
    if not isinstance(item, Mapping):
        return Row(number, place, problem=f"it is a {type(item).__name__}, not a dict")
    return typed_row(number, place, item, _python_value)


def _python_value(value: Any) -> object:
    """Return a value as Python has it, without types of numpy and pandas. TypeError if it is no text, number, or time.

    Lists and dicts may hold others of these.
    """
    if type(value).__name__ in _MISSING:
        return None
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple | dict):
        return json.loads(json.dumps(value, allow_nan=False, default=_nested))
    if isinstance(value, UUID):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float | bytes | Decimal) or hasattr(value, "isoformat"):
        return value
    raise TypeError


def _nested(value: Any) -> object:
    """Return what JSON writes for a value inside a list or dict. Raises TypeError as `_python_value` does."""
    found = _python_value(value)
    return plain_text(found) if found is value else found
