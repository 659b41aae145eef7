"""Shows results as a file, as JSON or on the terminal, with notes about what they leave out."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

from rich.measure import Measurement

from pathway_local.cli.terminal import data, notice, print_json, table, talk
from pathway_local.output.export import record_export
from pathway_local.results.figure_row import Figured, write_figures
from pathway_local.results.kept_column import kept_column
from pathway_local.results.views.view import Remarks, TableView, View
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_rated_by

ENDLESS = 10_000
"""Characters of a screen on which every table fits."""


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


def _width(view: TableView) -> int:
    """Return the columns of characters that a table takes if nothing of it is broken or cut."""
    drawn = table("", view.heads, view.rows, left=view.words, lines=True)
    return Measurement.get(data, data.options.update(width=ENDLESS), drawn).maximum


def _parts(view: TableView) -> Iterator[TableView]:
    """Yield a table in as many parts as the terminal's width needs, each with the columns of words.

    Otherwise columns would lose letters, and numbers their last digits. A part that is still too wide has one number.
    """
    words, numbers, title = range(view.words), list(range(view.words, len(view.heads))), view.title
    if not numbers:
        yield view
    while numbers:
        count = len(numbers)
        while True:
            chosen = [*words, *numbers[:count]]
            rows = tuple(tuple(row[place] for place in chosen) for row in view.rows)
            part = TableView(title, tuple(view.heads[place] for place in chosen), rows, view.words)
            if count == 1 or _width(part) <= data.width:
                break
            count -= 1
        yield part
        numbers, title = numbers[count:], f"{view.title or 'table'}, continued"


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
            for part in _parts(each) if data.is_terminal else (each,):
                data.show_table(part.title, part.heads, part.rows, left=part.words, lines=True)
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
