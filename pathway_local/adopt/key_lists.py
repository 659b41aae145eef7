"""Recognises a list of JSON keys as the reply's format: bullets with a key each, or quoted keys in a sentence."""

import re
from collections.abc import Iterator
from itertools import pairwise

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.slots import Found, Slot
from pathway_local.adopt.values import words_in

_JSON = re.compile(r"(?i)\bjson\b|\bdictionary\b|\bobject\b.{0,30}\b(?:keys|fields)\b")
_KEYS = re.compile(r"(?i)\b(?:keys?|fields?|properties|schlüssel|felder|clés|champs|claves|campos|chaves)\b")
_BULLET = re.compile(
    r"^(\s*)(?:[-*•+]|\d+[.)])\s+[*_]*[\"'`“]?([A-Za-z]\w*)[\"'`”]?[*_]*\s*(?:\(([^()\n]*)\))?\s*[:=–—-]\s*[*_]*\s*(.*)$"
)
_INLINE = re.compile(
    r"[\"`“']([A-Za-z]\w*)[\"`”']\s*(\([^()\n]*\)|,\s*(?:an?|the|eine?|une?)\s[^\"`,.;]{1,80}|:\s*[^\"`,.;]{1,60})?"
)

Bullets = list[tuple[int, int, re.Match[str]]]


def key_lists(source: Source) -> Found | None:
    """Return the format that the prompt's list of JSON keys makes; None without one."""
    for row, line in enumerate(source.lines):
        near = " ".join(source.lines[max(0, row - 1) : row + 3])
        if _JSON.search(line) and _KEYS.search(near) and (bullets := _bullets(source, row)):
            return Found("a list of JSON keys", "json", tuple(_members(bullets, "")))
    for row, line in enumerate(source.lines):
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", line) if _JSON.search(line) else ():
            named: dict[str, str] = {}
            for found in _INLINE.finditer(sentence) if _JSON.search(sentence) else ():
                named.setdefault(found[1], (found[2] or "").strip(" ,:()"))
            if len(named) > 1 or (named and _KEYS.search(sentence)):
                return Found(
                    "JSON keys in a sentence", "json", tuple(_slot(name, said, row) for name, said in named.items())
                )
    return None


def _bullets(source: Source, row: int) -> Bullets:
    """Return the bullets with keys below a row, each with its indent and row."""
    found: Bullets = []
    for at in range(row + 1, min(row + 60, len(source.lines))):
        if match := _BULLET.match(source.lines[at]):
            found.append((len(match[1]), at, match))
        elif source.lines[at].strip() and not source.lines[at].startswith(" ") and (found or at > row + 2):
            break
    return found


def _members(found: Bullets, prefix: str) -> Iterator[Slot]:
    """Yield a slot for each bullet; deeper bullets are the values or the members of the one above them."""
    starts = [at for at, each in enumerate(found) if each[0] <= found[0][0]] + [len(found)]
    for begin, end in pairwise(starts):
        row, match, inner = found[begin][1], found[begin][2], found[begin + 1 : end]
        name, said = prefix + match[2], f"{match[3] or ''} {match[4]}".strip()
        if inner and re.search(r"(?i)one of|either", said):
            yield Slot(name, "", row, "text", words=tuple(each[2][2] for each in inner))
        elif inner and re.search(r"(?i)\blist of (?:dict|object)", said):
            yield Slot(name, said, row, "objects", members=tuple(_members(inner, "")))
        elif inner:
            yield from _members(inner, f"{name}.")
        else:
            yield _slot(name, said, row)


def _slot(name: str, said: str, row: int) -> Slot:
    kinds = {"list|array": "list", "bool": "boolean", "int|number|float": "number", "str|text": "text"}
    kind = next((each for start, each in kinds.items() if re.match(rf"(?i)(?:an? |the )?(?:{start})", said)), "")
    words = tuple(words_in(said)) if kind in ("", "text") else ()
    null = " or null" if re.search(r"(?i)\bnull\b", said) else ""
    kept = said if kind != "number" or re.search(r"\d", said) else null
    return Slot(name, kept, row, kind, words=words, sample="0.5" if re.search(r"(?i)\bfloat\b", said) else "")
