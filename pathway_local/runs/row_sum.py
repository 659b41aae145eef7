"""Keeps a sum over a run's rows beside them, which shows rows that other programs changed, also after a kill.

The sum adds SHA-256 hashes of rows modulo 2**256 (AdHash: Bellare and Micciancio 1997), so that a row added or removed
costs one hash, whatever the run's size. It is part of the same commit as the rows. It holds no secret, so a forger can
adjust it; only hashes of `content` that somebody stored elsewhere stand against forgers.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.msgpack import encode

TABLES = {
    "outcomes": "id",
    "raters": "id",
    "rubrics": "id",
    "cases": "key",
    "samples": "id",
    "inclusions": "sample_id, case_id",
    "handouts": "custom_id",
    "settings": "name",
    "jobs": "id",
}
"""The tables with a run's content, each with a key by which its rows have an order that no file's layout changes."""

KEY = "key, created"
"""The columns of `run` that the sum covers, too: with another key, all texts would seem changed."""

NO_ROWS = "0" * 64
"""The sum of an empty run."""

Query = Callable[[str], Iterable[tuple[Any, ...]]]
"""Runs an SQL query and gives its rows."""


def keep_sum(db: sqlite3.Connection) -> None:
    """Let every change by this connection move the sum; one that another program removed or spoiled stays wrong."""
    db.create_function("moved", -1, _moved)
    # Without this, the rows that INSERT OR REPLACE replaces would stay in the sum.
    db.execute("PRAGMA recursive_triggers = ON")
    # Triggers of this connection alone: in the file, they would ask every other program for our function.
    for table in ("run", *TABLES):
        columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
        columns, update = (columns, "UPDATE") if table != "run" else (KEY.split(", "), f"UPDATE OF {KEY}")
        out, into = (
            f"UPDATE run SET state = moved(state, {sign}, '{table}', {', '.join(f'{row}.{name}' for name in columns)})"
            for sign, row in ((-1, "OLD"), (1, "NEW"))
        )
        for event, moves in (("INSERT", into), ("DELETE", out), (update, f"{out}; {into}")):
            db.execute(f"CREATE TEMP TRIGGER {event[:6]}_{table} AFTER {event} ON {table} BEGIN {moves}; END")


def stored_sum(query: Query) -> str | None:
    """Return the sum that was committed with the rows; None if another program removed it."""
    return next((state for (state,) in query("SELECT state FROM run")), None)


def computed_sum(query: Query) -> str:
    """Return the sum of the rows that are there, which are streamed."""
    queries = {"run": f"SELECT {KEY} FROM run"} | {table: f"SELECT * FROM {table}" for table in TABLES}
    return _hex(sum(_hash(table, row) for table, each in queries.items() for row in query(each)))


def _moved(state: str | None, sign: int, table: str, *row: object) -> str | None:
    try:
        return _hex(int(state or "", 16) + sign * _hash(table, row))
    except ValueError:
        return state


def _hash(table: str, row: tuple[object, ...]) -> int:
    # Empty columns at the end are left out, so that a table can get further columns.
    while row and row[-1] is None:
        row = row[:-1]
    return int.from_bytes(hashlib.sha256(encode((table, row))).digest())


def _hex(number: int) -> str:
    return f"{number % 2**256:064x}"
