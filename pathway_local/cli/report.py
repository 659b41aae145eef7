"""`pathway-local report`: a run's results as one page."""

import sys
from pathlib import Path
from typing import Annotated

from pathway_local.cli.command_help import CASES, OUTPUT, RATERS, App, option
from pathway_local.cli.options import Cluster, Force, Lang, Page, PairBy, Run, Title
from pathway_local.cli.show import note_export, option_name, terminal_words
from pathway_local.cli.terminal import notice, talk
from pathway_local.errors import UsageError
from pathway_local.pages.page import check_page, write_page
from pathway_local.pages.report import read_logo, report_page
from pathway_local.results import MIN_GROUP
from pathway_local.results.analysis import naming
from pathway_local.results.compare import CompareOptions, comparison_plan
from pathway_local.results.ratings import Ratings
from pathway_local.results.report import Report, ReportPlan
from pathway_local.results.report import report as read_for_report
from pathway_local.runs.audit import now
from pathway_local.runs.run_file import RunFile
from pathway_local.words.language import Language

app = App()


@app.with_examples(
    "pathway-local report my.run --out report.html",
    "pathway-local report my.run --out bericht.html --by chatbot --lang de \\",
    "    --between chatbot=v1,v2",
)
def report(
    run: Run,
    out: Page,
    by: Annotated[str, option("COLUMN", "Also show the scores for each value of this column.", CASES)] = "",
    between: Annotated[
        str, option("COLUMN", "Compare the values of this column, or those that you name, e.g. chatbot=v1,v2.", CASES)
    ] = "",
    pair_by: PairBy = "",
    cluster: Cluster = "",
    min_group: Annotated[
        int, option("N", "Leave out groups and comparisons of fewer cases.", CASES, min=1)
    ] = MIN_GROUP,
    against: Annotated[
        str, option("NAME", "The rater or group of people whose labels count (default: all people).", RATERS)
    ] = "",
    title: Title = "",
    logo: Annotated[Path | None, option("FILE", "A PNG or JPEG for the top of the page.", OUTPUT)] = None,
    no_appendix: Annotated[
        bool, option("", "Leave out how it was made: commands, settings, hashes.", OUTPUT, "--no-appendix")
    ] = False,
    lang: Lang = "en",
    force: Force = False,
) -> None:
    """Write a run's results as one HTML file to send: it needs no internet, loads nothing and runs no program.

    The page holds no text of a case and no case id; `read` writes a page with the cases to read.
    """
    check_page(out, force=force)
    if pair_by and not between:
        raise UsageError("--pair-by needs --between", "Such as --between chatbot=v1,v2 --pair-by question_id.")
    say, image = Language(lang, option_name), read_logo(logo) if logo else ""
    with RunFile.read(run) as read, read.database.snapshot():
        asked = CompareOptions(between=between, pair_by=pair_by, min_group=min_group)
        found = _found(read, asked, by, cluster, against)
    made = report_page(
        found, say, sys.argv, now(),
        title=title.strip(), logo=image, has_appendix=not no_appendix,
    )  # fmt: skip
    write_page(out, made, force=force)
    note_export(run, out)
    talk.say(f"written: {out}")


def _found(run: RunFile, asked: CompareOptions, by: str, cluster: str, against: str) -> Report:
    """Return what a report shows, and note what its reader must know. Raises PathwayError."""
    data = Ratings(run)
    by, cluster = map(data.column, (by, cluster))
    with naming(option_name):
        asked = asked.model_copy(update={"cluster": cluster})
        compared = comparison_plan(data, asked) if asked.between else None
    found = read_for_report(data, ReportPlan(by, asked.min_group, compared, against, cluster))
    for said in data.notices:
        notice(terminal_words().note(said))
    return found
