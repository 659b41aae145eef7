"""A run: one file with everything that jobs produced, but no text of a case.

This module turns values into rows and back; `schema` has the tables, `database` the SQLite file.
"""

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, Self, get_args

from msgspec.structs import astuple

from pathway_local.case import CaseRef
from pathway_local.errors import RaterChanged, RubricError, RunFileError, UnknownName
from pathway_local.rater import Rater, RaterKind
from pathway_local.rubrics.rubric import Rubric, read_compiled
from pathway_local.runs.audit import now
from pathway_local.runs.database import AMONG, Database, damaged, placeholders, refuse_left_files, run_file_errors
from pathway_local.runs.jobs import Jobs
from pathway_local.runs.record import (
    COLUMNS,
    SETTING,
    TEXTS_BY_NAME,
    VALUES_BY_NAME,
    CaseOutcome,
    Record,
    Stored,
    from_columns,
    to_columns,
    to_json,
)
from pathway_local.runs.schema import SCHEMA
from pathway_local.system.private_file import create
from pathway_local.verdict import NO_TOKENS, Failure, Outcome, Tokens, Value, Verdict, storable

RunKind = Literal["", "self-test"]
KIND = "kind"
"""The setting that holds the run's kind, if it is not the usual one."""

KEY_BYTES = 32
TEXTS = "texts"
"""The setting that says whether the run stores what raters write; by default it does."""

# A verdict with its analysis takes one to three KiB: with SQLite's usual 4096, up to half of each page stays empty.
PAGE_BYTES = 16384

_ADD_RATER = "INSERT INTO raters (name, kind, rubric_id, fingerprint, spec) VALUES (?, ?, ?, ?, ?)"
_OTHER = "row <> ?2 OR metadata <> json_patch(metadata, ?3)"
ADD_CASE = f"""
    INSERT INTO cases (case_id, row, metadata) VALUES (?1, ?2, ?3)
    ON CONFLICT (case_id) DO UPDATE SET row = ?2, metadata = json_patch(metadata, ?3) WHERE {_OTHER}
"""
_MOVE_CASE = f"UPDATE cases SET row = ?2, metadata = json_patch(metadata, ?3) WHERE case_id = ?1 AND ({_OTHER})"
KEYS_OF = "SELECT case_id, key FROM cases WHERE case_id IN ({})"
# A verdict stays behind a failure, and behind a verdict on other texts.
_REPLACE = """
    DELETE FROM outcomes
    WHERE case_key = ? AND rater_id = ? AND (failure_kind IS NOT NULL OR case_hash = ? AND NOT ?)
"""
_PUT = f"""
    INSERT INTO outcomes (
        number, case_key, rater_id, case_hash, {COLUMNS}, prompt_tokens, cached_tokens, generated_tokens, sheet_job
    ) VALUES (
        (SELECT COALESCE(MAX(number), 0) + 1 FROM outcomes WHERE case_key = ?), {placeholders(range(15))}
    )
"""
_JUDGED = f"""
    SELECT case_id, case_hash FROM current WHERE rater_id = ? AND failure_kind IS NULL AND {AMONG}
"""
_BAD_ROWS = "SELECT case_key, number, case_id FROM current WHERE rater_id = ? AND source = ?"
# CROSS JOIN: the outcomes come in the order of the keys, and nothing is sorted or held in memory.
_RECORDS = f"""
    SELECT rater_id, case_id, row, metadata, case_hash, {COLUMNS},
        prompt_tokens, cached_tokens, generated_tokens
    FROM json_each(?) AS asked CROSS JOIN current ON case_key = asked.value WHERE rater_id IN ({{}})
"""
_AMONG = "SELECT row, key FROM cases NOT INDEXED WHERE case_id IN ({})"
_FORGET = "DELETE FROM outcomes WHERE case_key = ? AND rater_id = ? AND number = ?"
_ORDER = "SELECT row, key FROM cases NOT INDEXED ORDER BY row, key"
_SET = "INSERT OR REPLACE INTO settings VALUES (?, ?)"


class RunFile:
    """A run file, open for one writer (`create`, `open`) or a reader (`read`).

    What a method changed is on the disk once it returns; within `together`, once that block ends. Lone surrogates,
    which UTF-8 can't hold, are stored as U+FFFD.

    Errors, from any method: RunLocked, RunDamaged, RunFileError (no space, no permission, a failing disk).
    """

    key: bytes
    """32 random bytes made with the file, for `case.fingerprint`."""

    database: Database
    """The SQLite file, for modules with their own tables in it."""

    jobs: Jobs
    """The commands that wrote to the run; one that writes now begins and ends its job here."""

    def __init__(self, db: Database, kind: RunKind | None) -> None:
        """Not for callers: `create`, `open` and `read` make one."""
        self.path = db.path
        self.database = self._db = db
        self.jobs = Jobs(db)
        try:
            self.key = self._read_key()
            if kind is not None:
                self._check_kind(kind)
        except BaseException:
            db.close()
            raise

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        key: bytes = b"",
        kind: RunKind = "",
        fill: Callable[[Database], None] = lambda db: None,
    ) -> Self:
        """Make a new run, 0600, and open it for writing. Raises RunFileError if that name is taken.

        A split gives the `key` of its run, and fills each part before the file has a name.
        """
        path = Path(path)
        refuse_left_files(path)
        with run_file_errors(path), closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
            db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            for statement in SCHEMA:
                db.execute(statement)
            db.execute("INSERT INTO run VALUES (?, ?)", (key or secrets.token_bytes(KEY_BYTES), now()))
            if kind:  # in the file from its first byte on: without it, a killed self-test would be an ordinary run
                db.execute(_SET, (KIND, to_json(kind)))
            fill(Database(path, db, None))
            create(path, db.serialize())
        return cls.open(path, kind)

    @classmethod
    def open(cls, path: str | os.PathLike[str], kind: RunKind | None = "") -> Self:
        """Open an existing run of this kind, or of any with None, for writing."""
        return cls(Database.open(Path(path), writes=True), kind)

    @classmethod
    def read(cls, path: str | os.PathLike[str], kind: RunKind | None = "") -> Self:
        """Open an existing run of this kind, or of any with None, for reading, even while another process writes."""
        return cls(Database.open(Path(path), writes=False), kind)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let the next writer in. A second call does nothing."""
        self._db.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Store all changes of this block, or none."""
        with self._db.writing():
            yield

    def add_rubric(self, name: str, text: str, compiled: str) -> str:
        """Store a rubric's whole text, and what `rubrics.compiled` made of it; return the SHA-256 of the text in hex.

        Raises RaterChanged if the run has outcomes under another text of that name, or under another reading of it.
        """
        sha256 = _sha256(text)
        with self._db.writing():
            known = self._db.rows("SELECT id, sha256, compiled FROM rubrics WHERE name = ?", name)
            if not known:
                added = "INSERT INTO rubrics (name, sha256, text, compiled) VALUES (?, ?, ?, ?)"
                self._db.execute(added, (name, sha256, text, compiled))
            elif known[0][1:] != (sha256, compiled):
                was = f"its SHA-256 was {known[0][1][:12]}, now {sha256[:12]}"
                how = was if known[0][1] != sha256 else "this release reads the same text in another way"
                self._forget_raters("rubric_id", known[0][0], f"under another text of the rubric {name!r}: {how}")
                changed = "UPDATE rubrics SET sha256 = ?, text = ?, compiled = ? WHERE name = ?"
                self._db.execute(changed, (sha256, text, compiled, name))
        return sha256

    def rubrics(self) -> dict[str, Rubric]:
        """Return the run's rubrics by name, in the order they came."""
        try:
            found = {name: read_compiled(*stored) for name, stored in self.stored_rubrics().items()}
        except RubricError as error:
            raise damaged(self.path, f"a rubric in it was changed: {error}") from None
        if any(name != rubric.name for name, rubric in found.items()):
            raise damaged(self.path, "a rubric in it was changed: it has another name")
        return found

    def stored_rubrics(self) -> dict[str, tuple[str, str]]:
        """Return by name each rubric's text, and what `rubrics.compiled` made of it."""
        rows = self._db.rows("SELECT name, text, compiled, sha256 FROM rubrics ORDER BY id")
        if any(_sha256(text) != sha256 for _, text, _, sha256 in rows):
            raise damaged(self.path, "the text of a rubric in it was changed")
        return {name: (text, compiled) for name, text, compiled, _ in rows}

    def add_rater(self, rater: Rater) -> int:
        """Add a rater if it is new; return its id.

        Raises UnknownName if its rubric was not added, and RaterChanged, which names the differences, if the run has
        outcomes of another rater with that name and rubric.
        """
        with self._db.writing():
            rubric_id = {name: id for id, name in self._db.rows("SELECT id, name FROM rubrics")}
            if rater.rubric not in rubric_id:
                raise UnknownName("rubric", rater.rubric, rubric_id)
            for known_id, known in self.raters():
                if (known.name, known.rubric) == (rater.name, rater.rubric):
                    if (known.kind, known.fingerprint) == (rater.kind, rater.fingerprint):
                        return known_id
                    what = known.differences(rater)
                    self._forget_raters("id", known_id, f"of another {rater.name!r} under {rater.rubric!r}: {what}")
            columns = (rater.name, rater.kind, rubric_id[rater.rubric], rater.fingerprint, rater.spec_json)
            return self._db.execute(_ADD_RATER, columns)

    def raters(self) -> list[tuple[int, Rater]]:
        """Return each rater with its id, in the order they came."""
        query = """
            SELECT raters.id, raters.name, kind, rubrics.name, spec, fingerprint
            FROM raters JOIN rubrics ON rubrics.id = rubric_id ORDER BY raters.id
        """
        found = []
        for id, name, kind, rubric, spec, fingerprint in self._db.rows(query):
            rater = Rater(name, kind, rubric, VALUES_BY_NAME.read(self.path, spec))
            if rater.fingerprint != fingerprint or kind not in get_args(RaterKind):
                raise damaged(self.path, f"its facts about the rater {name!r} were changed")
            found.append((id, rater))
        return found

    def judged(self, rater_id: int, case_ids: Sequence[str]) -> dict[str, str]:
        """Return the hash of each of these cases that has a verdict: failures are left out, to be tried again."""
        asked = {storable(case_id): case_id for case_id in case_ids}
        found = self._db.rows_among(_JUDGED, list(asked), rater_id)
        return {asked[case_id]: case_hash for case_id, case_hash in found}

    def put(
        self,
        rater_id: int,
        case: CaseRef,
        outcome: Outcome,
        *,
        keep: Collection[str] | None = (),
        tokens: Tokens = NO_TOKENS,
        sheet: int | None = None,
    ) -> None:
        """Store the rater's one current outcome of a case, with the metadata columns named in `keep` (None: all).

        A verdict before it stays in the file, but not current, if the case's texts have changed or a failure replaces
        it. `sheet` is the job that handed out the sheet or page of a rating. Probabilities keep seven digits, as many
        as float32 has.
        Raises RunFileError if row numbers and other ids would mix, ValueError for a number that is not finite.
        """
        self.put_all(rater_id, [CaseOutcome(case, outcome, tokens)], keep=keep, sheet=sheet)

    def put_all(
        self,
        rater_id: int,
        outcomes: Sequence[CaseOutcome],
        *,
        keep: Collection[str] | None = (),
        sheet: int | None = None,
    ) -> None:
        """Store the rater's outcomes of several cases, each once, in one step; see `put`."""
        columns = [to_columns(each.outcome) for each in outcomes]
        stored = [_case_columns(each.case, keep) for each in outcomes]
        with self._db.writing():
            [(last,)] = self._db.rows("SELECT COALESCE(MAX(key), 0) FROM cases")
            self._db.execute_all(ADD_CASE, stored)
            found = dict(self._db.rows_among(KEYS_OF, [case_id for case_id, *_ in stored]))
            keys = [found[case_id] for case_id, *_ in stored]
            again, rows = [], []
            for key, each, column in zip(keys, outcomes, columns, strict=True):
                place = (key, rater_id, each.case.hash)
                again += [(*place, isinstance(each.outcome, Failure))] if key <= last else []
                rows.append((key, *place, *column, *astuple(each.tokens), sheet))
            self._db.execute_all(_REPLACE, again)
            self._db.execute_all(_PUT, rows)

    def forget_bad_rows(self, rater_id: int, source: str, still_bad: Collection[str]) -> None:
        """Remove the rater's failures on bad rows of the file `source`, except those of the ids in `still_bad`.

        A verdict that such a failure replaced is current again.
        """
        rows = self._db.rows(_BAD_ROWS, rater_id, source)
        with self._db.writing():
            for key, number, case_id in rows:
                if case_id not in still_bad:
                    self._db.execute(_FORGET, (key, rater_id, number))

    def keep_metadata(self, cases: Sequence[CaseRef], keep: Collection[str] | None) -> None:
        """Fill in the metadata columns named in `keep` (None: all) and the row of cases that the run has.

        Give only cases with the texts that were judged: a row number may have become another case's id.
        """
        if cases:
            with self._db.writing():
                self._db.execute_all(_MOVE_CASE, [_case_columns(case, keep) for case in cases])

    def records(
        self, rater: str | None = None, rubric: str | None = None, cases: Collection[str] | None = None
    ) -> Iterator[Record]:
        """Yield the current outcomes in the order of the cases file, one case's raters in the order they came.

        Only those of `cases`, ids, if any are given.

        A reader sees the run as of the first record, and a writer must not put before the last.
        Raises UnknownName for a rater or a rubric that the run lacks.
        """
        raters = dict(self.raters())
        rater_names = dict.fromkeys(each.name for each in raters.values())
        rubric_names = dict.fromkeys(each.rubric for each in raters.values())
        if rater is not None and rater not in rater_names:
            raise UnknownName("rater", rater, rater_names)
        if rubric is not None and rubric not in rubric_names:
            raise UnknownName("rubric", rubric, rubric_names)
        wanted = {i: r for i, r in raters.items() if rater in (None, r.name) and rubric in (None, r.rubric)}
        return self._stream(wanted, cases)

    def get_setting(self, name: str, kind: Stored[Any] = SETTING) -> Any:
        """Return a stored JSON value of this kind; None if nothing is stored under that name."""
        rows = self._db.rows("SELECT value FROM settings WHERE name = ?", name)
        return kind.read(self.path, rows[0][0]) if rows else None

    def settings(self) -> dict[str, Value]:
        """Return all stored JSON values by name."""
        rows = self._db.rows("SELECT name, value FROM settings ORDER BY name")
        return {name: SETTING.read(self.path, value) for name, value in rows}

    def set_setting(self, name: str, value: Value) -> None:
        """Store a small JSON value under a name; it replaces the one before."""
        with self._db.writing():
            self._db.execute(_SET, (name, to_json(value)))

    def _stream(self, raters: Mapping[int, Rater], cases: Collection[str] | None) -> Iterator[Record]:
        asked = None if cases is None else [storable(case_id) for case_id in cases]
        order = self._db.rows(_ORDER) if asked is None else sorted(self._db.rows_among(_AMONG, asked))
        keys = [key for _, key in order]
        scores = {name: rubric.format.scores.keys() for name, rubric in self.rubrics().items()}
        for rater_id, *columns in self._db.stream(_RECORDS.format(placeholders(raters)), to_json(keys), *raters):
            record = self._record(raters[rater_id], *columns)
            if isinstance(record.outcome, Verdict) and not record.outcome.scores.keys() <= scores[record.rubric]:
                raise damaged(self.path, "a verdict in it has a score that its rubric lacks")
            yield record

    def _record(self, rater: Rater, case_id: str, row: int, metadata: str, *rest: Any) -> Record:
        case_hash, *columns = rest
        kept = TEXTS_BY_NAME.read(self.path, metadata)
        outcome, tokens = from_columns(self.path, columns[:-3]), Tokens(*columns[-3:])
        return Record(case_id, row, kept, rater.name, rater.rubric, outcome, case_hash, tokens)

    def _read_key(self) -> bytes:
        rows = self._db.rows("SELECT key FROM run")
        if len(rows) != 1 or not isinstance(rows[0][0], bytes) or len(rows[0][0]) != KEY_BYTES:
            raise damaged(self.path, "its key is missing")
        return rows[0][0]

    def _check_kind(self, wanted: RunKind) -> None:
        found = self.get_setting(KIND) or ""
        if wanted and not found:
            said = "holds verdicts of cases, and a self-test needs its own run"
            raise RunFileError(f"{self.path} {said}", "Name another with --run.")
        if found != wanted:
            said = f"{self.path} holds a self-test of judges: its verdicts are about changed cases"
            raise RunFileError(said, "`pathway-local judges test` continues it. Name a run of `judge` here.")

    def _forget_raters(self, column: str, value: int, what: str) -> None:
        """Delete raters without outcomes, so that a changed one may replace them; raise RaterChanged for others."""
        query = f"SELECT 1 FROM raters JOIN outcomes ON rater_id = raters.id WHERE raters.{column} = ? LIMIT 1"
        if self._db.rows(query, value):
            names = "--rater NAME for a judge, --store NAME for combined scores"
            hint = f"Undo that change, name another run file, or give it another name ({names})."
            raise RaterChanged(f"{self.path}: it holds outcomes {what}", hint)
        self._db.execute(f"DELETE FROM raters WHERE {column} = ?", (value,))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _case_columns(case: CaseRef, keep: Collection[str] | None) -> tuple[str, int, str]:
    names = case.metadata if keep is None else keep
    kept = {name: case.metadata[name] for name in names if name in case.metadata}
    return storable(case.id), case.row, to_json(kept)
