"""A run as analyses read it: its raters, scores, columns and rubrics."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from pathway_local.note import Note
from pathway_local.rater import Rater
from pathway_local.results.kept_column import kept_column, repeated_columns
from pathway_local.results.ratings_matrix import RatingsMatrix, ratings_matrices
from pathway_local.results.table import labels_of
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of, rubrics_rated_by


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
