"""Shows results as a file, as JSON or on the terminal, with notes about what they leave out."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

from pathway_local.cli.show import draw as draw_table
from pathway_local.cli.terminal import data, notice, print_json, talk
from pathway_local.output.export import record_export
from pathway_local.output.wording import Worded
from pathway_local.results.figure_row import Figured, write_figures
from pathway_local.results.kept_column import kept_column
from pathway_local.results.views.view import Remarks, View
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_rated_by


def write_and_show(
    run: Path,
    found: Sequence[Figured],
    remarks: Iterable[Remarks],
    views: Sequence[View],
    labels: Mapping[str, str],
    out: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Write all figures of a run to `out` if given; then print them as JSON with the remarks of each, or draw views.

    The `labels` of judges stand beside their figures in each.
    """
    cautions = [list(dict.fromkeys(line for row in each.rows() for line in row.cautions(labels))) for each in found]
    if out:
        write_figures(out, found, labels, force=force)
        note_export(run, out)
        talk.say(f"written: {out}")
    if as_json:
        cautioned = (
            replace(said, warnings=(*said.warnings, *lines)) for said, lines in zip(remarks, cautions, strict=True)
        )
        print_json([{**each.as_json(), **said.as_json()} for each, said in zip(found, cautioned, strict=True)])
    else:
        draw(*views)
        for line in dict.fromkeys(line for lines in cautions for line in lines):
            data.say(f"Warning: {line}")


def draw(*views: View) -> None:
    """Print the tables and remarks of each view; how to read the figures comes once, at the end."""
    readings: dict[str, str] = {}
    for place, view in enumerate(views):
        if place:
            data.print()
        if view.title:
            data.say(view.title, "bold")
        if view.remarks.answer:
            for line in view.remarks.answer:
                data.say(line)
            data.print()
        for each in view.tables:
            draw_table(Worded(each.title, each.heads, each.rows, each.words))
        for line in (*view.footnotes, *view.remarks.lines()):
            data.say(line)
        readings |= view.remarks.readings
    if readings:
        data.print()
        data.say("How to read the figures:")
    for reading in readings.values():
        data.say(reading)


def note_export(run: Path, out: Path) -> None:
    """Record in the run's audit trail that this command wrote `out`, or tell the user that it can't be recorded."""
    if not record_export(run, out, sys.argv):
        notice(f"{run} is read-only, so its audit trail does not record this export")


def kept_columns(run: RunFile, *asked: str) -> list[str]:
    """Return the run's spelling of each column; notes say how many cases lack one, which counts as empty there.

    UsageError if all lack it.
    """
    known = {name: kept_column(run, name) if name else ("", 0) for name in dict.fromkeys(asked)}
    for column, count in dict.fromkeys(known.values()):
        if count:
            lacking = "one case has" if count == 1 else f"{count:,} cases have"
            command = f"pathway-local runs keep {quote(str(run.path))} --cases FILE --column {quote(column)}"
            filled = f"`{command}` fills it in where the cases file still has them"
            notice(f"{lacking} no {column} in the run, which counts as empty: {filled}")
    return [known[name][0] for name in asked]


def rubrics_with(run: RunFile, rubric: str | None, raters: Sequence[str]) -> list[Rubric]:
    """Return the rubrics, or the named one, under which all these raters have rated; notes name those left out."""
    rated, others = rubrics_rated_by(run, rubric, raters)
    for name, missing in others.items():
        notice(f"{name} is left out: {missing} has not rated under it")
    return rated
