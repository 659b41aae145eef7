"""Reads a field that is declared in one line, such as `1-5`, `no < yes` or `text 120`."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from pathway_local.verdict import Number

Field = dict[str, Any]
"""A field of an `outputs:` block."""

SPELLINGS = (
    "text, text 120, line, 1-5, 0-1 by 0.5, 1 wrong < 2 right, no < yes, A | B, prefer A > tie > B, 1-5 or N/A, "
    "choice a | b, true/false, list 5, = INPUT, "
    "[claim: text, verdict: no < yes] as NAME"
)

_WORDS = 0xE000
"""Begins the private characters that stand for quoted words while a declaration is divided."""
_MARK = r"[\ue000-\uf8ff]"
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = rf"({_NUMBER}) ?(?:-|–|\.\.|to) ?({_NUMBER})(?: by ({_NUMBER}))?"
_NAME = rf"({_MARK}|[^\W\d][\w.-]*)"
_SCALE = re.compile(rf"{_RANGE}(?: ?\((.+)\))?")
_NUMBERED = re.compile(rf"({_NUMBER})(?: ?= ?| |(?={_MARK})|$)(.*)")
_SIZED = re.compile(r"(text|line)(?: (\d+))?")
_TEXTS = re.compile(r"list(?: (\d+))?(?: of text (\d+))?")
_LIST = re.compile(rf"\[(.+)\](?: up to (\d+))? as {_NAME}")
_OPEN, _CLOSED = "[({", "])}"
_SAFE = re.compile(r"[^\W\d_][\w'’./%]*(?: [\w'’./%]+)*")
_RESERVED = re.compile(r"(?:^| )(?:or|as|by|to)(?: |$)")
"""Words that mean something in a spelling, so that a level which holds one stands in quotes."""


def fields_in(declared: str) -> dict[str, Field]:
    """Return the fields in `NAME: SPELLING; NAME: SPELLING`, or with one on each line. Raises ValueError."""
    text, words = _masked(declared)
    return _named(_divided(text, r";|\n"), words)


def block_of(declared: str, lines: Sequence[str] = ()) -> str | dict[str, str]:
    """Return the `outputs:` block of a declaration: JSON, or text in these lines, which have fields' names in braces.

    A field that no line names stands before them, and a blank line behind it. Raises ValueError.
    """
    fields = fields_in(declared)
    if not lines:
        return declared
    layout = "\n".join(lines)
    before = [name for name in fields if f"{{{name}}}" not in layout]
    if len(before) > min(1, len(fields) - 1):
        said = ", ".join(name for name in fields if name not in before) or "none of them"
        raise ValueError(f"--line must name all fields but one, such as {{grade}}; it names {said}")
    return {"layout": f"{{{before[0]}}}\n\n{layout}" if before else layout, "fields": declared}


def field_of(spelling: str) -> Field:
    """Return the field that a spelling declares. Raises ValueError."""
    text, words = _masked(spelling)
    return _field(" ".join(text.split()), words)


def _field(said: str, words: Sequence[str]) -> Field:
    kind, *described = _divided(said, " -- ") or [""]
    return _kind(kind, words) | ({"description": _plain(" -- ".join(described), words)} if described else {})


def _kind(said: str, words: Sequence[str]) -> Field:
    if found := _SIZED.fullmatch(said):
        return _sizes(type="text", tokens=found[2]) | ({"lines": "one"} if found[1] == "line" else {})
    if found := _TEXTS.fullmatch(said):
        return _sizes(type="list", items=found[1], tokens=found[2])
    if said in ("true/false", "boolean"):
        return {"type": "boolean"}
    if said.startswith("="):
        return {"type": "echo", "input": _plain(said[1:].strip(), words)}
    if found := _LIST.fullmatch(said):
        members = _named(_divided(found[1], ","), words)
        return _sizes(type="verdicts", score=_plain(found[3], words), items=found[2]) | {"members": members}
    if said.startswith("choice "):
        choices = _divided(said.removeprefix("choice "), r"\|")
        return {"type": "choice", "choices": [_plain(word, words) for word in choices]}
    return _score(said, words)


def _sizes(**given: str | None) -> Field:
    return {key: int(value) if value.isdecimal() else value for key, value in given.items() if value}


def _score(said: str, words: Sequence[str]) -> Field:
    scale, *special = _divided(said, " or ") or [""]
    found = _SCALE.fullmatch(scale)
    field = _range(found, words) if found else _listed(scale, words)
    return _with_special(field, [_level(text, words) for text in special])


def _range(found: re.Match[str], words: Sequence[str]) -> Field:
    low, high, step = _number(found[1]), _number(found[2]), found[3]
    if (low, high, step) == (0, 1, None):
        raise ValueError("0-1 may be two values or a share: write 0-1 by 1, or 0-1 by 0.1")
    field: Field = {"type": "score", "min": low, "max": high, "step": _number(step or "1")}
    for number, name, written in (_level(text, words) for text in _divided(found[4] or "", ",")):
        if number is None:
            raise ValueError(f"{name!r} needs its number, such as 1-5 (1 {name})")
        _add(field, number, name, written)
    return field


def _listed(scale: str, words: Sequence[str]) -> Field:
    """Return a score whose values are listed: from the lowest (<), in no order (|), or from A to B (prefer … >)."""
    text, sign = (scale.removeprefix("prefer "), ">") if scale.startswith("prefer ") else (scale, "<")
    parts = _divided(text, sign)
    if len(parts) < 2:
        parts, sign = _divided(scale, r"\|"), "|"
    if len(parts) < 2 and re.search(r"\d,\d", scale):
        raise ValueError(f"{_shown(scale, words)!r}: write decimals with a point, such as 0.5")
    if len(parts) < 2:
        raise ValueError(f"{_shown(scale, words)!r} declares no field; write one of: {SPELLINGS}")
    levels = [_level(part, words) for part in parts]
    given = [number for number, _, _ in levels if number is not None]
    if given and len(given) < len(levels):
        raise ValueError(f"{_shown(scale, words)!r}: give each level a number and a name, or each only a name")
    if (sign == "<" and given != sorted(given)) or len(set(given)) < len(given):
        raise ValueError(f"{_shown(scale, words)!r}: numbers of levels must rise from the lowest level to the highest")
    field: Field = {"type": "score", "levels": {}} | ({} if sign == "<" else {"scale": "nominal"})
    for number, (_, name, written) in zip(given or _numbers(sign, len(levels)), levels, strict=True):
        _add(field, number, name or "", written if given or written is not None else name)
    return field


def _numbers(sign: str, size: int) -> list[int]:
    """Return the numbers of so many words: from 0 in an order, from 1 without one, around 0 for a preference."""
    if sign == ">":
        return [at for at in range(size // 2, -(size // 2) - 1, -1) if at or size % 2]
    return list(range(size)) if sign == "<" else list(range(1, size + 1))


def _with_special(field: Field, special: Sequence[tuple[Number | None, str | None, str | None]]) -> Field:
    """Return a score with further values off its scale; words get the whole numbers below all others."""
    listed = "min" not in field
    on_scale = list(field["levels"]) if listed else [field["min"]]
    below = math.floor(min([*on_scale, *(number for number, _, _ in special if number is not None)]))
    for number, name, written in special:
        if number is None:
            below -= 1
            value: Number = below
            _add(field, value, name if listed or written is not None else None, name if written is None else written)
        else:
            value = number
            beyond = not listed and not field["min"] <= value <= field["max"]
            _add(field, value, name or "" if listed else name, str(value) if beyond and written is None else written)
        field["special"] = [*field.get("special", []), value]
    return field


def _add(field: Field, value: Number, name: str | None, written: str | None) -> None:
    for key, text in (("levels", name), ("written", written)):
        if text is not None:
            field[key] = field.get(key, {}) | {value: text}


def _level(said: str, words: Sequence[str]) -> tuple[Number | None, str | None, str | None]:
    """Return the number, the name and the spelling in `2 good as "B"`, each perhaps left out."""
    named, as_, written = said.partition(" as ")
    found = _NUMBERED.fullmatch(named.strip())
    name = found[2].strip() if found else named.strip()
    number = _number(found[1]) if found else None
    return number, _plain(name, words) if name else None, _plain(written.strip(), words) if as_ else None


def _named(parts: Sequence[str], words: Sequence[str]) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for part in parts:
        found = re.fullmatch(rf"{_NAME}\s*:\s*(.+)", part, re.DOTALL)
        if not found:
            raise ValueError(f"{_shown(part, words)!r} is no NAME: SPELLING, such as score: 1-5")
        name = _plain(found[1], words)
        if name in fields:
            raise ValueError(f"two fields are called {name!r}")
        try:
            fields[name] = _field(" ".join(found[2].split()), words)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return fields


def _masked(said: str) -> tuple[str, list[str]]:
    """Return the text with a private character for each quoted word, which may hold any separator; and the words.

    A quoted word is spelled as in JSON: \\" for a quotation mark. Raises ValueError.
    """
    if re.search(_MARK, _QUOTED.sub("", said)):
        raise ValueError("a declaration holds private-use characters")
    words: list[str] = []

    def keep(found: re.Match[str]) -> str:
        words.append(_unquoted(found[0]))
        return chr(_WORDS + len(words) - 1)

    text = _QUOTED.sub(keep, said)
    if '"' in text:
        raise ValueError("a quotation mark is not closed")
    if len(words) > 0xF8FF - _WORDS:
        raise ValueError("a declaration has too many words in quotes")
    return text, words


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        raise ValueError(
            f'{text[:60]}: write \\\\ for a backslash within quotes, and \\" for a quotation mark'
        ) from None


def _divided(said: str, separator: str) -> list[str]:
    """Return the parts between separators outside of brackets, without those that are empty."""
    parts, depth, last = [""], 0, 0
    for found in re.finditer(rf"[\[\](){{}}]|{separator}", said):
        if found[0] in _OPEN:
            depth += 1
        elif found[0] in _CLOSED:
            depth -= 1
        elif not depth:
            parts[-1] += said[last : found.start()]
            parts.append("")
            last = found.end()
        if depth < 0:
            break
    if depth:
        raise ValueError(f"brackets don't match: put a word with one in quotes, such as {json.dumps('a) yes')}")
    parts[-1] += said[last:]
    return [part.strip() for part in parts if part.strip()]


def _plain(word: str, words: Sequence[str]) -> str:
    """Return a word without its quotes; a quoted one within further text stays in them."""
    if re.fullmatch(_MARK, word):
        return words[ord(word) - _WORDS]
    return re.sub(_MARK, lambda found: json.dumps(words[ord(found[0]) - _WORDS], ensure_ascii=False), word)


def _shown(said: str, words: Sequence[str]) -> str:
    return re.sub(_MARK, lambda found: f'"{words[ord(found[0]) - _WORDS]}"', said)[:60]


def _number(text: str) -> Number:
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def quoted_name(name: str) -> str:
    """Return a field's name as a declaration takes it."""
    return name if re.fullmatch(r"[^\W\d][\w.-]*", name) else json.dumps(name, ensure_ascii=False)


def quoted_word(text: str) -> str:
    """Return a word as a spelling takes it."""
    plain = _SAFE.fullmatch(text) and not _RESERVED.search(text)
    return text if plain else json.dumps(text, ensure_ascii=False)
