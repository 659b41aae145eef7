"""`pathway-local calibrate`: a judge's mean, corrected by people's labels."""

from typing import Annotated

from pathway_local.cli.command_help import CASES, RATERS, App, option
from pathway_local.cli.figures import kept_columns, rubrics_with, write_and_show
from pathway_local.cli.options import AsJson, Cluster, Figures, Force, Looks, MinGroup, Run
from pathway_local.cli.terminal import check_new, notice
from pathway_local.results import MIN_GROUP
from pathway_local.results.calibration import calibrate as correct
from pathway_local.results.labels import labels_of
from pathway_local.results.ratings_matrix import ratings_matrices
from pathway_local.results.sampled_labels import CalibrationPlan
from pathway_local.results.views.calibration import calibration_view
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.prediction_powered import Target

app = App()


@app.with_examples(
    "pathway-local calibrate my.run --against author --assume-random",
    "pathway-local calibrate my.run --against author --assume-random --by chatbot",
)
def calibrate(
    run: Run,
    against: Annotated[str, option("NAME", "The rater or group of people whose labels count.", RATERS)],
    judge: Annotated[
        list[str], option("NAME", "Judge to correct; repeat for more (default: all local judges).", RATERS)
    ] = [],  # noqa: B006
    rubric: Annotated[
        str | None, option("RUBRIC", "Only this rubric; default: all that they labelled.", RATERS)
    ] = None,
    target: Annotated[
        Target,
        option(
            "TARGET",
            "file: estimate the mean of the run's own cases. population: of all cases that they are a random "
            "sample of.",
            CASES,
        ),
    ] = "file",
    assume_random: Annotated[
        bool, option("", "The labels are a random sample, although `sample` did not draw it.", CASES, "--assume-random")
    ] = False,
    sample: Annotated[
        int | None,
        option("SEED", "The sample that the labels belong to (default: the one with most labels).", CASES),
    ] = None,
    cluster: Cluster = "",
    by: Annotated[str, option("COLUMN", "Also correct for each value of this column.", CASES)] = "",
    min_group: MinGroup = None,
    looks: Looks = 1,
    as_json: AsJson = False,
    out: Figures = None,
    force: Force = False,
) -> None:
    """Estimate the mean score that people would give, from a judge's scores of all cases and people's labels of some.

    The labels must be a random sample, as `pathway-local sample` draws it. Cases picked for another reason, such as
    those that `read` lists, can't represent the rest.
    """
    check_new(out, force=force)
    with RunFile.read(run) as read:
        rubrics = rubrics_with(read, rubric, [against, *judge])
        cluster, by = kept_columns(read, cluster, by)
        groups = (min_group or MIN_GROUP, min_group is not None)
        plan = CalibrationPlan(against, judge, target, assume_random, sample, cluster, by, *groups, looks)
        found = correct((each for one in rubrics for each in ratings_matrices(read, one)), plan)
        labels = labels_of(read)
    corrected = {each.rubric for each in found}
    for name in (one.name for one in rubrics if one.name not in corrected):
        notice(f"{name} is left out: no local judge has scored under it")
    views = [calibration_view(each) for each in found]
    write_and_show(run, found, (view.remarks for view in views), views, labels, out, force=force, as_json=as_json)
