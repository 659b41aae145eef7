"""Finds filler in a judge's texts: the prompt's own placeholders, copied, and texts that repeat themselves."""

import re
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache

from pathway_local.verdict import COPIED, LOOP, Value

WINDOW = 1000
"""Characters to look at together: the longer an honest text is, the better it compresses."""

REPEATING = 4.0
"""Bytes of a text for each byte that zlib needs. Of 4,330 windows in the texts of a benchmark of judges, 99% have at
most 2.9, and all but one above 4 are loops; that one lists the outcomes of two dice."""

_PLACEHOLDER = re.compile(r"""\[([^][<>{}"]+)]|<([^][<>{}"]+)>""")
_EDGES = " []<>\"'.…"


def filler_marks(fields: Mapping[str, Value], templates: tuple[str, ...]) -> tuple[str, ...]:
    """Return the marks of these fields: `copied:FIELD` and `loop:FIELD`. `templates` are the turns of the rubric."""
    known, marks = _placeholders(templates), []
    for name, value in fields.items():
        texts = list(_texts(value))
        marks += [f"{COPIED}:{name}"] if any(_is_copied(text, known) for text in texts) else []
        marks += [f"{LOOP}:{name}"] if any(map(_loops, texts)) else []
    return tuple(marks)


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


@lru_cache(64)
def _placeholders(templates: tuple[str, ...]) -> frozenset[str]:
    """Return what stands in square or angle brackets, in one line and lower case; one word alone may be a name."""
    found = ("".join(each) for template in templates for each in _PLACEHOLDER.findall(template))
    return frozenset(text for text in map(_normal, found) if " " in text)


def _is_copied(text: str, placeholders: frozenset[str]) -> bool:
    """Return whether the text has a placeholder in brackets, or is one."""
    said = _normal(text)
    return any(f"[{each}]" in said or f"<{each}>" in said or said.strip(_EDGES) == each for each in placeholders)


def _normal(text: str) -> str:
    return " ".join(text.split()).casefold()


def _loops(text: str) -> bool:
    begins = range(0, max(1, len(text) - WINDOW // 2), WINDOW // 2)
    return any(_repeats(text[begin : begin + WINDOW].encode("utf-8", "replace")) for begin in begins)


def _repeats(data: bytes) -> bool:
    return len(data) > REPEATING * len(zlib.compress(data))
