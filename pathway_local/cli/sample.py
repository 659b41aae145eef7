"""`pathway-local sample`: rating sheets."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pathway_local.cli.case_files import cases_given, read_privately
from pathway_local.cli.options import MATCHING, App, CasesOption, Force, Lang, RubricIfSeveral, RunToBe, Title, option
from pathway_local.cli.terminal import notice, talk
from pathway_local.errors import UsageError
from pathway_local.pages.page import is_page
from pathway_local.pages.rating_page import RatingPages
from pathway_local.ratings.rating_sheet import SheetWriter, write_rating_sheet
from pathway_local.ratings.samples import LEAST
from pathway_local.ratings.sampling import Drawn, SamplePlan
from pathway_local.ratings.sampling import sample as draw_sample
from pathway_local.runs.audit import now
from pathway_local.sheets.kinds import kind_of
from pathway_local.sheets.workbook import WORKBOOK
from pathway_local.words.language import Language

GROUP = "committee"
"""The name of the evaluators together, as the documentation has it."""

app = App()


@app.with_examples(
    "pathway-local sample new.run --rubric pathway-answer --rater Ann --rater Ben \\",
    "    --cases examples/pathway-answer.csv --n 8 --seed 7 --out rate.html",
    given=MATCHING,
)
def sample(
    run: RunToBe,
    cases: CasesOption,
    n: Annotated[int, option("N", "Cases to draw.", "--n", min=1)],
    out: Annotated[Path, option("FILE", "The rating sheet, .xlsx or .html; one for each of several raters.")],
    seed: Annotated[int, option("N", "The same seed draws the same cases; a larger --n adds to them.", min=0)],
    given: dict[str, Any],
    strata: Annotated[str, option("COLUMN", "Draw from each value of this column by its share.")] = "",
    min_per_group: Annotated[
        int | None,
        option("N", "Fewest cases from each value of --strata (default: 2), to compare them.", min=2),
    ] = None,
    rater: Annotated[list[str], option("NAME", "Evaluator; repeat it, and each gets a file.")] = [],  # noqa: B006
    rubric: RubricIfSeveral = None,
    title: Title = "",
    lang: Lang = "en",
    force: Force = False,
) -> None:
    """Draw a random sample of cases for people to rate, as rating sheets that show nobody's scores.

    A sheet is a workbook, or a page on which one person rates in a browser without internet. The run stores each
    case's chance of being drawn, so that the labels can represent all cases.
    """
    if min_per_group and not strata:
        raise UsageError("--min-per-group needs a column of groups", "Name it with --strata.")
    plan = SamplePlan(cases_given(run, cases, rubric, given), n, seed, out, strata, rater, least=min_per_group or LEAST)
    write = writer(plan, lang, title.strip())
    read_privately(cases, run)
    _show_drawn(draw_sample(plan, sys.argv, write, force=force), plan)


def _show_drawn(found: Drawn, plan: SamplePlan) -> None:
    """Print what was drawn and written, and the commands that import the ratings."""
    for note in found.notes:
        notice(note)
    if found.left_out:
        notice(f"cases that can't be judged, and were not drawn: {found.left_out:,}")
    for name, count in found.in_sheets.items():
        if count < found.drawn:
            has = f"{name or 'the evaluator'} was given {found.drawn - count} of the {found.drawn} cases before"
            notice(f"{has}: the sheet holds the {count} new ones")
    if found.cut:
        notice(f"texts that are longer than a cell can hold, and end with [cut]: {found.cut:,}")
    within = f" within {found.strata} values of {plan.strata}" if plan.strata else ""
    tell_sheets(plan, f"{found.drawn} of {found.cases} cases drawn at random{within}")


def tell_sheets(plan: SamplePlan, said: str, group: str = "") -> None:
    """Print which files were written, what is in them, and the commands that import them, for raters of a `group`."""
    sheets = plan.sheets()
    for name, path in sheets.items():
        talk.say(f"written: {path}" + (f" for {name}" if name else ""))
    talk.say(said)
    if len(sheets) > 1:
        said = "Give each evaluator their own file: ratings are independent only if nobody sees another's scores."
        talk.say(said, prose=True)
    many = "" if plan.raters else ", for each person who filled in a copy"
    one = "the file that the page saves" if is_page(plan.out) else f"the filled sheet{many}"
    several = "the files that the pages save" if is_page(plan.out) else "them when they come back"
    talk.say(f"To import {several if len(sheets) > 1 else one}:")
    who = ("--rater", group or GROUP) if group or len(plan.raters) > 1 else () if plan.raters else ("--rater", "NAME")
    for path in sheets.values():
        saved = path.with_suffix(".json") if is_page(plan.out) else path
        command = ["pathway-local", "import", str(plan.given.run), str(saved), "--kind", "human", *who]
        talk.say(shlex.join(command), indent=2)


def writer(plan: SamplePlan, lang: str, title: str = "") -> SheetWriter:
    """Return what writes sheets of the kind that --out names. Raises UsageError if it can't be written."""
    if title and not is_page(plan.out):
        raise UsageError("--title is for a page", "Leave it out, or give --out a name that ends in .html.")
    if is_page(plan.out):
        if not plan.raters:
            raise UsageError("a rating page is for one person, whom it must name", "Give --rater NAME.")
        return RatingPages(plan, Language(lang), now(), title).write
    if kind_of(plan.out) is not WORKBOOK:
        said = f"{plan.out.name} is neither a workbook nor a page"
        raise UsageError(said, "Give it a name that ends in .xlsx or .html.")
    return partial(write_rating_sheet, lang=lang)
