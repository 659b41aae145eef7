"""Plans how many labels, questions or students a figure of a run needs, from the run's own spread."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathway_local.rater import JUDGES, raters_named
from pathway_local.results.alike_people import alike_people
from pathway_local.results.comparison import Comparison, ComparisonPlan, comparisons
from pathway_local.results.corrected_comparison import CorrectedComparison
from pathway_local.results.corrected_mean import SampledLabels
from pathway_local.results.label_design import LabelDesign, own_design
from pathway_local.results.ratings_matrix import RatingsMatrix
from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.statistics.needed import Goal, Spread, needed
from pathway_local.statistics.prediction_powered import Correction
from pathway_local.verdict import Value

PILOT, JUDGE_ALONE = "labels", "judge's scores"
"""The source of a spread: people's labels of a sample, or a judge's scores alone."""

FOLLOWED, WELL_FOLLOWED = 0.6, 0.8
"""The correlation of a judge with people that is assumed before there are labels, and that of a very good judge.

Published judges reach about 0.5 (Liu et al. 2023, G-Eval) to 0.9 (Kim et al. 2024, Prometheus). Were people's scores
assumed to have nothing to do with the judge's, a plan would ask for about three times as many labels as it takes.
"""


@dataclass(frozen=True, slots=True)
class Planned:
    """A rater's figure on one score: how many units it needs (`own`), or why that can't be said.

    `source` says where its spread comes from. If labels are planned before there are any, `between` has the numbers for
    a very good judge and for a useless one. `rated` counts the cases that people rated, labels of the sample or not.
    """

    rubric: str
    score: str
    rater: str
    spread: Spread | Undefined
    source: str = ""
    own: int | Undefined | None = None
    between: tuple[int | Undefined, int | Undefined] | None = None
    rated: int = 0


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The number of `units`, such as labels, with which all `figures` of a command reach a goal; 0 if none can.

    `command` shows the figures. The error of the goal is that of one figure. `people` names whose labels count, and
    `warnings` those of them who may be one.
    """

    goal: Goal
    units: str
    command: str
    figures: tuple[Planned, ...]
    people: str = "people"
    warnings: tuple[str, ...] = ()

    @property
    def planned(self) -> int:
        """The largest number that a figure needs: people label every score at once."""
        return max((each.own for each in self.figures if isinstance(each.own, int)), default=0)

    def as_json(self, each: Planned) -> dict[str, Value]:
        """One of the figures as plain values."""
        named: dict[str, Value] = {"rubric": each.rubric, "score": each.score, "rater": each.rater}
        if not isinstance(each.spread, Spread) or not isinstance(each.own, int):
            return named | {"planned": None, "reason": str(each.spread if each.own is None else each.own)}
        told: dict[str, Value] = {"planned": self.planned, "counted": self.units, "now": each.spread.now}
        told |= {"aim": self.goal.aim, "points": self.goal.points, "looks": self.goal.looks, "alpha": self.goal.alpha}
        return named | told | {"needed": each.own, "spread_from": each.source}


def plan_difference(
    matrices: Iterable[RatingsMatrix], comparison: ComparisonPlan, goal: Goal, *, by_labels: bool
) -> StudyPlan:
    """Plan the difference of two chatbots, of each judge on each score. Raises UsageError for columns and values."""
    every = list(matrices)
    judges = {rater.name for matrix in every for rater in matrix.raters if rater.kind in JUDGES}
    found = [each for each in comparisons(every, comparison) if comparison.raters or each.rater in judges]
    drafts = [
        Planned(
            each.rubric,
            each.score,
            each.rater,
            *(_labels_spread(each) if by_labels else _spread(each)),
            rated=each.corrected.rated if by_labels and isinstance(each.corrected, CorrectedComparison) else 0,
        )
        for each in found
    ]
    values = f"values of {comparison.cluster}" if comparison.cluster else ""
    warnings = [line for matrix in every for line in alike_people(matrix)] if by_labels else []
    units = "labels" if by_labels else values or ("questions" if comparison.pair_by else "cases")
    return replace(_planned(drafts, goal, units, "compare"), warnings=tuple(dict.fromkeys(warnings)))


def plan_mean(matrices: Iterable[RatingsMatrix], against: str, judges: Sequence[str], goal: Goal) -> StudyPlan:
    """Plan the corrected mean of each judge on each score, by labels of `against`. Raises UsageError."""
    drafts, warnings = list[Planned](), list[str]()
    for matrix in matrices:
        people = set(raters_named(against, [rater.name for rater in matrix.raters]))
        columns = [place for place, rater in enumerate(matrix.raters) if rater.name in people]
        rated = int(np.isfinite(matrix.given[:, columns]).any(axis=1).sum())
        warnings += alike_people(matrix, columns)
        for place in matrix.places(judges) or matrix.of_kind("judge"):
            if matrix.raters[place].verdicts:
                names = matrix.rubric, matrix.score, matrix.raters[place].name
                drafts.append(Planned(*names, *_mean_spread(matrix, place, columns), rated=rated))
    planned = _planned(drafts, goal, "labels", "agreement")
    return replace(planned, people=against, warnings=tuple(dict.fromkeys(warnings)))


def _planned(drafts: Sequence[Planned], goal: Goal, units: str, command: str) -> StudyPlan:
    whole = [each for each in drafts if isinstance(each.spread, Spread)]
    shared = replace(goal, alpha=goal.alpha / max(len(whole), 1))  # Bonferroni: the figures of one command, together
    figures = tuple(_with_numbers(each, shared, by_labels=units == "labels") for each in drafts)
    return StudyPlan(shared, units, command, figures)


def _with_numbers(draft: Planned, goal: Goal, *, by_labels: bool) -> Planned:
    spread = draft.spread
    if not isinstance(spread, Spread):
        return draft
    if not by_labels or draft.source == PILOT:
        return replace(draft, own=needed(goal, spread))
    good, likely, none = (needed(goal, spread.scaled(1 - known**2)) for known in (WELL_FOLLOWED, FOLLOWED, 0.0))
    return replace(draft, own=likely, between=(good, none))


def _spread(found: Comparison) -> tuple[Spread | Undefined, str]:
    """How the variance of a rater's own difference falls with questions, or with their clusters."""
    if isinstance(found.found, Undefined):
        return found.found, ""
    effect = found.found.effect
    if effect.missing:
        return Undefined(effect.missing), ""
    return Spread(0.0, effect.error**2 * effect.clusters, effect.clusters, None, effect.freedom), JUDGE_ALONE


def _labels_spread(found: Comparison) -> tuple[Spread | Undefined, str]:
    """How the variance of the difference by people falls with labels."""
    if isinstance(found.found, Undefined):
        return found.found, ""
    corrected = found.corrected
    count = 0
    if isinstance(corrected, CorrectedComparison):
        count = sum(corrected.found.labels)
        if not corrected.found.corrected.missing and corrected.found.spread:
            return corrected.found.spread, PILOT
    # Half of the labels are of either side. People's scores are taken to vary as the judge's do.
    each = 2 * (found.first.variance + found.second.variance)
    if not each:
        return Undefined("the rater's scores do not vary"), ""
    return Spread(0.0, each, count, found.first.scored + found.second.scored), JUDGE_ALONE


def _mean_spread(matrix: RatingsMatrix, judge: int, people: Sequence[int]) -> tuple[Spread | Undefined, str]:
    """How the variance of a judge's corrected mean falls with labels."""
    if matrix.nominal:
        return Undefined("the scale is nominal"), ""
    design = own_design(matrix, people, "") if people else None
    if isinstance(design, LabelDesign):
        found = SampledLabels(matrix, people, design).correct(judge).mean
        if isinstance(found, Correction) and isinstance(found.corrected.interval, Interval):
            return found.spread, PILOT
    scores = matrix.on_scale[:, judge]
    scored = scores[np.isfinite(scores)]
    variance = float(scored.var(ddof=1)) if len(scored) > 1 else 0.0
    if not variance:
        return Undefined("the rater's scores do not vary"), ""
    return Spread(-variance / len(scores), variance, 0, len(scores)), JUDGE_ALONE
