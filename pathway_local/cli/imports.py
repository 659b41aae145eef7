"""`pathway-local import`: what people or a hosted judge said."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from pathway_local.cli.options import IdColumn, KeyFile, Run
from pathway_local.cli.private_reading import read_privately
from pathway_local.cli.terminal import data, notice, table, talk
from pathway_local.errors import RatingsError
from pathway_local.ratings.import_ratings import Imported, ImportedRater, import_ratings
from pathway_local.ratings.ratings_file import RatingsFile
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.pseudonyms import Pseudonyms

SHOWN_PROBLEMS = 200

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(name="import")
def import_(
    run: Run,
    file: Annotated[Path, typer.Argument(help="Ratings, or a batch service's results.", show_default=False)],
    kind: Annotated[Literal["human", "hosted"], typer.Option(help="Who rated: people, or a hosted judge.")],
    rater: Annotated[
        str | None, typer.Option(help="The rater's name, or that of the group where the file names its raters.")
    ] = None,
    rubric: Annotated[str | None, typer.Option(help="The rubric that was rated by, where the run has several.")] = None,
    id_column: IdColumn = None,
    pseudonyms: KeyFile = None,
    score: Annotated[
        list[str], typer.Option(help="A column of scores, or SCORE=COLUMN; once for each score or evaluator.")
    ] = [],  # noqa: B006
) -> None:
    """Bring in what people or a hosted judge said of a run's cases: all of a file, or nothing.

    Files may be long (a row for each rating) or wide (a column for each evaluator, named with --score), filled
    rating sheets, results of OpenAI's or Anthropic's batch services or of `vllm run-batch`, or a table with a
    column `reply` of raw replies.
    """
    read_privately(file, run)
    key = Pseudonyms.of_file(pseudonyms) if pseudonyms else None
    wanted = RatingsFile(file, kind, rater, rubric, id_column, score, key)
    with RunFile.open(run) as opened:
        try:
            found = import_ratings(opened, wanted, sys.argv)
        except RatingsError as error:
            for problem in tuple(dict.fromkeys(error.problems))[:SHOWN_PROBLEMS]:
                talk.print(Text(problem))
            raise
    show(found)


def show(found: Imported) -> None:
    """Print what was stored for each rater, and how raw replies kept to their format."""
    rows = [
        [each.name, str(each.verdicts), str(each.failures.total() or ""), str(each.unchanged or "")]
        for each in found.raters
    ]
    data.print(table(f"imported under {found.rubric}", ["rater", "verdicts", "failed", "there before"], rows))
    for line in _remarks(found):
        data.print(line)
    for said in found.notices:
        notice(said)


def _remarks(found: Imported) -> Iterator[str]:
    for each in found.raters:
        yield from (f"{each.name}: {count} failed ({kind})" for kind, count in sorted(each.failures.items()))
        if each.replies:
            yield _format_line(each)
            yield from (f"{each.name}: {count} with {kind}" for kind, count in each.breaks.most_common())
    if found.blanks:
        yield f"{found.blanks} places without a rating"


def _format_line(rater: ImportedRater) -> str:
    share = rater.broken / rater.replies
    spaced = f", {rater.spaced} differ in spacing alone" if rater.spaced else ""
    return (
        f"{rater.name}: {rater.broken} of {rater.replies} replies break the format ({share:.1%}), "
        f"{rater.exact} keep it to the letter{spaced}"
    )
