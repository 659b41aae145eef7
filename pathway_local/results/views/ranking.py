"""Rankings of chatbots as a table and as words."""

from pathway_local.results.ranking import Ranking
from pathway_local.results.views.cells import Cells
from pathway_local.results.views.view import Remarks, TableView, View
from pathway_local.statistics.bradley_terry import Strengths
from pathway_local.statistics.figure import Estimate, Interval, Undefined, percent
from pathway_local.system.visible import visible


def ranking_view(found: Ranking) -> View:
    """A row for each chatbot, the best first, and a sentence about the first two."""
    cells = Cells()
    heads = ("chatbot", "wins", "ties", "losses", "wins against an average one")
    rows = tuple(
        (visible(bot), *map(str, counts), cells.cell(found.chance(place)))
        for place, (bot, counts) in enumerate(zip(found.bots, found.counts, strict=True))
    )
    remarks = ranking_remarks(found)
    said = Remarks((*cells.sentences(found.plan.cluster), *remarks.sentences), remarks.notes)
    table = TableView(f"{found.rubric} by {found.rater}: {found.cases:,} choices", heads, rows)
    return View((table,), said, cells.footnotes())


def ranking_remarks(found: Ranking) -> Remarks:
    """Say whether the rater prefers the first chatbot to the second, and which cases do not count."""
    notes = ["A tie, or a choice that flipped with the order, counts half for each (Bradley and Terry's model)."]
    if found.unnamed:
        columns = f"{found.plan.first} and {found.plan.second}"
        notes.append(f"{found.unnamed:,} cases are left out: {columns} do not name two different chatbots there.")
    return Remarks((_sentence(found),), tuple(notes))


def _sentence(found: Ranking) -> str:
    if not isinstance(found.strengths, Strengths):
        return f"By {found.rater}, there is no ranking, because {found.strengths.reason}."
    best, next_one = map(visible, found.bots[:2])
    ahead = found.strengths.chance(0, 1)
    if not isinstance(ahead.value, float) or not isinstance(ahead.interval, Interval):
        return f"By {found.rater}, no chatbot's lead has an interval, because {_missing(ahead)}."
    sure = f"{percent(ahead.interval.level)} interval {ahead.interval.low:.0%} to {ahead.interval.high:.0%}"
    unclear = f"the data do not show which of both {found.rater} prefers"
    verdict = f"{found.rater} prefers {best}" if ahead.interval.low > 0.5 else unclear
    return f"By {found.rater}, {best} comes first and wins {ahead.value:.0%} against {next_one} ({sure}): {verdict}."


def _missing(found: Estimate) -> str:
    return found.interval.reason if isinstance(found.interval, Undefined) else ""
