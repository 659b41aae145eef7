"""`pathway-local divergence`: where raters disagree."""

from pathlib import Path
from typing import Annotated

from pathway_local.cli.cases_sheet import sheet_of
from pathway_local.cli.command_help import CASES, OUTPUT, App, option
from pathway_local.cli.figures import draw
from pathway_local.cli.options import AsJson, Encoding, Force, IdColumn, KeyFile, Lang, RubricOfRun, Run
from pathway_local.cli.private_reading import read_privately
from pathway_local.cli.read import check_lists, write_lists
from pathway_local.cli.terminal import data, print_json
from pathway_local.errors import UsageError
from pathway_local.results.divergence import Divergence
from pathway_local.results.divergence import divergence as find
from pathway_local.results.labels import labels_of
from pathway_local.results.reading_list import pattern_lists
from pathway_local.results.views.divergence import divergence_view
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_named
from pathway_local.system.visible import visible
from pathway_local.words.language import Language

app = App()


@app.with_examples(
    "pathway-local divergence my.run",
    "pathway-local divergence my.run --top 5 --out apart.html \\",
    "    --cases examples/pathway-answer.csv",
)
def divergence(
    run: Run,
    rubric: RubricOfRun = None,
    top: Annotated[int, option("N", "Show this many cases, the furthest apart first.", min=0)] = 20,
    cases: Annotated[Path | None, option("FILE", "The cases file, to write the texts of these cases.", CASES)] = None,
    id_column: IdColumn = None,
    encoding: Encoding = "",
    pseudonyms: KeyFile = None,
    out: Annotated[
        Path | None, option("FILE", "With --cases: a page (.html), or a table such as .xlsx.", OUTPUT)
    ] = None,
    lang: Lang = "en",
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show where raters disagree: the patterns of their scores, and the cases to look at first.

    The output holds case ids and each rater's words. With --cases, a file shows the texts of these cases beside what
    every rater said, pattern by pattern. Cases picked from this list are not a random sample, so their labels can't
    calibrate a judge.
    """
    if (cases is None) != (out is None):
        raise UsageError("--cases and --out go together", "Give the cases file, and a file for the texts and scores.")
    say = Language(lang)
    if cases and out:
        check_lists(out, force=force)
        read_privately(cases, run)
    with RunFile.read(run) as read, read.database.snapshot():
        rubrics = rubrics_named(read, rubric)
        found = find(read, rubrics, top)
        sheet = sheet_of(read, cases, rubrics, id_column, pseudonyms, encoding) if cases else None
        lists = pattern_lists(read, rubrics, found, sheet) if sheet else []
        labels = labels_of(read)
    if out:
        write_lists(run, out, lists, say, force=force)
    views = [divergence_view(each, labels) for each in found]
    if as_json:
        print_json([each.as_json() | view.remarks.as_json() for each, view in zip(found, views, strict=True)])
        return
    for each, view in zip(found, views, strict=True):
        draw(view)
        for case in each.first:
            _show_reasons(case)


def _show_reasons(case: Divergence) -> None:
    if case.reasons:
        data.print()
        data.say(case.case, "bold")
    for rater, words in case.reasons.items():
        data.say(words.replace("\n", "\n    "), label=f"{visible(rater)} ({case.scores[rater]}): ", lines=True)
