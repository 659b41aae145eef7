"""`pathway-local plan`: how many labels, questions or students a figure needs."""

from typing import Annotated

from pathway_local.cli.command_help import CASES, RATERS, App, option
from pathway_local.cli.figures import draw, kept_columns, rubrics_with
from pathway_local.cli.options import AsJson, Looks, PairBy, Raters, RubricOfRun, Run
from pathway_local.cli.show import option_name
from pathway_local.cli.terminal import check_finite, print_json
from pathway_local.errors import UsageError
from pathway_local.results.analysis import naming
from pathway_local.results.compare import sides
from pathway_local.results.comparison import ComparisonPlan
from pathway_local.results.pairing import pairing
from pathway_local.results.planning import plan_difference, plan_mean
from pathway_local.results.ratings import Ratings
from pathway_local.results.ratings_matrix import ratings_matrices
from pathway_local.results.views.planning import planning_view
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.needed import Aim, Goal

AIM = "Aim (give one of the first three)"

app = App()


@app.with_examples(
    "pathway-local plan my.run --against author --half-width 0.2",
    "pathway-local plan my.run --between chatbot=v1,v2 --detect 0.5 --looks 3",
)
def plan(
    run: Run,
    half_width: Annotated[
        float | None, option("POINTS", "Plan an interval that reaches this far to either side.", AIM)
    ] = None,
    detect: Annotated[
        float | None, option("POINTS", "Plan an 80% chance to find a difference this large.", AIM)
    ] = None,
    margin: Annotated[
        float | None, option("POINTS", "Plan an 80% chance to show that equal chatbots differ by less.", AIM)
    ] = None,
    looks: Looks = 1,
    against: Annotated[str, option("NAME", "Plan the mean that NAME's labels correct: their number.", RATERS)] = "",
    between: Annotated[
        str, option("COLUMN=A,B", "Plan the difference that `compare` shows, e.g. chatbot=v1,v2.", CASES)
    ] = "",
    pair_by: PairBy = "",
    labels: Annotated[
        bool, option("", "With --between: plan the labels that correct it, not the questions.", CASES, "--labels")
    ] = False,
    cluster: Annotated[
        str, option("COLUMN", "Column that groups related cases, e.g. student: plan its number of values.", CASES)
    ] = "",
    rubric: RubricOfRun = None,
    rater: Raters = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Say how many labels, questions or students a figure needs, from the run's own spread.

    Decide before you look, and look once: whoever looks after every batch and stops at the first difference finds a
    false one far too often. For several looks, give the same --looks here and to the command that shows the figure.
    """
    goal = _goal(half_width, detect, margin, looks)
    _check_figure(goal, against, between, pair_by, labels=labels)
    with naming(option_name):
        column, first, second = sides(between) if between else ("", "", "")
    with RunFile.read(run) as read:
        matrices = (each for one in rubrics_with(read, rubric, rater) for each in ratings_matrices(read, one))
        column, cluster = kept_columns(read, column, cluster)
        if against:
            found = plan_mean(matrices, against, rater, goal)
        else:
            paired = pairing(Ratings(read), pair_by, column, (first, second))
            compared = ComparisonPlan(column, first, second, paired, rater, cluster)
            found = plan_difference(matrices, compared, goal, by_labels=labels)
    if not found.figures:
        raise UsageError("no judge has scored, so nothing shows how scores vary", "Judge some of the cases first.")
    view = planning_view(found)
    if as_json:
        print_json([{**found.as_json(each), **view.remarks.as_json()} for each in found.figures])
    else:
        draw(view)


def _check_figure(goal: Goal, against: str, between: str, pair_by: str, *, labels: bool) -> None:
    """Check that the options name one figure that the goal fits. Raises UsageError."""
    if bool(against) == bool(between):
        raise UsageError("plan needs either --against or --between", "Such as --against committee --half-width 0.2.")
    if pair_by and not between:
        raise UsageError("--pair-by needs --between", "Such as --between chatbot=v1,v2 --pair-by item.")
    if labels and against:
        raise UsageError("--labels is for --between: --against plans labels anyway", "Leave it out.")
    if against and goal.aim != "half-width":
        raise UsageError("a mean is planned by --half-width", "Plan a difference with --between.")


def _goal(half_width: float | None, detect: float | None, margin: float | None, looks: int) -> Goal:
    """Return the one aim that was named. Raises UsageError."""
    named: dict[Aim, float | None] = {"half-width": half_width, "detect": detect, "margin": margin}
    given = [(aim, points) for aim, points in named.items() if points is not None]
    if len(given) != 1:
        raise UsageError("plan needs one aim", "Name one of --half-width, --detect and --margin.")
    [(aim, points)] = given
    check_finite(points, f"--{aim}")
    if points <= 0:
        raise UsageError(f"--{aim} {points:g} is not above 0", "Name a number of points of the scale, such as 0.2.")
    return Goal(aim, points, looks)
