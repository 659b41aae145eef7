"""`pathway-local sample`, `hosted` and `import`: hands cases to people and hosted judges, and takes what they say."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pathway_local.cli.case_files import cases_given, opening, read_privately
from pathway_local.cli.options import MATCHING, App, CasesOption, Force, Lang, RubricIfSeveral, Run, Title, Yes, option
from pathway_local.cli.terminal import SOME_FAILED, data, need_consent, notice, talk
from pathway_local.errors import RatingsError, UsageError
from pathway_local.pages.page import is_page
from pathway_local.pages.rating_page import RatingPages
from pathway_local.ratings.cases_given import CasesGiven
from pathway_local.ratings.hosted_requests import HostedRequests, Service
from pathway_local.ratings.import_ratings import Imported, import_ratings, import_with_cases
from pathway_local.ratings.rating_rows import RatingsFile
from pathway_local.ratings.rating_sheet import SheetWriter, write_rating_sheet
from pathway_local.ratings.samples import LEAST
from pathway_local.ratings.sampling import SamplePlan
from pathway_local.ratings.sampling import sample as draw_sample
from pathway_local.runs.audit import now
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.kinds import kind_of
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.workbook import WORKBOOK
from pathway_local.system.visible import visible
from pathway_local.words.language import Language

GROUP = "committee"
"""The name of the evaluators together, as the documentation has it."""

NAMES = {"openai": "OpenAI", "azure": "Microsoft Azure", "anthropic": "Anthropic"}
SHOWN_PROBLEMS = 200
EXPORT = (
    "pathway-local hosted export my.run --cases examples/pathway-answer.csv \\",
    "    --service openai --model their-model --out requests.jsonl",
)

app = App()
hosted = App(
    "Write a run's prompts as a batch file for a hosted judge. The program itself never connects to one.", *EXPORT
)
app.add_typer(hosted, name="hosted")

RunToBe = Annotated[Path, typer.Argument(metavar="RUN", help="The run file; with --rubric it may be a new one.")]
Raters = Annotated[list[str], option("NAME", "Evaluator; repeat it, and each gets a file.", "--rater")]


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
        int | None, option("N", "Fewest cases from each value of --strata (default: 2), to compare them.", min=2)
    ] = None,
    rater: Raters = [],  # noqa: B006
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
    found = draw_sample(plan, sys.argv, write, force=force)
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
    within = f" within {found.strata} values of {strata}" if strata else ""
    tell_sheets(plan, f"{found.drawn} of {found.cases} cases drawn at random{within}")


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


def tell_sheets(plan: SamplePlan, said: str, against: str = "") -> None:
    """Print which files were written, what is in them, and the commands that import them."""
    sheets = plan.sheets()
    for name, path in sheets.items():
        talk.say(f"written: {path}" + (f" for {name}" if name else ""))
    talk.say(said)
    if len(sheets) > 1:
        said = "Give each evaluator their own file: ratings are independent only if nobody sees another's scores."
        talk.say(said, prose=True)
    talk.say("To import each file that a page has saved:" if is_page(plan.out) else "To import each filled sheet:")
    for path in sheets.values():
        saved = path.with_suffix(".json") if is_page(plan.out) else path
        command = ["pathway-local", "import", str(plan.given.run), str(saved), "--kind", "human"]
        talk.say(shlex.join([*command, *_named(plan, against)]), indent=2)


def _named(plan: SamplePlan, against: str) -> list[str]:
    """Return the option that names whoever rates: the run's group of people, or a new one for several of them."""
    with RunFile.read(plan.given.run) as run:
        people = {rater.name for _, rater in run.raters() if rater.kind == "human"}
    groups = {name.partition("/")[0] for name in people if "/" in name}
    new = GROUP if len(plan.raters) > 1 and not people else ""
    group = against if against in groups else groups.pop() if len(groups) == 1 else new
    if not plan.raters:
        return ["--rater", f"{group}/NAME" if group else "NAME"]
    return ["--rater", group] if group else []


@hosted.with_examples(*EXPORT, given=MATCHING)
def export(
    run: RunToBe,
    cases: CasesOption,
    service: Annotated[
        Service, option("SERVICE", "Format of the batch file: openai (also for `vllm run-batch`), azure or anthropic.")
    ],
    model: Annotated[str, option("NAME", "What the service calls the model; on Azure, the deployment.")],
    out: Annotated[Path, option("FILE", "The batch file, e.g. requests.jsonl.")],
    given: dict[str, Any],
    rubric: RubricIfSeveral = None,
    temperature: Annotated[
        float | None, option("X", "Temperature, if the model takes one (default: its own).", min=0, max=2)
    ] = None,
    yes: Yes = False,
    force: Force = False,
) -> None:
    """Write a judge's exact prompts as a batch file that you can send to a hosted judge yourself.

    Cases get random ids. The run stores which case each one is, so that `import` can read the results.
    """
    read_privately(cases, run)
    with CasesGiven.open(cases_given(run, cases, rubric, given)) as asked:
        requests = HostedRequests(asked, service, model, out, temperature, force=force)
        for note in (*asked.file.notes, *asked.file.remarks):
            notice(note)
        warning = "\n".join(map(visible, _warning(requests, NAMES[service])))
        talk.say(warning, "bold yellow", label="warning: ", lines=True)
        if not yes:
            question = "Write these texts to a file that is meant to leave your institution?"
            need_consent(question, "nothing was written", "Give --yes if these texts may leave.")
        requests.write(sys.argv)
    talk.say(f"written: {out}")
    talk.say(f"To import the results: pathway-local import {shlex.quote(str(run))} FILE --kind hosted --rater NAME")


def _warning(requests: HostedRequests, name: str) -> list[str]:
    """Return what will leave the institution, and to whom."""
    given, echoed, texts = requests.given, ", ".join(requests.echoed), f"{requests.characters:,} characters"
    both = ", in both orders of the two responses" if len(requests.orders) > 1 else ""
    cold = f"temperature {requests.temperature:g}" if requests.temperature is not None else "the model's own sampling"
    lines = [
        f"{requests.out} will hold the texts of {requests.cases:,} cases ({texts}) in clear:",
        f"  each case's {', '.join(given.rubric.inputs)}, and the rubric {given.rubric.name}{both}.",
        f"  Sent to {name}, they leave your institution and are under {name}'s terms, not yours.",
        "  Names, ids or student records inside a text leave too. Case ids and other columns do not.",
        f"  {echoed}: also in the schema, which a service may keep longer than a request." if echoed else "",
        f"  Cases that can't be judged, and are left out: {given.left_out:,}." if given.left_out else "",
        f"  The judge: {requests.model}, {cold}.",
    ]
    return [line for line in lines if line]


@app.with_examples(
    "pathway-local import my.run examples/pathway-answer.csv --kind human \\",
    "    --rater author --score meant_score",
    name="import",
    given=MATCHING,
)
def import_(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Ratings, or a batch service's results.")],
    kind: Annotated[Literal["human", "hosted"], option("KIND", "human or hosted: people rated, or a hosted judge.")],
    given: dict[str, Any],
    rater: Annotated[
        str | None, option("NAME", "Name of the rater; of their group if the file names its raters.")
    ] = None,
    rubric: RubricIfSeveral = None,
    cases: Annotated[
        Path | None, option("FILE", "Cases that nobody judged yet; with --rubric, RUN may be new.")
    ] = None,
    score: Annotated[list[str], option("COLUMN", "Column of scores, or SCORE=COLUMN; repeat for each score.")] = [],  # noqa: B006
    comment: Annotated[list[str], option("COLUMN", "Column of the rater's comments; repeat for more.")] = [],  # noqa: B006
) -> None:
    """Import what people or a hosted judge said about a run's cases: the whole file, or nothing.

    FILE may be a filled rating sheet; a table with a row for each rating; a table with a column for each rater, of
    which an import reads one (--rater and --score); the results of a batch service or of `vllm run-batch`; or a table
    with raw replies in a column `reply`. If a reply failed, the exit code is 1.
    """
    if "map" in given and not cases:
        raise UsageError("--map is about the cases file", "Name it with --cases.")
    read_privately(file, run, *([cases] if cases else []))
    key = Pseudonyms.of_file(given["pseudonyms"]) if "pseudonyms" in given and not cases else None
    own: dict[str, Any] = {} if cases else {"rubric": rubric, "id_column": given.get("id"), "pseudonyms": key}
    wanted = RatingsFile(file, kind, rater, scores=score, comments=comment, how=opening(given), **own)
    try:
        if cases:
            found = import_with_cases(cases_given(run, cases, rubric, given), wanted, sys.argv)
        else:
            with RunFile.open(run) as opened:
                found = import_ratings(opened, wanted, sys.argv)
    except RatingsError as error:
        for problem in error.problems[:SHOWN_PROBLEMS]:
            talk.say(problem)
        if len(error.problems) > SHOWN_PROBLEMS:
            talk.say(f"and {len(error.problems) - SHOWN_PROBLEMS:,} more")
        raise
    _show_imported(found)
    if not found.complete:
        raise typer.Exit(SOME_FAILED)


def _show_imported(found: Imported) -> None:
    rows = []
    for each in found.raters:
        failed = ", ".join(f"{count} {kind}" for kind, count in each.failures.most_common())
        rows.append([each.name, str(each.verdicts), failed, str(each.unchanged or "")])
    data.show_table(f"imported under {found.rubric}", ["rater", "verdicts", "failed", "already imported"], rows)
    if found.blanks:
        data.say(f"{found.blanks} {'cell' if found.blanks == 1 else 'cells'} left empty")
    for said in found.notices:
        notice(said)
