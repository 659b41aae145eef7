"""Whether judges can stand in for people, and how well all raters agree: the analysis, its tables and notes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from pathway_local.note import Note
from pathway_local.results.against_people import Families
from pathway_local.results.agreement import RaterPair, ScoreAgreement, score_agreement
from pathway_local.results.agreement_options import SECTION, TWO, AgreementOptions, Row, people_table
from pathway_local.results.analysis import Analysis
from pathway_local.results.ratings import Ratings
from pathway_local.results.ratings_matrix import MatrixRater, RatingsMatrix, ratings_matrices
from pathway_local.results.stand_in import stand_in
from pathway_local.results.table import Column, Level, Names, Table
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.coefficients import COEFFICIENTS, Coefficient, coefficients
from pathway_local.statistics.figure import Undefined
from pathway_local.verdict import plain

BRIEF = ("exact", "within_one", "kappa", "kappa_quadratic")
"""Figures of pairs that are shown unasked."""

NO_LEVELS = ("spearman", "mean_difference", "mean_absolute_error")
"""The same where no two raters both keep to levels."""


def agree(data: Ratings, options: AgreementOptions) -> Iterator[Table]:
    """Say whether judges can stand in for people, and show how well all raters agree, with intervals.

    The output holds no text and no case id.
    """
    options.check()
    rubrics = data.rated(options.rubric, options.named)
    known = {name: data.column(getattr(options, name)) for name in ("cluster", "by")}
    options = options.model_copy(update=known)
    for rubric in rubrics:
        yield from agreement_tables(data.run, ratings_matrices(data.run, rubric), options)


def agreement_tables(run: RunFile, matrices: Iterable[RatingsMatrix], options: AgreementOptions) -> list[Table]:
    """Every table about a rubric's scores; the raters come first, with what must be said of all."""
    families, tables = Families(), list[Table]()
    for matrix in matrices:
        found = score_agreement(run, matrix, options)
        made = _Tables(found)
        figures = [*made.pairs(), made.together(), *found.people.tables(families)]
        tables += [made.raters(), *(each for each in figures if each.rows)]
        tables += [*found.corrected.tables, *found.doubt, *made.matrices()]
    families.fill_in()
    return tables


class _Tables:
    """Makes the tables of one score about its raters."""

    def __init__(self, found: ScoreAgreement) -> None:
        self.found, self.matrix, self.options = found, found.matrix, found.options

    def _table(
        self, key: str, columns: Sequence[Column], rows: Sequence[Row], notes: Sequence[Note] = (), *,
        detail: bool = False, about: Mapping[str, object] | None = None,
    ) -> Table:  # fmt: skip
        return people_table(self.matrix, self.options, key, columns, rows, notes, detail=detail, about=about)

    def _coverage(self, rater: MatrixRater) -> float:
        """The share of the cases that the rater scored."""
        return rater.verdicts / max(len(self.matrix.case_ids), 1)

    def raters(self) -> Table:
        matrix, raters = self.matrix, self.found.raters
        columns = [
            Column("rater", "rater"), Column("kind", "key"), Column("scored", "count"),
            Column("rated", "count", detail=not any(rater.picked for rater in raters)),
            Column("coverage", "share"), Column("failures", "count", usual="0"),
            Column("other_texts", "count", usual="0", detail=True),
        ]  # fmt: skip
        rows: list[Row] = [
            {
                "rater": rater.name, "kind": rater.kind, "scored": rater.verdicts,
                "rated": rater.verdicts + rater.picked, "coverage": self._coverage(rater),
                "failures": rater.failures, "other_texts": rater.other_texts,
            }
            for rater in raters
        ]  # fmt: skip
        notes = [*(Note(note.key, note.values, "answer") for note in stand_in(self.found)), *self._notes()]
        shared: dict[str, object] = {"rubric": matrix.rubric, "score": matrix.score, "cases": len(matrix.case_ids)}
        shared |= {"scale": "nominal" if matrix.nominal else "ordinal"}
        shared |= {"levels": list(matrix.levels), "special": list(matrix.special)}
        shared |= {"cluster": self.options.cluster} if self.options.cluster else {}
        return Table("raters", shared, columns, rows, notes, heading=("rubric", "score"), section=SECTION)

    def _notes(self) -> Iterator[Note]:
        found, options = self.found, self.options
        yield Note("together", {"column": options.cluster}) if options.cluster else Note("cases_alone")
        if found.pairs:
            yield Note("for_these_raters")
        yield from found.notices
        if hidden := found.people.hidden:
            yield Note("hidden_groups", {"count": hidden, "by": options.by, "smallest": options.smallest}, "note")
        if options.looks > 1 and found.corrected.answers:
            yield Note("looks", {"count": options.looks}, "note")
        yield from found.warnings

    def pairs(self) -> Iterator[Table]:
        found, nominal = self.found, self.matrix.nominal
        levels = any(pair.first.on_scale and pair.second.on_scale for pair in (*found.pairs, *found.twice))
        of_pairs = coefficients(of_pairs=True, nominal=nominal, levels=levels)
        columns = [*TWO, Column("cases", "count"), Column("first_coverage", "share", detail=True)]
        columns += [
            Column("second_coverage", "share", detail=True),
            *_figures(of_pairs, BRIEF if levels else NO_LEVELS),
        ]
        told = [Note("reads_pairs")] if levels and not nominal else []
        yield self._table("pairs", columns, [self._pair(pair) for pair in found.pairs], told)
        rows: list[Row] = [
            {**_names(pair), **pair.special.counts, **pair.special.figures} for pair in found.pairs if pair.special
        ]
        counts = [Column(name, "count") for name in ("both", "first_only", "second_only", "neither")]
        own = [COEFFICIENTS[name] for name in ("exact", "kappa")]
        about = {"levels": list(self.matrix.special)}
        yield self._table("special", [*TWO, *counts, *_figures(own)], rows, detail=True, about=about)
        rows = [self._pair(pair) for pair in found.twice]
        brief = ("exact", "kappa") if nominal else ("exact", "within_one", "kappa_quadratic", "mean_difference")
        columns = [*TWO, Column("cases", "count"), *_figures(of_pairs, brief if levels else NO_LEVELS)]
        yield self._table("twice", columns, rows)

    def _pair(self, pair: RaterPair) -> Row:
        covered = {"first_coverage": self._coverage(pair.first), "second_coverage": self._coverage(pair.second)}
        return {**_names(pair), "cases": pair.agreement.cases, **covered, **pair.agreement.figures}

    def together(self) -> Table:
        off = {rater.name for rater in self.found.raters if not rater.on_scale}
        levels = any(off.isdisjoint(each.members) for each in self.found.sets)
        of_sets = coefficients(of_pairs=False, nominal=self.matrix.nominal, levels=levels)
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
        return self._table("together", [*columns, *_figures(of_sets)], rows, detail=True)

    def matrices(self) -> Iterator[Table]:
        for pair in self.found.pairs:
            counts, levels = pair.agreement.table, [str(plain(level)) for level in self.matrix.grid(pair.places)]
            if isinstance(counts, Undefined) or not pair.agreement.cases:
                continue
            rows: list[Row] = [
                {"level": level, "counts": tuple(map(Level, levels, row))}
                for level, row in zip(levels, np.asarray(counts).tolist(), strict=True)
            ]
            columns = [Column("level"), Column("counts", "counts")]
            yield people_table(
                self.matrix, self.options, "confusion", columns, rows, detail=True, chart="matrix", about=_names(pair)
            )


def _names(pair: RaterPair) -> Row:
    return {"first": pair.first.name, "second": pair.second.name}


def _figures(every: Iterable[Coefficient], brief: Sequence[str] = ()) -> list[Column]:
    """A column for each coefficient; with `brief`, the others are shown where somebody asks for all."""
    return [
        Column(each.name, "estimate", each.label, each.reading, detail=bool(brief) and each.name not in brief)
        for each in every
    ]


ANALYSIS = Analysis(
    AgreementOptions,
    agree,
    (
        "pathway-local agreement my.run",
        "pathway-local agreement my.run --against author --by chatbot --min-group 5",
    ),
)
