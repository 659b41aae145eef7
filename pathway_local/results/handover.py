"""Which cases a judge may keep and which people should rate, so that few of the kept ones differ from people."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from pathway_local.case import rank
from pathway_local.errors import UsageError
from pathway_local.note import Note, NoteKind
from pathway_local.results.analysis import RATERS, Analysis, OptionError, Options, Rubric, Says, as_given
from pathway_local.results.doubt import SIGNS, By, signs_of, wrong_by
from pathway_local.results.label_design import EVEN, own_design
from pathway_local.results.table import Cell, Column, Table
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.corrected import corrected_domain_mean
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Undefined
from pathway_local.statistics.handover import Handover, error_model, hand_over, least_labels, prospects
from pathway_local.statistics.human_benchmark import mean_of_people
from pathway_local.statistics.prediction_powered import BoolArray, Survey, label_noise

PLANNED = (100, 150, 200, 300, 400, 600, 800, 1000)
"""Numbers of labels for which a table shows the share to keep, in a file with more cases."""


class HandoverOptions(Options):
    """The options of `handover`."""

    against: Annotated[str, Says("NAME", "The rater or group of people whose labels count.", RATERS)]
    error: Annotated[
        float,
        Field(gt=0, lt=1),
        Says("SHARE", "Largest share of the kept cases that may differ from people, such as 0.10."),
    ]
    within: Annotated[int, Field(ge=0), Says("K", "Levels by which a score may differ and still count as right.")] = 0
    by: Annotated[
        By,
        Says(
            "ORDER",
            "What orders the cases: confidence; distance (expected, from its score); mass; judges (how near other "
            "judges are); or a model of error from all of these, fitted on half of the labels.",
        ),
    ] = "confidence"
    rubric: Rubric = ""
    score: Annotated[str, Says("NAME", "Only this score; default: all.", RATERS)] = ""
    judge: Annotated[str, Says("NAME", "Only this judge; default: every local judge.", RATERS)] = ""
    cluster: Annotated[
        str, Says("COLUMN", "Promise it for cases of further values of this column, such as other students.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """One judge on one score: what people said, and which cases the judge keeps; arrays are (cases,).

    `members` are the people whose labels of the sample count.
    `wrong` is 1 or 0 where a label of the sample counts, `sure` NaN where the judge keeps nothing, such as outside the
    sample's population. `rated` cases have a person's score, whether of the sample or handed over later.
    """

    matrix: RatingsMatrix
    judge: int
    people: tuple[int, ...]
    members: tuple[str, ...]
    options: HandoverOptions
    sure: FloatArray
    wrong: FloatArray
    sampled: BoolArray
    strata: IntArray
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
        """The cases with a person's score."""
        return np.asarray(np.isfinite(self.matrix.given[:, list(self.people)]).any(axis=1))

    @property
    def kept(self) -> BoolArray:
        """The cases that the judge decides."""
        return np.asarray(self.above & ~self.rated)

    @property
    def to_rate(self) -> BoolArray:
        """The cases that are handed over and that nobody has rated."""
        return np.asarray(~self.above & ~self.rated)


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
        yield from _further(each)


def planned(data: Scores, options: HandoverOptions) -> Iterator[Table]:
    """Yield the share of the cases that each judge can be expected to keep with several numbers of labels."""
    for each in decisions(data, options):
        made, now = _expected(each), int(np.isfinite(each.wrong).sum())
        if first := next((labels for labels, share in made.items() if share), None):
            last, most = [*made.items()][-1]
            told = {"judge": each.name, "first": first, "share": made[first], "now": now, "last": last, "most": most}
            answer = Note("handover_planned", told, "answer")
        else:
            answer = _needed(each)
        yield _prospects(each, answer, detail=False)


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


_DRAW = "Draw cases with `pathway-local sample`, and import their sheets or pages when they come back."


def _decision(
    data: Scores, matrix: RatingsMatrix, judge: int, people: tuple[int, ...], options: HandoverOptions, cluster: str
) -> Decision:
    if matrix.nominal and options.within:
        raise OptionError(f"{as_given(matrix.score)} is nominal, so its levels have no distance", "Leave {within} out.")
    given, notes = matrix.given[:, people], list[Note]()
    labels = own_design(matrix, people, options.against)
    if isinstance(labels, Note):
        said = f"no sample of this run drew the cases that {options.against} rated, so they may have been picked"
        raise UsageError(said, _DRAW)
    design, counted, sampled = labels.design, labels.labels, labels.random
    if left := int(np.sum(labels.rated & ~sampled)):
        notes.append(Note("labels_outside", {"count": left, "people": options.against}, "note"))
    if missing := int(np.sum(design.drawn & ~sampled)):
        notes.append(Note("labels_missing", {"missing": missing, "drawn": design.sample.drawn}, "note"))
    used = sampled & _evenly_drawn(matrix, design.probability)
    if used.sum() < sampled.sum():
        notes.append(Note("labels_thinned", {"count": int(used.sum()), "all": int(sampled.sum())}, "note"))
    wrong = wrong_by(matrix, judge, np.where(counted & used[:, None], given, np.nan), options.within)
    outside = np.where(np.isfinite(wrong), np.nan, wrong_by(matrix, judge, given, options.within))
    clusters = matrix.clusters(cluster) if cluster else None
    sure, tested = _order(data, matrix, judge, options.by, wrong)
    members = tuple(matrix.raters[at].name for at, own in zip(people, counted.T, strict=True) if own.any())
    sure = np.where((design.probability > 0) & np.isfinite(matrix.given[:, judge]), sure, np.nan)
    found = hand_over(sure, tested, options.error, clusters, outside)
    return Decision(matrix, judge, people, members, options, sure, wrong, sampled, design.strata, found, tuple(notes))


def _evenly_drawn(matrix: RatingsMatrix, chances: FloatArray) -> BoolArray:
    """Cases that leave a sample in which each case had about the same chance, by permanent random numbers.

    Thinning costs few labels: those of a group that was drawn more often than by its share tell little about all cases.
    """
    least = EVEN * chances[chances > 0].min()
    wanted = np.minimum(1.0, least / np.where(chances > 0, chances, 1.0))
    return np.array([_number(case) < chance for case, chance in zip(matrix.case_ids, wanted, strict=True)], np.bool_)


def _number(case: str) -> float:
    """A case's permanent random number from 0 to 1, which no sample was drawn by."""
    return int.from_bytes(rank(case, -1)[:8]) / 2**64


def _order(data: Scores, matrix: RatingsMatrix, judge: int, by: By, wrong: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How sure the judge is of each case, and the labels that may test it."""
    signs = signs_of(data.run, matrix, judge)
    if by != "model":
        sure = signs[:, SIGNS.index(by)]
        if not np.isfinite(sure).any():
            raise OptionError(f"{{by}} {by}: {as_given(matrix.raters[judge].name)} has none", _HINTS[by])
        return sure, wrong
    known = np.isfinite(signs).any(axis=0)
    if not known.any():
        raise OptionError("{by} model: the judge has no sign of how sure it is", _HINTS["confidence"])
    fitted = np.isfinite(wrong) & np.array([_number(case) % 0.5 < 0.25 for case in matrix.case_ids])
    if len(np.unique(wrong[fitted])) < 2:
        raise OptionError("{by} model: half of the labels shows no error, or nothing else", "Leave {by} out.")
    sure = -error_model(signs[:, known], np.where(fitted, wrong, np.nan))
    return np.where(fitted, np.nan, sure), np.where(fitted, np.nan, wrong)


_HINTS: Mapping[str, str] = {
    "confidence": "Probabilities come from local judges alone: name another one, or another {by}.",
    "distance": "It needs the probabilities of a local judge and a score with an order.",
    "mass": "Only a judge without a grammar tells it. Leave {by} out.",
    "judges": "It needs another judge's scores of the same cases.",
}


def _about(each: Decision) -> dict[str, object]:
    return {"rubric": each.matrix.rubric, "score": each.matrix.score, "judge": each.name}


HEADING = ("rubric", "score", "judge")


def _answer(each: Decision) -> Table:
    """What the judge keeps, with the answer in one sentence."""
    chosen, cases = each.found.chosen, len(each.sure)
    kept, to_rate = int(each.kept.sum()), int(each.to_rate.sum())
    row: dict[str, Cell] = {
        "cases": cases, "rated": int(each.rated.sum()), "kept": kept, "share": kept / max(kept + to_rate, 1),
        "to_rate": to_rate,
        "labelled": chosen.labelled if chosen else None, "wrong": chosen.wrong if chosen else None,
    }  # fmt: skip
    options = each.options
    about = {**_about(each), "against": options.against, "error": options.error, "within": options.within}
    about |= {"by": options.by, **({"cluster": options.cluster} if options.cluster else {})}
    told = {**about, "kept": kept, "handed": to_rate, "share": kept / max(kept + to_rate, 1)}
    told["differ"] = Note("differ_more", {"count": options.within}) if options.within else Note("differ")
    notes = [Note("keeps" if chosen else "keeps_nothing", told, "answer")]
    if not chosen:
        notes.append(_needed(each))
    notes += [Note("kept_of_clusters" if options.cluster else "kept_of_file", told), *each.notes]
    columns = [Column(name, "count") for name in ("cases", "rated", "kept")]
    columns += [Column("share", "share"), *(Column(name, "count") for name in ("to_rate", "labelled", "wrong"))]
    return Table("handover", about, columns, [row], notes, heading=HEADING, section="handover")


def _needed(each: Decision) -> Note:
    """What would let the judge keep something."""
    known, tested = int(np.isfinite(each.wrong).sum()), int(np.isfinite(each.wrong + each.sure).sum())
    if not each.found.looks:
        least = least_labels(each.options.error)
        few: dict[str, object] = {"labels": tested, "least": least, "judge": each.name}
        if each.options.by == "model":
            few |= {"labels": known, "tested": tested, "whole": 2 * least}
            return Note("handover_few_of_model", few, "answer")
        return Note("handover_few", few, "answer")
    if each.options.cluster:
        return _unplanned(each, "answer")
    more = [(labels, share) for labels, share in _expected(each).items() if share and labels > known]
    if more:
        labels, share = more[0]
        return Note("handover_more", {"labels": labels, "now": known, "share": share, "judge": each.name}, "answer")
    best = min(each.found.looks, key=lambda look: look.wrong / look.labelled)
    told = {"wrong": best.wrong, "labelled": best.labelled, "share": best.wrong / best.labelled}
    return Note("handover_never", {**told, "judge": each.name, "most": min(PLANNED[-1], len(each.sure))}, "answer")


def _unplanned(each: Decision, kind: NoteKind) -> Note:
    """Why no number of labels is named: expectations know nothing of clusters, whose labels tell less than others."""
    return Note("handover_of_clusters", {"cluster": each.options.cluster}, kind)


def _expected(each: Decision) -> dict[int, float]:
    """The share that the judge can be expected to keep by numbers of labels; half of them test the order of a model."""
    testing = 2 if each.options.by == "model" else 1
    planned = [labels for labels in PLANNED if labels < len(each.sure)]
    return dict(zip(planned, prospects(each.found, [labels // testing for labels in planned]), strict=True))


def _further(each: Decision) -> Iterator[Table]:
    """Yield every threshold, what more labels would do, and the mean that people's ratings correct."""
    handed = ~each.above & each.rated & ~each.sampled
    if handed.any() and not each.matrix.nominal:
        yield _combined(each)
    rows: list[dict[str, Cell]] = [
        {
            "sure": look.sure, "kept": look.kept, "labelled": look.labelled, "wrong": look.wrong,
            "wrong_share": look.wrong / look.labelled, "passes": "yes" if look.passes else "no",
        }
        for look in each.found.looks
    ]  # fmt: skip
    columns = [Column("sure", "number"), *(Column(name, "count") for name in ("kept", "labelled", "wrong"))]
    columns += [Column("wrong_share", "share"), Column("passes", "key")]
    shared = {**_about(each), "level": each.found.level}
    notes = [Note("tests_share_error", {"count": len(rows), "level": each.found.level})]
    notes += [_unplanned(each, "note")] if each.options.cluster and each.found.chosen else []
    yield Table("thresholds", shared, columns, rows, notes, detail=True, heading=HEADING, section="handover")
    if not each.options.cluster:
        yield _prospects(each, detail=bool(each.found.chosen))


def _prospects(each: Decision, *first: Note, detail: bool) -> Table:
    """What numbers of labels would let the judge keep."""
    rows: list[dict[str, Cell]] = [{"labels": labels, "share": share} for labels, share in _expected(each).items()]
    columns = [Column("labels", "count"), Column("share", "share")]
    thinned = [Note("prospects_thinned", note.values, "note") for note in each.notes if note.key == "labels_thinned"]
    notes = [*first, Note("prospects_guess"), *thinned]
    return Table("prospects", _about(each), columns, rows, notes, detail=detail, heading=HEADING, section="handover")


def _combined(each: Decision) -> Table:
    """The mean over all cases: people's scores of the cases that were handed over, and the judge's of the others.

    Labels of the sample correct the judge among the kept cases. People's ratings of all cases that were handed over are
    no sample of them but all of them; while some are missing, only the sample's count there as well.
    """
    matrix, complete = each.matrix, not each.to_rate.any()
    counted = each.sampled | (~each.above & complete)
    given = np.where(counted[:, None], matrix.given[:, list(each.people)], np.nan)
    on_scale = np.where(np.isin(given, matrix.special), np.nan, given)
    scores, special = mean_of_people(on_scale), np.isin(matrix.given[:, each.judge], matrix.special)
    off_scale = np.isfinite(given).any(axis=1) & ~np.isfinite(scores)
    # Without ratings of all cases that were handed over, nothing is known of those outside the sample's population.
    inside = complete | (each.strata >= 0)
    strata = np.unique(np.column_stack([each.strata, each.above])[inside], axis=0, return_inverse=True)[1].reshape(-1)
    survey = Survey(strata=strata.astype(np.int64), noise=label_noise(on_scale[inside & counted]))
    scale = (float(matrix.levels[0]), float(matrix.levels[-1]))
    judged, people = matrix.expected_or_given[inside, each.judge], scores[inside]
    found = corrected_domain_mean(judged, people, special[inside], off_scale[inside], scale, survey).mean
    mean = Estimate(found, found) if isinstance(found, Undefined) else found.corrected
    row: dict[str, Cell] = {"people": int(each.rated.sum()), "kept": int(each.kept.sum())}
    row |= {"to_rate": int(each.to_rate.sum()), "mean": mean}
    columns = [*(Column(name, "count") for name in ("people", "kept", "to_rate")), Column("mean", "estimate")]
    told = {"count": int(each.to_rate.sum())}
    notes = [Note("combined_whole") if complete else Note("combined_part", told, "note")]
    return Table("combined", _about(each), columns, [row], notes, heading=HEADING, section="handover")


ANALYSIS = Analysis(
    HandoverOptions,
    handover,
    (
        "pathway-local handover my.run --against author --error 0.1",
        "pathway-local handover my.run --against author --error 0.1 --by distance",
    ),
)
