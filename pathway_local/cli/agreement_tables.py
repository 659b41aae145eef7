"""The tables of `pathway-local agreement` on a terminal."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from rich.table import Table

from pathway_local.cli.estimates import NAMES, Notes, Row, figure_table
from pathway_local.cli.terminal import data, hidden_groups, table
from pathway_local.results.against_people import AgainstPeople, JudgesAndPeople
from pathway_local.results.agreement import Pair, ScoreAgreement
from pathway_local.statistics.agreement import ANY_NUMBER, NOMINAL, ON_SCALE
from pathway_local.statistics.ceiling import Contrast
from pathway_local.statistics.figure import Undefined
from pathway_local.statistics.reliability import ALPHA, GWET, ICC

SHOWN_MATRICES = 6
"""Confusion matrices that fit on a page; of more pairs, files and JSON hold them."""


def show(found: Iterable[ScoreAgreement], smallest: int) -> None:
    """Print all tables of each score, and what there is to know about them."""
    for each in found:
        _show(each, smallest)


def _show(found: ScoreAgreement, smallest: int) -> None:
    data.print(_raters(found))
    notes = Notes()
    for made in (*_pair_tables(found, notes), *_set_tables(found, notes), *_people_tables(found, notes)):
        if made:
            data.print(made)
    matrices = [
        pair for pair in found.pairs if not isinstance(pair.agreement.table, Undefined) and pair.agreement.cases
    ]
    if len(matrices) <= SHOWN_MATRICES:
        for pair in matrices:
            data.print(_matrix(found, pair))
    lines = [*notes.lines(found.cluster), *_remarks(found, smallest)]
    if len(matrices) > SHOWN_MATRICES:
        lines.append(f"{len(matrices)} confusion matrices: --json has them, --rater A --rater B shows one.")
    for line in lines:
        data.print(line, soft_wrap=True)
    data.print()


def _raters(found: ScoreAgreement) -> Table:
    rows = [
        [rater.name, rater.kind, f"{rater.verdicts:,}", f"{found.coverage(rater):.0%}", f"{rater.failures or ''}"]
        for rater in found.raters
    ]
    title = f"{found.rubric} {found.score}: {found.cases:,} cases"
    return table(title, ["rater", "kind", "scored", "coverage", "failed"], rows, left=2)


def _pair_tables(found: ScoreAgreement, notes: Notes) -> Iterator[Table | None]:
    def words(pair: Pair) -> list[str]:
        covered = f"{found.coverage(pair.first):.0%}\n{found.coverage(pair.second):.0%}"
        return [f"{pair.first.name}\n{pair.second.name}", covered, f"{pair.agreement.cases:,}"]

    heads = ["pair", "coverage", "both"]
    rows: list[Row] = [(words(pair), pair.agreement.figures) for pair in found.pairs]
    if not rows:
        return
    yield figure_table("agreement of pairs", heads, NOMINAL if found.nominal else ON_SCALE, rows, notes)
    yield figure_table("order and distance", heads, ANY_NUMBER, rows, notes)
    special: list[Row] = []
    for pair in found.pairs:
        if pair.special:
            counts = (pair.special.both, pair.special.first_only, pair.special.second_only, pair.special.neither)
            said = [f"{pair.first.name}\n{pair.second.name}", *map(str, counts)]
            special.append((said, {"exact": pair.special.exact, "kappa": pair.special.kappa}))
    values = ", ".join(map(str, found.special))
    heads = ["pair", "both", "first only", "second only", "neither"]
    yield figure_table(f"whether it is special ({values})", heads, NOMINAL, special, notes)


def _set_tables(found: ScoreAgreement, notes: Notes) -> Iterator[Table | None]:
    rows: list[Row] = [([each.name, f"{each.found.shared:,}"], each.found.figures) for each in found.sets]
    yield figure_table("beyond chance", ["raters", "cases"], (*ALPHA, *GWET[:1]), rows, notes)
    complete: list[Row] = [([each.name, f"{each.found.complete:,}"], each.found.figures) for each in found.sets]
    rest = (*GWET[1:], *ICC)
    yield figure_table("beyond chance, on complete cases for ICC", ["raters", "complete"], rest, complete, notes)


def _people_tables(found: ScoreAgreement, notes: Notes) -> Iterator[Table | None]:
    people = found.people
    if people.ceiling:
        yield _ceiling(people.ceiling, notes)
    if people.judges:
        rows = [
            [each.first, each.second, NAMES[each.figure], *_contrast(each.contrast, notes, (each.first, each.second))]
            for each in people.judges
        ]
        heads = ["first", "second", "figure", "first", "second", "first better by", "the first is"]
        yield table(f"two judges against {people.reference}, margin {people.margin:g}", heads, rows, left=3)
    yield from _groups(people, notes)


def _ceiling(found: JudgesAndPeople, notes: Notes) -> Table:
    rows = [
        [judge, found.people[left.person], f"{left.cases:,}", *_contrast(contrast, notes, (judge, ""))]
        for left in found.ceiling.left_out
        for judge, contrast in zip(found.judges, left.judges, strict=True)
    ]
    rows += [
        [judge, "the average person", "", *_contrast(contrast, notes, (judge, ""))]
        for judge, contrast in zip(found.judges, found.ceiling.averages, strict=True)
    ]
    title = f"human ceiling: {NAMES[found.ceiling.figure]} with the mean of the other people"
    heads = ["judge", "person left out", "cases", "judge", "person", "judge better by", "the judge is"]
    return table(title, heads, rows, left=2)


def _contrast(found: Contrast, notes: Notes, names: Sequence[str]) -> list[str]:
    return [*(notes.cell(each, names) for each in (found.first, found.second, found.difference)), found.standing]


def _groups(people: AgainstPeople, notes: Notes) -> Iterator[Table]:
    rows = [
        [
            judge.judge,
            name,
            f"{group.cases:,}",
            *(notes.cell(each) for each in (group.signed, group.absolute, group.excess)),
        ]
        for judge in people.groups
        for name, group in judge.groups
    ]
    if rows:
        heads = ["judge", people.by, "cases", "mean error", "mean abs. error", "above the others by"]
        title = f"errors against {people.reference} by {people.by}, intervals for all groups at once (Holm)"
        yield table(title, heads, rows, left=2)


def _matrix(found: ScoreAgreement, pair: Pair) -> Table:
    counts = np.asarray(pair.agreement.table)
    rows = [[str(level), *map(str, row)] for level, row in zip(found.levels, counts.tolist(), strict=True)]
    title = f"rows: {pair.first.name}, columns: {pair.second.name}"
    return table(title, ["", *map(str, found.levels)], rows)


def _remarks(found: ScoreAgreement, smallest: int) -> Iterator[str]:
    if found.pairs:
        yield "Intervals speak of these raters on other cases like these: the raters are held fixed."
        if not found.nominal:
            yield "Mean difference: first minus second, so above zero the second is stricter."
    yield from (f"Note: {notice}." for notice in (*found.people.missing, *found.notices))
    hidden = max((each.hidden for each in found.people.groups), default=0)
    if hidden:
        yield hidden_groups(hidden, found.people.by, smallest)
