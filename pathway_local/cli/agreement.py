"""`pathway-local agreement`: how far the raters of a run agree."""

from typing import Annotated, Literal

from pathway_local.cli.command_help import CASES, OUTPUT, RATERS, App, option
from pathway_local.cli.figures import kept_columns, rubrics_with, write_and_show
from pathway_local.cli.options import AsJson, Cluster, Figures, Force, MinGroup, Raters, RubricOfRun, Run
from pathway_local.cli.terminal import check_finite, check_new, data
from pathway_local.errors import UnknownName, UsageError
from pathway_local.results import MIN_GROUP
from pathway_local.results.agreement import agreement as find
from pathway_local.results.agreement_plan import IMPORT, AgreementPlan
from pathway_local.results.kept_column import kept_column
from pathway_local.results.labels import labels_of
from pathway_local.results.ratings_matrix import ratings_matrices
from pathway_local.results.views.agreement import agreement_in_short, agreement_view
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.coefficients import comparable
from pathway_local.statistics.levels import GroupLevel

PAIR = "Comparing two judges"

app = App()


@app.with_examples(
    "pathway-local agreement my.run", "pathway-local agreement my.run --against author --by chatbot --min-group 5"
)
def agreement(
    run: Run,
    rubric: RubricOfRun = None,
    rater: Raters = [],  # noqa: B006
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
    drift: Annotated[
        str,
        option(
            "COLUMN",
            "Show how raters' errors move over dates, batches or versions, or `import` for the order of "
            "each person's imports.",
            CASES,
        ),
    ] = "",
    twice: Annotated[
        list[str],
        option("NAME=NAME", "One person's first and second ratings of the same cases; repeat for more.", RATERS),
    ] = [],  # noqa: B006
    level: Annotated[
        str,
        option(
            "LEVEL=COLUMN",
            "Also correlate raters' means over the systems that the column names (system=COLUMN), or within each "
            "document (document=COLUMN).",
            CASES,
        ),
    ] = "case",
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
    at, level_column = _level(level)
    again = tuple(_first_and_second(named) for named in twice)
    with RunFile.read(run) as read:
        named = [*rater, *([against] if against else []), *(name for pair in again for name in pair)]
        rubrics = rubrics_with(read, rubric, named)
        if drift == IMPORT:
            _check_no_column(read, IMPORT)
        over = "" if drift == IMPORT else drift
        cluster, by, level_column, over = kept_columns(read, cluster, by, level_column, over)
        drift = over or drift
        groups = (min_group or MIN_GROUP, min_group is not None)
        plan = AgreementPlan(rater, cluster, against, figure, margin, by, *groups, at, level_column, drift, again)
        found = [score for each in rubrics for score in find(read, each, plan, ratings_matrices(read, each))]
        labels = labels_of(read)
    views = [(agreement_view if full or as_json else agreement_in_short)(each) for each in found]
    write_and_show(run, found, (view.remarks for view in views), views, labels, out, force=force, as_json=as_json)
    if not (full or as_json):
        data.say("--full shows every figure, and how to read it.")


def _check_no_column(run: RunFile, word: str) -> None:
    """Check that the run keeps no column called as the word of `--drift`. Raises UsageError."""
    try:
        column, _ = kept_column(run, word)
    except UsageError:  # no such column, or an input, over whose values there is no drift
        return
    raise UsageError(
        f"--drift {word} could mean the run's column {column} or the order of each person's imports",
        "If you mean the column, rename it in the cases file, store it with `pathway-local runs keep RUN --cases FILE "
        "--column NAME`, and name that.",
    )


def _level(given: str) -> tuple[GroupLevel | Literal["case"], str]:
    """Return the level and its column. Raises UsageError."""
    level, _, column = given.partition("=")
    if level == "case" and not column:
        return "case", ""
    if level not in ("system", "document") or not column:
        raise UsageError(f"--level {given} is not case, system=COLUMN or document=COLUMN", "Such as system=bot.")
    return ("system" if level == "system" else "document"), column


def _first_and_second(given: str) -> tuple[str, str]:
    """Return two raters who are one person. Raises UsageError."""
    first, _, second = given.partition("=")
    if not first or not second or first == second:
        raise UsageError(f"--twice {given} is not NAME=NAME", "Such as --twice ann=ann-again.")
    return first, second
