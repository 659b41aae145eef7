"""Texts and JSON values as parts of a Lark grammar, the language of our constraints, and how values are read."""

import json
import math
import re
from collections.abc import Iterable, Sequence

from pathway_local.errors import ReplyError
from pathway_local.verdict import Value, is_nested_deep


def literal(text: str) -> str:
    """Return `text` as a Lark string."""
    return json.dumps(text, ensure_ascii=False)


def quoted(text: str) -> str:
    """Return a regex for exactly `text`, in Lark as in Python."""
    return "".join(c if c.isalnum() or ord(c) > 127 else f"\\x{ord(c):02x}" for c in text)


def character_class(characters: Iterable[str]) -> str:
    """Return the inside of a regex character class, sorted and escaped."""
    return "".join(f"\\x{{{ord(c):x}}}" for c in sorted(set(characters)))


def alternatives(texts: Sequence[str]) -> str:
    """Return a regex for one of `texts`, longer ones first, since a regex takes the first that matches: 10 before 1."""
    return "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))


def terminal(texts: Sequence[str]) -> str:
    """Return a Lark terminal for one of `texts`."""
    return " | ".join(literal(text) for text in texts)


ESCAPES = 20
"""How many escapes (quotes, line breaks) a text may hold: each opens a new piece with a new budget."""

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

_PLAIN = r'[^"\\\x00-\x1f]'
# Halves of a surrogate pair (\ud800 to \udfff) are left out: alone they are no text that can be stored.
_ESCAPE = r'\\(["\\\/bfnrt]|u([0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}))'


def string_rules(name: str, tokens: int) -> str:
    """Lark rules for a JSON string: the first piece has a budget of `tokens`, the one behind an escape half of it."""
    # An escape is a separate terminal. Inside a piece, the budget could end between the backslash and its letter,
    # and the closing quote would become part of the escape: up to half of all random walks broke that way.
    return (
        f'{name}: "\\"" {name}_first ({name.upper()}_ESC {name}_next){{0,{ESCAPES}}} "\\""\n'
        f"{name}_first[max_tokens={tokens}]: /{_PLAIN}*/\n"
        f"{name}_next[max_tokens={_behind_escape(tokens)}]: /{_PLAIN}*/\n"
        f"{name.upper()}_ESC: /{_ESCAPE}/\n"
    )


def string_budget(tokens: int) -> int:
    """Return the most tokens that such a string can take: an escape such as \\u00e9 is six, the quotes are two."""
    return tokens + ESCAPES * (_behind_escape(tokens) + 6) + 2


def _behind_escape(tokens: int) -> int:
    return max(8, tokens // 2)


def read_value(text: str, at: int, kind: type, called: str) -> tuple[Value, int]:
    """Return the JSON value of this kind at `text[at:]`, and where it ends. Raises ReplyError; it says `called`."""
    try:
        found: tuple[Value, int] = _DECODER.raw_decode(text, at)
        value, end = found
    except (ValueError, RecursionError):
        value, end = None, -1
    if end < 0 or not isinstance(value, kind) or is_nested_deep(value):
        raise ReplyError(f"expected {called}")
    return value, end


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number that is not finite can't be stored")
    return number


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
