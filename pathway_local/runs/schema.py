"""The schema of a run file, and a sum over its rows, which shows rows that other programs changed, also after a kill.

A file's header says in which form it is. A run in another form is refused: verdicts that are read by another schema, or
by another release's reading of a rubric, could silently mean something else.

The sum adds SHA-256 hashes of rows modulo 2**256 (AdHash: Bellare and Micciancio 1997), so that a row added or removed
costs one hash, whatever the run's size. It is part of the same commit as the rows. It holds no secret, so a forger can
adjust it; only hashes of `content` that somebody stored elsewhere stand against forgers.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cache
from typing import Any

from msgspec.msgpack import encode

# This number in a file's header tells a run file from any other SQLite file.
APPLICATION_ID = 0x50774C52

FORM = 18
"""Raise it with each change of the schema or of what a stored value means."""

# No table is STRICT: the SQLite of Debian 11, Ubuntu 20.04 and Red Hat 9 is older than that. `database` checks types.
SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORM}",
    # `state` is the sum over the rows.
    "CREATE TABLE run (key BLOB NOT NULL, created TEXT NOT NULL, state TEXT)",
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE jobs (
        id INTEGER PRIMARY KEY,
        command TEXT NOT NULL,
        facts TEXT NOT NULL,
        started TEXT NOT NULL,
        ended TEXT,
        status TEXT,
        counts TEXT
    )""",
    # `compiled` is what `rubrics.compiled` makes of the rubric's file; `text` is that file, kept as evidence.
    """CREATE TABLE rubrics (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        sha256 TEXT NOT NULL,
        text TEXT NOT NULL,
        compiled TEXT NOT NULL
    )""",
    """CREATE TABLE raters (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        rubric_id INTEGER NOT NULL REFERENCES rubrics (id),
        fingerprint TEXT NOT NULL,
        spec TEXT NOT NULL,
        UNIQUE (name, rubric_id)
    )""",
    # `kinds` says what the cells of a sheet were that are kept as texts, so that exports write numbers and dates again.
    # It is empty for sheets that hold texts alone.
    """CREATE TABLE cases (
        key INTEGER PRIMARY KEY,
        case_id TEXT NOT NULL UNIQUE,
        row INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        kinds TEXT
    )""",
    "CREATE INDEX cases_by_row ON cases (row)",
    # A superseded outcome is a verdict that another outcome replaced. The partial index allows one current outcome per
    # case and rater, and makes INSERT OR REPLACE replace it. No CHECK on kinds or names: a new kind would need a new
    # form. `source`, `source_row` and `reason` tell of a row that holds no case. An import gives its number to its
    # outcomes as `job_id`, so that it can be undone; those of other commands have none. `sheet_job` is the job that
    # handed out the sheet or page from which a rating came: only such ratings are labels of a sample.
    """CREATE TABLE outcomes (
        id INTEGER PRIMARY KEY,
        case_key INTEGER NOT NULL REFERENCES cases (key),
        rater_id INTEGER NOT NULL REFERENCES raters (id),
        case_hash TEXT NOT NULL,
        superseded INTEGER NOT NULL DEFAULT 0,
        scores TEXT,
        fields TEXT,
        marks TEXT,
        failure_kind TEXT,
        failure_message TEXT,
        prompt_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,
        generated_tokens INTEGER NOT NULL,
        source TEXT,
        source_row INTEGER,
        reason TEXT,
        job_id INTEGER REFERENCES jobs (id),
        sheet_job INTEGER REFERENCES jobs (id),
        CHECK ((scores IS NULL) <> (failure_kind IS NULL))
    )""",
    "CREATE UNIQUE INDEX current_outcomes ON outcomes (case_key, rater_id) WHERE superseded = 0",
    # A handout is a case that was given to a person or a service under a random id, which does not tell which case.
    """CREATE TABLE handouts (
        custom_id TEXT PRIMARY KEY,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        rubric_id INTEGER NOT NULL REFERENCES rubrics (id),
        rubric_sha256 TEXT NOT NULL,
        case_id TEXT NOT NULL,
        row INTEGER NOT NULL,
        case_hash TEXT NOT NULL,
        recipient TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE samples (
        id INTEGER PRIMARY KEY,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        rubric_id INTEGER NOT NULL REFERENCES rubrics (id),
        seed INTEGER NOT NULL,
        strata TEXT NOT NULL,
        cases INTEGER NOT NULL,
        drawn INTEGER NOT NULL
    )""",
    # Every case that a sample could have drawn, with its probability.
    """CREATE TABLE inclusions (
        sample_id INTEGER NOT NULL REFERENCES samples (id),
        case_id TEXT NOT NULL,
        case_hash TEXT NOT NULL,
        row INTEGER NOT NULL,
        stratum TEXT NOT NULL,
        probability REAL NOT NULL,
        drawn INTEGER NOT NULL,
        PRIMARY KEY (sample_id, case_id)
    ) WITHOUT ROWID""",
    # Triggers refuse every change of an entry. INSERT OR REPLACE deletes rows without asking a trigger, so the third
    # one also checks that a new entry has the next number.
    "CREATE TABLE audit (id INTEGER PRIMARY KEY, entry TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TRIGGER audit_keeps BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END",
    "CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END",
    """CREATE TRIGGER audit_grows BEFORE INSERT ON audit
        WHEN NEW.id IS NOT (SELECT COALESCE(MAX(id), 0) + 1 FROM audit)
        BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END""",
)


Entry = tuple[str, str, str, str | None]
"""A table, index, view or trigger: its type, its name, its table, and the statement that made it."""


def strangers(db: sqlite3.Connection) -> list[str]:
    """Return what a file's schema has or lacks beside ours, each with its name: `trigger "x"`, `no table "y"`.

    A trigger or a view from outside would run inside our own statements, with our right to write.
    """
    ours, found = _our_schema(), _entries(db)
    more = [f'{kind} "{name}"' for kind, name, *_ in sorted(found - ours)]
    known = {entry[:2] for entry in found}
    return more + [f'no {kind} "{name}"' for kind, name, *_ in sorted(ours - found) if (kind, name) not in known]


@cache
def _our_schema() -> frozenset[Entry]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for statement in SCHEMA:
            db.execute(statement)
        return _entries(db)


def _entries(db: sqlite3.Connection) -> frozenset[Entry]:
    rows = db.execute("SELECT type, name, tbl_name, CAST(sql AS TEXT) FROM main.sqlite_master")
    return frozenset((str(kind), str(name), str(table), sql) for kind, name, table, sql in rows)


def schema_form(db: sqlite3.Connection) -> int:
    """Return the form of a run file; 0 for a file that is not a run."""
    ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    return int(db.execute("PRAGMA user_version").fetchone()[0]) if ours else 0


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
