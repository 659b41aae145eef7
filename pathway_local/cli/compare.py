"""`pathway-local compare`: which of two chatbots does better."""

from collections.abc import Sequence
from typing import Annotated

import typer

from pathway_local.cli.command_help import CASES, RATERS, Command, option
from pathway_local.cli.estimates import Notes
from pathway_local.cli.figures import give, rubrics_with, tell_empty
from pathway_local.cli.options import AsJson, Figures, Force, RubricOfRun, Run
from pathway_local.cli.terminal import MIN_GROUP, check_finite, check_new, data, table, talk
from pathway_local.errors import UsageError
from pathway_local.results.comparison import Comparison, ComparisonPlan
from pathway_local.results.comparison import compare as find
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.figure import Estimate, Undefined

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

EXAMPLES = """\
pathway-local compare my.run --between chatbot=v1,v2 --pair-by question_id
pathway-local compare my.run --between chatbot=v1,v2 --pair-by question_id \\
    --margin 0.2 --out compared.csv"""


@app.command(cls=Command, epilog=EXAMPLES)
def compare(
    run: Run,
    between: Annotated[str, option("COLUMN=A,B", "The two values to compare, e.g. chatbot=v1,v2.", CASES)],
    pair_by: Annotated[str, option("COLUMN", "Column that names the shared question, e.g. question_id.", CASES)],
    rubric: RubricOfRun = None,
    rater: Annotated[list[str], option("NAME", "Only this rater; repeat for more.", RATERS)] = [],  # noqa: B006
    cluster: Annotated[
        str, option("COLUMN", "Column that groups related questions, e.g. student or topic.", CASES)
    ] = "",
    margin: Annotated[
        float, option("POINTS", "Differences up to this many points count as equal.", CASES, min=0.0)
    ] = 0.0,
    min_group: Annotated[int, option("N", "Leave out comparisons of fewer pairs.", CASES, min=1)] = MIN_GROUP,
    as_json: AsJson = False,
    out: Figures = None,
    force: Force = False,
) -> None:
    """Show which of two chatbots each rater scores higher on the same questions, with intervals."""
    check_new(out, force=force)
    check_finite(margin, "--margin")
    column, first, second = _sides(between)
    plan = ComparisonPlan(column, first, second, pair_by, rater, cluster, margin, min_group)
    with RunFile.read(run) as read:
        rubrics = rubrics_with(read, rubric, rater)
        tell_empty(read, column, pair_by, cluster)
        found = [each for one in rubrics for each in find(read, one, plan)]
    give(run, found, show, out, force=force, as_json=as_json)


def _sides(between: str) -> tuple[str, str, str]:
    """Column and both values. Raises UsageError."""
    column, _, values = between.partition("=")
    names = [name.strip() for name in values.split(",")]
    if not column or len(names) != 2 or not all(names) or names[0] == names[1]:
        raise UsageError(f"--between {between} is not COLUMN=A,B", "Such as --between chatbot=v1,v2.")
    return column, names[0], names[1]


def show(found: Sequence[Comparison]) -> None:
    """Print a row for each score and rater, and a sentence for each below."""
    if not found:
        talk.print("nobody has scored in this run")
        return
    notes = Notes()
    first, second = found[0].first.name, found[0].second.name
    heads = ["rubric", "score", "rater", "pairs", f"{first} higher", "same", f"{second} higher", f"{first} − {second}"]
    data.print(
        table(f"{first} against {second}, paired by {found[0].pair_by}", heads, [_row(e, notes) for e in found], left=3)
    )
    for line in (*notes.lines(found[0].cluster), *(line for each in found for line in _remarks(each))):
        data.print(line, soft_wrap=True)


def _row(each: Comparison, notes: Notes) -> list[str]:
    names = [each.rubric, each.score, each.rater]
    if isinstance(each.found, Undefined):
        return [*names, "", "", "", "", notes.cell(Estimate(each.found, each.found))]
    counts = (each.found.pairs, each.found.wins, each.found.ties, each.found.losses)
    return [*names, *(f"{count:,}" for count in counts), notes.cell(each.found.difference)]


def _remarks(each: Comparison) -> list[str]:
    where = f"{each.rubric} {each.score}: "
    lines = [f"{where}{each.sentence}"]
    if isinstance(each.found, Undefined):
        return lines
    if each.unpaired or each.first.scored < each.first.cases or each.second.scored < each.second.cases:
        covered = [f"{side.scored:,} of {side.cases:,} answers of {side.name}" for side in (each.first, each.second)]
        lines.append(f"{where}{each.rater} scored {' and '.join(covered)}.")
        lines.append(f"{where}{each.unpaired:,} questions have a score on one side only and are left out.")
    if each.several:
        lines.append(f"{where}{each.several:,} questions have several answers of one side: their mean counts.")
    return lines
