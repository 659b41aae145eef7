"""Any tables of results as a page: one HTML file that a browser keeps from loading or running anything but its own.

Sections have charts, tables behind them, and what is to be said about each.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from pathway_local import __version__
from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.output.wording import Worded, Wording
from pathway_local.pages.charts import Figure, figures
from pathway_local.results.table import Table
from pathway_local.system.private_file import check_output, output_file
from pathway_local.system.visible import visible
from pathway_local.words.language import Language

MOST_ROWS = 100
"""Rows of a table on a page."""

LONGEST_TEXT = 20_000
"""Characters of a text of a case on a page: a longer one is cut, and the page says by how much."""

OPEN_TEXT = 3_000
"""A longer text stays closed until somebody opens it, so that the next case is not far away."""

MOST_BUTTONS = 12
"""Levels of a score that a form shows side by side; more come in a list to open."""

LONGEST_CELL = 400
"""Characters of a cell of a table; names and ids are shorter, and what is longer is no name."""

FOLDER = Path(__file__).with_name("templates")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of a case under the name of its input."""

    name: str
    text: str
    is_long: bool


@cache
def environment(*folders: Path) -> Environment:
    """Return the templates of these folders and of pages, with every value escaped."""
    made = Environment(
        loader=FileSystemLoader([*folders, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"outside": outside, "passage": passage, "passages": passages, "spoken": spoken}
    made.globals |= {"MOST_ROWS": MOST_ROWS, "MOST_BUTTONS": MOST_BUTTONS, "OPEN_TEXT": OPEN_TEXT}
    return made


def page(template: str, language: Language, title: str, own: str = "", **values: object) -> str:
    """The page from a template: every value is escaped, and style and script are allowed by their hashes.

    Only a page with a name `own` has a script, OWN.js; it also has a style beside that of all pages, OWN.css.
    """
    style = "".join(_text(f"{name}.css") for name in filter(None, ("style", own)))
    style += f"@page {{ size: {language.paper} }}\n"
    script = _text(f"{own}.js") if own else ""
    policy = f"default-src 'none'; style-src {_hashed(style)}; base-uri 'none'; form-action 'none'"
    if script:
        policy += f"; script-src {_hashed(script)}"
    ours = {"style": style, "script": script, "policy": policy, "version": __version__}
    return environment().get_template(template).render(say=language, title=title, **ours, **values)


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hashed(text: str) -> str:
    """Return the source by which a Content-Security-Policy allows an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def outside(text: object, longest: int = LONGEST_CELL) -> str:
    """A name, id or cell from outside in one line: control characters and marks of direction shown, long ones cut."""
    return _cut(str(text), longest, lines=False)


def spoken(text: object, longest: int) -> Markup:
    """A sentence from a note in one line; what stands in backticks, such as a command, is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(outside(text, longest)))))


def caution(rater: str, label: str, say: Language) -> str:
    """Return what a judge's label says of it, which must stand wherever its scores do; empty without a label."""
    return say.text("notes", "caution", {"rater": rater, "label": label}) if label else ""


def passages(texts: Mapping[str, str]) -> tuple[Passage, ...]:
    """The texts of a case under their names."""
    return tuple(
        Passage(outside(name), passage(text, LONGEST_TEXT), len(text) > OPEN_TEXT) for name, text in texts.items()
    )


def passage(text: str, longest: int) -> str:
    """A text of several lines from outside, cut if it is longer."""
    return _cut(text.replace("\r\n", "\n"), longest, lines=True)


def _cut(text: str, longest: int, *, lines: bool) -> str:
    beginning = visible(text[:longest], lines=lines)
    return beginning if len(text) <= longest else f"{beginning} … [+{len(text) - longest:,}]"


def is_page(path: Path) -> bool:
    """Whether a file's name is that of a page."""
    return path.suffix.lower() in (".html", ".htm")


def check_page(path: Path, *, force: bool) -> None:
    """Raise the errors that `write_page` would raise for this path, before any work is done."""
    if not is_page(path):
        raise UsageError(f"{path.name} is not the name of a page", "Name a file that ends in .html.")
    check_output(path, force=force)


def write_page(path: Path, text: str, *, force: bool) -> None:
    """Write a page to a file. Raises OutputExists, and UsageError if it can't be written."""
    with output_file(path, force=force) as file:
        file.write(text.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Block:
    """Tables of one kind with their figures; those that are `folded` are closed until somebody opens them."""

    lead: str
    figures: tuple[Figure, ...]
    worded: tuple[Worded, ...]
    folded: bool


@dataclass(frozen=True, slots=True)
class Part:
    """Tables below one heading, what came out, and the footnotes and notes behind them."""

    heading: str
    answers: tuple[str, ...]
    blocks: tuple[Block, ...]
    lines: tuple[str, ...]


def sections(tables: Sequence[Table], say: Language) -> Iterator[dict[str, object]]:
    """Yield the tables by section, in the order in which these come first; `lines` hold for all parts of one."""
    for key in dict.fromkeys(table.section or table.key for table in tables):
        own = [table for table in tables if (table.section or table.key) == key]
        title = say.text("sections", key, {}) if say.has("sections", key) else key.replace("_", " ").capitalize()
        lead = say.text("leads", key, own[0].about) if say.has("leads", key) else ""
        together = groupby(own, lambda each: " ".join(str(each.about[name]) for name in each.heading))
        parts = [part_of(heading, list(found), say) for heading, found in together]
        alike = [line for line in parts[0].lines if len(parts) > 1 and all(line in each.lines for each in parts)]
        yield {"id": key, "title": title, "lead": lead, "parts": [*_without_repeats(parts, alike)], "lines": alike}


def _without_repeats(parts: Sequence[Part], alike: Sequence[str]) -> Iterator[Part]:
    """Yield the parts without what is said for all of them, and without leads and tables that stand above."""
    leads, known = set[str](), set[tuple[Worded, ...]]()
    for part in parts:
        blocks = [block for block in part.blocks if block.figures or block.worded not in known]
        told = [replace(block, lead="" if block.lead in leads else block.lead) for block in blocks]
        leads, known = leads | {each.lead for each in blocks}, known | {each.worded for each in blocks}
        lines = tuple(line for line in part.lines if line not in alike)
        yield replace(part, blocks=tuple(told), lines=lines)


def part_of(heading: str, tables: Sequence[Table], say: Language) -> Part:
    """The tables below one heading, with what must be said about them; warnings stand at the top of the page."""
    wording = Wording(say, full=False)
    blocks = _together(tables, wording)
    lines = [*wording.below(), *wording.notes(tables, "says", "note")]
    return Part(visible(heading), tuple(wording.notes(tables, "answer")), blocks, tuple(lines))


def warnings(tables: Sequence[Table], say: Language) -> list[str]:
    """The warnings of a page's tables, each once; one that does not hold for every score says for which it holds."""
    scores = {_score(each) for each in tables if each.heading}
    found = [
        (say.note(note), note, _score(table)) for table in tables for note in table.notes if note.kind == "warning"
    ]
    told: dict[str, None] = {}
    for text, note, _ in found:
        places = dict.fromkeys(place for other, _, place in found if other == text)
        if note.key == "caution" or None in places or places.keys() == scores:
            told[text] = None
            continue
        for rubric in dict.fromkeys(rubric for rubric, _ in filter(None, places)):
            named = ", ".join(str(score) for other, score in filter(None, places) if other == rubric)
            told[say.note(Note("under_score", {"rubric": rubric, "score": named, "said": note}))] = None
    return [*told]


def _score(table: Table) -> tuple[object, object] | None:
    """The rubric and the score that stand above a table."""
    return (table.about["rubric"], table.about["score"]) if table.heading else None


def _together(tables: Sequence[Table], wording: Wording) -> tuple[Block, ...]:
    """The blocks of tables; charts that follow each other share one, so that those with room stand side by side."""
    found = list[Block]()
    for block in (block for each in tables if each.rows for block in _blocks(each, wording)):
        last = found[-1] if found else None
        if last and last.figures and block.figures and not any(each.wide for each in last.figures + block.figures):
            lead = " ".join(dict.fromkeys(filter(None, (last.lead, block.lead))))
            drawn, worded = last.figures + block.figures, last.worded + block.worded
            found[-1] = replace(last, lead=lead, figures=drawn, worded=worded)
        else:
            found.append(block)
    return tuple(found)


def _blocks(table: Table, wording: Wording) -> Iterator[Block]:
    """Yield the table with its charts; behind these, and where it is in detail, it is closed."""
    # A reader of a page may not be allowed to know of a case, so ids stay out of it.
    told = replace(table, columns=[column for column in table.columns if column.kind != "case"])
    key = f"table.{table.key}"
    lead = wording.say.text("leads", key, table.about) if wording.say.has("leads", key) else ""
    drawn = tuple(figures(told, wording))
    yield Block(lead, drawn, (wording.table(told),), folded=bool(table.detail or drawn))
