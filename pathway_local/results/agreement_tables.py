"""Whether judges can stand in for people, and how well all raters agree: options, tables and notes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from pathway_local.errors import UnknownName, UsageError
from pathway_local.note import Note
from pathway_local.results import MIN_GROUP
from pathway_local.results.against_people import AgainstPeople, JudgesAndPeople
from pathway_local.results.agreement import RaterPair, ScoreAgreement, agreement
from pathway_local.results.agreement_plan import IMPORT, AgreementPlan
from pathway_local.results.analysis import (
    CASES,
    RATERS,
    Analysis,
    Cluster,
    Margin,
    MinGroup,
    OptionError,
    Options,
    Raters,
    Rubric,
    Says,
    as_given,
)
from pathway_local.results.kept_column import kept_column
from pathway_local.results.ratings import Ratings
from pathway_local.results.ratings_matrix import ratings_matrices
from pathway_local.results.stand_in import stand_in
from pathway_local.results.table import Cell, Column, Level, Names, Table
from pathway_local.statistics.coefficients import COEFFICIENTS, Coefficient, coefficients, comparable
from pathway_local.statistics.figure import Estimate, Undefined
from pathway_local.statistics.human_benchmark import Contrast
from pathway_local.statistics.levels import WITHIN, GroupLevel
from pathway_local.verdict import plain

SECTION = "people"
PAIR = "Comparing two judges"

BRIEF = ("exact", "within_one", "kappa", "kappa_quadratic")
"""Figures of pairs that are shown unasked."""

NO_LEVELS = ("spearman", "mean_difference", "mean_absolute_error")
"""The same where no two raters both keep to levels."""

TWO = (Column("first", "rater"), Column("second", "rater"))

Row = dict[str, Cell]


class AgreementOptions(Options):
    """The raters to compare, and the figures to show beside them."""

    rubric: Rubric = ""
    rater: Raters = ()
    cluster: Cluster = ""
    against: Annotated[str, Says("NAME", "Raters to compare judges with (default: all people).", RATERS)] = ""
    figure: Annotated[
        str,
        Says("FIGURE", f"Figure to compare two judges by: {', '.join(comparable())}; default: kappa_quadratic.", PAIR),
    ] = ""
    margin: Annotated[Margin, Says("X", 'Largest shortfall that still counts as "not worse".', PAIR)] = 0.05
    by: Annotated[str, Says("COLUMN", "Show judges' errors for each value of this column.")] = ""
    min_group: MinGroup = None
    drift: Annotated[
        str,
        Says(
            "COLUMN",
            "Show how raters' errors move over dates, batches or versions, or `import` for the order of each person's "
            "imports.",
            CASES,
        ),
    ] = ""
    twice: Annotated[
        tuple[str, ...],
        Says("NAME=NAME", "One person's first and second ratings of the same cases; repeat for more.", RATERS),
    ] = ()
    level: Annotated[
        str,
        Says(
            "LEVEL=COLUMN",
            "Also correlate raters' means over the systems that the column names (system=COLUMN), or within each "
            "document (document=COLUMN).",
        ),
    ] = "case"
    looks: Annotated[
        int,
        Field(ge=1, le=100),
        Says("K", "How often you look at corrected means while data grow; the looks share the error of 5%."),
    ] = 1


def agree(data: Ratings, options: AgreementOptions) -> Iterator[Table]:
    """Say whether judges can stand in for people, and show how well all raters agree, with intervals.

    The output holds no text and no case id.
    """
    if options.figure and options.figure not in comparable():
        raise UnknownName("figure", options.figure, comparable())
    at, level_column = level_of(options.level)
    again = tuple(first_and_second(named) for named in options.twice)
    named = [*options.rater, *([options.against] if options.against else []), *(name for two in again for name in two)]
    rubrics = data.rated(options.rubric, named)
    if options.drift == IMPORT:
        check_no_column(data, IMPORT)
    over = "" if options.drift == IMPORT else options.drift
    cluster, by, level_column, over = map(data.column, (options.cluster, options.by, level_column, over))
    groups = (options.min_group or MIN_GROUP, options.min_group is not None)
    plan = AgreementPlan(
        options.rater, cluster, options.against, options.figure, options.margin, by, *groups, at, level_column,
        over or options.drift, again, options.looks,
    )  # fmt: skip
    for rubric in rubrics:
        for found in agreement(data.run, rubric, plan, ratings_matrices(data.run, rubric)):
            yield from agreement_tables(found)


def check_no_column(data: Ratings, word: str) -> None:
    """Check that the run keeps no column called as the word of `drift`. Raises OptionError."""
    try:
        column, _ = kept_column(data.run, word)
    except UsageError:  # no such column, or an input, over whose values there is no drift
        return
    raise OptionError(
        f"{{drift}} {word} could mean the run's column {as_given(column)} or the order of each person's imports",
        "If you mean the column, rename it in the cases file, store it with `pathway-local runs keep RUN {cases} FILE "
        "{column} NAME`, and name that.",
    )


def level_of(given: str) -> tuple[GroupLevel | Literal["case"], str]:
    """The level and its column. Raises OptionError."""
    level, _, column = given.partition("=")
    if level == "case" and not column:
        return "case", ""
    if level not in ("system", "document") or not column:
        said = f"{{level}} {as_given(given)} is not case, system=COLUMN or document=COLUMN"
        raise OptionError(said, "Such as system=bot.")
    return ("system" if level == "system" else "document"), column


def first_and_second(given: str) -> tuple[str, str]:
    """Two raters who are one person. Raises OptionError."""
    first, _, second = given.partition("=")
    if not first or not second or first == second:
        raise OptionError(f"{{twice}} {as_given(given)} is not NAME=NAME", "Such as {twice} ann=ann-again.")
    return first, second


def agreement_tables(found: ScoreAgreement) -> Iterator[Table]:
    """Every table about one score; the raters come first, with what must be said of all."""
    made = _Tables(found)
    yield made.raters()
    yield from made.pairs()
    yield from made.together()
    yield from made.people(found.people)
    yield from found.corrected.tables
    yield from found.doubt
    yield from made.matrices()


class _Tables:
    """Makes the tables of one score, which share its name."""

    def __init__(self, found: ScoreAgreement) -> None:
        self.found, self.plan = found, found.plan

    def _table(
        self, key: str, columns: Iterable[Column], rows: Sequence[Row], notes: Iterable[Note] = (), *,
        detail: bool = False, chart: Literal["", "matrix"] = "", about: Mapping[str, object] | None = None,
    ) -> Iterator[Table]:  # fmt: skip
        """Yield the table, if it has rows."""
        if rows:
            shared: dict[str, object] = {"rubric": self.found.rubric, "score": self.found.score}
            shared |= {"cluster": self.plan.cluster} if self.plan.cluster else {}
            yield Table(
                key, {**shared, **(about or {})}, [*columns], rows, [*notes], detail=detail,
                heading=("rubric", "score"), section=SECTION, chart=chart,
            )  # fmt: skip

    def raters(self) -> Table:
        found = self.found
        columns = [
            Column("rater", "rater"), Column("kind", "key"), Column("scored", "count"),
            Column("rated", "count", detail=not any(rater.picked for rater in found.raters)),
            Column("coverage", "share"), Column("failures", "count", usual="0"),
            Column("other_texts", "count", usual="0", detail=True),
        ]  # fmt: skip
        rows: list[Row] = [
            {
                "rater": rater.name, "kind": rater.kind, "scored": rater.verdicts,
                "rated": rater.verdicts + rater.picked, "coverage": found.coverage(rater),
                "failures": rater.failures, "other_texts": rater.other_texts,
            }
            for rater in found.raters
        ]  # fmt: skip
        notes = [*(Note(note.key, note.values, "answer") for note in stand_in(found)), *self._notes()]
        shared: dict[str, object] = {"rubric": found.rubric, "score": found.score, "cases": found.cases}
        shared |= {"scale": "nominal" if found.nominal else "ordinal"}
        shared |= {"levels": list(found.levels), "special": list(found.special)}
        shared |= {"cluster": self.plan.cluster} if self.plan.cluster else {}
        return Table("raters", shared, columns, rows, notes, heading=("rubric", "score"), section=SECTION)

    def _notes(self) -> Iterator[Note]:
        found, plan = self.found, self.plan
        yield Note("together", {"column": plan.cluster}) if plan.cluster else Note("cases_alone")
        if found.pairs:
            yield Note("for_these_raters")
        yield from found.people.missing
        yield from found.notices
        if hidden := max((each.hidden for each in found.people.groups), default=0):
            yield Note("hidden_groups", {"count": hidden, "by": plan.by, "smallest": plan.smallest}, "note")
        if plan.looks > 1 and found.corrected.answers:
            yield Note("looks", {"count": plan.looks}, "note")
        yield from found.warnings

    def pairs(self) -> Iterator[Table]:
        found, plan = self.found, self.plan
        levels = any(pair.first.on_scale and pair.second.on_scale for pair in (*found.pairs, *found.twice))
        of_pairs = coefficients(of_pairs=True, nominal=found.nominal, levels=levels)
        columns = [*TWO, Column("cases", "count"), Column("first_coverage", "share", detail=True)]
        columns += [
            Column("second_coverage", "share", detail=True),
            *_figures(of_pairs, BRIEF if levels else NO_LEVELS),
        ]
        told = [Note("reads_pairs")] if levels and not found.nominal else []
        yield from self._table("pairs", columns, [self._pair(pair) for pair in found.pairs], told)
        rows: list[Row] = [
            {**_names(pair), **pair.special.counts, **pair.special.figures} for pair in found.pairs if pair.special
        ]
        counts = [Column(name, "count") for name in ("both", "first_only", "second_only", "neither")]
        own = [COEFFICIENTS[name] for name in ("exact", "kappa")]
        about = {"levels": list(found.special)}
        yield from self._table("special", [*TWO, *counts, *_figures(own)], rows, detail=True, about=about)
        rows = [self._pair(pair) for pair in found.twice]
        brief = ("exact", "kappa") if found.nominal else ("exact", "within_one", "kappa_quadratic", "mean_difference")
        columns = [*TWO, Column("cases", "count"), *_figures(of_pairs, brief if levels else NO_LEVELS)]
        yield from self._table("twice", columns, rows)
        rows = [
            {**_names(pair), "groups": pair.at_level.groups, "used": pair.at_level.used, **pair.at_level.figures}
            for pair in found.pairs
            if pair.at_level
        ]
        columns = [*TWO, Column("groups", "count"), Column("used", "count")]
        columns += _figures([COEFFICIENTS[name] for name in WITHIN])
        notes = [Note("document_level", {"column": plan.level_column})]
        if plan.level == "system":
            notes = [Note("system_level", {"column": plan.level_column})]
            notes += [] if plan.cluster else [Note("system_level_alone")]
        yield from self._table("level", columns, rows, notes, about={"level": plan.level, "column": plan.level_column})

    def _pair(self, pair: RaterPair) -> Row:
        covered = {
            "first_coverage": self.found.coverage(pair.first),
            "second_coverage": self.found.coverage(pair.second),
        }
        return {**_names(pair), "cases": pair.agreement.cases, **covered, **pair.agreement.figures}

    def together(self) -> Iterator[Table]:
        off = {rater.name for rater in self.found.raters if not rater.on_scale}
        levels = any(off.isdisjoint(each.members) for each in self.found.sets)
        of_sets = coefficients(of_pairs=False, nominal=self.found.nominal, levels=levels)
        rows: list[Row] = [
            {
                "raters": each.name, "members": Names(each.members), "count": each.found.raters,
                "shared": each.found.shared, "complete": each.found.complete, **each.found.figures,
            }
            for each in self.found.sets
        ]  # fmt: skip
        columns = [
            Column("raters"),
            Column("members", "raters", detail=True),
            *(Column(name, "count") for name in ("count", "shared", "complete")),
        ]
        yield from self._table("together", [*columns, *_figures(of_sets)], rows, detail=True)

    def people(self, found: AgainstPeople) -> Iterator[Table]:
        if found.benchmark:
            yield from self._benchmark(found.benchmark)
        once = [Note("each_case_once", {"what": Note("severity_drift_groups")})] if found.unweighted else []
        against = [Column("first_figure", "estimate"), Column("second_figure", "estimate")]
        against += [Column("difference", "estimate"), Column("standing", "key")]
        rows: list[Row] = [
            {"first": each.first, "second": each.second, "coefficient": each.figure, **_contrast(each.contrast)}
            for each in found.judges
        ]
        columns = [*TWO, Column("coefficient"), *against]
        margin: dict[str, object] = {"reference": found.reference, "margin": found.margin}
        yield from self._table("judges", columns, rows, detail=not self.plan.figure, about=margin)
        rows = [{"rater": one.person, "cases": one.cases, "difference": one.difference} for one in found.severity]
        columns = [Column("rater", "rater"), Column("cases", "count"), Column("difference", "estimate")]
        yield from self._table("severity", columns, rows, [*once, Note("holm")], detail=True)
        rows = [
            {"rater": one.rater, "reference": one.reference, "cases": one.cases, "change": one.change}
            for one in found.drift
        ]
        columns = [Column("rater", "rater"), Column("reference", "key"), Column("cases", "count")]
        columns.append(Column("change", "estimate"))
        yield from self._table("drift", columns, rows, [*once, Note("holm")], about={"over": self.plan.drift})
        for key, persons in (("group_errors", False), ("group_errors_of_people", True)):
            rows = [
                {"rater": each.rater, "group": name, "cases": group.cases, **group.figures}
                for each in found.groups
                if each.of_person is persons
                for name, group in each.groups
            ]
            columns = [Column("rater", "rater"), Column("group"), Column("cases", "count")]
            columns += [Column(name, "estimate") for name in ("mean_difference", "excess_mean_at_equal_scores")]
            told = [*once, Note("holm"), Note("at_equal_scores")]
            yield from self._table(key, columns, rows, told, about={"by": self.plan.by, "reference": found.reference})

    def _benchmark(self, found: JudgesAndPeople) -> Iterator[Table]:
        figure = COEFFICIENTS[found.benchmark.figure].label
        names = ("judge_figure", "person_figure")
        columns = [*(Column(name, "estimate") for name in names), Column("difference", "estimate")]
        columns.append(Column("standing", "key"))
        rows: list[Row] = [
            {"judge": judge, **_contrast(contrast, names)}
            for judge, contrast in zip(found.judges, found.benchmark.averages, strict=True)
        ]
        about: dict[str, object] = {"coefficient": figure, "margin": self.plan.margin}
        yield from self._table("benchmark", [Column("judge", "rater"), *columns], rows, about=about)
        rows = [
            {"judge": judge, "person": found.people[left.person], "cases": left.cases, **_contrast(contrast, names)}
            for left in found.benchmark.left_out
            for judge, contrast in zip(found.judges, left.judges, strict=True)
        ]
        named = [Column("judge", "rater"), Column("person", "rater"), Column("cases", "count")]
        yield from self._table("benchmark_left_out", [*named, *columns], rows, detail=True, about=about)

    def matrices(self) -> Iterator[Table]:
        for pair in self.found.pairs:
            counts, levels = pair.agreement.table, [str(plain(level)) for level in pair.levels]
            if isinstance(counts, Undefined) or not pair.agreement.cases:
                continue
            rows: list[Row] = [
                {"level": level, "counts": tuple(map(Level, levels, row))}
                for level, row in zip(levels, np.asarray(counts).tolist(), strict=True)
            ]
            columns = [Column("level"), Column("counts", "counts")]
            yield from self._table("confusion", columns, rows, detail=True, chart="matrix", about=_names(pair))


def _names(pair: RaterPair) -> dict[str, Cell]:
    return {"first": pair.first.name, "second": pair.second.name}


def _figures(every: Iterable[Coefficient], brief: Sequence[str] = ()) -> list[Column]:
    """A column for each coefficient; with `brief`, the others are shown where somebody asks for all."""
    return [
        Column(each.name, "estimate", each.label, each.reading, detail=bool(brief) and each.name not in brief)
        for each in every
    ]


def _contrast(
    found: Contrast, names: Sequence[str] = ("first_figure", "second_figure")
) -> Mapping[str, Estimate | str]:
    return {names[0]: found.first, names[1]: found.second, "difference": found.difference, "standing": found.standing}


ANALYSIS = Analysis(
    AgreementOptions,
    agree,
    (
        "pathway-local agreement my.run",
        "pathway-local agreement my.run --against author --by chatbot --min-group 5",
    ),
)
