"""Reads a field that is declared in one line, such as `1-5`, `no < yes` or `text 120`."""

import math
import re
from collections.abc import Sequence
from string import Formatter
from typing import Any

from pathway_local.verdict import Number

Field = dict[str, Any]
"""A field of an `outputs:` block."""

SPELLINGS = (
    "text, text 120, line, 1-5, 0-1 by 0.5, 1 wrong < 2 right, no < yes, A | B | C, 1-5 or N/A, choice a | b, "
    "true/false, number 0-100, number 0-1 by 0.01, list 5, = INPUT, [claim: text, verdict: no < yes] as NAME"
)

_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*(?:-|–|\.\.|to)\s*({_NUMBER})(?:\s+by\s+({_NUMBER}))?")
_NUMBERED = re.compile(rf"({_NUMBER})(?:\s*=\s*|\s+)(\S.*)")
_SIZED = re.compile(r"(text|line|list)(?:\s+(\d+))?")
_NAMED = re.compile(r"([^\W\d][\w.-]*)\s*:\s*(.+)", re.DOTALL)
_LIST = re.compile(r"\[(.+)\]\s+as\s+([^\W\d][\w.-]*)", re.DOTALL)
_QUOTED = re.compile(r'"([^"]*)"')
_MARK = "\ue000"
"""Stands for a quoted word while a declaration is divided: a word in quotes may hold any of the separators."""


def fields_in(declared: str) -> dict[str, str]:
    """Return the spelling of each field in `NAME: SPELLING; NAME: SPELLING`, or with one on each line.

    Raises ValueError.
    """
    return _named(_divided(declared, r";|\n"))


def outputs_in(declared: str, line: str = "") -> dict[str, Any]:
    """Return the `outputs:` block of fields that are declared in one text: JSON, or free text that ends in `line`.

    The line has the names of its fields in braces. One further field may stand before it, which is the free text; it is
    called `reasoning` if none is declared. Raises ValueError.
    """
    fields = fields_in(declared)
    if not line:
        return {"layout": "json", "fields": fields}
    named = [name for _, name, _, _ in Formatter().parse(line) if name is not None]
    before = [name for name in fields if name not in named]
    if not named or len(before) > 1:
        said = ", ".join(named) or "none"
        raise ValueError(f"--line must name all fields but one, such as {{grade}}; it names {said}")
    if missing := next((name for name in named if name not in fields), None):
        raise ValueError(f"--line names {missing!r}, which --fields does not declare, such as {missing}: A | B")
    text = before[0] if before else "reasoning"
    return {"layout": f"{{{text}}}\n\n{line}", "fields": {text: "text"} | fields}


def field_of(spelling: str) -> Field:
    """Return the field that a spelling declares. Raises ValueError."""
    said = " ".join(spelling.split())
    if found := _SIZED.fullmatch(said):
        return _sized(found[1], found[2])
    if said in ("true/false", "boolean"):
        return {"type": "boolean"}
    if said.startswith("="):
        return {"type": "echo", "input": said[1:].strip()}
    if said.startswith("number ") and (found := _RANGE.fullmatch(said.removeprefix("number "))):
        low, high, step = found.groups()
        return {"type": "number", "min": _number(low), "max": _number(high), "decimals": _decimals(step or "1")}
    if found := _LIST.fullmatch(said):
        members = {name: field_of(inner) for name, inner in _named(_divided(found[1], ",")).items()}
        return {"type": "verdicts", "score": found[2], "members": members}
    if said.startswith("choice "):
        return {"type": "choice", "choices": [_plain(word) for word in _divided(said.removeprefix("choice "), r"\|")]}
    return _score(said)


def _sized(kind: str, size: str | None) -> Field:
    if kind == "list":
        return {"type": "list"} | ({"items": int(size)} if size else {})
    return {"type": "text"} | ({"tokens": int(size)} if size else {}) | ({"lines": "one"} if kind == "line" else {})


def _score(said: str) -> Field:
    scale, *special = _divided(said, r"\s+or\s+") or [""]
    low_to_high, alternatives = _divided(scale, "<"), _divided(scale, r"\|")
    if found := _RANGE.fullmatch(scale):
        low, high = _number(found[1]), _number(found[2])
        if (low, high, found[3]) == (0, 1, None):
            raise ValueError("0-1 may be two values or a share: write 0-1 by 1, or 0-1 by 0.1")
        return _with_special({"type": "score", "min": low, "max": high, "step": _number(found[3] or "1")}, special)
    if len(low_to_high) < 2 and len(alternatives) < 2:
        raise ValueError(f"{said[:60]!r} declares no field; write one of: {SPELLINGS}")
    ordered = len(low_to_high) > 1
    levels = low_to_high if ordered else alternatives
    field = {"type": "score"} if ordered else {"type": "score", "scale": "nominal"}
    numbered = [_NUMBERED.fullmatch(level) for level in levels]
    if all(numbered):
        named = {_number(found[1]): _plain(found[2]) for found in numbered if found}
        if list(named) != sorted(named) or len(named) != len(levels):
            raise ValueError(f"{said[:60]!r}: numbers of levels must rise from the lowest level to the highest")
        return _with_special(field | {"levels": named}, special)
    if any(numbered):
        raise ValueError(f"{said[:60]!r}: give each level a number and a name, or each only a name")
    words = dict(enumerate((_plain(level) for level in levels), 0 if ordered else 1))
    return _with_special(field | {"levels": words, "written": dict(words)}, special)


def _with_special(field: Field, special: Sequence[str]) -> Field:
    """Return a score with further values off its scale; words get the whole numbers below all others."""
    numbers = [_number(text) for text in special if re.fullmatch(_NUMBER, text)]
    below = math.floor(min([*field.get("levels", [field.get("min")]), *numbers]))
    for text in special:
        if re.fullmatch(_NUMBER, text):
            value, written = _number(text), text
        else:
            below -= 1
            value, written = below, _plain(text)
        field["special"] = [*field.get("special", []), value]
        field["written"] = field.get("written", {}) | {value: written}
        if "levels" in field:
            field["levels"] = field["levels"] | {value: written}
    return field


def _named(parts: Sequence[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for part in parts:
        found = _NAMED.fullmatch(part)
        if not found:
            raise ValueError(f"{part[:60]!r} is no NAME: SPELLING, such as score: 1-5")
        if found[1] in fields:
            raise ValueError(f"two fields are called {found[1]!r}")
        fields[found[1]] = found[2]
    return fields


def _divided(said: str, separator: str) -> list[str]:
    """Return the parts between separators outside of quotes and brackets, without those that are empty."""
    quoted = _QUOTED.findall(said)
    masked = _QUOTED.sub(_MARK, said)
    words = iter(quoted)
    parts, depth, last = [""], 0, 0
    for found in re.finditer(rf"[\[\]]|{separator}", masked):
        if found.group() in "[]":
            depth += 1 if found.group() == "[" else -1
        elif not depth:
            parts[-1] += masked[last : found.start()]
            parts.append("")
            last = found.end()
    parts[-1] += masked[last:]
    restored = (re.sub(_MARK, lambda _: f'"{next(words)}"', part).strip() for part in parts)
    return [part for part in restored if part]


def _plain(word: str) -> str:
    return word[1:-1] if re.fullmatch(_QUOTED, word) else word


def _decimals(step: str) -> int:
    return len(step.partition(".")[2])


def _number(text: str) -> Number:
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
