"""Plans as a table and as words."""

from collections.abc import Sequence

from pathway_local.results.planning import FOLLOWED, WELL_FOLLOWED, Planned
from pathway_local.results.study import PlannedLook
from pathway_local.results.views.cells import Cells
from pathway_local.results.views.view import Remarks, TableView, View
from pathway_local.runs.study_plans import CLUSTER, StudyPlan
from pathway_local.statistics.figure import Estimate, Undefined, percent
from pathway_local.statistics.needed import Aim, Spread
from pathway_local.statistics.sequential import planned_counts
from pathway_local.system.visible import visible

HEADS = ("rubric", "score", "rater", "now", "needed", "planned", "spread from")

AIMS: dict[Aim, str] = {
    "half-width": "an 80% chance of an interval of at most {points:g} points to either side",
    "detect": "an 80% chance to find a difference of {points:g} points",
    "margin": "an 80% chance to show that equal chatbots differ by less than {points:g} points",
}


def units(plan: StudyPlan) -> str:
    """Return the unit that a plan counts, in words."""
    cluster = plan.target.get(CLUSTER, "")
    if plan.counted == "labels":
        return "labels"
    return f"values of {cluster}" if cluster else "questions" if plan.target["pair_by"] else "cases"


def planning_view(found: Sequence[Planned], aim: Aim, points: float) -> View:
    """A row for each figure, and how to go on; `found` has at least one."""
    cells = Cells()
    rows = tuple(_row(each, cells) for each in found)
    plans = [each.plan for each in found if each.plan]
    what = AIMS[aim].format(points=points)
    said = [f"Planned for {what}." if plans else _why_nothing(found, what)]
    notes = []
    if plans:
        said += _course(plans[0])
        if len(plans) > 1:
            notes.append(
                f"{len(plans)} figures share the error of 5%, so each needs more: name the --rubric and the judge that "
                "you mean to report."
            )
        notes += [_assumed(each) for each in found if each.plan and each.between]
        if plans[0].began:
            notes.append(f"The {plans[0].began:,} {units(plans[0])} that are there count as the first look.")
    notes += list(dict.fromkeys(_left_out(each) for each in found if each.plan and each.plan.began < each.rated))
    table = TableView("", HEADS, rows, 3)
    return View((table,), Remarks(tuple(said), tuple(notes)), cells.footnotes())


def _assumed(each: Planned) -> str:
    """Say what a number of labels rests on where there are none yet."""
    assert each.between
    good, none = (f"{one:,}" if isinstance(one, int) else "more than there can be" for one in each.between)
    return (
        f"Too few labels show how far {each.rater} follows people on {each.score}: we assume a correlation of "
        f"{FOLLOWED:g}, and that people's scores vary as the judge's do. With {WELL_FOLLOWED:g} the number would be "
        f"{good}, with 0 {none}. Plan again once you have some labels, before you look."
    )


def _left_out(each: Planned) -> str:
    """Say how many of people's ratings are labels of the sample."""
    assert each.plan
    of = f"{visible(each.plan.target.get('against', 'people'))}'s {each.rated:,}"
    return (
        f"{each.plan.began:,} of {of} rated cases count: the others did not come back on a sheet or page of a sample."
    )


def _why_nothing(found: Sequence[Planned], what: str) -> str:
    """Say why no figure has a plan, and what to do: none can reach the aim, or nothing shows how they vary."""
    spreads = [each.spread for each in found if isinstance(each.spread, Spread)]
    if spreads:
        more = ", or judge more cases" if any(spread.most is not None for spread in spreads) else ""
        return f"Nothing is planned: {what} can't be reached. Name more points{more}."
    reasons = dict.fromkeys(each.spread.reason for each in found if isinstance(each.spread, Undefined))
    return f"Nothing is planned, because {'; '.join(reasons)}. Judge more cases, or name another rubric or judge."


def _row(each: Planned, cells: Cells) -> tuple[str, ...]:
    names = (each.rubric, each.score, each.rater)
    if isinstance(each.spread, Undefined):
        return *names, "", "", cells.cell(Estimate(each.spread, each.spread)), ""
    if isinstance(each.own, Undefined):
        return *names, f"{each.spread.now:,}", f"none {cells.mark(each.own.reason)}", "", each.source
    planned = f"{each.plan.planned:,}" if each.plan else ""
    return *names, f"{each.spread.now:,}", f"{each.own:,}", planned, each.source


def _course(plan: StudyPlan) -> list[str]:
    counts = [count for count in planned_counts(plan.planned, plan.looks) if count > plan.began]
    command = "calibrate" if "against" in plan.target else "compare"
    more = plan.planned - plan.began
    reached = f"The {plan.began:,} {units(plan)} that are there reach it."
    go_on = f"Go on until there are {plan.planned:,} {units(plan)}, {more:,} more."
    course = [reached if more <= 0 else go_on]
    if len(counts) > 1:
        course.append(f"Look with `{command}` at {', '.join(f'{count:,}' for count in counts)} of them.")
    return [
        *course,
        f"`{command}` follows the plan from now on: earlier looks get a wider interval, so that all looks together err "
        "in 5% of the files, also if you look at other times.",
    ]


def stored_view(plans: Sequence[StudyPlan]) -> View:
    """The plans of a run, with the looks that were taken."""
    rows = tuple(
        (
            f"{plan.rubric}\n{plan.score}",
            plan.rater,
            visible(_about(plan)),
            f"{plan.planned:,} {units(plan)}",
            ", ".join(f"{count:,}" for count in plan.seen) or "none",
        )
        for plan in plans
    )
    return View((TableView("", ("score", "rater", "figure", "planned", "looks at"), rows, 4),), Remarks())


def _about(plan: StudyPlan) -> str:
    target = plan.target
    if "against" in target:
        return f"mean corrected by {target['against']}"
    return f"{target['first']} against {target['second']}"


def look_notes(look: PlannedLook) -> list[str]:
    """Say which look at a plan this is, and what comes next."""
    plan = look.plan
    there = f"{look.count:,} of the {plan.planned:,} planned {units(plan)}"
    if look.outside:
        return [
            f"This look, at {there}, is outside the plan, whose last look was at {plan.seen[-1]:,}: what that one "
            "showed counts."
        ]
    if look.last:
        return [f"Look {look.number} of the plan, at {there}, is the last one: what it shows counts."]
    every = f"all looks at the {look.figures} figures planned together" if look.figures > 1 else "all looks together"
    return [
        f"Look {look.number} of the plan, at {there}: its level is {percent(look.level)}, so that {every} err in 5% of "
        f"the files. The next look is at {look.next:,}."
    ]
