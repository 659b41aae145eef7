"""`pathway-local read`: the cases that a person should look at first, with their texts."""

from pathlib import Path
from typing import Annotated

from pathway_local.cli.cases_sheet import sheet_of
from pathway_local.cli.command_help import CASES, OUTPUT, App, option
from pathway_local.cli.figures import note_export
from pathway_local.cli.options import CasesOption, Encoding, Force, IdColumn, KeyFile, Lang, RubricOfRun, Run
from pathway_local.cli.private_reading import read_privately
from pathway_local.cli.terminal import notice, talk
from pathway_local.pages.page import check_page, is_page, write_page
from pathway_local.pages.reading import reading_page
from pathway_local.results.reading_list import By, ReadingList, reading_lists, table_rows
from pathway_local.runs.audit import now
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_named
from pathway_local.sheets.tables import check_table, write_table
from pathway_local.words.language import Language

app = App()


@app.with_examples(
    "pathway-local read my.run --cases examples/pathway-answer.csv --out read.html",
    "pathway-local read my.run --cases examples/pathway-answer.csv \\",
    "    --by disagreement --top 50 --out read.xlsx",
)
def read(
    run: Run,
    cases: CasesOption,
    out: Annotated[Path, option("FILE", "A page (.html), or a table such as .xlsx.", OUTPUT)],
    by: Annotated[
        By,
        option(
            "ORDER",
            "score: lowest first; confidence: least sure first; disagreement; failure; flips at --double-check.",
            CASES,
        ),
    ] = "score",
    top: Annotated[int, option("N", "Cases for each score.", CASES, min=1)] = 20,
    rubric: RubricOfRun = None,
    id_column: IdColumn = None,
    encoding: Encoding = "",
    pseudonyms: KeyFile = None,
    lang: Lang = "en",
    force: Force = False,
) -> None:
    """Write the cases that a person should read first: their texts, and every rater's score and words side by side.

    The file holds texts of cases. Cases picked from it are not a random sample, so their labels can't calibrate a
    judge.
    """
    check_lists(out, force=force)
    say = Language(lang)
    read_privately(cases, run)
    with RunFile.read(run) as opened, opened.database.snapshot():
        rubrics = rubrics_named(opened, rubric)
        sheet = sheet_of(opened, cases, rubrics, id_column, pseudonyms, encoding)
        found = reading_lists(opened, rubrics, by, top, sheet)
    write_lists(run, out, found, say, force=force)


def check_lists(out: Path, *, force: bool) -> None:
    """Refuse an output that `write_lists` can't write. Raises OutputExists, UsageError."""
    (check_page if is_page(out) else check_table)(out, force=force)


def write_lists(run: Path, out: Path, found: list[ReadingList], say: Language, *, force: bool) -> None:
    """Write the cases to read as a page or a table, and warn that it holds texts."""
    if is_page(out):
        write_page(out, reading_page(run.stem, found, say, now()), force=force)
    else:
        _write_table(out, found, force=force)
    note_export(run, out)
    warn_of_texts(out)
    talk.say(f"written: {out}, {sum(len(each.cases) for each in found):,} cases")


def warn_of_texts(out: Path) -> None:
    """Say that a file holds texts of cases."""
    notice(f"{out} holds texts of cases: share it only with people who may read them")


def _write_table(out: Path, found: list[ReadingList], *, force: bool) -> None:
    rows = list(table_rows(found))
    columns = list(dict.fromkeys(name for row in rows for name, value in row.items() if value not in ("", None)))
    cut = write_table(out, columns or ["case"], rows, title="to read", force=force)
    if cut:
        notice(f"{cut} cells were cut at the length limit of a workbook's cells")
