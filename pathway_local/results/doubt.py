"""Tables about a judge's doubt: how often it is wrong where it is sure, and whether its confidence means anything."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from pathway_local.note import Note
from pathway_local.results.agreement_plan import AgreementPlan
from pathway_local.results.handover import SIGNS, signs_of, wrong_by
from pathway_local.results.label_design import LabelDesign, design_weights, own_design
from pathway_local.results.ratings_matrix import RatingsMatrix
from pathway_local.results.table import Cell, Column, Table
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.doubt import doubt_figures
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Interval
from pathway_local.statistics.intervals import wilson
from pathway_local.statistics.resampling import Statistic, counted_rows

STEPS = 10
"""Points of the curve."""

COLUMNS = (
    Column("judge", "rater"), Column("labelled", "count"), Column("wrong_share", "share"),
    Column("area_gain", "estimate"), Column("overconfidence", "estimate"), Column("calibration", "estimate"),
)  # fmt: skip
CURVE = (
    Column("surest"), Column("labelled", "count"), Column("wrong_part", "estimate"), Column("confidence", "number"),
)  # fmt: skip


def doubt_tables(
    run: RunFile, matrix: RatingsMatrix, judges: Sequence[int], people: Sequence[int], who: str, plan: AgreementPlan
) -> Iterator[Table]:
    """Yield what the doubt of judges with probabilities says, by labels of a sample or, without one, by all."""
    design, labels = own_design(matrix, people, who), matrix.given[:, list(people)]
    if isinstance(design, LabelDesign):
        labels = np.where(design.labels, labels, np.nan)
    about: dict[str, object] = {"rubric": matrix.rubric, "score": matrix.score, "reference": who}
    rows, notes, curves = list[dict[str, Cell]](), list[Note](), list[Table]()
    for judge in judges:
        sure, name = signs_of(run, matrix, judge)[:, SIGNS.index("confidence")], matrix.raters[judge].name
        used = np.isfinite(sure) & np.isfinite(labels).any(axis=1)
        if not used.any():
            continue
        wrong = wrong_by(matrix, judge, labels, 0)[used]
        weigh = design_weights(matrix, [judge, *people])
        weights = weigh(used)[used] if weigh else np.ones(len(wrong))
        clusters = matrix.clusters(plan.cluster)[used] if plan.cluster else None
        found = doubt_figures(sure[used], wrong, clusters, weights)
        share = float(np.average(wrong, weights=weights))
        rows.append({"judge": name, "labelled": len(wrong), "wrong_share": share, **found})
        notes.append(Note(_said(found["area_gain"]), {"judge": name, "people": who}))
        curve = list(_curve(sure[used], wrong, clusters, weights))
        told = about | {"judge": name}
        curves.append(_table("risk", told, CURVE, curve, (), chart=True))
    if rows:
        yield _table("doubt", about, COLUMNS, rows, notes)
        yield from curves


def _curve(
    sure: FloatArray, wrong: FloatArray, clusters: IntArray | None, weights: FloatArray
) -> Iterator[dict[str, Cell]]:
    """Yield the share of wrong cases among the surest tenth, two tenths and so on; cases alike stay together.

    `weights` say how many cases each stands for.
    """
    order = np.argsort(-sure, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    wanted = np.searchsorted(reached, np.arange(1, STEPS + 1) / STEPS - 1e-9)
    ends = np.searchsorted(-sure[order], -sure[order][wanted], side="right")
    for end in np.unique(ends):
        first = order[:end]
        share = Estimate(float(wrong[first].mean()), wilson(float(wrong[first].sum()), len(first)))
        if clusters is not None or np.ptp(weights):
            rows = counted_rows(wrong[first][:, None], None if clusters is None else clusters[first], weights[first])
            share = rows.estimate(
                {"": Statistic(partial(_mean, rows.rows[:, 0]), "", least=0.0, most=1.0, share=True)}
            )[""]
        yield {
            "surest": f"{100 * reached[end - 1]:.0f}%", "labelled": len(first), "wrong_part": share,
            "confidence": float(np.average(sure[first], weights=weights[first])),
        }  # fmt: skip


def _mean(values: FloatArray, weighed: FloatArray) -> FloatArray:
    """The mean of values (rows,) under each weighting (R, rows)."""
    found: FloatArray = weighed @ values / weighed.sum(axis=1)
    return found


def _table(
    key: str, about: dict[str, object], columns: Sequence[Column], rows: Sequence[dict[str, Cell]],
    notes: Sequence[Note], *, chart: bool = False,
) -> Table:  # fmt: skip
    return Table(
        key, about, columns, rows, notes, detail=True, heading=("rubric", "score"), section="people",
        chart="interval" if chart else "", scale=(0.0, 1.0) if chart else None,
    )  # fmt: skip


def _said(gain: Estimate) -> str:
    """The key of the sentence about a judge's doubt."""
    if isinstance(gain.interval, Interval) and gain.interval.low > 0:
        return "doubt_tells"
    if isinstance(gain.interval, Interval) and gain.interval.high < 0:
        return "doubt_misleads"
    return "doubt_unclear"
