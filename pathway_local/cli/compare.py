"""`pathway-local compare`: which of two chatbots does better."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pathway_local.cli.command_help import CASES, App, option
from pathway_local.cli.figures import kept_columns, pairing, rubrics_with, write_and_show
from pathway_local.cli.options import AsJson, Figures, Force, Looks, Raters, RubricOfRun, Run
from pathway_local.cli.terminal import check_finite, check_new, talk
from pathway_local.errors import UsageError
from pathway_local.results import MIN_GROUP
from pathway_local.results.comparison import ComparisonPlan
from pathway_local.results.comparison import compare as find
from pathway_local.results.labels import labels_of
from pathway_local.results.ranking import Ranking, RankingPlan, rank
from pathway_local.results.ratings_matrix import ratings_matrices
from pathway_local.results.views.comparison import WordedComparison, comparison_remarks, comparison_view
from pathway_local.results.views.ranking import ranking_remarks, ranking_view
from pathway_local.results.views.view import Remarks, View
from pathway_local.runs.run_file import RunFile

app = App()


@app.with_examples(
    "pathway-local compare my.run --between chatbot=v1,v2",
    "pathway-local compare my.run --pairs bot_a,bot_b --out ranking.csv",
)
def compare(
    run: Run,
    between: Annotated[str, option("COLUMN=A,B", "The two values to compare, e.g. chatbot=v1,v2.", CASES)] = "",
    pair_by: Annotated[
        str, option("NAME", "Column or input with the question both answered; default: found in the run.", CASES)
    ] = "",
    pairs: Annotated[
        str, option("A,B", "Rank chatbots by choices between two: the columns that name A's and B's chatbot.", CASES)
    ] = "",
    rubric: RubricOfRun = None,
    rater: Raters = [],  # noqa: B006
    cluster: Annotated[
        str, option("COLUMN", "Column that groups related questions, e.g. student or topic.", CASES)
    ] = "",
    margin: Annotated[
        float, option("POINTS", "Differences up to this many points count as equal.", CASES, min=0.0)
    ] = 0.0,
    min_group: Annotated[int, option("N", "Leave out comparisons of fewer pairs.", CASES, min=1)] = MIN_GROUP,
    looks: Looks = 1,
    as_json: AsJson = False,
    out: Figures = None,
    force: Force = False,
) -> None:
    """Show which of two chatbots each rater scores higher on the same questions, with intervals.

    Answers are compared question by question, or as two groups if they share no questions, such as two languages. With
    --pairs, rank any number of chatbots by a rubric that compares two responses (a Bradley–Terry model).
    """
    check_new(out, force=force)
    check_finite(margin, "--margin")
    if pairs:
        _refuse_both(between, pair_by)
        if looks > 1:
            raise UsageError("--looks is for --between: a ranking has no tests", "Leave --looks out.")
        shown = _ranked(run, pairs, rubric, rater, cluster, min_group)
        write_and_show(run, *shown, out, force=force, as_json=as_json)
        return
    if not between:
        raise UsageError("compare needs --between, or --pairs", "Such as --pairs bot_a,bot_b.")
    column, first, second = sides(between)
    with RunFile.read(run) as read:
        rubrics = rubrics_with(read, rubric, rater)
        column, cluster = kept_columns(read, column, cluster)
        by = pairing(read, pair_by, column, (first, second), min_group)
        plan = ComparisonPlan(column, first, second, by, rater, cluster, margin, min_group, looks)
        found = find((each for one in rubrics for each in ratings_matrices(read, one)), plan)
        labels = labels_of(read)
    views = [comparison_view(found)] if found else []
    if not found:
        talk.say("the run holds no scores yet")
    worded, remarks = [*map(WordedComparison, found)], map(comparison_remarks, found)
    write_and_show(run, worded, remarks, views, labels, out, force=force, as_json=as_json)


def _refuse_both(between: str, pair_by: str) -> None:
    """Raise UsageError for options of the other comparison."""
    if between or pair_by:
        named = "--between" if between else "--pair-by"
        raise UsageError(f"{named} compares scores, and --pairs choices between two", "Give one of them.")


def _ranked(
    run: Path, pairs: str, rubric: str | None, raters: Sequence[str], cluster: str, smallest: int
) -> tuple[list[Ranking], list[Remarks], list[View], dict[str, str]]:
    """Return how chatbots rank by choices between two, in the parts that are shown. Raises PathwayError."""
    columns = [name.strip() for name in pairs.split(",")]
    if len(columns) != 2 or not all(columns) or columns[0] == columns[1]:
        raise UsageError(f"--pairs {pairs} is not A,B", "Name two columns, such as --pairs bot_a,bot_b.")
    with RunFile.read(run) as read:
        known = rubrics_with(read, rubric, raters)
        first, second, cluster = kept_columns(read, *columns, cluster)
        plan = RankingPlan(first, second, raters, cluster, smallest)
        found = [each for one in known if one.pair for each in rank(read, one, one.pair, plan)]
        labels = labels_of(read)
    if not found:
        raise UsageError("the run has no verdicts that compare two responses", "Such as those of --rubric pair-answer.")
    return found, [*map(ranking_remarks, found)], [*map(ranking_view, found)], labels


def sides(between: str) -> tuple[str, str, str]:
    """Return the column and both values. Raises UsageError."""
    column, _, values = between.partition("=")
    names = [name.strip() for name in values.split(",")]
    if not column or len(names) != 2 or not all(names) or names[0] == names[1]:
        raise UsageError(f"--between {between} is not COLUMN=A,B", "Such as --between chatbot=v1,v2.")
    return column, names[0], names[1]
