"""`pathway-local agreement`: how far the raters of a run agree."""

from typing import Annotated

from pathway_local.cli.command_help import CASES, OUTPUT, RATERS, App, option
from pathway_local.cli.figures import kept_columns, rubrics_with, write_and_show
from pathway_local.cli.options import AsJson, Cluster, Figures, Force, MinGroup, RubricOfRun, Run
from pathway_local.cli.terminal import check_finite, check_new, data
from pathway_local.errors import UnknownName
from pathway_local.results.against_people import AgreementPlan
from pathway_local.results.agreement import agreement as find
from pathway_local.results.ratings_matrix import ratings_matrices
from pathway_local.results.summary import labels_of
from pathway_local.results.views.agreement import agreement_in_short, agreement_view
from pathway_local.results.views.view import MIN_GROUP
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.coefficients import comparable

PAIR = "Comparing two judges"

app = App()


@app.with_examples(
    "pathway-local agreement my.run", "pathway-local agreement my.run --against author --by chatbot --min-group 5"
)
def agreement(
    run: Run,
    rubric: RubricOfRun = None,
    rater: Annotated[list[str], option("NAME", "Only this rater; repeat for more.", RATERS)] = [],  # noqa: B006
    cluster: Cluster = "",
    against: Annotated[str, option("NAME", "Raters to compare judges with (default: all people).", RATERS)] = "",
    figure: Annotated[
        str,
        option(
            "FIGURE", f"Figure to compare two judges by: {', '.join(comparable())}; default: kappa_quadratic.", PAIR
        ),
    ] = "",
    margin: Annotated[float, option("X", 'Largest shortfall that still counts as "not worse".', PAIR, min=0.0)] = 0.05,
    by: Annotated[str, option("COLUMN", "Show judges' errors for each value of this column.", CASES)] = "",
    min_group: MinGroup = None,
    full: Annotated[bool, option("", "Show every table, and how to read each figure.", OUTPUT, "--full")] = False,
    as_json: AsJson = False,
    out: Figures = None,
    force: Force = False,
) -> None:
    """Say whether judges can stand in for people, and show how well all raters agree, with intervals.

    The output holds no text and no case id.
    """
    check_new(out, force=force)
    check_finite(margin, "--margin")
    if figure and figure not in comparable():
        raise UnknownName("figure", figure, comparable())
    with RunFile.read(run) as read:
        rubrics = rubrics_with(read, rubric, [*rater, *([against] if against else [])])
        cluster, by = kept_columns(read, cluster, by)
        groups = (min_group or MIN_GROUP, min_group is not None)
        plan = AgreementPlan(rater, cluster, against, figure, margin, by, *groups)
        found = [score for each in rubrics for score in find(read, each, plan, ratings_matrices(read, each))]
        labels = labels_of(read)
    views = [(agreement_view if full or as_json else agreement_in_short)(each) for each in found]
    write_and_show(run, found, (view.remarks for view in views), views, labels, out, force=force, as_json=as_json)
    if not (full or as_json):
        data.say("--full shows every figure, and how to read it.")
