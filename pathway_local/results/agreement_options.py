"""The options of `agreement`, and the form that all its tables about a score share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pathway_local.note import Note
from pathway_local.results import MIN_GROUP
from pathway_local.results.analysis import (
    Against,
    Bad,
    By,
    Cluster,
    Margin,
    MinGroup,
    Raters,
    Rubric,
)
from pathway_local.results.table import Cell, Column, Table
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.system.options import Options, Says

SECTION = "people"
TWO = (Column("first", "rater"), Column("second", "rater"))

Row = dict[str, Cell]


class AgreementOptions(Options):
    """The raters to compare, and the figures to show beside them."""

    rubric: Rubric = ""
    rater: Raters = ()
    cluster: Cluster = ""
    against: Against = ""
    margin: Annotated[Margin, Says("X", 'Largest shortfall that still counts as "not worse".')] = 0.05
    by: By = ""
    min_group: MinGroup = MIN_GROUP
    bad: Bad = ""
    between: Annotated[str, Says("A,B", "Compare rubrics: under which one judges are closer to --against.")] = ""
    panel: Annotated[str, Says("fitted", "Add a rater that learns from labels how people score, given the judges.")] = (
        ""
    )

    @property
    def named(self) -> list[str]:
        """The raters that are named, in whatever part."""
        return [*self.rater, *([self.against] if self.against else [])]


def independence(cluster: str) -> Note:
    """Say what counts as independent: the values of the column of clusters, or each case."""
    return Note("together", {"column": cluster}) if cluster else Note("cases_alone")


def people_table(
    matrix: RatingsMatrix, options: AgreementOptions, key: str, columns: Iterable[Column], rows: Sequence[Row],
    notes: Iterable[Note] = (), *, detail: bool = False,
    about: Mapping[str, object] | None = None,
) -> Table:  # fmt: skip
    """Return a table about the matrix's score in the section on people."""
    shared: dict[str, object] = {"rubric": matrix.rubric, "score": matrix.score}
    shared |= {"cluster": options.cluster} if options.cluster else {}
    return Table(
        key, {**shared, **(about or {})}, [*columns], rows, [*notes], detail=detail, heading=("rubric", "score"),
        section=SECTION,
    )  # fmt: skip
