"""Agreement as tables and words."""

from collections.abc import Iterator

import numpy as np

from pathway_local.results.against_people import MEAN_OF_OTHERS, AgainstPeople, JudgesAndPeople
from pathway_local.results.agreement import Pair, ScoreAgreement, Set
from pathway_local.results.views.cells import Cells, Row, figure_table
from pathway_local.results.views.stand_in import stand_in
from pathway_local.results.views.view import Remarks, TableView, View, hidden_groups
from pathway_local.statistics.coefficients import COEFFICIENTS, coefficients
from pathway_local.statistics.figure import Undefined
from pathway_local.statistics.human_benchmark import Contrast
from pathway_local.statistics.levels import WITHIN, GroupedCorrelation
from pathway_local.statistics.resampling import OTHER_RATERS
from pathway_local.system.visible import visible

SHOWN_MATRICES = 6
"""Confusion matrices that fit on a page; files and JSON hold those of more pairs."""

FIGURES_PER_TABLE = 4
"""Columns of figures that fit on a line behind the raters' names."""


def agreement_view(found: ScoreAgreement) -> View:
    """All tables of one score, and remarks about them; the remarks' answer comes first."""
    cells = Cells()
    matrices = [
        pair for pair in found.pairs if not isinstance(pair.agreement.table, Undefined) and pair.agreement.cases
    ]
    shown = matrices if len(matrices) <= SHOWN_MATRICES else []
    tables = (
        _raters(found),
        *_pair_tables(found, cells),
        *_twice_table(found, cells),
        *_level_table(found, cells),
        *_set_tables(found, cells),
        *_people_tables(found, cells),
        *(_matrix(found, pair) for pair in shown),
    )
    sentences = [*cells.sentences(found.plan.cluster)]
    if found.pairs:
        others = " Only those of ICC by F allow for other raters." if OTHER_RATERS in cells.methods else ""
        sentences.append(f"The intervals hold for these raters on other cases like these, not for others.{others}")
    sentences += [*_of_level(found), *_of_groups(found)]
    if len(matrices) > len(shown):
        sentences.append(f"{len(matrices)} confusion matrices: --json has them; --full --rater A --rater B shows one.")
    remarks = Remarks(tuple(sentences), _notes(found), found.warnings, _readings(found), stand_in(found))
    return View(tables, remarks, cells.footnotes(), _title(found))


def agreement_in_short(found: ScoreAgreement) -> View:
    """The answer, the raters, and what the plan asks for by name: a figure of two judges, groups of cases."""
    cells = Cells()
    asked = _two_judges(found.people, cells) if found.plan.figure else ()
    tables = (
        _raters(found),
        *_twice_table(found, cells),
        *_level_table(found, cells),
        *asked,
        *_drift(found, cells),
        *_groups(found.people, found.plan.by, cells),
    )
    remarks = Remarks(
        (*cells.sentences(found.plan.cluster), *_of_level(found), *_of_groups(found)),
        _notes(found),
        found.warnings,
        answer=stand_in(found),
    )
    return View(tables, remarks, cells.footnotes(), _title(found))


def _of_level(found: ScoreAgreement) -> list[str]:
    column = found.plan.level_column
    if not any(pair.at_level for pair in found.pairs):
        return []
    if found.plan.level == "system":
        together = "" if found.plan.cluster else " Name what the systems share, such as the document, with --cluster."
        return [f"System level: the correlation of the raters' means of each {column}, for these systems.{together}"]
    return [
        f"Document level: the mean of the correlations within each {column}, which count once each; those in which a "
        "rater gave only one score are left out."
    ]


def _of_groups(found: ScoreAgreement) -> list[str]:
    if not found.people.groups:
        return []
    return [
        "At equal scores: how much higher the rater scores the group than other cases that are equally good by people; "
        "where two people rated a case, each one's score corrects for the noise in the other's. If its interval leaves "
        "0 out, the rater treats the group differently; a mean error alone does not show that."
    ]


def _title(found: ScoreAgreement) -> str:
    return f"{found.rubric} {found.score}"


def _notes(found: ScoreAgreement) -> tuple[str, ...]:
    notes = [f"{notice}." for notice in (*found.people.missing, *found.notices)]
    if hidden := max((each.hidden for each in found.people.groups), default=0):
        notes.append(f"{hidden_groups(hidden, found.plan.by, found.plan.smallest)}.")
    return tuple(notes)


def judges_and_people(found: ScoreAgreement) -> View:
    """How far judges agree with people: by itself, beyond chance, and against the human benchmark, if there is one."""
    cells = Cells()
    rows: list[Row] = [
        (["\n".join(pair.names), f"{pair.agreement.cases:,}"], pair.agreement.figures)
        for pair in found.pairs
        if pair.second.kind == "human" and pair.first.kind != "human"
    ]
    labels = {name: COEFFICIENTS[name].label for name in ("exact", "within_one", "kappa", "kappa_quadratic")}
    tables = [*figure_table("judges and people", ["pair", "both"], labels, rows, cells)]
    if found.people.benchmark:
        tables.append(_benchmark(found.people.benchmark, cells))
    readings = {name: reading for name, reading in _readings(found).items() if name in labels}
    remarks = Remarks((*cells.sentences(found.plan.cluster),), readings=readings, answer=stand_in(found))
    return View(tuple(tables), remarks, cells.footnotes())


def _raters(found: ScoreAgreement) -> TableView:
    rows = tuple(
        (rater.name, rater.kind, rater.scored, f"{found.coverage(rater):.0%}", f"{rater.failures or ''}")
        for rater in found.raters
    )
    return TableView(f"{found.cases:,} cases", ("rater", "kind", "scored", "coverage", "failed"), rows, 2)


def _pair_tables(found: ScoreAgreement, cells: Cells) -> Iterator[TableView]:
    def words(pair: Pair) -> list[str]:
        covered = f"{found.coverage(pair.first):.0%}\n{found.coverage(pair.second):.0%}"
        return ["\n".join(pair.names), covered, f"{pair.agreement.cases:,}"]

    heads = ["pair", "coverage", "both"]
    rows: list[Row] = [(words(pair), pair.agreement.figures) for pair in found.pairs]
    of_pairs = coefficients(of_pairs=True, nominal=found.nominal)
    for title, needs_levels in (("agreement of pairs", True), ("order and distance", False)):
        labels = {each.name: each.label for each in of_pairs if each.needs_levels is needs_levels}
        yield from figure_table(title, heads, labels, rows, cells)
    special: list[Row] = []
    for pair in found.pairs:
        if pair.special:
            said = ["\n".join(pair.names), *map(str, pair.special.counts.values())]
            special.append((said, pair.special.figures))
    title = f"whether it is special ({', '.join(map(str, found.special))})"
    heads = ["pair", "both", "first only", "second only", "neither"]
    labels = {name: COEFFICIENTS[name].label for name in ("exact", "kappa")}
    yield from figure_table(title, heads, labels, special, cells)


def _twice_table(found: ScoreAgreement, cells: Cells) -> Iterator[TableView]:
    rows: list[Row] = [
        (["\n".join(pair.names), f"{pair.agreement.cases:,}"], pair.agreement.figures) for pair in found.twice
    ]
    names = ("exact", "kappa") if found.nominal else ("exact", "within_one", "kappa_quadratic", "mean_difference")
    labels = {name: COEFFICIENTS[name].label for name in names}
    yield from figure_table("the same person twice", ["pair", "both"], labels, rows, cells)


def _level_table(found: ScoreAgreement, cells: Cells) -> Iterator[TableView]:
    level = found.plan.level
    rows: list[Row] = [
        (["\n".join(pair.names), _used(pair.at_level)], pair.at_level.figures) for pair in found.pairs if pair.at_level
    ]
    labels = {name: COEFFICIENTS[name].label for name in WITHIN}
    title = f"{level} level: correlation by {found.plan.level_column}"
    yield from figure_table(title, ["pair", f"{level}s"], labels, rows, cells)


def _used(found: GroupedCorrelation) -> str:
    return f"{found.groups:,}" if found.used == found.groups else f"{found.used:,} of {found.groups:,}"


def _set_tables(found: ScoreAgreement, cells: Cells) -> Iterator[TableView]:
    rows: list[Row] = [
        ([_set_name(each), f"{each.found.shared:,}", f"{each.found.complete:,}"], each.found.figures)
        for each in found.sets
    ]
    labels = [(each.name, each.label) for each in coefficients(of_pairs=False, nominal=found.nominal)]
    for start in range(0, len(labels), FIGURES_PER_TABLE):
        some = dict(labels[start : start + FIGURES_PER_TABLE])
        yield from figure_table("beyond chance", ["raters", "shared", "complete"], some, rows, cells)


def _set_name(found: Set) -> str:
    return "\n".join(found.members) if len(found.members) == 2 else found.name


def _people_tables(found: ScoreAgreement, cells: Cells) -> Iterator[TableView]:
    if found.people.benchmark:
        yield _benchmark(found.people.benchmark, cells)
    yield from _two_judges(found.people, cells)
    yield from _severity(found.people, cells)
    yield from _drift(found, cells)
    yield from _groups(found.people, found.plan.by, cells)


def _two_judges(people: AgainstPeople, cells: Cells) -> Iterator[TableView]:
    if people.judges:
        rows = tuple(
            (
                each.first,
                each.second,
                COEFFICIENTS[each.figure].label,
                *_contrast(each.contrast, cells),
            )
            for each in people.judges
        )
        heads = ("first", "second", "figure", "first", "second", "first better by", "the first is")
        yield TableView(f"two judges against {people.reference}, margin {people.margin:g}", heads, rows, 3)


def _severity(people: AgainstPeople, cells: Cells) -> Iterator[TableView]:
    if people.severity:
        rows = tuple((each.person, f"{each.cases:,}", cells.cell(each.difference)) for each in people.severity)
        title = f"severity: each person less the {MEAN_OF_OTHERS}, intervals for all at once (Holm){_once(people)}"
        yield TableView(title, ("person", "cases", "mean difference"), rows)


def _drift(found: ScoreAgreement, cells: Cells) -> Iterator[TableView]:
    if found.people.drift:
        rows = tuple(
            (each.rater, each.reference, f"{each.cases:,}", cells.cell(each.change)) for each in found.people.drift
        )
        moved = f"scores at the last {found.plan.drift} less those at the first"
        title = f"drift: {moved}, at equal scores, for all raters and scores at once (Holm){_once(found.people)}"
        yield TableView(title, ("rater", "against", "cases", "change"), rows, 2)


def _once(people: AgainstPeople) -> str:
    """The end of a title of figures that do not weigh cases, where the sample is uneven."""
    return ", each case counts once" if people.unweighted else ""


def _benchmark(found: JudgesAndPeople, cells: Cells) -> TableView:
    rows = [
        (judge, found.people[left.person], f"{left.cases:,}", *_contrast(contrast, cells))
        for left in found.benchmark.left_out
        for judge, contrast in zip(found.judges, left.judges, strict=True)
    ]
    rows += [
        (judge, "the average person", "", *_contrast(contrast, cells))
        for judge, contrast in zip(found.judges, found.benchmark.averages, strict=True)
    ]
    title = f"human benchmark: {COEFFICIENTS[found.benchmark.figure].label} with the mean of the other people"
    heads = ("judge", "person left out", "cases", "judge", "person", "judge better by", "the judge is")
    return TableView(title, heads, tuple(rows), 2)


def _contrast(found: Contrast, cells: Cells) -> tuple[str, ...]:
    return *(cells.cell(each) for each in (found.first, found.second, found.difference)), found.standing


def _groups(people: AgainstPeople, by: str, cells: Cells) -> Iterator[TableView]:
    against = f"errors against {people.reference} by {by}, for all groups, judges and scores at once (Holm)"
    for title, persons in (
        (f"{against}{_once(people)}", False),
        (f"for comparison, errors of each person against the {MEAN_OF_OTHERS}{_once(people)}", True),
    ):
        rows = tuple(
            (each.rater, visible(name), f"{group.cases:,}", *map(cells.cell, group.figures.values()))
            for each in people.groups
            if each.of_person is persons
            for name, group in each.groups
        )
        if rows:
            heads = ("rater", by, "cases", "mean error", "at equal scores")
            yield TableView(title, heads, rows, 2)


def _matrix(found: ScoreAgreement, pair: Pair) -> TableView:
    counts = np.asarray(pair.agreement.table).tolist()
    rows = tuple((str(level), *map(str, row)) for level, row in zip(found.levels, counts, strict=True))
    title = f"rows: {pair.first.name}, columns: {pair.second.name}"
    return TableView(title, ("", *map(str, found.levels)), rows)


def _readings(found: ScoreAgreement) -> dict[str, str]:
    """Say how to read each coefficient that the tables show."""
    figures = [*(pair.agreement.figures for pair in found.pairs), *(each.found.figures for each in found.sets)]
    shown = {name for each in figures for name in each}
    return {name: f"{each.label}: {each.reading}" for name, each in COEFFICIENTS.items() if name in shown}
