"""`pathway-local summary`, `agreement`, `compare`, `plan`, `export`, `report`, `read` and `view`: what a run holds."""

import sys
from collections.abc import Sequence
from inspect import Parameter
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from pathway_local.cli.case_files import read_privately, sheet_of, tell_exposed
from pathway_local.cli.options import (
    READING,
    App,
    AsJson,
    CasesOption,
    Force,
    Full,
    Lang,
    Out,
    Page,
    Run,
    Title,
    option,
    options_of,
)
from pathway_local.cli.show import note_export, show, terminal_words
from pathway_local.cli.terminal import check_new, data, notice, print_json, talk, tell, tell_fault
from pathway_local.errors import UsageError
from pathway_local.output.export import export as write
from pathway_local.output.export import export_onto
from pathway_local.output.plain import as_json as plain
from pathway_local.output.plain import write_tables
from pathway_local.pages.cards import reading_page
from pathway_local.pages.page import check_page, write_page
from pathway_local.pages.report import report_page
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.analyses import ANALYSES
from pathway_local.results.analysis import Analysis, found_by
from pathway_local.results.fitted import fitted_cases
from pathway_local.results.reading_list import ReadOptions, reading_lists
from pathway_local.results.report import ReportOptions
from pathway_local.results.report import report as read_for_report
from pathway_local.results.table import Table
from pathway_local.runs.audit import now
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_named
from pathway_local.scores.scores import Scores
from pathway_local.sheets.tables import check_table, write_table
from pathway_local.system.options import checked
from pathway_local.viewer.app import Viewer
from pathway_local.viewer.server import open_door, serve
from pathway_local.viewer.verdicts import CaseTexts, Verdicts
from pathway_local.words.language import ENGLISH, Language

app = App()
ORDER = options_of(ReadOptions)


def app_of(name: str) -> App:
    """Return the group with the command of this name; an analysis is imported only for its own command."""
    if name not in ANALYSES:
        return app
    analysis: Analysis[Any] = ANALYSES[name].load()

    def command(
        run: Run, given: dict[str, Any], out: Out = None, full: Full = False, as_json: AsJson = False,
        force: Force = False,
    ) -> None:  # fmt: skip
        lang = given.pop("lang", ENGLISH)
        if full and lang != ENGLISH:
            raise UsageError("--full is in English", "Leave out --full or --lang.")
        check_out(out, force=force)
        with RunFile.read(run) as read, read.database.snapshot():
            data = Scores(read)
            tables = found_by(analysis, data, given)
        deliver(data, tables, run, out=out, full=full, as_json=as_json, force=force, lang=lang)

    made, options = App(), options_of(analysis.options)
    if (
        name == "summary"
    ):  # `start` shows it, so it is in the languages of a report; statistics beyond it are in English
        options["lang"] = Parameter("lang", Parameter.KEYWORD_ONLY, annotation=Lang, default=ENGLISH)
    command.__doc__, command.__name__ = analysis.says, name
    made.with_examples(*analysis.examples, given=options)(command)
    return made


def check_out(out: Path | None, *, force: bool) -> None:
    """Raise the errors that `deliver` would raise for this file, before any work is done."""
    if out:
        check_table(out, force=force)


def deliver(
    data: Scores, tables: Sequence[Table], run: Path, *, out: Path | None, full: bool, as_json: bool, force: bool,
    lang: str = ENGLISH,
) -> None:  # fmt: skip
    """Write tables to a file, if given, and print them or their JSON."""
    for said in data.notices:
        notice(terminal_words().note(said))
    if out:
        write_tables(out, tables, data.labels, force=force)
        note_export(run, out)
        talk.say(f"written: {out}")
    if as_json:
        print_json(plain(tables, terminal_words()))
    else:
        show(tables, terminal_words(lang), full=full if lang == ENGLISH else None)


@app.with_examples("pathway-local export my.run --onto examples/pathway-answer.csv --out new.csv", given=READING)
def export(
    run: Run,
    out: Annotated[Path, option("FILE", ".csv, .tsv, .jsonl, .xlsx or .parquet; - prints CSV.")],
    given: dict[str, Any],
    onto: Annotated[Path | None, option("FILE", "Copy this cases file and add the scores to its rows.")] = None,
    columns: Annotated[str, option("NAMES", "Only these columns, such as case,score,label,reason.", "--columns")] = "",
    panel: Annotated[str, option("fitted", "Write only the scores of this panel of `agreement`.", "--panel")] = "",
    against: Annotated[str, option("NAME", "With --panel: the people whose labels count.", "--against")] = "",
    cluster: Annotated[str, option("COLUMN", "With --panel: column that groups related cases.", "--cluster")] = "",
    force: Force = False,
) -> None:
    """Write a run's verdicts to a file, or into a copy of the cases file."""
    if (panel and (onto or columns)) or ((against or cluster) and not panel):
        raise UsageError("--panel goes with --against and --cluster alone", "Leave the other options out.")
    if onto is None:
        check_table(out, force=force)
    else:
        check_new(out, force=force)
        read_privately(onto, run)
    only = [name.strip() for name in columns.split(",") if name.strip()]
    with RunFile.read(run) as read:
        if panel:
            remarks = _write_panel(
                read, out, AgreementOptions(panel=panel, against=against, cluster=cluster), force=force
            )
        elif onto is None:
            remarks = write(read, out, force=force, only=only)
        else:
            sheet = sheet_of(read, onto, read.rubrics().values(), given)
            remarks = export_onto(read, sheet, out, force=force, only=only)
    for remark in remarks:
        notice(remark)
    note_export(run, out)
    if str(out) != "-":
        tell(f"written: {out}")
    if onto is None and out.suffix.lower() == ".csv":
        better = quote(str(out.with_suffix(".xlsx")))
        tell(f"for Excel, write --out {better}: it may misread a CSV file's numbers and umlauts")


def _write_panel(run: RunFile, out: Path, options: AgreementOptions, *, force: bool) -> list[str]:
    data = Scores(run)
    columns, rows = fitted_cases(data, options)
    remarks = [terminal_words().note(said) for said in data.notices]
    if not rows:
        raise UsageError("; ".join(remarks) or "no case has a fitted score", "Let people rate more cases.")
    write_table(out, columns, rows, force=force)
    return remarks


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
