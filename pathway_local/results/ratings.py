"""A run as analyses read it: its raters, scores, columns and rubrics, and two people in it who may be one."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from operator import eq

import numpy as np

from pathway_local.errors import NotKept, UsageError
from pathway_local.note import Note
from pathway_local.rater import GROUP, Rater
from pathway_local.results.ratings_matrix import RatingsMatrix, ratings_matrices
from pathway_local.results.table import labels_of
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.file_errors import decoding
from pathway_local.runs.run_cases import remembered_columns
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of, rubrics_rated_by
from pathway_local.sheets.columns import FEWEST_VALUES, folded, means_the_same, same_column
from pathway_local.sheets.row import shown

MOST_GROUPS = 50
"""Values of a column that divides cases into groups; one with more tells single cases apart."""

OFTEN = 1.2
"""Cases for each value of a column from which its values repeat; below, a few equal values are chance."""

LONGEST_SCALE = 11
"""A column of no more different numbers, such as 0 to 10, holds scores rather than students."""

_NUMBER, _FRACTION = re.compile(r"[+-]?\d+([.,]\d+)?"), re.compile(r"[+-]?\d+[.,]\d+")

# A row that is no case has no metadata to keep.
_METADATA = """
    SELECT metadata FROM cases WHERE EXISTS (
        SELECT 1 FROM outcomes
        WHERE case_key = key AND superseded = 0 AND COALESCE(failure_kind, '') NOT IN ('bad-row', 'duplicate-id')
    )
"""


class Ratings:
    """A run that is open for reading. `notices` gathers what a user should know about the data themselves."""

    def __init__(self, run: RunFile) -> None:
        self.run = run
        self.notices: list[Note] = []

    @cached_property
    def rubrics(self) -> Mapping[str, Rubric]:
        """The run's rubrics by name."""
        return rubrics_of(self.run)

    @cached_property
    def raters(self) -> Sequence[Rater]:
        """The run's raters, in its order."""
        return tuple(rater for _, rater in self.run.raters())

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The cautions about judges, by the rater's name."""
        return labels_of(self.run)

    def rated(self, rubric: str = "", raters: Sequence[str] = ()) -> list[Rubric]:
        """Return the rubrics, or the named one, under which all these raters have rated; notices name the others."""
        rated, others = rubrics_rated_by(self.run, rubric or None, raters)
        for name, missing in others.items():
            self.notices.append(Note("rubric_left_out", {"rubric": name, "rater": missing}))
        return rated

    def matrices(self, rubrics: Sequence[Rubric]) -> Iterator[RatingsMatrix]:
        """Yield the matrix of each score of these rubrics."""
        for rubric in rubrics:
            yield from ratings_matrices(self.run, rubric)

    def column(self, asked: str) -> str:
        """Return the run's own spelling of a metadata column; "" for none.

        A notice says how many cases lack it; figures treat it as empty there. NotKept if no case has it; UsageError if
        it holds inputs or ids, which a run never keeps as metadata.
        """
        if not asked:
            return ""
        kept = self._kept()
        column = same_column(asked, _names(kept)) or asked
        lacking = sum(column not in each for each in kept)
        if kept and lacking == len(kept):
            self._refuse_inputs(column)
            raise NotKept(column)
        said = Note("column_lacking", {"count": lacking, "column": column, "run": self.run.path})
        if lacking and said not in self.notices:
            self.notices.append(said)
        return column

    def counted_values(self, column: str) -> Counter[str]:
        """Return how many cases have each value of a column, in their order; the empty one counts those without."""
        return Counter(each.get(column, "") for each in self._kept())

    @cached_property
    def repeated(self) -> Mapping[str, int]:
        """The columns whose values may group cases that depend on each other, each with the number of its values.

        These are columns of at least FEWEST_VALUES values that several cases share. Numbers group nothing if they have
        fractions, as costs do, or if they are no more than a scale has; others may be those of students.
        """
        kept = self._kept()
        found = {}
        for name in _names(kept):
            given = [each[name] for each in kept if each.get(name)]
            values = len(set(given))
            numbers = all(map(_NUMBER.fullmatch, given))
            measured = numbers and (values <= LONGEST_SCALE or any(map(_FRACTION.fullmatch, given)))
            if not measured and values >= FEWEST_VALUES and len(given) >= OFTEN * values:
                found[name] = values
        return found

    def group_columns(self) -> list[str]:
        """Return the columns that divide the cases into groups: those of two values or a few more."""
        kept = self._kept()
        values = {name: {each[name] for each in kept if each.get(name)} for name in _names(kept)}
        return [name for name, found in values.items() if 1 < len(found) <= MOST_GROUPS]

    def input_named(self, asked: str) -> str:
        """Return the rubrics' input that a name, or that of its column, means; empty if none, or a kept column."""
        if same_column(asked, _names(self._kept())):
            return ""
        mapping, _ = remembered_columns(self.run)
        inputs = [name for rubric in self.rubrics.values() for name in rubric.inputs]
        found = [name for name in inputs if same_column(asked, [mapping.get(name, "")])]
        found += [name for fits in (eq, means_the_same) for name in inputs if fits(name, asked)]
        return found[0] if found else ""

    def _kept(self) -> list[dict[str, str]]:
        with decoding(self.run.path):
            return [json.loads(metadata) for (metadata,) in self.run.database.stream(_METADATA)]

    def _refuse_inputs(self, column: str) -> None:
        _, id_column = remembered_columns(self.run)
        is_input = self.input_named(column)
        if is_input or (id_column and same_column(column, [id_column])):
            what = "an input: a run keeps no texts" if is_input else "the column of the ids, each of which is another"
            raise UsageError(f"{shown(column)} is {what}", "Name a column such as chatbot or language.")


def _names(kept: Iterable[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for each in kept for name in each))


LEAST_ALIKE = 8
"""Cases on which two people's scores must all be the same before we suspect that a sheet was imported twice."""


def names_one_person(first: str, second: str) -> bool:
    """Whether two raters' names differ only in their group, or in case, accents, blanks and punctuation."""
    mine, others = ({_bare(name), _bare(name.partition(GROUP)[2] or name)} for name in (first, second))
    return bool(mine & others)


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, folded(name))) or name


def alike(matrix: RatingsMatrix, among: Sequence[int] | None = None) -> Iterator[Note]:
    """Yield a warning for each two people whose names, or all of whose scores, are the same.

    `among` are the columns of the raters whose scores count; None for all. Scores count as the same from
    `LEAST_ALIKE` cases of both.
    """
    people = [place for place in matrix.scoring("human") if among is None or place in among]
    for places in combinations(people, 2):
        first, second = (matrix.raters[place].name for place in places)
        both = matrix.given[:, list(places)]
        both = both[np.isfinite(both).all(axis=1)]
        told: dict[str, object] = {"first": first, "second": second}
        if names_one_person(first, second):
            yield Note("alike_names", told, "warning")
        if len(both) >= LEAST_ALIKE and len(np.unique(both)) > 1 and (both[:, 0] == both[:, 1]).all():
            yield Note("alike_scores", {**told, "cases": len(both)}, "warning")


def alike_in(data: Ratings) -> list[Note]:
    """Return each such warning of a run once."""
    people = Counter(rater.rubric for rater in data.raters if rater.kind == "human")
    several = [rubric for name, rubric in data.rubrics.items() if people[name] > 1]
    found = list[Note]()
    for matrix in data.matrices(several):
        found += [note for note in alike(matrix) if note not in found]
    return found
