"""Whether judges can stand in for people, and how well all raters agree: the analysis, its tables and notes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pathway_local.note import Note
from pathway_local.rater import JUDGES
from pathway_local.results.against_people import group_error_tables
from pathway_local.results.agreement import ScoreAgreement
from pathway_local.results.agreement_options import SECTION, TWO, AgreementOptions, Row, independence, people_table
from pathway_local.results.analysis import Analysis
from pathway_local.results.bad import BadAnswers, bad_answers, bad_table, check_bad, next_step
from pathway_local.results.between import between_rubrics
from pathway_local.results.fitted import with_fitted
from pathway_local.results.stand_in import stand_in
from pathway_local.results.table import Column, Level, Names, Table
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.coefficients import coefficients, confusion
from pathway_local.statistics.jackknife import Coefficient
from pathway_local.verdict import plain

BRIEF = ("exact", "within_one", "kappa", "kappa_quadratic")
"""Figures of pairs that are shown unasked."""

NO_LEVELS = ("spearman", "mean_difference", "mean_absolute_error")
"""The same where no two raters both keep to levels."""


def agree(data: Scores, options: AgreementOptions) -> Iterator[Table]:
    """Say whether judges can stand in for people, and show how well all raters agree, with intervals.

    The output holds no text and no case id.
    """
    if options.between:
        yield from between_rubrics(data, options)
        return
    rubrics = data.rated(options.rubric, options.named)
    known = {name: data.column(getattr(options, name)) for name in ("cluster", "by")}
    options = options.model_copy(update=known)
    if options.panel:
        data, tables = with_fitted(data, rubrics, options)
        yield from tables
    check_bad([*data.matrices(rubrics)], options.bad)
    for rubric in rubrics:
        yield from agreement_tables(data, data.matrices([rubric]), options)


def agreement_tables(data: Scores, matrices: Iterable[RatingsMatrix], options: AgreementOptions) -> list[Table]:
    """Every table about a rubric's scores; the raters come first, with what must be said of all."""
    every, tables = [ScoreAgreement(data, matrix, options) for matrix in matrices], list[Table]()
    for found, errors in zip(every, group_error_tables([each.people for each in every]), strict=True):
        bad = bad_answers(data, found.whole, options)
        figures = [*_pairs(found), *found.people.tables(), errors]
        tables += [*_bad(bad, options), _raters(found, bad), *(each for each in figures if each.rows)]
        tables += [*found.corrected, *_matrices(found)]
    return tables


def _bad(found: BadAnswers | None, options: AgreementOptions) -> Iterator[Table]:
    """Yield how many answers are bad by each judge, under the heading of the score."""
    for table in bad_table([found] if found else (), options.by, options.rater):
        first = table.rows[0]
        about = {name: first[name] for name in ("rubric", "score", "levels")} | dict(table.about)
        # The corrected mean says why there is no sample.
        notes = [note for note in table.notes if note.kind != "warning"]
        yield replace(table, about=about, notes=notes, heading=("rubric", "score"), section=SECTION)


def _raters(found: ScoreAgreement, bad: BadAnswers | None) -> Table:
    matrix = found.matrix
    columns = [
        Column("rater", "rater"), Column("kind", "key"), Column("scored", "count"),
        Column("rated", "count", detail=not any(rater.picked for rater in found.raters)),
        Column("coverage", "share"), Column("failures", "count", usual="0"),
        Column("other_texts", "count", usual="0", detail=True),
    ]  # fmt: skip
    rows: list[Row] = [
        {
            "rater": rater.name, "kind": rater.kind, "scored": rater.verdicts,
            "rated": rater.verdicts + rater.picked, "coverage": rater.verdicts / max(len(matrix.case_ids), 1),
            "failures": rater.failures, "other_texts": rater.other_texts,
        }
        for rater in found.raters
    ]  # fmt: skip
    notes = [Note(note.key, note.values, "answer") for note in stand_in(found)]
    if bad and (any(rater.kind in JUDGES for rater in found.raters) or not bad.matrix.scoring(*JUDGES)):
        notes.append(next_step(bad))
    notes += _notes(found)
    about: dict[str, object] = {"cases": len(matrix.case_ids)}
    about |= {"scale": "nominal" if matrix.nominal else "ordinal"}
    about |= {"levels": list(matrix.levels), "special": list(matrix.special)}
    return people_table(matrix, found.options, "raters", columns, rows, notes, about=about)


def _notes(found: ScoreAgreement) -> Iterator[Note]:
    options = found.options
    yield independence(options.cluster)
    if found.pairs:
        yield Note("for_these_raters")
    yield from found.notices
    yield from found.warnings


def _pairs(found: ScoreAgreement) -> Iterator[Table]:
    matrix, off = found.matrix, {rater.name for rater in found.raters if not rater.on_scale}
    levels = any(off.isdisjoint((pair["first"], pair["second"])) for pair in found.pairs)
    of_pairs = coefficients(of_pairs=True, nominal=matrix.nominal, levels=len(matrix.levels) if levels else 0)
    columns = [*TWO, Column("cases", "count")]
    columns += [Column(f"{side}_coverage", "share", detail=True) for side in ("first", "second")]
    columns += _figures(of_pairs, BRIEF if levels else NO_LEVELS)
    told = [Note("reads_pairs")] if levels and not matrix.nominal else []
    yield people_table(matrix, found.options, "pairs", columns, found.pairs, told)
    members = [each["members"] for each in found.sets]
    levels = any(isinstance(each, Names) and off.isdisjoint(each.names) for each in members)
    of_sets = coefficients(of_pairs=False, nominal=matrix.nominal, levels=len(matrix.levels) if levels else 0)
    columns = [Column("raters"), Column("members", "raters", detail=True)]
    columns += [Column(name, "count") for name in ("count", "shared")]
    yield people_table(matrix, found.options, "together", [*columns, *_figures(of_sets)], found.sets, detail=True)


def _matrices(found: ScoreAgreement) -> Iterator[Table]:
    """Yield how often each two raters gave which two levels, special ones included."""
    matrix, columns = found.matrix, [Column("level"), Column("counts", "counts")]
    levels = sorted([*matrix.levels, *matrix.special])
    names = [str(plain(level)) for level in levels]
    for pair in found.pairs:
        places = [matrix.columns(str(pair[side]))[0] for side in ("first", "second")]
        if not (pair["cases"] and all(matrix.raters[place].on_scale for place in places)):
            continue
        first, second = matrix.given[:, places].T
        counts = confusion(first, second, [*map(float, levels)])
        rows: list[Row] = [
            {"level": name, "counts": tuple(map(Level, names, row))}
            for name, row in zip(names, counts.tolist(), strict=True)
        ]
        about = {side: pair[side] for side in ("first", "second")}
        yield people_table(matrix, found.options, "confusion", columns, rows, detail=True, about=about)


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
