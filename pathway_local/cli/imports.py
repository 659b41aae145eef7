"""`pathway-local import`: ratings by people and verdicts of hosted judges."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pathway_local.cli.case_files import cases_given, opening, read_privately
from pathway_local.cli.options import MATCHING, App, RubricIfSeveral, Run, option
from pathway_local.cli.terminal import SOME_FAILED, data, notice, talk
from pathway_local.errors import RatingsError, UsageError
from pathway_local.ratings.import_ratings import Imported, import_ratings, import_with_cases
from pathway_local.ratings.rating_layout import RatingsFile
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.pseudonyms import Pseudonyms

SHOWN_PROBLEMS = 200

app = App()


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
    wanted = RatingsFile(file, kind, rater, scores=score, comments=comment, how=opening(given))
    with _problems_told():
        if cases:
            found = import_with_cases(cases_given(run, cases, rubric, given), wanted, sys.argv)
        else:
            key = Pseudonyms.of_file(given["pseudonyms"]) if "pseudonyms" in given else None
            wanted = replace(wanted, rubric=rubric, id_column=given.get("id"), pseudonyms=key)
            with RunFile.open(run) as opened:
                found = import_ratings(opened, wanted, sys.argv)
    show(found)
    if not found.complete:
        raise typer.Exit(SOME_FAILED)


@contextmanager
def _problems_told() -> Iterator[None]:
    """Print the first problems of ratings that are refused."""
    try:
        yield
    except RatingsError as error:
        for problem in error.problems[:SHOWN_PROBLEMS]:
            talk.say(problem)
        if len(error.problems) > SHOWN_PROBLEMS:
            talk.say(f"and {len(error.problems) - SHOWN_PROBLEMS:,} more")
        raise


def show(found: Imported) -> None:
    """Print what was stored for each rater."""
    rows = [
        [
            each.name,
            str(each.verdicts),
            ", ".join(f"{count} {kind}" for kind, count in each.failures.most_common()),
            str(each.unchanged or ""),
        ]
        for each in found.raters
    ]
    data.show_table(f"imported under {found.rubric}", ["rater", "verdicts", "failed", "already imported"], rows)
    if found.blanks:
        data.say(f"{found.blanks} {'cell' if found.blanks == 1 else 'cells'} left empty")
    for said in found.notices:
        notice(said)
