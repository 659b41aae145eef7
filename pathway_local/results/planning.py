"""How many labels make a corrected mean sure enough, or how many cases show a difference, from the run's own spread."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.rater import JUDGES, raters_named
from pathway_local.results.analysis import Against, Analysis, Between, Cluster, PairBy, Raters, Rubric
from pathway_local.results.compare import comparison_plan
from pathway_local.results.comparison import CompareOptions, Comparison, comparisons
from pathway_local.results.corrected_mean import SampledLabels
from pathway_local.results.label_design import LabelDesign, own_design
from pathway_local.results.mistakes import mistakes
from pathway_local.results.table import Cell, Column, ColumnKind, Table
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.corrected import Correction
from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.statistics.intervals import LEVEL
from pathway_local.statistics.needed import Pilot, labels_for_width, units_to_detect
from pathway_local.system.options import Options, Says, flag

PILOT, JUDGE_ALONE = "labels", "judge's scores"
"""The source of a spread: people's labels of a sample, or a judge's scores alone."""

FOLLOWED = 0.6
"""The correlation of a judge with people that is assumed before there are labels.

Published judges reach about 0.5 (Liu et al. 2023, G-Eval) to 0.9 (Kim et al. 2024, Prometheus).
"""

Points = Annotated[float | None, Field(gt=0, allow_inf_nan=False)]


class PlanOptions(Options):
    """The aim, and the figure that is to reach it."""

    against: Against = ""
    half_width: Annotated[Points, Says("POINTS", "With --against: half the width that its interval may have.")] = None
    between: Between = ""
    detect: Annotated[Points, Says("POINTS", "With --between: the difference to find.")] = None
    pair_by: PairBy = ""
    cluster: Cluster = ""
    rubric: Rubric = ""
    rater: Raters = ()

    def check(self) -> None:
        """Raise UsageError for anything but one aim with its figure."""
        if bool(self.against) == bool(self.between):
            hint = "Give --against the person or group whose labels count, or --between the column to compare."
            raise UsageError("plan needs either --against or --between", hint)
        own, others = ("half_width", ("detect", "pair_by", "cluster")) if self.against else ("detect", ("half_width",))
        with_it = "--against" if self.against else "--between"
        if getattr(self, own) is None:
            raise UsageError(f"{with_it} needs {flag(own)}", f"Such as {flag(own)} 0.2.")
        for name in others:
            if getattr(self, name):
                raise UsageError(f"{flag(name)} does not go with {with_it}")


Row = dict[str, Cell]
"""A rater's figure on one score: how many units it needs, or why that can't be said, and how many are there `now`."""


def plan(data: Scores, options: PlanOptions) -> Iterator[Table]:
    """Say how many labels a mean needs, or how many questions or students a difference, from the run's own spread.

    Decide before you look, and look once: whoever looks after every batch and stops at the first difference finds a
    false one far too often.
    """
    options.check()
    matrices = [*data.matrices(data.rated(options.rubric, options.rater))]
    if options.against:
        found, notes = _means(matrices, options)
        units, aim = Note("unit_labels"), Note("aim_half_width", {"points": options.half_width})
    else:
        found, units = _differences(data, matrices, options)
        notes, aim = [], Note("aim_detect", {"points": options.detect})
        notes += [Note("figures_share", {"count": len(found)}, "note")] if len(found) > 1 else []
    if not found:
        raise UsageError("no judge has scored, so nothing shows how scores vary", "Judge some of the cases first.")
    kinds: dict[str, ColumnKind] = {"rater": "rater", "now": "count", "needed": "count", "spread_from": "key"}
    names = ("rubric", "score", "rater", "now", "needed", "spread_from")
    about: dict[str, object] = {"points": options.half_width or options.detect}
    about |= {"counted": units.key.removeprefix("unit_"), **({"cluster": options.cluster} if options.cluster else {})}
    rows = [{**row, "needed": None} if isinstance(row["needed"], Undefined) else row for row in found]
    columns = [Column(name, kinds.get(name, "word")) for name in names]
    yield Table("plan", about, columns, rows, [*_answer(found, units, aim), *notes])


def _answer(found: Sequence[Row], units: Note, aim: Note) -> Iterator[Note]:
    """Yield what is planned and how to go on, and why a figure is not planned."""
    sizes = [(needed, int(str(row["now"]))) for row in found if isinstance(needed := row["needed"], int)]
    if sizes:
        planned, now = max(needed for needed, _ in sizes), min(now for _, now in sizes)
        yield Note("planned_for", {"aim": aim}, "answer")
        told: dict[str, object] = {"now": now, "planned": planned, "more": planned - now, "units": units}
        yield Note("plan_reached" if now >= planned else "plan_goes_on", told, "answer")
        if now < planned:
            yield Note("plan_looks_once", {}, "answer")
        if units.key == "unit_labels" and any(row["spread_from"] == JUDGE_ALONE for row in found):
            yield Note("assumed_to_follow", {"followed": FOLLOWED}, "note")
    for row in found:
        if isinstance(row["needed"], Undefined):
            yield Note("figure_not_planned", {**row, "reason": row["needed"]}, "note" if sizes else "answer")


def _means(matrices: Sequence[RatingsMatrix], options: PlanOptions) -> tuple[list[Row], list[Note]]:
    """The corrected mean of each judge on each score, by labels of the people named. Raises UnknownName."""
    assert options.half_width is not None
    found, left_out, warnings = list[Row](), list[Note](), list[Note]()
    for matrix in matrices:
        people = set(raters_named(options.against, [rater.name for rater in matrix.raters]))
        columns = [place for place, rater in enumerate(matrix.raters) if rater.name in people]
        rated = int(np.isfinite(matrix.given[:, columns]).any(axis=1).sum())
        design = own_design(matrix, columns, "") if columns else None
        kept = int(design.random.sum()) if isinstance(design, LabelDesign) else 0
        warnings += mistakes(matrix, columns)
        # As `agreement` corrects the means of hosted judges, too, they are planned where no local one has judged.
        for place in matrix.places(options.rater) or matrix.of_kind("judge") or matrix.of_kind("hosted"):
            if not matrix.raters[place].verdicts:
                continue
            pilot, source = _pilot(matrix, place, columns, design)
            needed = pilot if isinstance(pilot, Undefined) else labels_for_width(pilot, options.half_width)
            there = 0 if isinstance(pilot, Undefined) else pilot.there
            row: Row = {"rubric": matrix.rubric, "score": matrix.score, "rater": matrix.raters[place].name}
            found.append(row | {"now": there, "needed": needed, "spread_from": source or None})
            told = {"rubric": matrix.rubric, "people": options.against, "kept": kept, "rated": rated}
            said = Note("rated_cases_left_out", told, "note")
            left_out += [said] if kept < rated and said not in left_out else []
    return found, left_out + warnings


def _pilot(
    matrix: RatingsMatrix, judge: int, people: Sequence[int], design: LabelDesign | Note | None
) -> tuple[Pilot | Undefined, str]:
    """Describe labels beside a judge's scores, by those that are there or by an assumption."""
    if matrix.nominal:
        return Undefined("the scale is nominal"), ""
    if isinstance(design, LabelDesign):
        found = SampledLabels(matrix, people, design).correct(judge)
        known = isinstance(found, Correction) and isinstance(found.corrected.interval, Interval)
        if isinstance(found, Correction) and (known or found.labelled == found.cases):
            return found.pilot, PILOT
    scores = matrix.on_scale[:, judge]
    scored = scores[np.isfinite(scores)]
    if len(scored) < 2 or not np.ptp(scored):
        return Undefined("the rater's scores do not vary"), ""
    apart = (scored - scored.mean()) * (1 - FOLLOWED**2) ** 0.5
    scale = float(matrix.levels[0]), float(matrix.levels[-1])
    return Pilot(float(scored.mean()), apart, 0, len(scores), scale), JUDGE_ALONE


def _differences(data: Scores, matrices: Sequence[RatingsMatrix], options: PlanOptions) -> tuple[list[Row], Note]:
    """The difference of two chatbots, of each judge on each score. Raises PathwayError for columns and values."""
    asked = {name: getattr(options, name) for name in ("between", "pair_by", "cluster", "rater")}
    compared = comparison_plan(data, CompareOptions(**asked))
    if len(compared.values) > 2:
        raise UsageError("plan is about one difference of two values", "Such as --between chatbot=v1,v2.")
    judges = {rater.name for matrix in matrices for rater in matrix.raters if rater.kind in JUDGES}
    found = [each for each in comparisons(matrices, compared) if options.rater or each.rater in judges]
    unit = Note("unit_questions" if compared.pair_by else "unit_cases")
    unit = Note("unit_values", {"column": compared.cluster}) if compared.cluster else unit
    assert options.detect is not None
    return [_difference(each, options.detect, len(found)) for each in found], unit


def _difference(each: Comparison, points: float, family: int) -> Row:
    """The units that one of a family of differences needs; all of them together share the error (Bonferroni)."""
    row: Row = {"rubric": each.rubric, "score": each.score, "rater": each.rater, "now": 0, "spread_from": None}
    if isinstance(each.found, Undefined):
        return row | {"needed": each.found}
    effect = each.found.effect
    if effect.missing:
        return row | {"needed": Undefined(effect.missing)}
    needed = units_to_detect(points, effect.error * effect.clusters**0.5, (1 - LEVEL) / family)
    return row | {"needed": needed, "now": effect.clusters, "spread_from": JUDGE_ALONE}


ANALYSIS = Analysis(
    PlanOptions,
    plan,
    (
        "pathway-local plan my.run --against author --half-width 0.2",
        "pathway-local plan my.run --between chatbot=v1,v2 --detect 0.5",
    ),
)
