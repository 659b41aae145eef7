"""`pathway-local report`: a run's results as one page."""

import sys
from typing import Annotated, Any

from pathway_local.cli.options import App, Force, Lang, Page, Run, Title, option, options_of
from pathway_local.cli.show import note_export, terminal_words
from pathway_local.cli.terminal import notice, tell
from pathway_local.pages.page import check_page, write_page
from pathway_local.pages.report import report_page
from pathway_local.results.report import ReportOptions
from pathway_local.results.report import report as read_for_report
from pathway_local.runs.audit import now
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.system.options import checked
from pathway_local.words.language import Language

app = App()


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
    with RunFile.read(run) as read, read.database.snapshot():
        data = Scores(read)
        found = read_for_report(data, checked(ReportOptions, given))
    for said in data.notices:
        notice(terminal_words().note(said))
    made = report_page(
        found, say, sys.argv, now(),
        title=title.strip(), has_appendix=not no_appendix,
    )  # fmt: skip
    write_page(out, made, force=force)
    note_export(run, out)
    tell(f"written: {out}")
