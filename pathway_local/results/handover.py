"""Which cases a judge may keep and which people should rate, so that few of the kept ones differ from people."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from pathway_local.case import rank
from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.results.analysis import RATERS, Analysis, OptionError, Options, Rubric, Says, as_given
from pathway_local.results.doubt import By, sureness, wrong_by
from pathway_local.results.label_design import EVEN, own_design
from pathway_local.results.table import Cell, Column, Table
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import BoolArray, FloatArray
from pathway_local.statistics.handover import FEWEST_CLUSTERS, Handover, hand_over, least_labels, prospects

PLANNED = (50, 100, 150, 200, 300, 400, 600, 800, 1000)
"""Numbers of labels for which a table shows the share to keep, as far as a file has more cases."""

HEADING = ("rubric", "score", "judge")


class HandoverOptions(Options):
    """The options of `handover`."""

    against: Annotated[str, Says("NAME", "The rater or group of people whose labels count.", RATERS)]
    error: Annotated[
        float,
        Field(gt=0, lt=1),
        Says("SHARE", "Largest share of the kept cases that may differ from people, such as 0.10."),
    ]
    within: Annotated[int, Field(ge=0), Says("K", "Levels by which a score may differ and still count as right.")] = 0
    by: Annotated[By, Says("ORDER", "What orders the cases: confidence, or distance (expected, from its score).")] = (
        "confidence"
    )
    rubric: Rubric = ""
    score: Annotated[str, Says("NAME", "Only this score; default: all.", RATERS)] = ""
    judge: Annotated[str, Says("NAME", "Only this judge; default: every local judge.", RATERS)] = ""
    cluster: Annotated[
        str, Says("COLUMN", "Promise it for cases of further values of this column, such as other students.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """One judge on one score: what people said, and which cases the judge keeps; arrays are (cases,).

    `members` are the people whose labels of the sample count. `wrong` is 1 or 0 where a label of the sample counts,
    and 1 for the drawn cases in `missing`, which have none; `sure` is NaN where the judge keeps nothing, such as
    outside the sample's population. `labels` counts those that came back, `clusters` the clusters that they are of.
    """

    matrix: RatingsMatrix
    judge: int
    people: tuple[int, ...]
    members: tuple[str, ...]
    options: HandoverOptions
    sure: FloatArray
    wrong: FloatArray
    missing: BoolArray
    labels: int
    clusters: int
    found: Handover
    notes: tuple[Note, ...]

    @property
    def name(self) -> str:
        """The judge's name."""
        return self.matrix.raters[self.judge].name

    @property
    def above(self) -> BoolArray:
        """The cases at or above the threshold."""
        chosen = self.found.chosen
        return np.asarray(self.sure >= chosen.sure) if chosen else np.zeros(len(self.sure), np.bool_)

    @property
    def rated(self) -> BoolArray:
        """The cases with a person's score, whether of the sample or handed over later."""
        return np.asarray(np.isfinite(self.matrix.given[:, list(self.people)]).any(axis=1))

    @property
    def kept(self) -> BoolArray:
        """The cases that the judge decides."""
        return np.asarray(self.above & ~self.rated & ~self.missing)

    @property
    def to_rate(self) -> BoolArray:
        """The cases that are handed over and that nobody has rated."""
        return np.asarray(~self.kept & ~self.rated)

    @property
    def about(self) -> dict[str, object]:
        """What its tables share."""
        return {"rubric": self.matrix.rubric, "score": self.matrix.score, "judge": self.name}

    @property
    def expected(self) -> dict[int, float]:
        """The share that the judge can be expected to keep by numbers of labels, none larger than the file."""
        planned = [labels for labels in PLANNED if self.labels < labels < len(self.sure)]
        able = int(np.isfinite(self.sure).sum())
        return dict(zip(planned, prospects(self.found, planned, able), strict=True))


def handover(data: Scores, options: HandoverOptions) -> Iterator[Table]:
    """Choose which cases a judge keeps and which it hands over to people, so that few of those it keeps are wrong.

    At 95% confidence, at most {error} of the kept cases differ from people's scores; without such a choice, it says
    what would be needed. The labels must be a random sample, as `pathway-local sample` draws it. Decide on {error},
    {within} and {by} before you look.
    """
    yield from tables_of(decisions(data, options))


def tables_of(found: Iterable[Decision]) -> Iterator[Table]:
    """Yield what each judge keeps, every threshold, and what more labels would do."""
    for each in found:
        yield _answer(each)
        if each.found.looks:
            yield _thresholds(each)
        if any(each.expected.values()) and not each.options.cluster:
            rows: list[dict[str, Cell]] = [{"labels": at, "share": share} for at, share in each.expected.items()]
            columns = [Column("labels", "count"), Column("share", "share")]
            notes, detail = [Note("prospects_guess")], bool(each.found.chosen)
            yield Table(
                "prospects", each.about, columns, rows, notes, detail=detail, heading=HEADING, section="handover"
            )


def decisions(data: Scores, options: HandoverOptions) -> list[Decision]:
    """The decision for each judge and score. Raises UsageError, OptionError."""
    rubrics = data.rated(options.rubric, [options.against, *([options.judge] if options.judge else [])])
    cluster = data.column(options.cluster)
    found, scores = list[Decision](), list[str]()
    for matrix in data.matrices(rubrics):
        scores.append(matrix.score)
        people = matrix.columns(options.against)
        named = matrix.columns(options.judge) if options.judge else matrix.of_kind("judge")
        judges = [place for place in named if place not in people and matrix.raters[place].verdicts]
        if options.score in ("", matrix.score):
            found += [_decision(data, matrix, judge, tuple(people), options, cluster) for judge in judges]
    if options.score and options.score not in scores:
        raise OptionError(
            f"no score is called {as_given(options.score)}", f"Name one of {as_given(', '.join(scores))}."
        )
    if not found:
        raise OptionError("no local judge has scores to keep or hand over", "Judge the cases first, or name {judge}.")
    return found


def _decision(
    data: Scores, matrix: RatingsMatrix, judge: int, people: tuple[int, ...], options: HandoverOptions, cluster: str
) -> Decision:
    if matrix.nominal and options.within:
        raise OptionError(f"{as_given(matrix.score)} is nominal, so its levels have no distance", "Leave {within} out.")
    given, notes, about = matrix.given[:, people], list[Note](), {"people": options.against}
    labels = own_design(matrix, people, options.against)
    if isinstance(labels, Note):
        said = f"no sample of this run drew the cases that {options.against} rated, so they may have been picked"
        hint = "Draw cases with `pathway-local sample`, and import their sheets or pages when they come back."
        raise UsageError(said, hint)
    design, sampled = labels.design, labels.random
    if left := int(np.sum(labels.rated & ~sampled)):
        notes.append(Note("labels_outside", {**about, "count": left}, "note"))
    used = design.drawn & _evenly_drawn(matrix, design.probability)
    counted = labels.labels & used[:, None]
    if (count := int((sampled & used).sum())) < sampled.sum():
        notes.append(Note("labels_thinned", {"count": count, "all": int(sampled.sum())}, "note"))
    wrong = wrong_by(matrix, judge, np.where(counted, given, np.nan), options.within)
    # Who skips cases skips hard ones, so a drawn case that did not come back counts as wrong.
    missing = used & ~sampled & np.isfinite(matrix.given[:, judge])
    if missing.any():
        told = {"missing": int(missing.sum()), "drawn": int(used.sum())}
        notes.append(Note("missing_count_as_wrong", told, "warning"))
    wrong = np.where(missing, 1.0, wrong)
    outside = np.where(np.isfinite(wrong), np.nan, wrong_by(matrix, judge, given, options.within))
    clusters = matrix.clusters(cluster) if cluster else None
    many = len(np.unique(clusters[np.isfinite(wrong)])) if clusters is not None else 0
    members = tuple(matrix.raters[at].name for at, own in zip(people, counted.T, strict=True) if own.any())
    sure = sureness(data.run, matrix, judge, options.by)
    sure = np.where((design.probability > 0) & np.isfinite(matrix.given[:, judge]), sure, np.nan)
    found = hand_over(sure, wrong, options.error, clusters, outside)
    return Decision(matrix, judge, people, members, options, sure, wrong, missing, count, many, found, tuple(notes))


def _evenly_drawn(matrix: RatingsMatrix, chances: FloatArray) -> BoolArray:
    """Cases that leave a sample in which each case had about the same chance, by permanent random numbers.

    Thinning costs few labels: those of a group that was drawn more often than by its share tell little about all cases.
    """
    least = EVEN * chances[chances > 0].min()
    wanted = np.minimum(1.0, least / np.where(chances > 0, chances, 1.0))
    numbers = (int.from_bytes(rank(case, -1)[:8]) / 2**64 for case in matrix.case_ids)
    return np.array([number < chance for number, chance in zip(numbers, wanted, strict=True)], np.bool_)


def _answer(each: Decision) -> Table:
    """What the judge keeps, with the answer in one sentence."""
    chosen, options = each.found.chosen, each.options
    kept, to_rate = int(each.kept.sum()), int(each.to_rate.sum())
    share = kept / max(kept + to_rate, 1)
    row: dict[str, Cell] = {
        "cases": len(each.sure), "rated": int(each.rated.sum()), "kept": kept, "share": share, "to_rate": to_rate,
        "labelled": chosen.labelled if chosen else None, "wrong": chosen.wrong if chosen else None,
    }  # fmt: skip
    about = {**each.about, "against": options.against, "error": options.error, "within": options.within}
    about |= {"by": options.by, **({"cluster": options.cluster} if options.cluster else {})}
    told = {**about, "kept": kept, "handed": to_rate, "share": share}
    told["differ"] = Note("differ_more", {"count": options.within}) if options.within else Note("differ")
    notes = [Note("keeps" if chosen else "keeps_nothing", told, "answer")]
    if not chosen:
        notes.append(_needed(each))
    notes += [Note("kept_of_clusters" if options.cluster else "kept_of_file", told), *each.notes]
    columns = [Column(name, "count") for name in ("cases", "rated", "kept")]
    columns += [Column("share", "share"), *(Column(name, "count") for name in ("to_rate", "labelled", "wrong"))]
    return Table("handover", about, columns, [row], notes, heading=HEADING, section="handover")


def _needed(each: Decision) -> Note:
    """What would let the judge keep something, by the tests that decide."""
    least, about = least_labels(each.options.error), {"judge": each.name, "labels": each.labels}
    if each.options.cluster and each.clusters < FEWEST_CLUSTERS:
        told = {"cluster": each.options.cluster, "count": each.clusters, "least": FEWEST_CLUSTERS}
        return Note("handover_few_clusters", told, "answer")
    if not each.found.looks:
        return Note("handover_few", {**about, "least": least}, "answer")
    if each.options.cluster:
        return Note("handover_of_clusters", {"cluster": each.options.cluster}, "answer")
    if more := next(((labels, share) for labels, share in each.expected.items() if share), None):
        return Note("handover_more", {**about, "more": more[0], "share": more[1]}, "answer")
    best = min(each.found.looks, key=lambda look: look.wrong / look.labelled)
    share = best.wrong / best.labelled
    told = {"wrong": best.wrong, "labelled": best.labelled, "share": share, "error": each.options.error}
    return Note("handover_never" if share > each.options.error else "handover_too_small", {**about, **told}, "answer")


def _thresholds(each: Decision) -> Table:
    """Every threshold that was tested."""
    rows: list[dict[str, Cell]] = [
        {
            "sure": look.sure, "kept": look.kept, "labelled": look.labelled, "wrong": look.wrong,
            "wrong_share": look.wrong / look.labelled, "passes": "yes" if look.passes else "no",
        }
        for look in each.found.looks
    ]  # fmt: skip
    columns = [Column("sure", "number"), *(Column(name, "count") for name in ("kept", "labelled", "wrong"))]
    columns += [Column("wrong_share", "share"), Column("passes", "key")]
    about = {**each.about, "level": each.found.level}
    notes = [Note("tests_share_error", {"count": len(rows)})]
    return Table("thresholds", about, columns, rows, notes, detail=True, heading=HEADING, section="handover")


ANALYSIS = Analysis(
    HandoverOptions,
    handover,
    (
        "pathway-local handover my.run --against author --error 0.1",
        "pathway-local handover my.run --against author --error 0.1 --by distance",
    ),
)
