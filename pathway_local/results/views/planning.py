"""Plans as a table and as words."""

from collections.abc import Sequence

from pathway_local.results.planning import FOLLOWED, WELL_FOLLOWED, Planned, StudyPlan
from pathway_local.results.views.cells import Cells
from pathway_local.results.views.view import Remarks, TableView, View
from pathway_local.statistics.figure import Estimate, Undefined
from pathway_local.statistics.needed import Aim, Spread
from pathway_local.system.visible import visible

HEADS = ("rubric", "score", "rater", "now", "needed", "planned", "spread from")

AIMS: dict[Aim, str] = {
    "half-width": "an 80% chance of an interval of at most {points:g} points to either side",
    "detect": "an 80% chance to find a difference of {points:g} points",
    "margin": "an 80% chance to show that equal chatbots differ by less than {points:g} points",
}


def planning_view(plan: StudyPlan) -> View:
    """A row for each figure, and how to go on; the plan has at least one figure."""
    cells = Cells()
    rows = tuple(_row(plan, each, cells) for each in plan.figures)
    shown = [each for each in plan.figures if isinstance(each.own, int)]
    what = AIMS[plan.goal.aim].format(points=plan.goal.points)
    said = [f"Planned for {what}.", *_course(plan)] if shown else [_why_nothing(plan.figures, what)]
    notes = []
    if len(shown) > 1:
        notes.append(
            f"{len(shown)} figures share the error of 5%, so each needs more: name the --rubric and the judge that you "
            "mean to report."
        )
    notes += [_assumed(each) for each in shown if each.between]
    notes += dict.fromkeys(_left_out(each, plan.people) for each in shown if _now(each) < each.rated)
    table = TableView("", HEADS, rows, 3)
    return View(
        (table,), Remarks(tuple(said), tuple(notes), tuple(f"{line}." for line in plan.warnings)), cells.footnotes()
    )


def _assumed(each: Planned) -> str:
    """Say what a number of labels rests on where there are none yet."""
    assert each.between
    good, none = (f"{one:,}" if isinstance(one, int) else "more than there can be" for one in each.between)
    return (
        f"Too few labels show how far {each.rater} follows people on {each.score}: we assume a correlation of "
        f"{FOLLOWED:g}, and that people's scores vary as the judge's do. With {WELL_FOLLOWED:g} the number would be "
        f"{good}, with 0 {none}. Plan again once you have some labels."
    )


def _left_out(each: Planned, people: str) -> str:
    """Say how many of people's ratings are labels of the sample."""
    of = f"{visible(people)}'s {each.rated:,} rated cases"
    return f"{_now(each):,} of {of} count: the others did not come back on a sheet or page of a sample."


def _now(each: Planned) -> int:
    return each.spread.now if isinstance(each.spread, Spread) else 0


def _why_nothing(found: Sequence[Planned], what: str) -> str:
    """Say why no figure has a plan, and what to do: none can reach the aim, or nothing shows how they vary."""
    spreads = [each.spread for each in found if isinstance(each.spread, Spread)]
    if spreads:
        more = ", or judge more cases" if any(spread.most is not None for spread in spreads) else ""
        return f"Nothing is planned: {what} can't be reached. Name more points{more}."
    reasons = dict.fromkeys(each.spread.reason for each in found if isinstance(each.spread, Undefined))
    return f"Nothing is planned, because {'; '.join(reasons)}. Judge more cases, or name another rubric or judge."


def _row(plan: StudyPlan, each: Planned, cells: Cells) -> tuple[str, ...]:
    names = (each.rubric, each.score, each.rater)
    if isinstance(each.spread, Undefined):
        return *names, "", "", cells.cell(Estimate(each.spread, each.spread)), ""
    if isinstance(each.own, Undefined):
        return *names, f"{each.spread.now:,}", f"none {cells.mark(each.own.reason)}", "", each.source
    return *names, f"{each.spread.now:,}", f"{each.own:,}", f"{plan.planned:,}", each.source


def _course(plan: StudyPlan) -> list[str]:
    now = min(_now(each) for each in plan.figures if isinstance(each.spread, Spread))
    reached = f"The {now:,} {plan.units} that are there reach it."
    go_on = f"Go on until there are {plan.planned:,} {plan.units}, {plan.planned - now:,} more."
    course = [reached if now >= plan.planned else go_on]
    if (looks := plan.goal.looks) > 1:
        course.append(f"Look up to {looks} times, each time with `{plan.command} --looks {looks}`.")
    elif now < plan.planned:
        course.append("Look once, at the end; --looks plans for several looks.")
    return course
