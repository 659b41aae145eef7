"""An index of a run's current verdicts in memory: the run's file holds scores and words as JSON, slow to search."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby

from pathway_local.rater import Rater
from pathway_local.results.kept_column import MOST_GROUPS
from pathway_local.results.labels import labels_of
from pathway_local.results.reading_list import Said, given_by, said_by
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.database import IDS_PER_QUERY
from pathway_local.runs.file_errors import decoding
from pathway_local.runs.record import COLUMNS, from_columns
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.verdict import Failure, Outcome
from pathway_local.viewer.case_texts import CaseTexts, fold
from pathway_local.viewer.selection import ORDERS, Selection

PAGE = 50
"""Cases on a page of the table."""

# A table is sorted by `first_score`; `words` and `folded` are what the search compares.
_SCHEMA = """
    CREATE TABLE raters (id INTEGER PRIMARY KEY, name TEXT, rubric TEXT);
    CREATE TABLE cases (key INTEGER PRIMARY KEY, case_id TEXT, row INTEGER, metadata TEXT, folded TEXT);
    CREATE TABLE texts (case_id TEXT PRIMARY KEY, folded TEXT) WITHOUT ROWID;
    CREATE TABLE verdicts (
        id INTEGER PRIMARY KEY, case_key INTEGER, rater INTEGER, failure TEXT, marks TEXT, first_score REAL,
        confidence REAL, words TEXT
    );
    CREATE TABLE scores (verdict INTEGER, name TEXT, value REAL);
    CREATE INDEX scores_by_value ON scores (name, value);
    CREATE INDEX scores_by_verdict ON scores (verdict);
    CREATE INDEX verdicts_of_case ON verdicts (case_key);
    CREATE TABLE shown (place INTEGER PRIMARY KEY, case_key INTEGER, rubric TEXT);
    CREATE TABLE shown_cases (place INTEGER PRIMARY KEY, case_key INTEGER UNIQUE);
"""
_CURRENT = "SELECT id, case_key, rater_id FROM outcomes INDEXED BY current_outcomes WHERE superseded = 0"
_CASES = "SELECT key, case_id, row, metadata FROM cases"
_OUTCOMES = f"SELECT id, case_key, rater_id, {COLUMNS} FROM outcomes WHERE id IN ({{}})"
_MARKS = "SELECT DISTINCT value FROM verdicts, json_each(marks) ORDER BY value"
_FAILURES = "SELECT DISTINCT failure FROM verdicts WHERE failure IS NOT NULL ORDER BY failure"
_SHOW = """
    INSERT INTO shown (case_key, rubric) SELECT case_key, raters.rubric
    FROM verdicts JOIN cases ON cases.key = case_key JOIN raters ON raters.id = rater WHERE {}
    GROUP BY case_key, raters.rubric ORDER BY {} cases.row, case_key, MIN(raters.id)
"""
_SHOW_CASES = """
    INSERT INTO shown_cases (case_key) SELECT case_key FROM shown GROUP BY case_key ORDER BY MIN(place)
"""


_OF_ROWS = """
    SELECT place, verdicts.id FROM shown JOIN verdicts USING (case_key) JOIN raters ON raters.id = rater
    WHERE raters.rubric = shown.rubric AND place > ? AND place <= ? ORDER BY place, rater
"""
_LEVELS = """
    SELECT raters.rubric, scores.name, COALESCE(kept.value, ''), rater, scores.value, COUNT(*)
    FROM shown JOIN verdicts USING (case_key) JOIN raters ON raters.id = rater AND raters.rubric = shown.rubric
    JOIN scores ON scores.verdict = verdicts.id JOIN cases ON cases.key = case_key
    LEFT JOIN json_each(cases.metadata) AS kept ON kept.key = ?
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 4, 3, 5
"""


@dataclass(frozen=True, slots=True)
class IndexedCase:
    """A case with its kept metadata."""

    key: int
    id: str
    row: int
    metadata: dict[str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """A case under a rubric, and what its raters said of it, as the run has it now."""

    case: IndexedCase
    rubric: str
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """What the verdicts in the run can be limited to: kinds of failures, marks, and columns with their values."""

    failures: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    groups: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shown:
    """How many cases are shown, in how many rows: a case has one under each rubric."""

    rows: int
    cases: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A case's place among those shown, counted from 1, and the keys of the cases before and after it."""

    place: int
    before: int | None
    after: int | None


class VerdictIndex:
    """The verdicts of an open run, and of its cases the texts that are searched, too.

    `rubrics` and `raters` are the run's, by name and by id; `labels` are cautions about judges by name. Read
    within `current`, since others may write to the run.
    """

    def __init__(self, run: RunFile, texts: CaseTexts | None) -> None:
        self.run = run
        self.rubrics: dict[str, Rubric] = {}
        self.raters: dict[int, Rater] = {}
        self.labels: Mapping[str, str] = {}
        self.choices = Choices()
        self._seen: object = None
        self._cases: dict[int, tuple[str, int, str]] = {}
        self._groups: defaultdict[str, set[str]] = defaultdict(set)
        self._shown: Selection | None = None
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        self._db.execute("PRAGMA temp_store = MEMORY")  # sorting must not leave anything in a temporary file
        self._db.executescript(_SCHEMA)
        if texts:
            self._db.executemany("INSERT INTO texts VALUES (?, ?)", texts.folded())
        with self.current():
            pass

    @contextmanager
    def current(self) -> Iterator[None]:
        """Bring the index up to date, and let all reads in this block see the run as of the same moment."""
        with self.run.database.snapshot():
            self._refresh()
            yield

    def _refresh(self) -> None:
        [(version,)] = self.run.database.rows("PRAGMA data_version")
        if version == self._seen:
            return
        self._db.execute("BEGIN")
        with self._db, decoding(self.run.path):
            self._read_raters()
            cases = self._read_cases()
            self._read_outcomes()
        self._cases = cases
        failures, marks = (tuple(value for (value,) in self._db.execute(query)) for query in (_FAILURES, _MARKS))
        groups = {name: sorted(values) for name, values in self._groups.items() if 1 < len(values) <= MOST_GROUPS}
        self.choices, self._seen, self._shown = Choices(failures, marks, groups), version, None

    def show(self, chosen: Selection) -> Shown:
        """Choose what `page`, `levels` and `neighbours` are about; return how much that is."""
        if self._shown != chosen:
            where, values = chosen.where()
            self._db.executescript("DELETE FROM shown; DELETE FROM shown_cases")
            self._db.execute(_SHOW.format(where, ORDERS[chosen.order]), values)
            self._db.execute(_SHOW_CASES)
            self._shown = chosen
        [counts] = self._db.execute("SELECT (SELECT MAX(place) FROM shown), (SELECT MAX(place) FROM shown_cases)")
        return Shown(*(count or 0 for count in counts))

    def page(self, number: int) -> list[Row]:
        """Return the shown rows of a page, counted from 1."""
        places = self._db.execute(_OF_ROWS, ((number - 1) * PAGE, number * PAGE)).fetchall()
        found = {id: (key, rater, outcome) for id, key, rater, outcome in self._stored([id for _, id in places])}
        rows = []
        for _, together in groupby(places, key=lambda each: each[0]):
            own = [found[id] for _, id in together if id in found]
            said = tuple(self._said(rater, outcome) for _, rater, outcome in own)
            case = self.case(own[0][0]) if own else None
            rows += [Row(case, self.raters[own[0][1]].rubric, said)] if case else []
        return rows

    def levels(self, column: str) -> Iterator[tuple[str, str, str, str, float, int]]:
        """Yield how often raters gave each value in the shown cases: for each rubric, score, group and rater.

        Groups are the values of a column; without its name there is one group.
        """
        for rubric, score, group, rater, value, count in self._db.execute(_LEVELS, (column,)):
            yield rubric, score, group, self.raters[rater].name, value, count

    def neighbours(self, key: int) -> Neighbours:
        """Return the place of a case among those shown, 0 if it is not, and the keys of the cases beside it."""
        rows = self._db.execute("SELECT place FROM shown_cases WHERE case_key = ?", (key,)).fetchall()
        place = rows[0][0] if rows else 0
        query = "SELECT place, case_key FROM shown_cases WHERE place IN (?, ?)"
        beside = dict(self._db.execute(query, (place - 1, place + 1))) if place else {}
        return Neighbours(place, beside.get(place - 1), beside.get(place + 1))

    def case(self, key: int) -> IndexedCase | None:
        """Return a case; None if the run has none with that key."""
        if key not in self._cases:
            return None
        case_id, row, metadata = self._cases[key]
        return IndexedCase(key, case_id, row, json.loads(metadata))

    def _said(self, rater: int, outcome: Outcome) -> Said:
        """Return what a rater said by its outcome."""
        by = self.raters[rater]
        return said_by(by.name, by.kind, outcome, self._rubric(rater), "", self.labels.get(by.name, ""))

    def _rubric(self, rater: int) -> Rubric:
        return self.rubrics[self.raters[rater].rubric]

    def _read_raters(self) -> None:
        self.rubrics, self.raters = rubrics_of(self.run), dict(self.run.raters())
        self.labels = labels_of(self.run)
        rows = [(id, rater.name, rater.rubric) for id, rater in self.raters.items()]
        self._db.executemany("INSERT OR REPLACE INTO raters VALUES (?, ?, ?)", rows)

    def _read_cases(self) -> dict[int, tuple[str, int, str]]:
        found = {key: (case_id, row, metadata) for key, case_id, row, metadata in self.run.database.stream(_CASES)}
        new = [(key, *case, fold(case[0])) for key, case in found.items() if self._cases.get(key) != case]
        for metadata in dict.fromkeys(metadata for *_, metadata, _ in new):
            for column, value in json.loads(metadata).items():
                if value and len(self._groups[column]) <= MOST_GROUPS:
                    self._groups[column].add(value)
        self._db.executemany("INSERT OR REPLACE INTO cases VALUES (?, ?, ?, ?, ?)", new)
        return found

    def _read_outcomes(self) -> None:
        # The outcome of a row that was bad may have gone, and its number with it to another outcome of the same case
        # and rater, so failures are read again.
        current = set(self.run.database.rows(_CURRENT))
        known = set(self._db.execute("SELECT id, case_key, rater FROM verdicts WHERE failure IS NULL"))
        gone = [(id,) for id, *_ in known - current]
        self._db.execute("DELETE FROM verdicts WHERE failure IS NOT NULL")
        self._db.executemany("DELETE FROM verdicts WHERE id = ?", gone)
        self._db.executemany("DELETE FROM scores WHERE verdict = ?", gone)
        new = sorted(id for id, *_ in current - known)
        for part in (new[start : start + IDS_PER_QUERY] for start in range(0, len(new), IDS_PER_QUERY)):
            self._add(part)

    def _add(self, ids: Sequence[int]) -> None:
        rows, scores = list[tuple[object, ...]](), list[tuple[object, ...]]()
        for id, key, rater, outcome in self._stored(ids):
            given = () if isinstance(outcome, Failure) else tuple(given_by(outcome, self._rubric(rater)))
            sure = min((each.confidence for each in given if each.confidence is not None), default=None)
            value = given[0].value if given else None
            kind, marks, words = _searched(outcome)
            rows.append((id, key, rater, kind, marks, value, sure, words))
            scores += [(id, each.name, each.value) for each in given]
        self._db.executemany("INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._db.executemany("INSERT INTO scores VALUES (?, ?, ?)", scores)

    def _stored(self, ids: Sequence[int]) -> Iterator[tuple[int, int, int, Outcome]]:
        for id, key, rater, *columns in self.run.database.rows_among(_OUTCOMES, ids):
            with decoding(self.run.path):
                yield id, key, rater, from_columns(columns)


def _searched(outcome: Outcome) -> tuple[str | None, str | None, str]:
    """Return the kind of a failure, the marks of a verdict as JSON, and the words to search."""
    if isinstance(outcome, Failure):
        return outcome.kind, None, fold(outcome.message)
    words = "\n".join(text for text in outcome.fields.values() if isinstance(text, str))
    return None, json.dumps(outcome.marks) if outcome.marks else None, fold(words)
