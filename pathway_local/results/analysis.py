"""Defines an analysis: options, and a call on a run's ratings that yields tables."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from pathway_local.results.table import Table
from pathway_local.scores.scores import Scores
from pathway_local.system.options import Options, Says, checked

Rubric = Annotated[str, Says("RUBRIC", "Only this rubric; default: all.")]
Raters = Annotated[tuple[str, ...], Says("NAME", "Only this rater; repeat for more.")]
By = Annotated[str, Says("COLUMN", "Show figures for each value of this column, too.")]
Between = Annotated[
    str, Says("COLUMN", "Compare the values of this column, or those that you name, e.g. chatbot=v1,v2.")
]
Cluster = Annotated[str, Says("COLUMN", "Column that groups related cases, e.g. student or conversation.")]
PairBy = Annotated[
    str, Says("NAME", "With --between: column or input with the shared question; default: the rubric's question.")
]
Bad = Annotated[
    str,
    Says("LEVEL", "Scores up to this level, a number or name, count as bad (default: the lower half of the scale)."),
]
Against = Annotated[str, Says("NAME", "The rater or group of people whose labels count.")]
MinGroup = Annotated[int, Field(ge=1), Says("N", "Leave out groups and comparisons of fewer cases.")]
Margin = Annotated[float, Field(ge=0, allow_inf_nan=False)]

Own = TypeVar("Own", bound=Options)


@dataclass(frozen=True, slots=True)
class Analysis(Generic[Own]):
    """A command, a table file, a page and JSON at once: `tables` yields what it finds."""

    options: type[Own]
    tables: Callable[[Scores, Own], Iterator[Table]]
    examples: tuple[str, str]

    @property
    def says(self) -> str:
        """Return what the analysis does, in a sentence or two."""
        return self.tables.__doc__ or ""


def found_by(analysis: Analysis[Own], data: Scores, given: Mapping[str, Any]) -> list[Table]:
    """Return what an analysis finds with these options, with the cautions about judges. Raises PathwayError."""
    options = checked(analysis.options, given)
    return [table.with_cautions(data.labels) for table in analysis.tables(data, options)]
