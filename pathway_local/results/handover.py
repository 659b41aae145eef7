"""Which cases a judge may keep and which people should rate, so that few of the kept ones differ from people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from pathway_local.errors import UnknownName, UsageError
from pathway_local.note import Note
from pathway_local.results.analysis import Against, Analysis, Rubric
from pathway_local.results.consensus import wrong_by
from pathway_local.results.label_design import LabelDesign, is_uneven, own_design
from pathway_local.results.table import Cell, Column, Table
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import BoolArray
from pathway_local.statistics.handover import Handover, hand_over, least_labels
from pathway_local.system.options import Options, Says


class HandoverOptions(Options):
    """The options of `handover`."""

    against: Against
    error: Annotated[
        float,
        Field(gt=0, lt=1),
        Says("SHARE", "Largest share of the kept cases that may differ from people, such as 0.10."),
    ]
    within: Annotated[int, Field(ge=0), Says("K", "Levels by which a score may differ and still count as right.")] = 0
    rubric: Rubric = ""
    score: Annotated[str, Says("NAME", "Only this score; default: all.")] = ""
    judge: Annotated[str, Says("NAME", "Only this judge; default: every local judge.")] = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """One judge on one score, by its `name`: which cases are `rated` by people, and which the judge keeps, (cases,).

    `members` are the people whose labels of the sample count, `labels` counts the cases that came back with one.
    """

    matrix: RatingsMatrix
    name: str
    members: tuple[str, ...]
    options: HandoverOptions
    rated: BoolArray
    kept: BoolArray
    labels: int
    found: Handover
    notes: tuple[Note, ...]

    @property
    def to_rate(self) -> BoolArray:
        """The cases that are handed over and that nobody has rated."""
        return np.asarray(~self.kept & ~self.rated)


def handover(data: Scores, options: HandoverOptions) -> Iterator[Table]:
    """Choose which cases a judge keeps and which it hands over to people, so that few of those it keeps are wrong.

    At 95% confidence, at most --error of the kept cases differ from people's scores; without such a choice, it says
    what would be needed. The labels must be a random sample, as `pathway-local sample` draws it. Decide on --error
    and --within before you look.
    """
    yield from map(table_of, decisions(data, options))


def decisions(data: Scores, options: HandoverOptions) -> list[Decision]:
    """The decision for each judge and score. Raises UsageError."""
    rubrics = data.rated(options.rubric, [options.against, *([options.judge] if options.judge else [])])
    found, scores = list[Decision](), list[str]()
    for matrix in data.matrices(rubrics):
        scores.append(matrix.score)
        people = matrix.columns(options.against)
        named = matrix.columns(options.judge) if options.judge else matrix.of_kind("judge")
        judges = [place for place in named if place not in people and matrix.raters[place].verdicts]
        if options.score in ("", matrix.score):
            found += [_decision(matrix, judge, tuple(people), options) for judge in judges]
    if options.score and options.score not in scores:
        raise UnknownName("score", options.score, dict.fromkeys(scores))
    if not found:
        raise UsageError(
            "no local judge has scores to keep or hand over",
            "Judge the cases first, or name --judge; --against names people.",
        )
    return found


def _decision(matrix: RatingsMatrix, judge: int, people: tuple[int, ...], options: HandoverOptions) -> Decision:
    if matrix.nominal and options.within:
        raise UsageError(f"{matrix.score} is nominal, so its levels have no distance", "Leave --within out.")
    if not np.isfinite(matrix.confidence[:, judge]).any():
        said = f"{matrix.raters[judge].name} has no probabilities, so nothing tells how sure it is"
        raise UsageError(said, "Name a judge that has a confidence in `summary` with --judge.")
    labels, given, notes = _even_labels(matrix, people, options.against), matrix.given[:, people], list[Note]()
    if left := int(np.sum(labels.rated & ~labels.random)):
        notes.append(Note("labels_outside", {"people": options.against, "count": left}, "note"))
    wrong = wrong_by(matrix, judge, np.where(labels.labels, given, np.nan), options.within)
    # People who skip cases skip hard ones, so a drawn case that did not come back counts as wrong.
    missing = labels.design.drawn & ~labels.random & np.isfinite(matrix.given[:, judge])
    if missing.any():
        told = {"missing": int(missing.sum()), "drawn": int(labels.design.drawn.sum())}
        notes.append(Note("missing_count_as_wrong", told, "warning"))
    wrong = np.where(missing, 1.0, wrong)
    outside = np.where(np.isfinite(wrong), np.nan, wrong_by(matrix, judge, given, options.within))
    members = tuple(matrix.raters[at].name for at, own in zip(people, labels.labels.T, strict=True) if own.any())
    sure = np.where(labels.design.probability > 0, matrix.confidence[:, judge], np.nan)
    found, rated = hand_over(sure, wrong, options.error, outside), np.asarray(np.isfinite(given).any(axis=1))
    kept = np.asarray((sure >= (found.chosen.sure if found.chosen else np.inf)) & ~rated & ~missing)
    name, count = matrix.raters[judge].name, int(labels.random.sum())
    return Decision(matrix, name, members, options, rated, kept, count, found, tuple(notes))


def _even_labels(matrix: RatingsMatrix, people: Sequence[int], who: str) -> LabelDesign:
    """The sample that these people labelled. Raises UsageError for labels that chance did not draw evenly."""
    found = own_design(matrix, people, who)
    if isinstance(found, Note):
        said = f"no sample of this run drew the cases that {who} rated, so they may have been picked"
        hint = "Draw cases with `pathway-local sample`, and import their sheets or pages when they come back."
        raise UsageError(said, hint)
    if is_uneven(found.design):
        said = f"the sample has more cases of small groups of {found.design.sample.strata} than by their share"
        raise UsageError(said, "Draw another one with `pathway-local sample`, without --min-per-group.")
    return found


def table_of(each: Decision) -> Table:
    """Return the table of what the judge keeps, with the answer in one sentence."""
    chosen, options = each.found.chosen, each.options
    kept, to_rate = int(each.kept.sum()), int(each.to_rate.sum())
    share = kept / max(kept + to_rate, 1)
    row: dict[str, Cell] = {
        "cases": len(each.kept), "rated": int(each.rated.sum()), "kept": kept, "share": share, "to_rate": to_rate,
        "labelled": chosen.labelled if chosen else None, "wrong": chosen.wrong if chosen else None,
    }  # fmt: skip
    about: dict[str, object] = {"rubric": each.matrix.rubric, "score": each.matrix.score, "judge": each.name}
    about |= {"against": options.against, "error": options.error, "within": options.within}
    told = {**about, "kept": kept, "handed": to_rate, "share": share}
    told["differ"] = Note("differ_more", {"count": options.within}) if options.within else Note("differ")
    notes = [Note("keeps" if chosen else "keeps_nothing", told, "answer")]
    if not chosen:
        notes.append(_needed(each))
    notes += [Note("kept_of_file"), *each.notes]
    columns = [Column(name, "count") for name in ("cases", "rated", "kept")]
    columns += [Column("share", "share"), *(Column(name, "count") for name in ("to_rate", "labelled", "wrong"))]
    return Table("handover", about, columns, [row], notes, heading=("rubric", "score", "judge"), section="handover")


def _needed(each: Decision) -> Note:
    """Why the judge keeps nothing, and what to do."""
    told: dict[str, object] = {"judge": each.name, "labels": each.labels, "error": each.options.error}
    if not each.found.looks:
        return Note("handover_few", {**told, "least": least_labels(each.options.error)}, "answer")
    best = min(each.found.looks, key=lambda look: look.wrong / look.labelled)
    told |= {"wrong": best.wrong, "labelled": best.labelled, "share": best.wrong / best.labelled}
    more = best.wrong <= each.options.error * best.labelled
    return Note("handover_more" if more else "handover_never", told, "answer")


ANALYSIS = Analysis(
    HandoverOptions,
    handover,
    (
        "pathway-local handover my.run --against author --error 0.1",
        "pathway-local handover my.run --against author --error 0.1 --store both",
    ),
)
