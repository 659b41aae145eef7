"""The columns of an export: each one's name, meaning and value together, and names that keep them apart.

A further column of every export is one entry of CASE_COLUMNS, END_COLUMNS or SCORE_COLUMNS. Names in these lists are
reserved: a rubric's field or a metadata column of the same name is written as field.NAME or case.NAME.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pathway_local.rater import Rater
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.verdict import Failure, Score, Value, Verdict


@dataclass(frozen=True, slots=True)
class Column:
    """A column filled from each record; a value of None leaves the cell empty.

    It is left out where a rater's outcomes have nothing that it `needs`, a word of HAS.
    """

    name: str
    meaning: str
    value: Callable[[Record], Value]
    needs: str = ""


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """A column beside each score that it `fits`, called like the score with `suffix` behind."""

    suffix: str
    meaning: str
    value: Callable[[Score, ScoreField], Value]
    needs: str = ""
    fits: Callable[[ScoreField], object] = lambda declared: True


HAS = ("failures", "marks", "shares", "mass")
"""The parts that a rater's outcomes may have, in the order of a query's columns; or a "label"."""


def _of_failure(value: Callable[[Failure, Record], Value]) -> Callable[[Record], Value]:
    return lambda record: value(record.outcome, record) if isinstance(record.outcome, Failure) else None


CAUTION = "caution"
"""The column of a judge's label, which must stand wherever its scores do; it depends on the rater alone."""

CASE_COLUMNS = [
    Column("case", "the case's id", lambda record: record.case_id),
    Column("rater", "who judged it", lambda record: record.rater),
    Column("rubric", "by which rubric", lambda record: record.rubric),
]
"""They come first in a file of its own; a sheet that the cases came from has its own columns there."""

SCORE_COLUMNS = [
    ScoreColumn("_label", "the level's name", lambda given, own: own.levels.get(given.value, ""),
                fits=lambda own: own.levels),
    ScoreColumn("_expected", "the probability-weighted score", lambda given, own: given.expected(own.special),
                "shares", lambda own: own.scale == "ordinal"),
    ScoreColumn("_confidence", "the largest of its probabilities, to two places",
                lambda given, _: None if given.confidence is None else round(given.confidence, 2), "shares"),
    ScoreColumn("_mass", "what the judge gave to all its values before the format", lambda given, _: given.mass,
                "mass"),
]  # fmt: skip

END_COLUMNS = [
    Column("marks", "what to know about the verdict",
           lambda r: " ".join(r.outcome.marks) if isinstance(r.outcome, Verdict) else None, "marks"),
    Column("failure", "the kind of failure", _of_failure(lambda each, _: each.kind), "failures"),
    Column("failure_message", "why", _of_failure(lambda each, _: each.message), "failures"),
    Column("failure_row", "its row in the cases file", _of_failure(lambda each, at: each.row or at.row), "failures"),
    Column(CAUTION, "what to know about the judge", lambda record: None, "label"),
]  # fmt: skip

# SQLite takes a bare column from the row that holds the minimum, so the names come in the order in which a reader of
# all records would meet them. A value that is no JSON is passed over here: reading its record reports the damage.
# A text is of a number if it reads the same as that number: 007 and 1e3 are no such texts.
_METADATA = """
    SELECT each.key, MIN(row), each.id,
        MIN(each.value IN ('', CAST(CAST(each.value AS INTEGER) AS TEXT), CAST(CAST(each.value AS REAL) AS TEXT)))
            AND MAX(each.value <> '')
    FROM cases, json_each(CASE WHEN json_valid(metadata) THEN metadata END) AS each
    WHERE EXISTS (SELECT 1 FROM current WHERE case_key = cases.key)
    GROUP BY each.key ORDER BY 2, 3
"""
_FIELDS = """
    SELECT rater_id, each.key, MIN(row), each.id
    FROM current, json_each(CASE WHEN json_valid(fields) THEN fields END) AS each
    GROUP BY rater_id, each.key ORDER BY 3, 4
"""


_FILLED = """
    SELECT rater_id, MAX(failure_kind IS NOT NULL), MAX(COALESCE(marks, '[]') <> '[]'),
        MAX(COALESCE(scores, '') LIKE '%"probabilities"%'), MAX(COALESCE(scores, '') LIKE '%"mass"%')
    FROM current GROUP BY rater_id
"""


class MetadataColumns:
    """The columns of the metadata that a run keeps, unlike those of `fields`.

    A column of numbers holds numbers, any other one texts.
    """

    def __init__(self, run: RunFile, fields: Iterable[str]) -> None:
        found = {name: bool(numbers) for name, _, _, numbers in run.database.stream(_METADATA)}
        self._numbers = {name for name, numbers in found.items() if numbers}
        self._by_name = _apart(found, {*names(CASE_COLUMNS), *names(END_COLUMNS), *fields}, "case")
        self.names = list(self._by_name.values())

    def cells(self, record: Record) -> dict[str, Value]:
        """The record's cells by column."""
        texts = record.metadata
        return {column: self._cell(name, texts.get(name, "")) for name, column in self._by_name.items()}

    def _cell(self, name: str, text: str) -> Value:
        if name not in self._numbers:
            return text
        return (float(text) if "." in text else int(text)) if text else None


def names(columns: Iterable[Column]) -> list[str]:
    """The names of these columns."""
    return [column.name for column in columns]


def cells_in(columns: Iterable[Column], record: Record) -> dict[str, Value]:
    """The record's cells in these columns, without empty ones."""
    return {column.name: value for column in columns if (value := column.value(record)) is not None}


class RubricColumns:
    """The columns that the verdicts under one rubric fill: no two alike, and none like `others`.

    A rubric does not tell all fields: people write notes, hosted judges more than was asked. `held` has the fields that
    each rater's verdicts hold, `has` what they need for columns, and `labels` the label of each judge that must stand
    beside its scores.
    """

    def __init__(
        self,
        rubric: Rubric,
        held: Mapping[str, Sequence[str]],
        others: Collection[str],
        has: Mapping[str, Collection[str]],
        labels: Mapping[str, str],
    ) -> None:
        self.rubric = rubric
        self._held, self._has, self._labels = held, has, labels
        self._thinking = rubric.format.thinking
        self.scores = _apart(rubric.format.scores, others, "field")
        fields = [*rubric.format.fields, self._thinking, *(name for own in held.values() for name in own)]
        self.fields = _apart(fields, {*others, *self.scores.values()}, "field")

    def of(self, rater: Rater) -> Iterator[str]:
        """The columns that the rater's verdicts fill, in order."""
        held, has = self._held.get(rater.name, ()), self._has.get(rater.name, ())
        for name, score in self.rubric.format.scores.items():
            own = {*has} if name in self.rubric.format.given else {*has} - {"mass"}
            yield self.scores[name]
            yield from (column for column, needs in _beside(name, score) if needs in own)
        ordered = [name for name in (*self.rubric.format.fields, self._thinking) if name in held]
        yield from (self.fields[name] for name in dict.fromkeys((*ordered, *held)))

    def ends(self, rater: Rater) -> list[str]:
        """The columns behind those of `of` that the rater's outcomes fill."""
        return [column.name for column in END_COLUMNS if column.needs in self._has.get(rater.name, ())]

    def cells(self, record: Record) -> dict[str, Value]:
        """The record's cells by column, without those about the case."""
        cells = cells_in(END_COLUMNS, record)
        if label := self._labels.get(record.rater):
            cells[CAUTION] = label
        if isinstance(record.outcome, Verdict):
            for name, score in record.outcome.scores.items():
                declared = self.rubric.format.scores[name]
                cells[self.scores[name]] = score.value
                fit = (each for each in SCORE_COLUMNS if each.fits(declared))
                cells |= {f"{name}{each.suffix}": each.value(score, declared) for each in fit}
                cells |= {f"{name}_p{value}": share for value, share in score.probabilities.items()}
            cells |= {self.fields.get(name, name): value for name, value in record.outcome.fields.items()}
        return cells


def columns_by_rubric(run: RunFile, rubrics: Mapping[str, Rubric]) -> dict[str, RubricColumns]:
    """The columns of each rubric, by its name."""
    raters, labels = dict(run.raters()), Scores(run).labels
    held: dict[str, dict[str, list[str]]] = {name: {} for name in rubrics}
    has: dict[str, dict[str, set[str]]] = {name: {} for name in rubrics}
    for rater_id, field, *_ in run.database.stream(_FIELDS):
        held[raters[rater_id].rubric].setdefault(raters[rater_id].name, []).append(field)
    for rater_id, *found in run.database.stream(_FILLED):
        rater = raters[rater_id]
        own = {"", *(name for name, is_there in zip(HAS, found, strict=True) if is_there)}
        has[rater.rubric][rater.name] = own | ({"label"} if rater.name in labels else set())
    scores = [item for rubric in rubrics.values() for item in rubric.format.scores.items()]
    beside = (column for name, score in scores for column, _ in _beside(name, score))
    others = {*names(CASE_COLUMNS), *names(END_COLUMNS), *beside}
    return {name: RubricColumns(rubric, held[name], others, has[name], labels) for name, rubric in rubrics.items()}


def _beside(name: str, score: ScoreField) -> Iterator[tuple[str, str]]:
    """Yield the columns that go with a score's own, and what each needs."""
    yield from ((f"{name}{each.suffix}", each.needs) for each in SCORE_COLUMNS if each.fits(score))
    yield from ((f"{name}_p{value}", "shares") for value in score.values)


def _apart(found: Iterable[str], others: Collection[str], prefix: str) -> dict[str, str]:
    """A column for each name: the name, behind as many prefixes as it takes to differ from every other column."""
    columns = {name: name for name in found}
    for name in [each for each in columns if each in others]:
        column = name
        while column in others or column in columns.values():
            column = f"{prefix}.{column}"
        columns[name] = column
    return columns
