"""Comparisons of two chatbots as one table, as words, and as figures with those words."""

from collections.abc import Iterator, Sequence

from pathway_local.results.comparison import Comparison, PairedComparison
from pathway_local.results.figure_row import FigureRow
from pathway_local.results.views.cells import Cells
from pathway_local.results.views.view import Remarks, TableView, View
from pathway_local.statistics.figure import Estimate, Interval, Undefined, undefined_estimate
from pathway_local.verdict import Value

UNEVEN = 0.5
"""Effective clusters per cluster below which a note says that they are uneven."""


class WordedComparison:
    """A comparison as files of figures and JSON hold it: with its sentence."""

    def __init__(self, found: Comparison) -> None:
        self.found = found
        self.rubric, self.score = found.rubric, found.score

    def rows(self) -> Iterator[FigureRow]:
        """The difference as a row."""
        each, found = self.found, self.found.found
        facts: dict[str, Value] = {"rater": each.rater}
        if isinstance(found, Undefined):
            estimate = undefined_estimate(found.reason)
        else:
            estimate = found.difference
            facts |= {"pairs": found.pairs, "wins": found.wins, "ties": found.ties, "losses": found.losses}
            for place, side in (("first", each.first), ("second", each.second)):
                facts |= {f"{place}_cases": side.cases, f"{place}_scored": side.scored}
        facts |= {"unpaired": each.unpaired, "margin": each.plan.margin, "family": each.family}
        facts["sentence"] = _sentence(each)
        names, raters = (each.first.name, each.second.name), (each.rater,)
        yield FigureRow("compare", "mean_difference", estimate, *names, facts=facts, raters=raters)

    def as_json(self) -> dict[str, Value]:
        """The row with the column of clusters."""
        (row,) = self.rows()
        named = {"rubric": self.rubric, "score": self.score, "cluster_by": self.found.plan.cluster or None}
        return named | row.as_json()


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
    table = TableView(f"{first} against {second}, paired by {found[0].plan.pair_by}", heads, rows, 3)
    made = [*cells.sentences(found[0].plan.cluster), *_family(max(each.family for each in found))]
    said = Remarks((*made, *sentences), notes)
    return View((table,), said, cells.footnotes())


def _family(size: int) -> list[str]:
    if size < 2:
        return []
    return [
        f"This command tests {size} differences, so the intervals are wider (Holm's levels): if the chatbots were "
        "equal, at least one of them would exclude zero in 5% of the files. To test fewer, name the --rubric and "
        "--rater that you chose beforehand."
    ]


def comparison_remarks(each: Comparison) -> Remarks:
    """Say how one rater's scores compare, and which questions and answers do not count."""
    notes = []
    if not isinstance(each.found, Undefined):
        if each.unpaired or each.first.scored < each.first.cases or each.second.scored < each.second.cases:
            sides = (each.first, each.second)
            covered = " and ".join(f"{side.scored:,} of {side.cases:,} answers of {side.name}" for side in sides)
            notes.append(f"{each.rater} scored {covered}.")
            notes.append(f"{each.unpaired:,} questions have a score on one side only and are left out.")
        if each.several:
            notes.append(f"{each.several:,} questions have several answers of one side: their mean counts.")
        notes += _uneven(each.found, each.plan.cluster)
    return Remarks((_sentence(each),), tuple(notes))


def _uneven(found: PairedComparison, cluster: str) -> list[str]:
    interval = found.difference.interval
    if not cluster or isinstance(interval, Undefined) or found.effective > interval.clusters * UNEVEN:
        return []
    return [
        f"A few values of {cluster} have most of the questions: the {interval.clusters:,} of them tell as much as "
        f"about {found.effective:.0f} with equally many questions, and the interval allows for that."
    ]


def _sentence(each: Comparison) -> str:
    a, b = each.first.name, each.second.name
    missing = f"By {each.rater}, {a} and {b} can't be compared, because"
    if isinstance(each.found, Undefined):
        return f"{missing} {each.found.reason}."
    difference, interval = each.found.difference.value, each.found.difference.interval
    if isinstance(difference, Undefined):
        return f"{missing} {difference.reason}."
    apart = f"{abs(difference):.2f} points {'above' if difference > 0 else 'below'}"
    means = f"on {each.found.pairs:,} questions {a} scores {apart if round(difference, 2) else 'as high as'} {b}"
    if isinstance(interval, Undefined):
        return f"By {each.rater}, {means} on average; there is no interval, because {interval.reason}."
    wider = f", wider because of {each.family} comparisons," if each.family > 1 else ""
    sure = f"95% interval{wider} of {a} minus {b}: {interval.low:.2f} to {interval.high:.2f}"
    return f"By {each.rater}, {means} on average ({sure}): {_which_is_better(a, b, interval, each.plan.margin)}."


def _which_is_better(a: str, b: str, interval: Interval, margin: float) -> str:
    near = -margin < interval.low and interval.high < margin
    if interval.low > 0 or interval.high < 0:
        though = f", though by less than the margin of {margin:g}" if near else ""
        return f"{a if interval.low > 0 else b} is better{though}"
    if near:
        return f"neither is better than the other by the margin of {margin:g}"
    unclear = "the data do not show which is better"
    if margin and (interval.low > -margin or interval.high < margin):
        return f"{a if interval.low > -margin else b} is not worse by the margin of {margin:g}, but {unclear}"
    return unclear


def _row(each: Comparison, cells: Cells) -> tuple[str, ...]:
    names = (each.rubric, each.score, each.rater)
    if isinstance(each.found, Undefined):
        return *names, "", "", "", "", cells.cell(Estimate(each.found, each.found))
    counts = (each.found.pairs, each.found.wins, each.found.ties, each.found.losses)
    return *names, *(f"{count:,}" for count in counts), cells.cell(each.found.difference)
