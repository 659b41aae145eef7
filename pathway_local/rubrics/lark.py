"""Texts as parts of a Lark grammar, the language of our constraints."""

import json
import re
from collections.abc import Sequence


def literal(text: str) -> str:
    """`text` as a Lark string."""
    return json.dumps(text, ensure_ascii=False)


def character_class(characters: str) -> str:
    """The inside of a regex character class, sorted and escaped."""
    return "".join(f"\\x{{{ord(c):x}}}" for c in sorted(set(characters)))


def alternatives(texts: Sequence[str]) -> str:
    """A regex for one of `texts`. Longer ones come first, since a regex takes the first that matches: 10 before 1."""
    return "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))


def terminal(texts: Sequence[str]) -> str:
    """A Lark terminal for one of `texts`."""
    return " | ".join(literal(text) for text in texts)
