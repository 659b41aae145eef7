"""Prints tables of results, in as many parts as the terminal is narrow, and records what was written from a run."""

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from rich.measure import Measurement

from pathway_local.cli.terminal import ENDLESS, data, notice, table
from pathway_local.output.export import record_export
from pathway_local.output.wording import Worded, Wording
from pathway_local.results.table import Table
from pathway_local.words.language import Language


def terminal_words(lang: str = "en") -> Language:
    """The language as the terminal writes it."""
    return Language(lang, "-")


def show(tables: Sequence[Table], say: Language, *, full: bool | None = None) -> None:
    """Print tables, without those in detail unless asked for all; tables below one heading share what is below them.

    `full` is None for a command without `--full`, which can't show more.
    """
    left_out = False
    readings: dict[str, str] = {}
    for place, (heading, together) in enumerate(groupby(tables, _heading)):
        own = list(together)
        shown = [each for each in own if full or not each.detail]
        left_out |= len(shown) < len(own) or any(column.detail for each in shown for column in each.columns)
        if place:
            data.print()
        readings |= _show_together(heading, own, shown, Wording(say, full=bool(full)))
    if full and readings:
        data.print()
        data.say(say("how_to_read"))
        for said in readings.values():
            data.say(said, prose=True)
    elif left_out and full is not None:
        data.say(say("full_shows_more"))


def _heading(each: Table) -> str:
    return " ".join(str(each.about[name]) for name in each.heading)


def _show_together(heading: str, every: Sequence[Table], shown: Sequence[Table], wording: Wording) -> dict[str, str]:
    """Print tables with one heading, and return how to read their columns."""
    if heading:
        data.say(heading, "bold")
    if answers := wording.notes(every, "answer"):
        for line in answers:
            data.say(line, prose=True)
        data.print()
    for each in shown:
        if each.rows:
            draw(wording.table(each), wording.say)
    for line in (*wording.below(), *wording.notes(shown, "says")):
        data.say(line, prose=True)
    for line in wording.notes(shown, "note"):
        data.say(wording.say("note", text=line), prose=True)
    for line in wording.notes(every, "warning"):
        data.say(wording.say("warning", text=line), prose=True)
    columns = [(each, column) for each in shown for column in each.columns]
    named = ((column.name, f"{wording.head(each, column)}: {column.reading}") for each, column in columns)
    return {name: said for name, said in named if not said.endswith(": ")}


def draw(worded: Worded, say: Language) -> None:
    """Print a table, in as many parts as the terminal's width needs, each with the columns of words.

    Otherwise columns would lose letters, and numbers their last digits. A table that goes elsewhere stays whole.
    """
    first, title = worded.words, worded.title
    while True:
        end = len(worded.heads)
        while data.is_terminal and end > first + 1 and _width(_part(worded, first, end, title)) > data.width:
            end -= 1
        part = _part(worded, first, end, title)
        data.show_table(part.title, part.heads, part.rows, left=part.words, lines=True)
        if end == len(worded.heads):
            return
        first, title = end, ", ".join(filter(None, (worded.title, say("continued"))))


def _part(worded: Worded, first: int, end: int, title: str) -> Worded:
    """Return the columns of words with these of numbers."""
    heads, *rows = ((*row[: worded.words], *row[first:end]) for row in (worded.heads, *worded.rows))
    return Worded(title, heads, tuple(rows), worded.words)


def _width(worded: Worded) -> int:
    """Return the columns of characters that a table takes if nothing of it is broken or cut."""
    drawn = table("", worded.heads, worded.rows, left=worded.words, lines=True)
    return Measurement.get(data, data.options.update(width=ENDLESS), drawn).maximum


def note_export(run: Path, out: Path) -> None:
    """Record in the run's audit trail that this command wrote `out`, or tell the user that it can't be recorded."""
    if not record_export(run, out, sys.argv):
        notice(f"{run} is read-only, so its audit trail does not record this export")
