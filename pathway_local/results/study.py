"""Looks at a figure that somebody planned: at which level its interval is, and what comes next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pathway_local.errors import UsageError
from pathway_local.results.figure_row import FigureRow
from pathway_local.runs.study_plans import CLUSTER, Counted, StudyPlan, about
from pathway_local.statistics.intervals import LEVEL
from pathway_local.statistics.sequential import look_alpha, planned_counts
from pathway_local.verdict import Value


@dataclass(frozen=True, slots=True)
class PlannedLook:
    """The `number`-th look at a planned figure, with `count` units and an interval of that `level`.

    One that is `outside` the plan came with fewer units than a look before, or after the last one.
    """

    plan: StudyPlan
    number: int
    count: int
    level: float
    outside: bool

    @property
    def new(self) -> bool:
        """Whether the plan does not know of it yet, so that it must be recorded."""
        return not self.outside and self.count not in {look.count for look in self.plan.taken}

    @property
    def last(self) -> bool:
        """Whether the planned number is reached."""
        return self.count >= self.plan.planned

    @property
    def next(self) -> int:
        """The number of units at which to look next, as planned."""
        counts = planned_counts(self.plan.planned, self.plan.looks)
        return next((count for count in counts if count > self.count), self.plan.planned)

    @property
    def figures(self) -> int:
        """How many figures were planned together and share the error."""
        return round((1 - LEVEL) / self.plan.alpha)

    def facts(self) -> dict[str, Value]:
        """The look as plain values."""
        told: dict[str, Value] = {"planned": self.plan.planned, "counted": self.plan.counted, "count": self.count}
        return told | {"look": self.number, "outside_plan": self.outside}

    def on(self, row: FigureRow) -> FigureRow:
        """Return the row of the planned figure with the look as facts."""
        return replace(row, facts={**row.facts, **self.facts()})


class Looked(Protocol):
    """Results with looks at planned figures."""

    @property
    def looks(self) -> list[PlannedLook]: ...


def take_look(plan: StudyPlan, count: int) -> PlannedLook:
    """Return the look at that many units; the same number again is the same look."""
    seen = plan.seen
    known = count in seen
    outside = bool(not known and seen and (count < seen[-1] or seen[-1] >= plan.planned))
    counts = seen if outside else (*(each for each in seen if each < count), count)
    level = 1 - look_alpha(plan.alpha, plan.planned, counts)
    return PlannedLook(plan, len(counts), count, level, outside)


def plan_of(
    plans: Sequence[StudyPlan], figure: tuple[str, str, str], target: Mapping[str, str], counted: Counted
) -> StudyPlan | None:
    """Return the plan of a figure: its rubric, score and rater, and what it is about.

    Raises UsageError if it was planned with clusters by another column: its interval would be another one.
    """
    for plan in plans:
        own = (plan.rubric, plan.score, plan.rater) == figure and plan.counted == counted
        if own and about(plan.target) == about(target):
            if plan.target.get(CLUSTER, "") != target.get(CLUSTER, ""):
                was = plan.target.get(CLUSTER, "")
                hint = f"Give --cluster {was}." if was else "Leave --cluster out."
                how = f"with --cluster {was}" if was else "without --cluster"
                raise UsageError(f"this figure of {plan.score} was planned {how}, and its looks belong to that", hint)
            return plan
    return None
