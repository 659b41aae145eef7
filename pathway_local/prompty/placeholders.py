"""How a prompt marks where its inputs go, and the names of the inputs."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from string import Formatter

from jinja2 import TemplateSyntaxError

from pathway_local.prompty.placeholders import jinja_turn
from pathway_local.rubrics.turn import MARKS, Syntax, Turn, input_of

_DESCRIBED = re.compile(r"^\s*(?:(?:[-*•+]|\d+[.)])\s*)?[*_`\"']*\{(\w+)\}[*_`\"']*\s*(?::|-|–|—|=)[*_]*\s+\w")
_MATHS = re.compile(
    r"\$(?=\S)(?![A-Z][A-Z_]+\$)[^$\n]*(?<=\S)\$(?!\w)|\$\$.+?\$\$|\\[A-Za-z]+(?:\{[^{}\n]*\})+", re.DOTALL
)
"""Formulas: $x$ has a dollar at both ends, and \\frac{a}{b} puts braces behind a command."""


@dataclass(frozen=True, slots=True)
class Placeholders:
    """The syntax, the names of inputs in the order of the text, and the inputs whose messages the prompt goes through.

    `unsure` are names that may be no inputs.
    """

    syntax: Syntax
    names: tuple[str, ...]
    loops: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()


def find_placeholders(text: str, declared: Collection[str] = ()) -> Placeholders:
    """Return how a prompt marks its inputs; its syntax is "none" if it has no marks or only describes its inputs."""
    turn = _turn(text)
    if turn and turn.loops:
        places = sorted(turn.variables, key=text.find)
        return Placeholders("jinja2", tuple(places), turn.loops)
    plain = _MATHS.sub(" ", text)
    doubled, single, dollars = (_names(plain, syntax) for syntax in ("double-braces", "single-braces", "dollars"))
    if doubled and not (single and _is_format(text) and not set(doubled) & set(single)):
        # Jinja reads the text as its author meant it if each {{ }} holds a name, and tests name inputs.
        return Placeholders("jinja2" if turn and turn.variables >= set(doubled) else "double-braces", doubled)
    if single and not all(_described(text, name) for name in single):
        return Placeholders("braces" if _is_format(text) else "single-braces", single)
    if dollars and not single:
        return Placeholders("dollars", dollars)
    # A name in angle brackets that is also closed is a tag around something.
    angles = tuple(name for name in _names(plain, "angles") if f"</{name}>" not in text)
    if declared:
        known = tuple(name for name in angles if name in declared)
        return Placeholders("angles", known) if known else Placeholders("none", single)
    alone = tuple(name for name in angles if re.search(rf"(?m)^\W*(?:[\w '’-]{{1,40}}:)?\s*<{name}>\s*$", text))
    return (
        Placeholders("angles", alone, unsure=frozenset(alone)) if alone and not single else Placeholders("none", single)
    )


def _names(text: str, syntax: Syntax) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for found in MARKS[syntax].finditer(text) if (name := input_of(found))))


def _is_format(text: str) -> bool:
    try:
        pieces = list(Formatter().parse(text))
    except ValueError:
        return False
    return all(
        name is None or (name.replace(".", "").isidentifier() and not spec and not turn)
        for _, name, spec, turn in pieces
    )


def _turn(text: str) -> Turn | None:
    """Return the text as Jinja reads it; None if it is no template that a rubric may have."""
    # Jinja would silently drop {# … #}, and with it a part of the prompt.
    if "{#" in text and "#}" in text:
        return None
    try:
        return jinja_turn("user", text)
    except TemplateSyntaxError:
        return None


def _described(text: str, name: str) -> bool:
    """Return whether the name always heads a description, as in `- **{answer}**: what the chatbot said`."""
    lines = [line for line in text.split("\n") if f"{{{name}}}" in line]
    return bool(lines) and all((found := _DESCRIBED.match(line)) and found.group(1) == name for line in lines)
