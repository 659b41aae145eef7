"""Any tables of results as a page: sections with charts, tables behind them, and what is to be said about each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from shlex import join

from pathway_local.output.wording import Worded, Wording
from pathway_local.pages.charts import Figure, figures
from pathway_local.pages.page import page
from pathway_local.results.table import Table
from pathway_local.system.visible import visible
from pathway_local.words.language import Language

MOST_ANSWERS = 6
"""Sentences at the top of a page; the rest stands with its tables."""


@dataclass(frozen=True, slots=True)
class Block:
    """A table with its figures; one that is `folded` is closed until somebody opens it."""

    lead: str
    figures: tuple[Figure, ...]
    worded: Worded | None
    folded: bool


@dataclass(frozen=True, slots=True)
class Part:
    """Tables below one heading, what came out, and the notes and readings behind them."""

    heading: str
    answers: tuple[str, ...]
    blocks: tuple[Block, ...]
    below: tuple[str, ...]
    lines: tuple[str, ...]
    readings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page with a title of its own."""

    id: str
    title: str
    lead: str
    parts: tuple[Part, ...]


def sections(tables: Sequence[Table], say: Language) -> list[Section]:
    """The tables by section, in the order in which these come first."""
    keys = dict.fromkeys(table.section or table.key for table in tables)
    return [_section(key, [each for each in tables if (each.section or each.key) == key], say) for key in keys]


def _section(key: str, tables: Sequence[Table], say: Language) -> Section:
    title = say.text("sections", key, {}) if say.has("sections", key) else key.replace("_", " ").capitalize()
    lead = say.text("leads", key, tables[0].about) if say.has("leads", key) else ""
    parts = [
        _part(heading, list(together), say)
        for heading, together in groupby(tables, lambda each: " ".join(str(each.about[name]) for name in each.heading))
    ]
    return Section(key, title, lead, tuple(parts))


def _part(heading: str, tables: Sequence[Table], say: Language) -> Part:
    wording = Wording(say)
    blocks = tuple(block for each in tables if each.rows for block in _blocks(each, wording, say))
    columns = {column.name: (each, column) for each in tables for column in each.columns}
    readings = (
        f"{wording.head(each, column)}: {said}"
        for each, column in columns.values()
        if (said := wording.reading(column))
    )
    notes = tuple(wording.notes(tables, "says", "note", "warning"))
    return Part(
        visible(heading), tuple(wording.notes(tables, "answer")), blocks, tuple(wording.below()), notes, tuple(readings)
    )


def blocks(tables: Sequence[Table], say: Language) -> tuple[Block, ...]:
    """The tables with their charts, without what is to be said about them."""
    wording = Wording(say)
    return tuple(block for each in tables if each.rows for block in _blocks(each, wording, say))


def _blocks(table: Table, wording: Wording, say: Language) -> Iterator[Block]:
    """Yield the table; where it has columns in detail, all of it is folded below its other columns."""
    # A reader of a page may not be allowed to know of a case, so ids stay out of it.
    shown = [column for column in table.columns if column.kind != "case"]
    told = Table(table.key, table.about, shown, table.rows, chart=table.chart, scale=table.scale)
    key = f"table.{table.key}"
    lead = wording.say.text("leads", key, table.about) if wording.say.has("leads", key) else ""
    drawn = tuple(figures(told, wording))
    whole = wording.table(told)
    if table.detail or drawn:
        yield Block(lead, drawn, None if table.chart == "matrix" and drawn else whole, folded=True)
        return
    brief = Wording(say, full=False).table(told)
    yield Block(lead, (), brief, folded=False)
    if brief.heads != whole.heads:
        yield Block("", (), whole, folded=True)


def tables_page(name: str, run: str, tables: Sequence[Table], say: Language, command: Sequence[str], made: str) -> str:
    """The page of an analysis of a run; `command` made it, at the time `made` in ISO 8601."""
    wording = Wording(say)
    kind = say.text("analyses", name, {}) if say.has("analyses", name) else name.capitalize()
    return page(
        "tables.html",
        say,
        f"{kind}: {visible(run)}",
        made=say.time(made),
        kind=kind,
        name=visible(run),
        answers=wording.notes(tables, "answer")[:MOST_ANSWERS],
        warnings=wording.notes(tables, "warning"),
        sections=sections(tables, say),
        command=visible(join(command)),
    )
