"""One figure as a row of plain values, for JSON and tables: a missing value has a reason and is never NaN."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pathway_local.statistics.figure import Estimate, Interval, Number, Undefined
from pathway_local.verdict import Value


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A figure of `table`: of one rater (`first`) or two, in a group of cases or, where it is empty, in all.

    `facts` has further columns by name.
    """

    table: str
    figure: str
    estimate: Estimate
    first: str = ""
    second: str = ""
    group: str = ""
    facts: Mapping[str, Value] = field(default_factory=dict)

    def as_json(self) -> dict[str, Value]:
        """The row as plain values, without empty names."""
        named = {"table": self.table, "first": self.first, "second": self.second, "group": self.group}
        kept: dict[str, Value] = {key: value for key, value in named.items() if value}
        return {**kept, "figure": self.figure, **estimate_values(self.estimate, self.first, self.second), **self.facts}


def estimate_values(estimate: Estimate, first: str = "", second: str = "") -> dict[str, Value]:
    """The value, the ends of its interval and how it was made; for missing ones None and the `reason`."""
    found: dict[str, Value] = {"value": plain(estimate.value)}
    if isinstance(estimate.interval, Interval):
        found |= {"low": estimate.interval.low, "high": estimate.interval.high}
        found |= {"interval": estimate.interval.method, "clusters": estimate.interval.clusters}
        found["undefined_resamples"] = estimate.interval.undefined
    else:
        found |= {"low": None, "high": None, "reason": with_names(why_missing(estimate), first, second)}
    return found


def plain(value: Number) -> float | None:
    """The number, or None for one that is not defined."""
    return None if isinstance(value, Undefined) else value


def why_missing(estimate: Estimate) -> str:
    """Why the value, or else its interval, is missing; empty where both are there."""
    if isinstance(estimate.value, Undefined):
        return str(estimate.value)
    return f"no interval, because {estimate.interval.reason}" if isinstance(estimate.interval, Undefined) else ""


def with_names(reason: str, first: str, second: str) -> str:
    """The reason with the raters' own names."""
    for place, name in (("first", first), ("second", second)):
        if name:
            reason = reason.replace(f"the {place} rater", name)
    return reason
