"""The verdicts that a person chose, as SQL finds them in an open run, and the texts of its cases."""

import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pathway_local.case import BadRow, Case
from pathway_local.results.reading_list import CaseToRead, with_said
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import TEXTS_BY_NAME, Record
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import MOST_GROUPS, Scores
from pathway_local.verdict import storable


class CaseTexts:
    """Finds the inputs of a file's cases by the id that the run stores; texts are compressed."""

    def __init__(self, cases: Iterable[Case | BadRow]) -> None:
        # JSON in ASCII also holds lone surrogates, on which the hash of a case's texts depends.
        self._packed = {
            storable(item.id): zlib.compress(json.dumps(dict(item.inputs)).encode(), 1)
            for item in cases
            if isinstance(item, Case)
        }

    def of(self, case_id: str) -> dict[str, str] | None:
        """Return a case's inputs by name; None if the file has no such case."""
        packed = self._packed.get(case_id)
        return None if packed is None else dict(json.loads(zlib.decompress(packed)))

    def holding(self, text: str) -> list[str]:
        """Return the ids of the cases that have the folded `text` in theirs."""
        return [id for id in self._packed if text in fold("\n".join((self.of(id) or {}).values()))]


def fold(text: str) -> str:
    """Return the text as the search compares it: upper and lower case are the same."""
    return storable(text).casefold()


VERDICTS, FAILURES = "verdicts", "failures"
"""The outcomes that a table can be limited to, besides single kinds of failures."""

KIND: Final = "kind:"
"""Begins the choice of one kind of failure."""

MOST_COLUMNS = 12
"""Kept columns that the table shows, each with a list to choose from."""

PAGE = 50
"""Rows on a page of the table."""

_FIRST = "(SELECT json_extract(value, '$.value') FROM json_each(scores) LIMIT 1)"
_SURE = """(SELECT MIN(sure) FROM (
    SELECT (SELECT MAX(value) FROM json_each(each.value, '$.probabilities')) AS sure FROM json_each(scores) AS each
))"""
ORDERS = {"case": "0", "low": f"MIN({_FIRST})", "high": f"-MAX({_FIRST})", "unsure": f"MIN({_SURE})"}
"""The orders of a table; cases without a value come last, equal ones in the order of the cases file."""

_SHOWN = """
    SELECT case_key, rubric, {} AS place FROM current WHERE {}
    GROUP BY case_key, rubric ORDER BY place IS NULL, place, row, case_key, MIN(rater_id)
"""
_LEVEL = "EXISTS (SELECT 1 FROM json_each(scores) WHERE printf('%s=%.15g', key, json_extract(value, '$.value')) = ?)"
_MARK = "EXISTS (SELECT 1 FROM json_each(marks) WHERE value = ?)"
_GROUP = "EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND value = ?)"
_TEXT = """(
    instr(folded(case_id), ?) OR instr(folded(COALESCE(failure_message, '')), ?)
    OR EXISTS (SELECT 1 FROM json_each(fields) WHERE type = 'text' AND instr(folded(value), ?))
    OR case_id IN (SELECT value FROM json_each(?))
)"""
_GROUPS = """
    SELECT each.key, each.value FROM cases, json_each(metadata) AS each WHERE each.value <> ''
    GROUP BY each.key, each.value ORDER BY MIN(each.id), each.value
"""


GROUP = "group:"
"""Begins the name of a choice of a kept column."""

_OF_VERDICT = {"rubric": "rubric = ?", "rater": "rater = ?", "level": _LEVEL, "mark": _MARK}

Selection = tuple[tuple[str, str], ...]
"""A person's choices by name; without any, nothing is left out. A case is shown if one verdict fits all of them."""


def _conditions(chosen: Selection, texts: CaseTexts | None) -> Iterator[tuple[str, Sequence[object]]]:
    """Yield each condition with its values."""
    for name, value in chosen:
        if name in _OF_VERDICT:
            yield _OF_VERDICT[name], [value]
        elif name == "outcome" and value in (VERDICTS, FAILURES):
            yield f"failure_kind IS {'NOT ' if value == FAILURES else ''}NULL", []
        elif name == "outcome":
            yield "failure_kind = ?", [value.removeprefix(KIND)]
        elif name.startswith(GROUP):
            yield _GROUP, [name.removeprefix(GROUP), value]
        elif name == "text" and (text := fold(value.strip())):
            yield _TEXT, [*[text] * 3, json.dumps(texts.holding(text) if texts else [])]


class Verdicts:
    """The verdicts of an open run.

    `data` is the run as of the last change. A table can be limited to kinds of `failures`, to `marks`, and to the
    values of the columns in `groups`. Read within `current`, since others may write.
    """

    def __init__(self, run: RunFile, texts: CaseTexts | None) -> None:
        self.run, self.texts, self.data = run, texts, Scores(run)
        self.failures: list[str] = []
        self.marks: list[str] = []
        self.groups: dict[str, list[str]] = {}
        self._seen: object = None
        self._chosen: Selection | None = None
        self._shown: list[tuple[int, str]] = []
        run.database.define("folded", fold)
        with self.current():
            pass

    @contextmanager
    def current(self) -> Iterator[None]:
        """Let all reads in this block see the run as of the same moment."""
        with self.run.database.snapshot():
            [(version,)] = self.run.database.rows("PRAGMA data_version")
            if version != self._seen:
                self._refresh()
                self._seen, self._chosen = version, None
            yield

    def _refresh(self) -> None:
        rows = self.run.database.rows
        self.data = Scores(self.run)
        self.failures = [kind for (kind,) in rows("SELECT DISTINCT failure_kind FROM current ORDER BY 1") if kind]
        self.marks = [mark for (mark,) in rows("SELECT DISTINCT value FROM current, json_each(marks) ORDER BY 1")]
        groups = defaultdict[str, list[str]](list)
        for column, value in self.run.database.stream(_GROUPS):
            groups[column].append(str(value))
        dividing = [name for name, values in groups.items() if 1 < len(values) <= MOST_GROUPS]
        self.groups = {name: groups[name] for name in dividing[:MOST_COLUMNS]}

    def show(self, chosen: Selection) -> tuple[int, int]:
        """Choose what `page` and `neighbours` are about; return how many cases that is, in how many rows.

        A case has a row under each rubric.
        """
        if self._chosen != chosen:
            asked, order = list(_conditions(chosen, self.texts)), dict(chosen).get("order", "")
            where = " AND ".join(condition for condition, _ in asked) or "1"
            values = [value for _, own in asked for value in own]
            found = self.run.database.rows(_SHOWN.format(ORDERS.get(order, ORDERS["case"]), where), *values)
            self._shown, self._chosen = [(key, rubric) for key, rubric, _ in found], chosen
        return len(self._keys()), len(self._shown)

    def _keys(self) -> list[int]:
        return list(dict.fromkeys(key for key, _ in self._shown))

    def page(self, number: int) -> list[tuple[int, CaseToRead, Rubric]]:
        """Return the rows of a page, counted from 1: each case's key, and the case with all said under a rubric."""
        shown = self._shown[(number - 1) * PAGE : number * PAGE]
        cases = {key: case for key, _ in shown if (case := self.case(key))}
        found = defaultdict[tuple[str, str], list[Record]](list)
        for record in self.run.records(cases=[case.case for case in cases.values()]):
            found[record.case_id, record.rubric].append(record)
        rows = ((key, cases[key], self.data.rubrics[name]) for key, name in shown)
        return [(key, with_said(self.data, own, case, found[case.case, own.name]), own) for key, case, own in rows]

    def neighbours(self, key: int) -> tuple[int, int | None, int | None]:
        """Return the place of a case among those shown, 0 if it is not, and the keys of the cases before and after."""
        keys = self._keys()
        place = keys.index(key) + 1 if key in keys else 0
        return place, keys[place - 2] if place > 1 else None, keys[place] if 0 < place < len(keys) else None

    def case(self, key: int) -> CaseToRead | None:
        """Return a case without its verdicts; None if the run has none with that key."""
        for case_id, row, kept in self.run.database.rows("SELECT case_id, row, metadata FROM cases WHERE key = ?", key):
            texts = self.texts.of(case_id) if self.texts else None
            return CaseToRead(case_id, row, (), TEXTS_BY_NAME.read(self.run.path, kept), texts)
        return None
