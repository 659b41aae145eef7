"""`pathway-local sample`: rating sheets."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

from pathway_local.cli.command_help import CASES, OUTPUT, RATERS, App, option
from pathway_local.cli.options import CasesOption, Encoding, Force, IdColumn, KeyFile, Map, RubricIfSeveral, RunToBe
from pathway_local.cli.private_reading import read_privately
from pathway_local.cli.terminal import columns_by_input, notice, talk
from pathway_local.ratings.cases_given import Given
from pathway_local.ratings.sampling import SamplePlan
from pathway_local.ratings.sampling import sample as draw_sample

GROUP = "committee"
"""The name of the evaluators together, as the documentation has it."""

app = App()


@app.with_examples(
    "pathway-local sample my.run --cases examples/pathway-answer.csv \\",
    "    --n 8 --seed 7 --out rate.xlsx",
    "pathway-local sample new.run --rubric pathway-answer --rater Ann --rater Ben \\",
    "    --cases examples/pathway-answer.csv --n 8 --seed 7 --out rate-two.xlsx",
)
def sample(
    run: RunToBe,
    cases: CasesOption,
    n: Annotated[int, option("N", "Cases to draw.", CASES, "--n", min=1)],
    out: Annotated[Path, option("FILE", "The rating sheet, an .xlsx file; one for each of several raters.", OUTPUT)],
    seed: Annotated[int, option("N", "The same seed draws the same cases; a larger --n adds to them.", CASES, min=0)],
    strata: Annotated[str, option("COLUMN", "Draw from each value of this column by its share.", CASES)] = "",
    rater: Annotated[
        list[str], option("NAME", "Evaluator; of several, each gets a file with the cases shuffled anew.", RATERS)
    ] = [],  # noqa: B006
    rubric: RubricIfSeveral = None,
    id_column: IdColumn = None,
    encoding: Encoding = "",
    mapping: Map = [],  # noqa: B006
    pseudonyms: KeyFile = None,
    force: Force = False,
) -> None:
    """Draw a random sample of cases for people to rate, as shuffled rating sheets that show nobody's scores.

    The run stores each case's chance of being drawn, so that the labels can represent all cases.
    """
    read_privately(cases, run)
    given = Given(run, cases, rubric, id_column, columns_by_input(mapping), pseudonyms, encoding)
    plan = SamplePlan(given, n, seed, out, strata, rater)
    found = draw_sample(plan, sys.argv, force=force)
    for note in found.notes:
        notice(note)
    if found.left_out:
        notice(f"{found.left_out} cases can't be judged, so they were not drawn")
    if found.before:
        notice(
            f"{found.before} of the {found.drawn} were given out before: the sheet holds the {found.in_sheet} new ones"
        )
    if found.cut:
        notice(f"{found.cut} texts are longer than a cell can hold and end with [cut]")
    within = f" within {found.strata} values of {strata}" if strata else ""
    sheets = plan.sheets()
    for name, path in sheets.items():
        talk.say(f"written: {path}" + (f" for {name}" if name else ""))
    talk.say(f"{found.in_sheet} of {found.cases} cases drawn at random{within}")
    if len(sheets) > 1:
        talk.say("Give each evaluator their own file: ratings are independent only if nobody sees another's scores.")
    many = "" if rater else ", for each person who filled in a copy"
    talk.say(f"To import {'them when they come back' if len(sheets) > 1 else f'the filled sheet{many}'}:")
    who = ("--rater", GROUP) if len(rater) > 1 else () if rater else ("--rater", "NAME")
    for path in sheets.values():
        talk.say(shlex.join(["pathway-local", "import", str(run), str(path), "--kind", "human", *who]), indent=2)
