"""Figures as rows of plain values, for JSON and table files: a missing value has a reason and is never NaN."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pathway_local.sheets.tables import write_table
from pathway_local.statistics.figure import Estimate, Interval, Undefined, with_names
from pathway_local.verdict import Value

COLUMNS = (
    "rubric", "score", "table", "first", "second", "group", "figure", "value", "low", "high", "level", "interval",
    "clusters", "reason",
)  # fmt: skip
CAUTION = "caution"


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A figure of `table`: of one rater (`first`) or two, in a group of cases or, where it is empty, in all.

    `facts` has further columns by name, `raters` names the raters behind the figure if `first` and `second` do not.
    """

    table: str
    figure: str
    estimate: Estimate
    first: str = ""
    second: str = ""
    group: str = ""
    facts: Mapping[str, Value] = field(default_factory=dict)
    raters: tuple[str, ...] = ()

    def cautions(self, labels: Mapping[str, str]) -> list[str]:
        """The labels of the judges behind the figure, by name."""
        named = dict.fromkeys((self.first, self.second, *self.raters))
        return [f"{name}: {labels[name]}" for name in named if name in labels]

    def as_json(self) -> dict[str, Value]:
        """The row as plain values, without empty names."""
        named = {"table": self.table, "first": self.first, "second": self.second, "group": self.group}
        kept: dict[str, Value] = {key: value for key, value in named.items() if value}
        return {**kept, "figure": self.figure, **estimate_values(self.estimate, self.first, self.second), **self.facts}


class Figured(Protocol):
    """Results about one score of a rubric, with their figures."""

    @property
    def rubric(self) -> str: ...

    @property
    def score(self) -> str: ...

    def rows(self) -> Iterable[FigureRow]: ...

    def as_json(self) -> Mapping[str, Value]: ...


def write_figures(path: Path, found: Iterable[Figured], labels: Mapping[str, str], *, force: bool) -> None:
    """Write all figures, each with its rubric and score, to a table file. Raises OutputExists and UsageError.

    If judges have `labels` that must stand beside their figures, the last column holds them.
    """
    rows: list[dict[str, Value]] = [
        {"rubric": each.rubric, "score": each.score, **row.as_json(), **_caution(row.cautions(labels))}
        for each in found
        for row in each.rows()
    ]
    further = dict.fromkeys(name for row in rows for name in row if name not in (*COLUMNS, CAUTION))
    further |= {CAUTION: None} if any(CAUTION in row for row in rows) else {}
    write_table(path, [*COLUMNS, *further], rows, title="figures", force=force)


def _caution(said: Sequence[str]) -> dict[str, Value]:
    return {CAUTION: "; ".join(said)} if said else {}


def estimate_values(estimate: Estimate, first: str = "", second: str = "") -> dict[str, Value]:
    """The value, the ends of its interval and how it was made; for missing ones None and the `reason`."""
    found: dict[str, Value] = {"value": None if isinstance(estimate.value, Undefined) else estimate.value}
    if isinstance(estimate.interval, Interval):
        found |= {"low": estimate.interval.low, "high": estimate.interval.high, "level": estimate.interval.level}
        found |= {"interval": estimate.interval.method, "clusters": estimate.interval.clusters}
    else:
        found |= {"low": None, "high": None, "reason": with_names(why_missing(estimate), first, second)}
    return found


def why_missing(estimate: Estimate) -> str:
    """Say why the value, or else its interval, is missing; empty if both exist."""
    if isinstance(estimate.value, Undefined):
        return str(estimate.value)
    return f"no interval, because {estimate.interval.reason}" if isinstance(estimate.interval, Undefined) else ""
