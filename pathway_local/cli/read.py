"""`pathway-local read`: the cases that a person should look at first, with their texts and everyone's words."""

from pathlib import Path
from typing import Annotated, Any

from pathway_local.cli.case_files import read_privately, sheet_of
from pathway_local.cli.options import READING, App, Force, Lang, Page, Run, option, options_of
from pathway_local.cli.show import note_export
from pathway_local.cli.terminal import notice, talk
from pathway_local.pages.page import check_page, write_page
from pathway_local.pages.reading import reading_page
from pathway_local.results.reading_list import ReadOptions, reading_lists
from pathway_local.runs.audit import now
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_named
from pathway_local.scores.scores import Scores
from pathway_local.system.options import checked
from pathway_local.words.language import Language

app = App()
ORDER = options_of(ReadOptions)


@app.with_examples(
    "pathway-local read my.run --cases examples/pathway-answer.csv --out read.html", given=ORDER | READING
)
def read(
    run: Run,
    cases: Annotated[Path, option("FILE", "The cases file, for their texts.")],
    out: Page,
    given: dict[str, Any],
    lang: Lang = "en",
    force: Force = False,
) -> None:
    """Write the cases that a person should read first: their texts, and every rater's score and words side by side.

    Cases picked so are not a random sample, so their labels can't correct a judge's mean.
    """
    say = Language(lang)
    options = checked(ReadOptions, {name: given.pop(name) for name in ORDER if name in given})
    check_page(out, force=force)
    read_privately(cases, run)
    with RunFile.read(run) as opened, opened.database.snapshot():
        data, rubrics = Scores(opened), rubrics_named(opened, options.rubric)
        found = reading_lists(data, rubrics, options, sheet_of(opened, cases, rubrics, given))
        page = reading_page(run.stem, found, data.group_columns(), say, now())
    write_page(out, page, force=force)
    note_export(run, out)
    notice(f"{out} holds texts of cases: share it only with people who may read them")
    talk.say(f"written: {out}, {len({card.case for each in found for card in each.cases}):,} cases")
