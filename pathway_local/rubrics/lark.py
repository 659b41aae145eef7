"""Texts as parts of a Lark grammar, the language of our constraints."""

import json
import re
from collections.abc import Iterable, Sequence


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
