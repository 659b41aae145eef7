"""The schema of a run file.

A file's header says in which form it is. A run in another form is refused: verdicts that are read by another schema, or
by another release's reading of a rubric, could silently mean something else.

No figure depends on an index, which may disagree with its table: `outcomes` has none, and readers don't use that of
`cases`.
"""

import sqlite3
from contextlib import closing
from functools import cache

# This number in a file's header tells a run file from any other SQLite file.
APPLICATION_ID = 0x50774C52

FORM = 21
"""Raise it with each change of the schema or of what a stored value means."""

# No table is STRICT: the SQLite of Debian 11, Ubuntu 20.04 and Red Hat 9 is older than that. `database` checks types.
SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORM}",
    "CREATE TABLE run (key BLOB NOT NULL, created TEXT NOT NULL)",
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
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
        name TEXT NOT NULL,
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
        spec TEXT NOT NULL
    )""",
    """CREATE TABLE cases (
        key INTEGER PRIMARY KEY,
        case_id TEXT NOT NULL UNIQUE,
        row INTEGER NOT NULL,
        metadata TEXT NOT NULL
    )""",
    # The outcomes of a case are numbered as they came; a rater's last one counts. No CHECK on kinds or names: a new
    # kind would need a new form. `source`, `source_row` and `reason` tell of a row that holds no case. `sheet_job` is
    # the job that handed out the sheet or page from which a rating came: only such ratings are labels of a sample.
    """CREATE TABLE outcomes (
        case_key INTEGER NOT NULL REFERENCES cases (key),
        rater_id INTEGER NOT NULL REFERENCES raters (id),
        number INTEGER NOT NULL,
        case_hash TEXT NOT NULL,
        scores TEXT,
        fields TEXT,
        marks TEXT,
        failure_kind TEXT,
        failure_message TEXT,
        source TEXT,
        source_row INTEGER,
        reason TEXT,
        prompt_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,
        generated_tokens INTEGER NOT NULL,
        sheet_job INTEGER REFERENCES jobs (id),
        PRIMARY KEY (case_key, rater_id, number),
        CHECK ((scores IS NULL) <> (failure_kind IS NULL))
    ) WITHOUT ROWID""",
    # Readers use this view. CROSS JOIN fixes the order of the loops: SQLite may not sort or copy the outcomes first.
    """CREATE VIEW current AS
        SELECT case_key, case_id, row, metadata, rater_id, raters.name AS rater, kind, rubrics.name AS rubric,
            number, case_hash, scores, fields, marks, failure_kind, failure_message, source, source_row, reason,
            prompt_tokens, cached_tokens, generated_tokens, sheet_job
        FROM outcomes CROSS JOIN cases ON key = case_key
        CROSS JOIN raters ON raters.id = rater_id CROSS JOIN rubrics ON rubrics.id = rubric_id
        WHERE number = (
            SELECT MAX(later.number) FROM outcomes AS later
            WHERE later.case_key = outcomes.case_key AND later.rater_id = outcomes.rater_id
        )""",
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
        strata TEXT NOT NULL
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
    """Return what a file's schema has, lacks or has in another form beside ours, each with its name: `trigger "x"`.

    A trigger or a view from outside would run inside our own statements, with our right to write.
    """
    return sorted({f'{kind} "{name}"' for kind, name, *_ in _our_schema() ^ _entries(db)})


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


TABLES = ("outcomes", "raters", "rubrics", "cases", "samples", "inclusions", "handouts", "settings", "jobs")
"""The tables with a run's content. The key of each gives its rows an order that no file's layout changes."""
