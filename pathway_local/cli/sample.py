"""`pathway-local sample`: a rating sheet."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pathway_local.cli.options import CasesOption, Force, IdColumn, KeyFile, Map, RunToBe
from pathway_local.cli.private_reading import read_privately
from pathway_local.cli.terminal import notice, pairs, talk
from pathway_local.ratings.cases_given import Given
from pathway_local.ratings.sampling import SamplePlan
from pathway_local.ratings.sampling import sample as draw_sample

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def sample(
    run: RunToBe,
    cases: CasesOption,
    n: Annotated[int, typer.Option("--n", min=1, help="How many cases to draw.")],
    out: Annotated[Path, typer.Option(help="The rating sheet: an .xlsx file.")],
    seed: Annotated[int, typer.Option(min=0, help="The same seed draws the same cases; a larger --n adds to them.")],
    strata: Annotated[str, typer.Option(help="A column: draw from each of its values by its share.")] = "",
    rater: Annotated[list[str], typer.Option(help="An evaluator, with a sheet in an order of their own.")] = [],  # noqa: B006
    rubric: Annotated[str | None, typer.Option(help="The rubric to rate by, where the run has not just one.")] = None,
    id_column: IdColumn = None,
    mapping: Map = [],  # noqa: B006
    pseudonyms: KeyFile = None,
    force: Force = False,
) -> None:
    """Draw cases for people to rate, into a shuffled rating sheet without anybody's scores.

    Each case's chance of being drawn stays in the run, so that labels on the sample speak for all cases.
    """
    read_privately(cases, run)
    given = Given(run, cases, rubric, id_column, pairs(mapping, "--map"), pseudonyms)
    found = draw_sample(SamplePlan(given, n, seed, out, strata, rater), sys.argv, force=force)
    if found.left_out:
        notice(f"{found.left_out} rows can't be judged and could not be drawn")
    if found.before:
        notice(
            f"{found.before} of the {found.drawn} were given out before: the sheet holds the {found.in_sheet} new ones"
        )
    if found.cut:
        notice(f"{found.cut} texts are longer than a cell can hold and end with [cut]")
    within = f" within {found.strata} values of {strata}" if strata else ""
    talk.print(f"written: {out}, {found.in_sheet} of {found.cases} cases drawn at random{within}")
    if len(rater) > 1:
        talk.print("Give each evaluator a copy of their own: who sees another's scores does not rate independently.")
    talk.print(f"Filled in, it comes back by: pathway-local import {run} {out} --kind human")
