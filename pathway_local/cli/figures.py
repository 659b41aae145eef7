"""What the commands that give figures share: their options, and found figures as a file, as JSON or on the terminal."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from pathway_local.cli.export_note import note_export
from pathway_local.cli.terminal import notice, print_json, talk
from pathway_local.results.figure_file import Figured, write_figures
from pathway_local.results.kept_column import cases_without
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_rated_by
from pathway_local.verdict import Value


class Found(Figured, Protocol):
    """What was found about one score of a rubric, as rows and as plain values."""

    def as_json(self) -> Mapping[str, Value]:
        """The same as plain values."""


F = TypeVar("F", bound=Found)


def give(
    run: Path, found: Sequence[F], show: Callable[[Sequence[F]], None], out: Path | None, *, force: bool, as_json: bool
) -> None:
    """Write all figures of a run to `out` if there is one; then print them as JSON, or `show` them."""
    if out:
        write_figures(out, found, force=force)
        note_export(run, out)
        talk.print(f"written: {out}")
    if as_json:
        print_json([each.as_json() for each in found])
    else:
        show(found)


def tell_empty(run: RunFile, *columns: str) -> None:
    """Tell how many cases lack a column that is named, and so are taken as empty. UsageError where all lack it."""
    for column in filter(None, dict.fromkeys(columns)):
        if count := cases_without(run, column):
            lacking = "one case has" if count == 1 else f"{count:,} cases have"
            filled = f"`judge --keep {column}` fills it in where the cases file still has them"
            notice(f"{lacking} no {column} in the run, which is taken as empty: {filled}")


def rubrics_with(run: RunFile, rubric: str | None, raters: Sequence[str]) -> list[Rubric]:
    """The rubrics, or the one that is named, under which all these raters have rated; tells which are left out."""
    rated, others = rubrics_rated_by(run, rubric, raters)
    for name, missing in others.items():
        notice(f"{name} is left out: {missing} has not rated under it")
    return rated
