"""`pathway-local divergence`: where raters disagree."""

from typing import Annotated

from pathway_local.cli.command_help import App, option
from pathway_local.cli.figures import draw
from pathway_local.cli.options import AsJson, RubricOfRun, Run
from pathway_local.cli.terminal import data, print_json
from pathway_local.results.divergence import Divergence
from pathway_local.results.divergence import divergence as find
from pathway_local.results.views.divergence import divergence_view
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_named

app = App()


@app.with_examples("pathway-local divergence my.run", "pathway-local divergence my.run --top 5 --json")
def divergence(
    run: Run,
    rubric: RubricOfRun = None,
    top: Annotated[int, option("N", "Show so many cases, the furthest apart first.", min=0)] = 20,
    as_json: AsJson = False,
) -> None:
    """Show where raters disagree: the patterns of their scores, and the cases to look at first.

    The output holds case ids and each rater's words. Cases picked from this list are not a random sample, so their
    labels can't calibrate a judge.
    """
    with RunFile.read(run) as read:
        rubrics = rubrics_named(read, rubric)
        found = find(read, rubrics, top)
    views = [divergence_view(each) for each in found]
    if as_json:
        print_json([each.as_json() | view.remarks.as_json() for each, view in zip(found, views, strict=True)])
        return
    for each, view in zip(found, views, strict=True):
        draw(view)
        for case in each.first:
            _show_reasons(case)


def _show_reasons(case: Divergence) -> None:
    if case.reasons:
        data.say(f"\n{case.case}", "bold")
    for rater, words in case.reasons.items():
        data.say(f"{rater} ({case.scores[rater]}): {words}")
