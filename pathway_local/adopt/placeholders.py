"""How a prompt marks where its inputs go, and the names of the inputs."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from string import Formatter

from jinja2 import TemplateSyntaxError

from pathway_local.adopt.finding import Source
from pathway_local.adopt.mentions import OUTPUT_WORDS, mentioned
from pathway_local.prompty.jinja_turn import jinja_turn
from pathway_local.rubrics.turn import MARKS, Syntax, Turn

_LABELLED = re.compile(r"^\W*(?:[A-Za-z][\w '’-]{0,40}:[*_]*)?\s*<\w+>\s*$")
"""A line with a name in angle brackets alone, or behind a label."""

_DESCRIBED = re.compile(r"^\s*(?:(?:[-*•+]|\d+[.)])\s*)?[*_`\"']*\{(\w+)\}[*_`\"']*\s*(?::|-|–|—|=)[*_]*\s+\w")


@dataclass(frozen=True, slots=True)
class Placeholders:
    """The syntax, the first row of each input, and the inputs whose messages the prompt goes through.

    `unsure` are names that may be no inputs.
    """

    syntax: Syntax
    rows: dict[str, int]
    loops: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()


def find_placeholders(source: Source, declared: Collection[str] = ()) -> Placeholders:
    """Return how a prompt marks its inputs; its syntax is "none" if it has no marks or only describes its inputs.

    A name in angle brackets is surely an input only if the file has `declared` it, or if a sentence lists it as one.
    """
    turn = _turn(source.text)
    if turn and turn.loops:
        places = {name: re.search(rf"\b{name}\b", source.text) for name in turn.variables}
        rows = {name: source.row(found.start()) for name, found in places.items() if found}
        return Placeholders("jinja2", dict(sorted(rows.items(), key=lambda item: item[1])), turn.loops)
    doubled, single = _rows(source, "double-braces"), _rows(source, "single-braces")
    if doubled and not _escaped(source.text, doubled):
        # Jinja reads the text as its author meant it if each {{ }} holds a name, and tests name inputs.
        return Placeholders("jinja2" if turn and turn.variables >= doubled.keys() else "double-braces", doubled)
    dollars = _rows(source, "dollars")
    if dollars and not single:
        return Placeholders("dollars", dollars)
    if not single or all(_described(source, name) for name in single):
        return _angles(source, declared) or Placeholders("none", single)
    return Placeholders("braces" if _is_format(source.text) else "single-braces", single)


def shown(text: str, syntax: Syntax) -> str:
    """Return the text as the judge reads it: for "braces", {{ and }} become the braces that `str.format` leaves."""
    if syntax != "braces":
        return text
    return MARKS["braces"].sub(lambda mark: mark.group()[0] if mark.group() in ("{{", "}}") else mark.group(), text)


def _rows(source: Source, syntax: Syntax) -> dict[str, int]:
    rows: dict[str, int] = {}
    for found in MARKS[syntax].finditer(source.text):
        rows.setdefault(found.group(1), source.row(found.start()))
    return rows


def _angles(source: Source, declared: Collection[str]) -> Placeholders | None:
    """Return the inputs in angle brackets; None without any. A name that is also closed is a tag around something."""
    marked = {name: row for name, row in _rows(source, "angles").items() if f"</{name}>" not in source.text}
    known = set(declared or mentioned(source))
    if known & marked.keys() and (declared or known <= marked.keys()):
        return Placeholders("angles", {name: row for name, row in marked.items() if name in known})
    alone = {name: row for name, row in marked.items() if _LABELLED.match(source.lines[row])}
    unsure = {name: row for name, row in alone.items() if not OUTPUT_WORDS.fullmatch(name)}
    return Placeholders("angles", unsure, unsure=frozenset(unsure)) if unsure and not declared else None


def _escaped(text: str, doubled: dict[str, int]) -> bool:
    """Return whether {{x}} is an escaped {x}: the text is for `str.format`, with its inputs in single braces."""
    single = {found.group(1) for found in MARKS["single-braces"].finditer(text)}
    return bool(single) and _is_format(text) and not doubled.keys() & single


def _is_format(text: str) -> bool:
    try:
        pieces = list(Formatter().parse(text))
    except ValueError:
        return False
    return all(name is None or (name.isidentifier() and not spec and not turn) for _, name, spec, turn in pieces)


def _turn(text: str) -> Turn | None:
    """Return the text as Jinja reads it; None if it is no template that a rubric may have."""
    # Jinja would silently drop {# … #}, and with it a part of the prompt.
    if "{#" in text and "#}" in text:
        return None
    try:
        return jinja_turn("user", text)
    except TemplateSyntaxError:
        return None


def _described(source: Source, name: str) -> bool:
    """Return whether the name always heads a description, as in `- **{answer}**: what the chatbot said`."""
    lines = [line for line in source.lines if f"{{{name}}}" in line]
    return all((found := _DESCRIBED.match(line)) and found.group(1) == name for line in lines)
