"""`pathway-local agreement`: how far the raters of a run agree."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pathway_local.cli.agreement_tables import show
from pathway_local.cli.terminal import MIN_GROUP, check_finite, check_new, print_json, talk
from pathway_local.results.agreement import agreement as find
from pathway_local.results.agreement_plan import AgreementPlan
from pathway_local.results.figure_file import write_figures
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_named

Figure = Literal[
    "exact", "within_one", "kappa", "kappa_linear", "kappa_quadratic", "pearson", "spearman", "kendall",
    "mean_absolute_error",
]  # fmt: skip

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def agreement(
    run: Annotated[Path, typer.Argument(help="A run file.", show_default=False)],
    rubric: Annotated[str | None, typer.Option(help="A rubric of the run; default: all.")] = None,
    rater: Annotated[list[str], typer.Option(help="Only these raters; once for each.")] = [],  # noqa: B006
    cluster: Annotated[
        str, typer.Option(metavar="COLUMN", help="What cases depend on each other by: students, conversations.")
    ] = "",
    against: Annotated[
        str, typer.Option(metavar="NAME", help="Whom judges are held against; default: all people.")
    ] = "",
    figure: Annotated[
        Figure | None, typer.Option(help="What two judges are compared by; default: quadratic kappa.")
    ] = None,
    margin: Annotated[float, typer.Option(min=0.0, help="How much less of it is as good as the same.")] = 0.05,
    by: Annotated[str, typer.Option(metavar="COLUMN", help="Judges' errors for each value of this column.")] = "",
    min_group: Annotated[int, typer.Option(min=1, help="With --by: leave out groups of fewer cases.")] = MIN_GROUP,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write every figure to this .csv, .xlsx or .jsonl file.")] = None,
    force: Annotated[bool, typer.Option(help="Replace a file that exists.")] = False,
) -> None:
    """Show how far raters agree: judges, people and hosted judges, each with each, and how sure that is.

    Holds no text and no case id.
    """
    check_new(out, force=force)
    check_finite(margin, "--margin")
    plan = AgreementPlan(rater, cluster, against, figure or "", margin, by, min_group)
    with RunFile.read(run) as read:
        rubrics = rubrics_named(read, rubric)
        found = [score for each in rubrics for score in find(read, each, plan)]
    if out:
        write_figures(out, found, force=force)
        talk.print(f"written: {out}", markup=False)
    if as_json:
        print_json([each.as_json() for each in found])
        return
    for each in found:
        show(each, min_group)
