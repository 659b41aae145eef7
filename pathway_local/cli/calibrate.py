"""`pathway-local calibrate`: a judge's mean, corrected by people's labels."""

from typing import Annotated

import typer

from pathway_local.cli.figures import rubrics_with, tell_empty, write_and_show
from pathway_local.cli.options import AsJson, Cluster, Figures, Force, MinGroup, Run
from pathway_local.cli.terminal import MIN_GROUP, check_new
from pathway_local.results.calibration import CalibrationPlan
from pathway_local.results.calibration import calibrate as correct
from pathway_local.results.views.calibration import calibration_view
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.prediction_powered import Target

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def calibrate(
    run: Run,
    against: Annotated[str, typer.Option(metavar="NAME", help="The people whose labels count: a rater or a group.")],
    judge: Annotated[list[str], typer.Option(help="The judge to correct; default: all local judges.")] = [],  # noqa: B006
    rubric: Annotated[str | None, typer.Option(help="A rubric of the run; default: all that they labelled.")] = None,
    target: Annotated[
        Target, typer.Option(help="The mean of the cases in this file, or of the population behind them.")
    ] = "file",
    assume_random: Annotated[
        bool, typer.Option("--assume-random", help="Labels did not come from `sample`, but were drawn at random.")
    ] = False,
    cluster: Cluster = "",
    by: Annotated[str, typer.Option(metavar="COLUMN", help="The same for each value of this column.")] = "",
    min_group: MinGroup = MIN_GROUP,
    as_json: AsJson = False,
    out: Figures = None,
    force: Force = False,
) -> None:
    """Tell what people would have given on average, from a judge's scores of all cases and their labels of some.

    The labels have to be a random sample, as `pathway-local sample` draws them; cases that were picked for any
    other reason, such as those of the divergence list, can't stand for the others.
    """
    check_new(out, force=force)
    plan = CalibrationPlan(against, judge, target, assume_random, cluster, by, min_group)
    with RunFile.read(run) as read:
        rubrics = rubrics_with(read, rubric, [against, *judge])
        tell_empty(read, cluster, by)
        found = [each for one in rubrics for each in correct(read, one, plan)]
    views = [calibration_view(each, min_group) for each in found]
    write_and_show(run, found, (view.remarks for view in views), views, out, force=force, as_json=as_json)
