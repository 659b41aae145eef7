"""`pathway-local divergence`: where raters disagree."""

from typing import Annotated

import typer
from rich.text import Text

from pathway_local.cli.command_help import Command, option
from pathway_local.cli.options import AsJson, RubricOfRun, Run
from pathway_local.cli.terminal import data, print_json, table
from pathway_local.results.divergence import Divergence, ScoreDivergence
from pathway_local.results.divergence import divergence as find
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_named

KINDS = {
    "agree": "all agree",
    "neighbours": "neighbouring levels",
    "apart": "further apart",
    "special": "special or not",
}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

EXAMPLES = """\
pathway-local divergence my.run
pathway-local divergence my.run --top 5 --json"""


@app.command(cls=Command, epilog=EXAMPLES)
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
    if as_json:
        print_json([each.as_json() for each in found])
        return
    for each in found:
        show(each)


def show(found: ScoreDivergence) -> None:
    """Print the patterns of one score, and its cases with each rater's reason."""
    title = f"{found.rubric} {found.score}: {found.cases} cases that two raters or more scored"
    if not found.cases:
        data.print(title)
        return
    rows = [[KINDS[kind], str(count), f"{count / found.cases:.0%}"] for kind, count in found.kinds.items()]
    rows += [[f"  {pattern}", str(count), f"{count / found.cases:.0%}"] for pattern, count in found.patterns.items()]
    data.print(table(title, ["pattern", "cases", "share"], rows))
    if found.first:
        columns = ["case", "pattern", *found.raters, "mean", "spread"]
        data.print(table("to look at first", columns, [_row(case, found) for case in found.first], left=2))
    for case in found.first:
        if case.reasons:
            data.print(Text(f"\n{case.case}", style="bold"))
            for rater, words in case.reasons.items():
                data.print(Text(f"{rater} ({case.scores[rater]}): {words}"))


def _row(case: Divergence, found: ScoreDivergence) -> list[str]:
    scores = [str(case.scores.get(rater, "")) for rater in found.raters]
    mean = f"{case.mean:.2f}" if case.mean is not None else "–"
    return [case.case, case.pattern, *scores, mean, str(case.spread) if case.spread is not None else "–"]
