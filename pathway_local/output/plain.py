"""Any table as plain values, for JSON and table files: a missing value has a reason and is never NaN."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pathway_local.output.export_columns import CAUTION
from pathway_local.results.table import Cell, Level, Names, Table
from pathway_local.sheets.tables import write_table
from pathway_local.statistics.figure import Estimate, Interval, Undefined, with_names
from pathway_local.verdict import Value
from pathway_local.words.language import Language

ENDS = ("value", "low", "high", "level", "interval", "clusters", "reason")


def as_json(tables: Iterable[Table], say: Language) -> list[dict[str, object]]:
    """Each table with its rows and notes; `readings` says how to read a column, where something need be said."""
    found = list[dict[str, object]]()
    for table in tables:
        rows = [
            {column.name: _plain(row[column.name], row) for column in table.columns if column.name in row}
            for row in table.rows
        ]
        notes: list[dict[str, object]] = []
        for note in table.notes:
            said: dict[str, object] = {"key": note.key, "kind": note.kind, "text": say.note(note)}
            notes += [] if said in notes else [said]
        readings = {column.name: read for column in table.columns if (read := column.reading)}
        about = {key: list(value) if isinstance(value, tuple) else value for key, value in table.about.items()}
        found.append(
            {"table": table.key, **about, "rows": rows, "notes": notes, **({"readings": readings} if readings else {})}
        )
    return found


def _plain(cell: Cell, row: Mapping[str, Cell]) -> object:
    if isinstance(cell, Estimate):
        return estimate_values(cell, row)
    if isinstance(cell, Undefined):
        return None
    if isinstance(cell, tuple):
        return {level.value: level.count for level in cell}
    if isinstance(cell, Names):
        return list(cell.names)
    return cell


def estimate_values(estimate: Estimate, row: Mapping[str, Cell]) -> dict[str, Value]:
    """The value, the ends of its interval and how it was made; for missing ones None and the `reason`."""
    value, interval = estimate.value, estimate.interval
    found: dict[str, Value] = {"value": None if isinstance(value, Undefined) else value}
    if isinstance(interval, Interval):
        found |= {"low": interval.low, "high": interval.high, "level": interval.level}
        return found | {"interval": interval.method, "clusters": interval.clusters}
    missing = value if isinstance(value, Undefined) else interval
    names = (str(row.get("first", "")), str(row.get("second", "")))
    return found | {"low": None, "high": None, "reason": with_names(missing.reason, *names)}


def write_tables(path: Path, tables: Sequence[Table], labels: Mapping[str, str], *, force: bool) -> None:
    """Write all rows of all tables to a table file: a line for each figure, or for each row without one.

    If judges have `labels` that must stand beside their figures, the last column holds them. Raises OutputExists,
    UsageError.
    """
    rows = [line for table in tables for line in _lines(table, labels)]
    named = dict.fromkeys(name for row in rows for name in row)
    last = (*ENDS, CAUTION)
    columns = [*(name for name in named if name not in last), *(name for name in last if name in named)]
    write_table(path, columns, rows, title="figures", force=force)


def _lines(table: Table, labels: Mapping[str, str]) -> Iterator[dict[str, Value]]:
    estimates = table.of_kind("estimate")
    for row in table.rows:
        caution = _caution(table, row, labels)
        shared = {"table": table.key, **_words(table.about), **_words(row)}
        if not estimates:
            yield shared | caution
        for column in estimates:
            cell = row.get(column.name)
            if isinstance(cell, Estimate):
                yield shared | {"figure": column.name} | estimate_values(cell, row) | caution


def _caution(table: Table, row: Mapping[str, Cell], labels: Mapping[str, str]) -> dict[str, Value]:
    named = [name for name in dict.fromkeys(table.raters_in(row)) if name in labels]
    return {CAUTION: "; ".join(f"{name}: {labels[name]}" for name in named)} if named else {}


def _words(values: Mapping[str, object]) -> dict[str, Value]:
    """The values that fit into cells; counts by level get a column each."""
    found: dict[str, Value] = {}
    for name, value in values.items():
        if isinstance(value, tuple) and all(isinstance(each, Level) for each in value):
            found |= {f"{name}.{level.value}": level.count for level in value}
        elif isinstance(value, str | int | float):
            found[name] = value
        elif isinstance(value, Names):
            found[name] = str(value)
        elif isinstance(value, list | tuple):
            found[name] = ", ".join(map(str, value))
    return found
