"""Changes a text by program: sentences left out, one number changed."""

import re
from collections.abc import Collection

_SENTENCE = re.compile(r".+?(?:[.!?…][\"'”’»)]*\s+|[。！？][”’」』）]*|\n+|\Z)\s*", re.DOTALL)
"""Ends with a stop and a blank, a stop of Chinese or Japanese, or its line."""

_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:[.,]\d+)*(?![\w/:-]|[.,]\d)")
"""A number that stands alone: no part of a word, a date, a time or an address."""


def sentences(text: str) -> list[str]:
    """Return the sentences, each with the blanks behind it, so that joining them gives the text."""
    return _SENTENCE.findall(text)


def beginning(text: str, percent: int) -> str:
    """Return the first sentences of a text, so many percent of them."""
    parts = sentences(text)
    return "".join(parts[: max(1, round(len(parts) * percent / 100))]).strip()


def with_another_number(text: str, taken: Collection[str]) -> str:
    """Return the text with another first digit in its first number; empty if it has no number to change.

    The new number has the same length and is not among those `taken`.
    """
    found = next((each for each in _NUMBER.finditer(text) if not _is_mark(text, each)), None)
    if not found:
        return ""
    others = (f"{digit}{found[0][1:]}" for digit in "192837465")
    new = next((each for each in others if each not in taken and each != found[0]), f"{found[0]}7")
    return text[: found.start()] + new + text[found.end() :]


def numbers(text: str) -> list[str]:
    """Return the numbers of a text in order; the marks of a numbered list are none."""
    return [each[0] for each in _NUMBER.finditer(text) if not _is_mark(text, each)]


def _is_mark(text: str, found: re.Match[str]) -> bool:
    line = text[: found.start()].rpartition("\n")[2]
    return not line.strip(" *-•") and text[found.end() : found.end() + 1] in (".", ")")
