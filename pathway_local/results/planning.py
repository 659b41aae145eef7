"""How many labels, questions, students or people a figure of a run needs, from the run's own spread."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.rater import JUDGES, raters_named
from pathway_local.results import handover, stand_in
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.alike import alike
from pathway_local.results.analysis import RATERS, Analysis, OptionError, Options, PairBy, Raters, Rubric, Says
from pathway_local.results.compare import comparison_plan
from pathway_local.results.comparison import CompareOptions, Comparison, CorrectedComparison, comparisons
from pathway_local.results.corrected_mean import SampledLabels
from pathway_local.results.doubt import By
from pathway_local.results.handover import HandoverOptions
from pathway_local.results.label_design import LabelDesign, own_design
from pathway_local.results.table import Cell, Column, Table
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.statistics.needed import Aim, Goal, Spread, needed
from pathway_local.statistics.prediction_powered import Correction

AIM = "Aim (give one of the first five)"

PILOT, JUDGE_ALONE = "labels", "judge's scores"
"""The source of a spread: people's labels of a sample, or a judge's scores alone."""

FOLLOWED, WELL_FOLLOWED = 0.6, 0.8
"""The correlation of a judge with people that is assumed before there are labels, and that of a very good judge.

Published judges reach about 0.5 (Liu et al. 2023, G-Eval) to 0.9 (Kim et al. 2024, Prometheus). Were people's scores
assumed to have nothing to do with the judge's, a plan would ask for about three times as many labels as it takes.
"""

AIMS = ("half_width", "detect", "margin", "error")
GOES_WITH = {
    "error": ("against", "within", "by", "rubric", "rater"),
    "stand_in": ("margin", "against", "rubric"),
    "against": ("half_width", "rubric", "rater"),
    "between": ("half_width", "detect", "margin", "pair_by", "labels", "cluster", "rubric", "rater"),
}
"""The quantity that each option plans, and the options that go with it."""

Points = Annotated[float | None, Field(gt=0, allow_inf_nan=False)]


class PlanOptions(Options):
    """The aim, and the figure that is to reach it."""

    half_width: Annotated[Points, Says("POINTS", "Plan an interval that reaches this far to either side.", AIM)] = None
    detect: Annotated[Points, Says("POINTS", "Plan an 80% chance to find a difference this large.", AIM)] = None
    margin: Annotated[Points, Says("POINTS", "Plan an 80% chance to show that equal chatbots differ by less.", AIM)] = (
        None
    )
    error: Annotated[
        float | None,
        Field(gt=0, lt=1),
        Says("SHARE", "Plan the labels that let a judge keep cases with this promise, as `handover` does.", AIM),
    ] = None
    stand_in: Annotated[
        bool,
        Says(
            "",
            "Plan the cases and people that show that a judge as good as a person can stand in for one, as `agreement` "
            "says it; with {margin}: how far it may fall short (default: 0.05).",
            AIM,
        ),
    ] = False
    against: Annotated[str, Says("NAME", "Plan the mean that NAME's labels correct: their number.", RATERS)] = ""
    between: Annotated[str, Says("COLUMN=A,B", "Plan the difference that `compare` shows, e.g. chatbot=v1,v2.")] = ""
    pair_by: PairBy = ""
    labels: Annotated[bool, Says("", "With {between}: plan the labels that correct it, not the questions.")] = False
    within: Annotated[int, Field(ge=0), Says("K", "With {error}: levels by which a score may differ.")] = 0
    by: Annotated[By, Says("ORDER", "With {error}: what orders the cases, as in `handover`.")] = "confidence"
    cluster: Annotated[
        str, Says("COLUMN", "With {between}: column that groups related cases: plan its number of values.")
    ] = ""
    rubric: Rubric = ""
    rater: Raters = ()

    @property
    def planned(self) -> str:
        """The option that says what is planned. Raises OptionError if the others do not go with it."""
        aims = [name for name in AIMS if getattr(self, name) is not None]
        if self.error is not None or self.stand_in:
            what = "stand_in" if self.stand_in else "error"
        elif len(aims) != 1:
            raise OptionError(
                "plan needs one aim", "Name one of {half_width}, {detect}, {margin}, {error} and {stand_in}."
            )
        elif bool(self.against) == bool(self.between):
            raise OptionError("plan needs either {against} or {between}", "Such as {against} people {half_width} 0.2.")
        else:
            what = "against" if self.against else "between"
        for name, field in type(self).model_fields.items():
            if getattr(self, name) != field.default and name not in (what, *GOES_WITH[what]):
                others = ", ".join(f"{{{each}}}" for each in GOES_WITH[what])
                raise OptionError(f"{{{name}}} does not go with {{{what}}}", f"With it go {others}.")
        return what

    @property
    def goal(self) -> Goal:
        """The aim at a mean or a difference."""
        named: dict[Aim, float | None] = {"half-width": self.half_width, "detect": self.detect, "margin": self.margin}
        return next(Goal(aim, points) for aim, points in named.items() if points is not None)


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

    @property
    def now(self) -> int:
        """The units that are there."""
        return self.spread.now if isinstance(self.spread, Spread) else 0


def plan(data: Scores, options: PlanOptions) -> Iterator[Table]:
    """Say how many labels, questions or students a figure needs, from the run's own spread.

    Decide before you look, and look once: whoever looks after every batch and stops at the first difference finds a
    false one far too often.
    """
    what = options.planned
    if what == "error":
        yield from _handover(data, options)
        return
    if what == "stand_in":
        people = [options.against] if options.against else []
        margin = AgreementOptions().margin if options.margin is None else options.margin
        yield from stand_in.planned([*data.matrices(data.rated(options.rubric, people))], options.against, margin)
        return
    goal = options.goal
    matrices = [*data.matrices(data.rated(options.rubric, options.rater))]
    if options.against:
        drafts, warnings = _means(matrices, options)
        units = Note("unit_labels")
    else:
        drafts, warnings, units = _differences(data, matrices, options)
    if not drafts:
        raise UsageError("no judge has scored, so nothing shows how scores vary", "Judge some of the cases first.")
    whole = [each for each in drafts if isinstance(each.spread, Spread)]
    goal = replace(goal, alpha=goal.alpha / max(len(whole), 1))  # Bonferroni: the figures of one command, together
    by_labels = bool(options.against or options.labels)
    found = [_with_numbers(each, goal, by_labels=by_labels) for each in drafts]
    planned = max((each.own for each in found if isinstance(each.own, int)), default=0)
    columns = [
        Column("rubric"), Column("score"), Column("rater", "rater"), Column("now", "count"), Column("needed", "count"),
        Column("planned", "count"), Column("spread_from", "key"),
    ]  # fmt: skip
    about: dict[str, object] = {"aim": goal.aim, "points": goal.points, "alpha": goal.alpha}
    about["counted"] = units.key.removeprefix("unit_")
    about |= {"cluster": options.cluster} if options.cluster else {}
    notes = [*_answer(found, goal, units, planned, options), *_notes(found, options.against), *warnings]
    yield Table("plan", about, columns, [_row(each, planned) for each in found], notes)


def _handover(data: Scores, options: PlanOptions) -> Iterator[Table]:
    """Yield the shares that judges can be expected to keep. Raises OptionError."""
    if not options.against or len(options.rater) > 1:
        raise OptionError("{error} needs {against}, and one {rater} at most", "Such as {against} people.")
    asked = {name: getattr(options, name) for name in ("against", "error", "within", "by", "rubric")}
    yield from handover.planned(data, HandoverOptions(**asked, judge="".join(options.rater)))


def _row(each: Planned, planned: int) -> dict[str, Cell]:
    row: dict[str, Cell] = {"rubric": each.rubric, "score": each.score, "rater": each.rater}
    if isinstance(each.spread, Undefined):
        return row
    row |= {"now": each.now, "spread_from": each.source}
    return row | ({"needed": each.own, "planned": planned} if isinstance(each.own, int) else {})


def _answer(found: Sequence[Planned], goal: Goal, units: Note, planned: int, options: PlanOptions) -> Iterator[Note]:
    """Yield what is planned and how to go on, or why nothing is and what to do."""
    aim = Note(f"aim_{goal.aim.replace('-', '_')}", {"points": goal.points})
    if not any(isinstance(each.own, int) for each in found):
        spreads = [each.spread for each in found if isinstance(each.spread, Spread)]
        if spreads:
            limited = any(spread.most is not None for spread in spreads)
            yield Note("cannot_be_reached" if limited else "cannot_be_reached_by_more", {"aim": aim}, "answer")
        else:
            reasons = dict.fromkeys(each.spread.reason for each in found if isinstance(each.spread, Undefined))
            yield Note("nothing_planned", {"reasons": list(reasons)}, "answer")
        return
    yield Note("planned_for", {"aim": aim}, "answer")
    now = min(each.now for each in found if isinstance(each.spread, Spread))
    told: dict[str, object] = {"now": now, "planned": planned, "more": planned - now, "units": units}
    yield Note("plan_reached" if now >= planned else "plan_goes_on", told, "answer")
    if now < planned:
        yield Note("plan_looks_once", {}, "answer")


def _notes(found: Sequence[Planned], people: str) -> Iterator[Note]:
    shown = [each for each in found if isinstance(each.own, int)]
    if len(shown) > 1:
        yield Note("figures_share", {"count": len(shown)}, "note")
    for each in found:
        why = each.own if isinstance(each.own, Undefined) else each.spread
        if (shown and isinstance(why, Undefined)) or isinstance(each.own, Undefined):
            told: dict[str, object] = {"rater": each.rater, "rubric": each.rubric, "score": each.score, "reason": why}
            yield Note("figure_not_planned", told, "note")
    for each in shown:
        if each.between:
            good, none = (one if isinstance(one, int) else Note("more_than_there_can_be") for one in each.between)
            told = {"rater": each.rater, "score": each.score, "good": good, "none": none}
            yield Note("assumed_to_follow", told | {"followed": FOLLOWED, "well": WELL_FOLLOWED}, "note")
    left = {(each.now, each.rated): None for each in shown if each.now < each.rated}
    for now, rated in left:
        yield Note("rated_cases_left_out", {"people": people or Note("people"), "kept": now, "rated": rated}, "note")


def _differences(
    data: Scores, matrices: Sequence[RatingsMatrix], options: PlanOptions
) -> tuple[list[Planned], list[Note], Note]:
    """The difference of two chatbots, of each judge on each score. Raises PathwayError for columns and values."""
    asked = {name: getattr(options, name) for name in ("between", "pair_by", "cluster", "rater")}
    compared = comparison_plan(data, CompareOptions(**asked))
    if len(compared.values) > 2:
        raise OptionError("plan is about one difference of two values", "Such as {between} chatbot=v1,v2.")
    judges = {rater.name for matrix in matrices for rater in matrix.raters if rater.kind in JUDGES}
    every = comparisons(matrices, compared)
    drafts = []
    for each in (one for one in every if options.rater or one.rater in judges):
        spread, source = _labels_spread(each) if options.labels else _spread(each)
        rated = each.corrected.rated if isinstance(each.corrected, CorrectedComparison) else 0
        drafts.append(
            Planned(each.rubric, each.score, each.rater, spread, source, rated=rated if options.labels else 0)
        )
    warnings = [note for matrix in matrices for note in alike(matrix)] if options.labels else []
    if options.labels:
        return drafts, warnings, Note("unit_labels")
    unit = Note("unit_questions" if compared.pair_by else "unit_cases")
    return drafts, warnings, Note("unit_values", {"column": compared.cluster}) if compared.cluster else unit


def _means(matrices: Sequence[RatingsMatrix], options: PlanOptions) -> tuple[list[Planned], list[Note]]:
    """The corrected mean of each judge on each score, by labels of the people named. Raises UnknownName."""
    drafts, warnings = list[Planned](), list[Note]()
    for matrix in matrices:
        people = set(raters_named(options.against, [rater.name for rater in matrix.raters]))
        columns = [place for place, rater in enumerate(matrix.raters) if rater.name in people]
        rated = int(np.isfinite(matrix.given[:, columns]).any(axis=1).sum())
        warnings += alike(matrix, columns)
        # As `agreement` corrects the means of hosted judges, too, they are planned where no local one has judged.
        for place in matrix.places(options.rater) or matrix.of_kind("judge") or matrix.of_kind("hosted"):
            if matrix.raters[place].verdicts:
                names = matrix.rubric, matrix.score, matrix.raters[place].name
                drafts.append(Planned(*names, *_mean_spread(matrix, place, columns), rated=rated))
    return drafts, warnings


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


ANALYSIS = Analysis(
    PlanOptions,
    plan,
    (
        "pathway-local plan my.run --against author --half-width 0.2",
        "pathway-local plan my.run --between chatbot=v1,v2 --detect 0.5",
    ),
)
