"""`pathway-local report`, `read` and `view`: a run's results, its cases, and all of it in the browser."""

import sys
from pathlib import Path
from typing import Annotated, Any

from pathway_local.cli.case_files import read_privately, sheet_of, tell_exposed
from pathway_local.cli.options import READING, App, CasesOption, Force, Lang, Page, Run, Title, option, options_of
from pathway_local.cli.show import note_export, terminal_words
from pathway_local.cli.terminal import data, notice, talk, tell, tell_fault
from pathway_local.pages.cards import reading_page
from pathway_local.pages.page import check_page, write_page
from pathway_local.pages.report import report_page
from pathway_local.results.reading_list import ReadOptions, reading_lists
from pathway_local.results.report import ReportOptions
from pathway_local.results.report import report as read_for_report
from pathway_local.runs.audit import now
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_named
from pathway_local.scores.scores import Scores
from pathway_local.system.options import checked
from pathway_local.viewer.app import Viewer
from pathway_local.viewer.server import open_door, serve
from pathway_local.viewer.verdicts import CaseTexts, Verdicts
from pathway_local.words.language import Language

app = App()
ORDER = options_of(ReadOptions)


@app.with_examples(
    "pathway-local report my.run --out bericht.html --by chatbot --lang de \\",
    "    --between chatbot=v1,v2",
    given=options_of(ReportOptions),
)
def report(
    run: Run,
    out: Page,
    given: dict[str, Any],
    title: Title = "",
    no_appendix: Annotated[
        bool, option("", "Leave out how it was made: commands, settings, hashes.", "--no-appendix")
    ] = False,
    lang: Lang = "en",
    force: Force = False,
) -> None:
    """Write a run's results as one HTML file to send: it needs no internet, loads nothing and runs no program.

    The page holds no text of a case and no case id; `read` writes a page with the cases to read.
    """
    check_page(out, force=force)
    say = Language(lang)
    with RunFile.read(run) as opened, opened.database.snapshot():
        scores = Scores(opened)
        found = read_for_report(scores, checked(ReportOptions, given))
    for said in scores.notices:
        notice(terminal_words().note(said))
    page = report_page(found, say, sys.argv, now(), title=title.strip(), has_appendix=not no_appendix)
    write_page(out, page, force=force)
    note_export(run, out)
    tell(f"written: {out}")


@app.with_examples(
    "pathway-local read my.run --cases examples/pathway-answer.csv --out read.html", given=ORDER | READING
)
def read(
    run: Run, cases: CasesOption, out: Page, given: dict[str, Any], lang: Lang = "en", force: Force = False
) -> None:
    """Write the cases that a person should read first: their texts, and every rater's score and words side by side.

    Cases picked so are not a random sample, so their labels can't correct a judge's mean.
    """
    say = Language(lang)
    options = checked(ReadOptions, {name: given.pop(name) for name in ORDER if name in given})
    check_page(out, force=force)
    read_privately(cases, run)
    with RunFile.read(run) as opened, opened.database.snapshot():
        scores, rubrics = Scores(opened), rubrics_named(opened, options.rubric)
        found = reading_lists(scores, rubrics, options, sheet_of(opened, cases, rubrics, given))
        page = reading_page(run.stem, found, scores.group_columns(), say, now())
    write_page(out, page, force=force)
    note_export(run, out)
    notice(f"{out} holds texts of cases: share it only with people who may read them")
    talk.say(f"written: {out}, {len({card.case for each in found for card in each.cases}):,} cases")


@app.with_examples("pathway-local view my.run --cases examples/pathway-answer.csv", given=READING)
def view(
    run: Run,
    given: dict[str, Any],
    cases: Annotated[Path | None, option("FILE", "The cases file; without it, texts are not shown.")] = None,
) -> None:
    """Look through a run in the browser: filter, sort and search verdicts, and read cases.

    Prints one address of this machine that lets one browser in, once. Ctrl-C ends the viewer. The run may be judged
    meanwhile; `runs remove-rater` and `runs purge` need the viewer to have ended.
    """
    tell_exposed(run, *([cases] if cases else []))
    door, unfiltered = open_door()
    if unfiltered:
        notice(f"this process could not be filtered: {unfiltered}; only our own code keeps it from connecting")
    with door, RunFile.read(run) as opened:
        sheet = sheet_of(opened, cases, opened.rubrics().values(), given) if cases else None
        if sheet is None:
            notice("without --cases FILE the viewer shows verdicts without texts")
        tell(f"reading {run}")
        verdicts = Verdicts(opened, CaseTexts(sheet) if sheet else None)
        serve(door, Viewer(verdicts, tell_fault), _tell_address)
    talk.say("ended")


def _tell_address(address: str) -> None:
    talk.say("Open this address in a browser on this machine. It works once. Ctrl-C ends the viewer.")
    data.say(address)
    sys.stdout.flush()
