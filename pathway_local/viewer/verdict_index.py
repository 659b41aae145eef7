"""An index of a run's current verdicts in memory, which cases a table shows, and their texts.

The run's file holds scores and words as JSON, slow to search, and few kinds of cases files let us jump to a case.
"""

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Final

from pathway_local.case import BadRow, Case
from pathway_local.rater import Rater
from pathway_local.results.reading_list import Said, given_by, said_by
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.file_errors import decoding
from pathway_local.runs.record import COLUMNS, from_columns
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.scores.scores import MOST_GROUPS, labels_of
from pathway_local.verdict import Failure, Outcome, storable


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

    def folded(self) -> Iterator[tuple[str, str]]:
        """Yield each case's id, and all its texts as `fold` returns them."""
        for case_id in self._packed:
            yield case_id, fold("\n".join((self.of(case_id) or {}).values()))


def fold(text: str) -> str:
    """Return the text as the search compares it: upper and lower case are the same."""
    return storable(text).casefold()


VERDICTS, FAILURES = "verdicts", "failures"
"""The outcomes that a table can be limited to, besides single kinds of failures."""

KIND: Final = "kind:"
"""Begins the choice of one kind of failure."""


@dataclass(frozen=True, slots=True)
class IndexedCase:
    """A case with its kept metadata, and these as the run stores them."""

    key: int
    id: str
    row: int
    metadata: dict[str, str]
    stored: str


@dataclass(frozen=True, slots=True)
class IndexedVerdict:
    """The part of a verdict by which a person can choose, search and sort; or of a failure, which has a kind."""

    id: tuple[int, int, int]
    case: int
    rater: int
    failure: str
    marks: Sequence[str]
    scores: Mapping[str, float]
    confidence: float | None
    words: str

    @property
    def first_score(self) -> float | None:
        """The value of its first score."""
        return next(iter(self.scores.values()), None)


def _least(values: Iterable[float | None]) -> float:
    return min((value for value in values if value is not None), default=inf)


ORDERS: Mapping[str, Callable[[Sequence[IndexedVerdict]], float]] = {
    "case": lambda own: 0.0,
    "low": lambda own: _least(each.first_score for each in own),
    "high": lambda own: _least(None if each.first_score is None else -each.first_score for each in own),
    "unsure": lambda own: _least(each.confidence for each in own),
}
"""Keys by which a table can be sorted; cases without a value come last, equal ones in the order of the cases file."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A person's choice of cases; an empty one leaves nothing out. A case is shown if one verdict fits all choices.

    `level` is a score's name with a value, `groups` are kept columns with a value each. The chart shows the levels
    for each value of the column `by`.
    """

    rubric: str = ""
    rater: str = ""
    level: tuple[str, float] | None = None
    outcome: str = ""
    mark: str = ""
    groups: tuple[tuple[str, str], ...] = ()
    text: str = ""
    order: str = "case"
    by: str = ""

    def fits(self, verdict: IndexedVerdict, rater: Rater, case: IndexedCase, found: Collection[int], text: str) -> bool:
        """Whether a verdict fits; `found` are the keys of the cases that hold the folded `text` in their own texts."""
        return (
            self.rubric in ("", rater.rubric)
            and self.rater in ("", rater.name)
            and (self.level is None or verdict.scores.get(self.level[0]) == self.level[1])
            and self._has_outcome(verdict.failure)
            and (not self.mark or self.mark in verdict.marks)
            and all(case.metadata.get(name) == value for name, value in self.groups)
            and (not text or text in verdict.words or case.key in found)
        )

    def _has_outcome(self, failure: str) -> bool:
        if self.outcome in (VERDICTS, FAILURES):
            return bool(failure) is (self.outcome == FAILURES)
        return self.outcome in ("", f"{KIND}{failure}")


PAGE = 50
"""Cases on a page of the table."""

AT_ONCE = 5_000
"""Outcomes that are decoded together, whose texts then leave the memory."""

_CURRENT = "SELECT number, case_key, rater_id FROM current"
_CASES = "SELECT key, case_id, row, metadata FROM cases"
_OUTCOMES = f"SELECT number, case_key, rater_id, {COLUMNS} FROM current WHERE case_key IN ({{}})"


@dataclass(frozen=True, slots=True)
class Row:
    """A case under a rubric, and what its raters said of it, as the run has it now."""

    case: IndexedCase
    rubric: str
    said: tuple[Said, ...]


class VerdictIndex:
    """The verdicts of an open run, and of its cases the texts that are searched, too.

    `rubrics` and `raters` are the run's, by name and by id; `labels` are cautions about judges by name. A table can be
    limited to kinds of `failures`, to `marks`, and to the values of the columns in `groups`. Read within `current`,
    since others may write to the run.
    """

    def __init__(self, run: RunFile, texts: CaseTexts | None) -> None:
        self.run = run
        self.rubrics: dict[str, Rubric] = {}
        self.raters: dict[int, Rater] = {}
        self.labels: Mapping[str, str] = {}
        self.failures: list[str] = []
        self.marks: list[str] = []
        self.groups: dict[str, list[str]] = {}
        self._texts = dict(texts.folded()) if texts else {}
        self._seen: object = None
        self._cases: dict[int, IndexedCase] = {}
        self._verdicts: dict[tuple[int, int, int], IndexedVerdict] = {}
        self._rows: dict[tuple[int, str], list[IndexedVerdict]] = {}
        self._groups: defaultdict[str, set[str]] = defaultdict(set)
        self._chosen: Selection | None = None
        self._shown: list[tuple[int, str]] = []
        self._places: dict[int, int] = {}
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
        with decoding(self.run.path):
            self.rubrics, self.raters = rubrics_of(self.run), dict(self.run.raters())
            self.labels = labels_of(self.run)
            cases, verdicts = self._read_cases(), self._read_verdicts()
        self._cases, self._verdicts, self._rows = cases, verdicts, defaultdict(list)
        for each in sorted(verdicts.values(), key=lambda each: each.rater):
            self._rows[each.case, self.raters[each.rater].rubric].append(each)
        self.failures = sorted({each.failure for each in verdicts.values()} - {""})
        self.marks = sorted({mark for each in verdicts.values() for mark in each.marks})
        self.groups = {name: sorted(values) for name, values in self._groups.items() if 1 < len(values) <= MOST_GROUPS}
        self._seen, self._chosen = version, None

    def show(self, chosen: Selection) -> tuple[int, int]:
        """Choose what `page`, `levels` and `neighbours` are about; return how many cases that is, in how many rows.

        A case has a row under each rubric.
        """
        if self._chosen != chosen:
            text, found = fold(chosen.text.strip()), list[tuple[tuple[float, ...], tuple[int, str]]]()
            holding = {key for key, case in self._cases.items() if text and self._holds(case, text)}
            for row, every in self._rows.items():
                case = self._cases[row[0]]
                own = [each for each in every if chosen.fits(each, self.raters[each.rater], case, holding, text)]
                if own:
                    found.append(((ORDERS[chosen.order](own), case.row, case.key, own[0].rater), row))
            self._shown = [row for _, row in sorted(found)]
            cases = dict.fromkeys(key for key, _ in self._shown)
            self._places, self._chosen = {key: place for place, key in enumerate(cases, 1)}, chosen
        return len(self._places), len(self._shown)

    def _holds(self, case: IndexedCase, text: str) -> bool:
        return text in fold(case.id) or text in self._texts.get(case.id, "")

    def page(self, number: int) -> list[Row]:
        """Return the shown rows of a page, counted from 1."""
        shown = self._shown[(number - 1) * PAGE : number * PAGE]
        outcomes = {id: outcome for id, _, _, outcome in self._stored([e.id for row in shown for e in self._rows[row]])}
        rows = []
        for row in shown:
            said = tuple(self._said(each.rater, outcomes[each.id]) for each in self._rows[row])
            rows.append(Row(self._cases[row[0]], row[1], said))
        return rows

    def levels(self, column: str) -> Iterator[tuple[str, str, str, str, float, int]]:
        """Yield how often raters gave each value in the shown cases: for each rubric, score, group and rater.

        Groups are the values of a column; without its name there is one group.
        """
        counted = Counter[tuple[str, str, int, str, float]]()
        for key, rubric in self._shown:
            group = self._cases[key].metadata.get(column, "")
            for each in self._rows[key, rubric]:
                counted.update((rubric, name, each.rater, group, value) for name, value in each.scores.items())
        for (rubric, score, rater, group, value), count in sorted(counted.items()):
            yield rubric, score, group, self.raters[rater].name, value, count

    def neighbours(self, key: int) -> tuple[int, int | None, int | None]:
        """Return the place of a case among those shown, 0 if it is not, and the keys of the cases before and after."""
        place, keys = self._places.get(key, 0), list(self._places)
        return place, keys[place - 2] if place > 1 else None, keys[place] if 0 < place < len(keys) else None

    def case(self, key: int) -> IndexedCase | None:
        """Return a case; None if the run has none with that key."""
        return self._cases.get(key)

    def _said(self, rater: int, outcome: Outcome) -> Said:
        """Return what a rater said by its outcome."""
        by = self.raters[rater]
        return said_by(by.name, by.kind, outcome, self.rubrics[by.rubric], "", self.labels.get(by.name, ""))

    def _read_cases(self) -> dict[int, IndexedCase]:
        found = {}
        for key, case_id, row, stored in self.run.database.stream(_CASES):
            case = self._cases.get(key)
            if case is None or (case.id, case.row, case.stored) != (case_id, row, stored):
                case = IndexedCase(key, case_id, row, json.loads(stored), stored)
                for column, value in case.metadata.items():
                    if value and len(self._groups[column]) <= MOST_GROUPS:
                        self._groups[column].add(value)
            found[key] = case
        return found

    def _read_verdicts(self) -> dict[tuple[int, int, int], IndexedVerdict]:
        # The outcome of a row that was bad may have gone, and its number with it to another outcome of the same case
        # and rater, so failures are read again.
        current, found = self.run.database.rows(_CURRENT), dict[tuple[int, int, int], IndexedVerdict]()
        for number, key, rater in current:
            known = self._verdicts.get((key, rater, number))
            if known and not known.failure:
                found[known.id] = known
        new = sorted((key, rater, number) for number, key, rater in current if (key, rater, number) not in found)
        for start in range(0, len(new), AT_ONCE):
            for id, key, rater, outcome in self._stored(new[start : start + AT_ONCE]):
                found[id] = self._indexed(id, key, rater, outcome)
        return found

    def _indexed(self, id: tuple[int, int, int], key: int, rater: int, outcome: Outcome) -> IndexedVerdict:
        if isinstance(outcome, Failure):
            return IndexedVerdict(id, key, rater, outcome.kind, (), {}, None, fold(outcome.message))
        given = tuple(given_by(outcome, self.rubrics[self.raters[rater].rubric]))
        sure = min((each.confidence for each in given if each.confidence is not None), default=None)
        words = "\n".join(text for text in outcome.fields.values() if isinstance(text, str))
        scores = {each.name: each.value for each in given}
        return IndexedVerdict(id, key, rater, "", tuple(outcome.marks), scores, sure, fold(words))

    def _stored(self, ids: Sequence[tuple[int, int, int]]) -> Iterator[tuple[tuple[int, int, int], int, int, Outcome]]:
        wanted, cases = set(ids), list(dict.fromkeys(key for key, _, _ in ids))
        for number, key, rater, *columns in self.run.database.rows_among(_OUTCOMES, cases):
            if (key, rater, number) in wanted:
                yield (key, rater, number), key, rater, from_columns(self.run.path, columns)
