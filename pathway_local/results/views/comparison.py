"""Comparisons of two chatbots as one table and words."""

from collections.abc import Sequence

from pathway_local.results.comparison import Comparison
from pathway_local.results.views.cells import Cells
from pathway_local.results.views.view import Remarks, TableView, View
from pathway_local.statistics.figure import Estimate, Undefined


def comparison_view(found: Sequence[Comparison]) -> View:
    """A row for each score and rater, and a sentence for each; `found` has at least one."""
    cells = Cells()
    first, second = found[0].first.name, found[0].second.name
    heads = ("rubric", "score", "rater", "pairs", f"{first} higher", "same", f"{second} higher", f"{first} − {second}")
    rows = tuple(_row(each, cells) for each in found)
    remarks = [comparison_remarks(each) for each in found]
    where = [f"{each.rubric} {each.score}: " for each in found]
    sentences = [f"{at}{line}" for at, each in zip(where, remarks, strict=True) for line in each.sentences]
    notes = tuple(f"{at}{line}" for at, each in zip(where, remarks, strict=True) for line in each.notes)
    table = TableView(f"{first} against {second}, paired by {found[0].pair_by}", heads, rows, 3)
    said = Remarks((*cells.sentences(found[0].cluster), *sentences), notes)
    return View((table,), said, cells.footnotes())


def comparison_remarks(each: Comparison) -> Remarks:
    """What one rater's scores come to, and which questions and answers do not count."""
    notes = []
    if not isinstance(each.found, Undefined):
        if each.unpaired or each.first.scored < each.first.cases or each.second.scored < each.second.cases:
            sides = (each.first, each.second)
            covered = " and ".join(f"{side.scored:,} of {side.cases:,} answers of {side.name}" for side in sides)
            notes.append(f"{each.rater} scored {covered}.")
            notes.append(f"{each.unpaired:,} questions have a score on one side only and are left out.")
        if each.several:
            notes.append(f"{each.several:,} questions have several answers of one side: their mean counts.")
    return Remarks((each.sentence,), tuple(notes))


def _row(each: Comparison, cells: Cells) -> tuple[str, ...]:
    names = (each.rubric, each.score, each.rater)
    if isinstance(each.found, Undefined):
        return *names, "", "", "", "", cells.cell(Estimate(each.found, each.found))
    counts = (each.found.pairs, each.found.wins, each.found.ties, each.found.losses)
    return *names, *(f"{count:,}" for count in counts), cells.cell(each.found.difference)
