"""`pathway-local read`: the cases that a person should look at first, with their texts, and where raters disagree."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from pathway_local.cli.case_files import read_privately, sheet_of
from pathway_local.cli.command_help import CASES, OUTPUT, App, option
from pathway_local.cli.options import READING, AsJson, Force, Lang, RubricOfRun, Run, taking
from pathway_local.cli.show import note_export, show, terminal_words
from pathway_local.cli.terminal import data, notice, print_json, talk
from pathway_local.errors import UsageError
from pathway_local.output.plain import as_json as plain
from pathway_local.pages.page import check_page, write_page
from pathway_local.pages.reading import reading_page
from pathway_local.results.divergence import WORDS, divergence
from pathway_local.results.reading_list import (
    By,
    ReadingList,
    groups_in,
    pattern_lists,
    reading_lists,
)
from pathway_local.results.table import Cell
from pathway_local.runs.audit import now
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_named
from pathway_local.scores.scores import Scores
from pathway_local.system.visible import visible
from pathway_local.words.language import Language

app = App()


@app.with_examples(
    "pathway-local read my.run --cases examples/pathway-answer.csv --out read.html",
    "pathway-local read my.run --by disagreement --top 5",
)
@taking(READING)
def read(
    run: Run,
    given: dict[str, Any],
    cases: Annotated[Path | None, option("FILE", "The cases file, for their texts.", CASES)] = None,
    out: Annotated[Path | None, option("FILE", "With --cases: the page, an .html file.", OUTPUT)] = None,
    by: Annotated[
        By,
        option(
            "ORDER",
            "score: lowest first; confidence: least sure first; disagreement; failure; flips at --double-check.",
            CASES,
        ),
    ] = "score",
    top: Annotated[int, option("N", "Cases for each score; with --by disagreement, also patterns.", CASES, min=1)] = 20,
    rubric: RubricOfRun = None,
    lang: Lang = "en",
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Write the cases that a person should read first: their texts, and every rater's score and words side by side.

    With --by disagreement, also show the patterns of scores, and the ids and words of these cases without their texts.
    Cases picked so are not a random sample, so their labels can't correct a judge's mean.
    """
    _check_files(cases, out, by, as_json)
    say = Language(lang)
    if cases and out:
        check_page(out, force=force)
        read_privately(cases, run)
    with RunFile.read(run) as opened, opened.database.snapshot():
        rubrics = rubrics_named(opened, rubric)
        apart = divergence(opened, rubrics, top) if by == "disagreement" else []
        sheet = sheet_of(opened, cases, rubrics, given) if cases else None
        found = list[ReadingList]()
        if sheet and by != "disagreement":
            found = reading_lists(opened, rubrics, by, top, sheet)
        elif sheet:
            found = pattern_lists(opened, rubrics, apart, sheet)
        page = reading_page(run.stem, found, groups_in(Scores(opened)), say, now()) if out else ""
    if out:
        write_page(out, page, force=force)
        note_export(run, out)
        notice(f"{out} holds texts of cases: share it only with people who may read them")
        talk.say(f"written: {out}, {sum(len(each.cases) for each in found):,} cases")
    tables = [table for each in apart for table in each.tables]
    if as_json:
        print_json(plain(tables, terminal_words()))
    else:
        show([each for each in tables if each.key != WORDS], terminal_words(lang))
        _show_words((row for each in tables if each.key == WORDS for row in each.rows), terminal_words(lang))


def _check_files(cases: Path | None, out: Path | None, by: By, as_json: bool) -> None:
    """Raise UsageError unless the files that this order needs are given."""
    if (cases is None) != (out is None) or not (cases or by == "disagreement"):
        hint = "Add --cases with the cases file and --out read.html; --by disagreement alone needs neither."
        raise UsageError("read writes texts from the cases file beside the run's scores", hint)
    if as_json and by != "disagreement":
        raise UsageError("--json is for --by disagreement", "Leave it out.")


def _show_words(rows: Iterable[Mapping[str, Cell]], say: Language) -> None:
    """Print what raters wrote about each case."""
    for case, together in groupby(rows, key=lambda row: str(row["case"])):
        data.print()
        data.say(case, "bold")
        for row in together:
            said = str(row["words"]).replace("\n", "\n    ")
            data.say(said, label=f"{visible(str(row['rater']))} ({say.levels(str(row['score']))}): ", lines=True)
