"""How many answers are bad, and how many of them a judge passes: for each judge, in all and by group."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from pathway_local.errors import UnknownName
from pathway_local.note import Note
from pathway_local.rater import JUDGES, RaterKind
from pathway_local.results.corrected_mean import SampledLabels
from pathway_local.results.label_design import LabelDesign, own_design, stratum_weights, without_picked
from pathway_local.results.table import Cell, Column, Table, score_title
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.sheets.columns import folded
from pathway_local.statistics.corrected import corrected_share
from pathway_local.statistics.effect import scale_mean
from pathway_local.statistics.figure import BoolArray, Estimate, FloatArray, Interval, Reason
from pathway_local.statistics.figure import undefined_estimate as undefined
from pathway_local.statistics.intervals import share
from pathway_local.verdict import Number

UNSCORED = "none of these cases has a score"

TIE = 0.5
"""The share of the people who rated an answer from which it counts as bad: two who disagree leave it bad."""

COLUMNS = (
    Column("cases", "count"), Column("bad", "estimate", percent=True),
    Column("bad_by_people", "estimate", percent=True),
    Column("bad_labels", "count"), Column("passed", "count", detail=True),
    Column("passed_share", "estimate", percent=True),
    Column("good_labels", "count"), Column("flagged", "count", detail=True),
    Column("flagged_share", "estimate", percent=True),
)  # fmt: skip
"""Behind the columns that name a judge: what it calls bad, and of the labels how many bad and good ones it mistakes."""

KINDS: tuple[tuple[RaterKind, ...], ...] = (JUDGES, ("human",))

MOST_NAMED = 4
"""Levels that are all named."""

FEW_BAD, MOST_PASSED = 10, 0.2
"""Bad answers among the labels below which a report asks for more, and the share of them that a judge may pass."""

STEPS = ("next_judge", "next_sample", "next_labels", "next_people", "next_read")
"""The next steps, the first one first: of several scores, one may not call for trust that another does not bear."""

Row = dict[str, Cell]


def bad_levels(matrix: RatingsMatrix, asked: str = "") -> tuple[Number, ...]:
    """The levels that count as bad, the lowest first: those up to the one asked for, or the lower half of the scale.

    None where the scale has no order and no level was named, or where it has no such level.
    """
    levels = matrix.levels
    if not asked:
        middle = (levels[0] + levels[-1]) / 2
        return () if matrix.nominal else tuple(level for level in levels if level < middle)
    named = [level for level in levels if asked == f"{level:g}" or folded(asked) == folded(matrix.names.get(level, ""))]
    if matrix.nominal:
        return tuple(named)
    return tuple(level for level in levels if named and level <= named[0]) if named != [levels[-1]] else ()


def check_bad(matrices: Sequence[RatingsMatrix], asked: str) -> None:
    """Raise UnknownName for a level that no score has, or that leaves none above it."""
    if asked and matrices and not any(bad_levels(matrix, asked) for matrix in matrices):
        known = [f"{level:g}" for matrix in matrices for level in matrix.levels[: None if matrix.nominal else -1]]
        raise UnknownName("level that others are better than", asked, dict.fromkeys(known))


class BadOptions(Protocol):
    """The options about bad answers."""

    bad: str
    cluster: str
    min_group: int


class BadAnswers:
    """One score: the cases that raters call bad. Of people who worked on a sample, its labels alone count.

    `matrix` has the labels that count, `whole` all of them; `people` are the columns of the reference, which are those
    named or all, called `who`. An answer is bad if half of the people who rated it say so. `clusters` (cases,) are
    codes of what depends on each other. Groups with under `smallest` labels get no figures from these.
    """

    def __init__(self, whole: RatingsMatrix, levels: Sequence[Number], options: BadOptions) -> None:
        against: str = getattr(options, "against", "")
        self.whole, self.levels, self.matrix = whole, levels, without_picked(whole)[0]
        named = whole.columns(against) if against else whole.of_kind("human")
        self.people = [place for place in named if self.matrix.raters[place].verdicts]
        self.clusters = whole.clusters(options.cluster) if options.cluster else None
        self.smallest, self.hidden = options.min_group, set[str]()
        name = against or (whole.raters[self.people[0]].name if len(self.people) == 1 else "")
        self.who: str | Note = name or Note("people")
        self.design = own_design(whole, self.people, self.who) if self.people else None
        scores = self.matrix.on_scale[:, self.people]
        if isinstance(self.design, LabelDesign):
            scores = np.where(self.design.labels, scores, np.nan)
        given = np.isfinite(scores).sum(axis=1)
        self.labels = np.where(given > 0, np.nansum(self._is_bad(scores), axis=1) >= TIE * given, np.nan)

    def all_labelled(self, place: int) -> bool:
        """Whether people labelled every case that the rater of this column scored: no sample could tell more."""
        scored = np.isfinite(self.matrix.on_scale[:, place])
        return bool(self.people and np.isfinite(self.labels)[scored].all())

    def _is_bad(self, scores: FloatArray) -> FloatArray:
        """1 for bad, 0 for good, NaN without a score on the scale."""
        hit = np.isin(scores, self.levels) if self.matrix.nominal else scores <= max(self.levels)
        return np.where(np.isfinite(scores), hit, np.nan)

    def row(self, place: int, inside: BoolArray | None = None) -> Row:
        """The figures of a rater by its column, of all cases or those inside.

        All are about the same cases: those that it scored and, if any of these could be drawn, from which labels were.
        """
        own = self._is_bad(self.matrix.on_scale[:, place])
        scored = np.isfinite(own) if inside is None else np.isfinite(own) & inside
        if isinstance(self.design, LabelDesign) and (drawn := scored & (self.design.design.probability > 0)).any():
            scored = drawn
        found = self._share(own, scored, UNSCORED)
        row: Row = {"rater": self.matrix.raters[place].name, "cases": int(scored.sum())}
        if self.matrix.raters[place].kind == "human":
            return row | {"bad_by_people": found}
        row |= {"bad": found}
        if not self.people:
            return row
        both = scored & np.isfinite(self.labels)
        if inside is not None and both.sum() < self.smallest:
            few = Reason("under {smallest} of its cases are labelled", smallest=self.smallest)
            return row | {"bad_by_people": undefined(few if scored.any() else UNSCORED)}
        row["bad_by_people"] = self._by_people(own, place, scored)
        bad, good = both & (self.labels == 1), both & (self.labels == 0)
        for such, wrong, labels, mistakes, none in (
            (bad, 1 - own, "bad_labels", "passed", "none of the labelled answers is bad"),
            (good, own, "good_labels", "flagged", "none of the labelled answers is good"),
        ):
            row |= {labels: int(such.sum()), mistakes: int(wrong[such].sum())}
            row[f"{mistakes}_share"] = self._share(wrong, such, none, drawn=True)
        return row

    def _share(self, hits: FloatArray, such: BoolArray, none: str, *, drawn: bool = False) -> Estimate:
        """The share of hits among such cases, or why there are `none`; of `drawn` ones, each stands for its stratum."""
        if not such.any():
            return undefined(none)
        weights = None
        if drawn and isinstance(self.design, LabelDesign) and self.design.design.sample.strata:
            strata, whole = self.design.design.strata, np.asarray(self.design.design.probability > 0)
            weights = stratum_weights(strata, whole, self.design.random)[such]
        return share(hits[such], None if self.clusters is None else self.clusters[such], weights)

    def _by_people(self, own: FloatArray, place: int, scored: BoolArray) -> Estimate:
        """The share of cases that people would call bad, by the judge's verdicts and the labels of a random sample."""
        labelled = np.isfinite(self.labels)
        if labelled[scored].all():
            return self._share(self.labels, scored, UNSCORED)
        if not isinstance(self.design, LabelDesign):
            return undefined("people labelled no random sample of the answers")
        design, special = self.design.design, np.isin(self.whole.given[:, place], self.whole.special)
        drawn, of_people = np.asarray(design.probability > 0), self.design.random & ~labelled
        if not (scored & drawn).any():
            return undefined("no case is among those from which the sample was drawn")
        strata = design.strata[drawn] if design.sample.strata else None
        both = special[drawn], of_people[drawn]
        return corrected_share(own[drawn], self.labels[drawn], scored[drawn], strata, both, self.design.by_all)

    def rows(self, places: Sequence[int], by: str = "") -> Iterator[Row]:
        """Yield the row of each of these raters, and behind it those of its groups that are large enough."""
        codes, names = self.matrix.codes(by) if by else (np.empty(0), ())
        for place in places:
            yield self.row(place)
            for code, group in enumerate(names):
                row = self.row(place, np.asarray(codes == code))
                if 0 < int(str(row["cases"])) < self.smallest:
                    self.hidden.add(group)
                else:
                    yield row | {"group": group}

    def answers(self, rows: Sequence[Row]) -> Iterator[Note]:
        """Yield the sentences to quote: how many answers are bad by the first of these judges, and what each finds."""
        for number, row in enumerate(rows):
            told: dict[str, object] = {"judge": row["rater"], "people": self.who}
            told |= {"rubric": score_title(self.matrix.rubric, self.matrix.score), "levels": self._levels()}
            bad, good = (int(str(row.get(name) or 0)) for name in ("bad_labels", "good_labels"))
            found = bad - int(str(row.get("passed") or 0))
            key = (
                "bad_found" if found else "bad_none_found" if bad else "bad_none_labelled" if good else "bad_unchecked"
            )
            said = Note(key, told | {"count": bad, "good": good, "found": found, "flagged": row.get("flagged")})
            if number and bad:
                yield Note("bad_also", {"said": said}, "answer")
                continue
            for key in ("bad_by_people", "bad_by_judge")[bool(number) :]:
                figure = row.get(key.replace("_by_judge", ""))
                if isinstance(figure, Estimate) and isinstance(figure.interval, Interval):
                    key = "bad_between" if key == "bad_by_people" and good and not bad else key
                    yield Note(key, {**told, "share": figure.value, "ends": figure.interval, "said": said}, "answer")
                    break

    def cautions(self, judges: Sequence[int]) -> Iterator[Note]:
        """Yield why labels correct nothing, or what those that did not come back may hide, by any of these judges."""
        if isinstance(self.design, Note) and not all(map(self.all_labelled, judges)):
            yield self.design
        elif judges and isinstance(self.design, LabelDesign) and not self.matrix.nominal:
            told = SampledLabels(self.whole, self.people, self.design).missing(judges)
            yield from (note for note in told if note.kind == "warning")

    @property
    def named(self) -> str:
        """The bad levels, as numbers; of many the ends."""
        if len(self.levels) > MOST_NAMED:
            return f"{self.levels[0]:g}–{self.levels[-1]:g}"
        return ", ".join(f"{level:g}" for level in self.levels)

    def _levels(self) -> Note:
        last = self.levels[-1]
        name = self.matrix.names.get(last, "")
        told = {"level": f"{last:g} ({name})" if name and name != f"{last:g}" else f"{last:g}"}
        return Note("bad_level" if len(self.levels) == 1 or self.matrix.nominal else "bad_up_to", told)


Judged = tuple[BadAnswers, Sequence[Row]]
"""A score's bad answers with the rows of its judges."""


def bad_answers(data: Scores, whole: RatingsMatrix, options: BadOptions) -> BadAnswers | None:
    """The bad answers; None where no level counts as bad. A choice between two says nothing of how bad they are."""
    levels = bad_levels(whole, options.bad) or bad_levels(whole)
    return None if not levels or data.rubrics[whole.rubric].pair else BadAnswers(whole, levels, options)


def bad_table(
    found: Sequence[BadAnswers], by: str = "", raters: Sequence[str] = (), values: Sequence[str] = ()
) -> Iterator[Table]:
    """Yield one table of these scores' bad answers by each judge, or without judges by each person.

    With a column `by` each of its groups has a row behind that of all cases, or those with these `values` alone.
    """
    rows, notes, told = list[Row](), list[Note](), list[Judged]()
    for each in found:
        named = each.matrix.places(raters) or range(len(each.matrix.raters))
        judges, people = ([place for place in each.matrix.scoring(*kinds) if place in named] for kinds in KINDS)
        made = [row for row in each.rows(judges or people, by) if not values or row.get("group") in values]
        told.append((each, [row for row in made if "group" not in row] if judges else []))
        if each.hidden:
            left_out = {"count": len(each.hidden), "by": by, "smallest": each.smallest}
            notes.append(Note("hidden_groups", left_out))
        notes += each.cautions(judges)
        for row in told[-1][1]:  # some figures are about some of the cases alone
            where = {"rubric": each.matrix.rubric, "rater": row["rater"]}
            about = {"where": Note("where", where), "cases": row["cases"], "every": len(each.labels)}
            notes += [Note("bad_about", about, "note")] if row["cases"] != len(each.labels) else []
        shared = {"rubric": each.matrix.rubric, "score": each.matrix.score, "levels": each.named}
        rows += [{**shared, **row} for row in made]
    columns = [Column("rater", "rater"), *([Column("group")] if by else [])]
    columns += [Column("rubric"), Column("score", usual="score", below=True), Column("levels", "levels")]
    if rows:
        said = [*sentences(told), *notes]
        yield Table("bad", {"by": by} if by else {}, [*columns, *COLUMNS], rows, said, section="bad")


def sentences(told: Sequence[Judged]) -> Iterator[Note]:
    """Yield the sentences to quote; where people labelled nothing, one for all scores and judges together."""
    unlabelled = list[Note]()
    for found, rows in told:
        said = [*found.answers(rows)]
        if np.isfinite(found.labels).any():
            yield from said
        else:
            unlabelled += said
    if len(unlabelled) > 1:
        judges = dict.fromkeys(str(note.values["judge"]) for note in unlabelled)
        yield Note("bad_unlabelled", {"judges": [*judges], "count": len(judges)}, "answer")
    else:
        yield from unlabelled


def overview(found: Sequence[BadAnswers], by: str) -> tuple[list[Table], list[Note]]:
    """The first table of a report: for each chatbot the share of bad answers and the mean; and what they show.

    By the first judge of each score, or without a judge by the first person. One sentence says whether the judge can
    be trusted, and one what to do next.
    """
    tables, told, steps = list[Table](), list[Judged](), list[Note]()
    for each in (one for one in found if not one.matrix.nominal):
        judges, people = (each.matrix.scoring(*kinds) for kinds in KINDS)
        for first in [*judges, *people][:1]:
            tables.append(_chatbots(each, first, by))
            told.append((each, [*map(each.row, judges)]))
            steps.append(next_step(each))
    steps.sort(key=lambda step: STEPS.index(step.key))
    return tables, [*sentences(told), *steps[:1]]


def _chatbots(found: BadAnswers, first: int, by: str) -> Table:
    """How good each value of the column `by` is, or all cases, by a rater's column."""
    matrix, scores = found.matrix, found.matrix.on_scale[:, first]
    codes, names = matrix.codes(by) if by else (np.zeros(len(scores)), ("",))
    made = [row for row in found.rows([first], by) if not by or "group" in row]
    for row in made:
        such = np.isfinite(scores) & (codes == names.index(str(row.get("group", ""))))
        clusters = None if found.clusters is None else found.clusters[such]
        row["mean"] = scale_mean(scores[such], matrix.scale, clusters)
    shown = [row.get("bad_by_people") for row in made]
    corrected = any(isinstance(one, Estimate) and isinstance(one.value, float) for one in shown)
    columns = [*([Column("group")] if by else []), COLUMNS[0], COLUMNS[2 if corrected else 1]]
    about = {"rubric": matrix.rubric, "score": matrix.score, "by": by, "levels": found.named}
    about["rater"] = matrix.raters[first].name
    return Table("overview", about, [*columns, Column("mean", "estimate")], made)


def next_step(found: BadAnswers) -> Note:
    """Advise the next step, by the first judge: find labels, or more bad ones, or read what the judge passes."""
    judges = found.matrix.scoring(*JUDGES)
    if not judges:
        return Note("next_judge", kind="answer")
    if not (isinstance(found.design, LabelDesign) or found.all_labelled(judges[0])):
        return Note("next_sample", kind="answer")
    row = found.row(judges[0])
    passed, bad = row.get("passed_share"), int(str(row.get("bad_labels") or 0))
    if bad < FEW_BAD:
        return Note("next_labels", kind="answer")
    if isinstance(passed, Estimate) and isinstance(passed.interval, Interval) and passed.interval.high > MOST_PASSED:
        return Note("next_people", {"judge": found.matrix.raters[judges[0]].name}, "answer")
    return Note("next_read", kind="answer")
