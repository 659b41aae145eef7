"""A run as analyses read it: its raters, scores, columns and rubrics, and two people in it who may be one."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from pathway_local.note import Note
from pathway_local.rater import GROUP, Rater
from pathway_local.results.kept_column import kept_column, repeated_columns
from pathway_local.results.ratings_matrix import RatingsMatrix, ratings_matrices
from pathway_local.results.table import labels_of
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of, rubrics_rated_by
from pathway_local.sheets.columns import folded


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

    @cached_property
    def repeated(self) -> Mapping[str, int]:
        """Columns whose values may group cases that depend on each other, with the numbers of their values."""
        return repeated_columns(self.run)

    def records(self, rubric: str | None = None, cases: Collection[str] | None = None) -> Iterator[Record]:
        """Yield every rater's outcomes, those of a case together."""
        return self.run.records(rubric=rubric, cases=cases)

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
        """Return the run's spelling of a column; a notice says how many cases lack it. Raises UsageError for none."""
        if not asked:
            return ""
        column, lacking = kept_column(self.run, asked)
        said = Note("column_lacking", {"count": lacking, "column": column, "run": self.run.path})
        if lacking and said not in self.notices:
            self.notices.append(said)
        return column


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
            yield Note("alike_names", {**told, "twice": f"{first}={second}"}, "warning")
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
