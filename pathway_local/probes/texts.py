"""Changes a text by program: sentences left out, one number changed, the same words as a Markdown list."""

import re
from collections.abc import Collection

_END = re.compile(r"(?<=[.!?…])[\"'”’»)]*\s+|(?<=[。！？])[”’」』）]*|\n+")
"""The end of a sentence: a stop and a blank, a stop of Chinese or Japanese, or a line's end."""

_NO_END = re.compile(
    r"\b(?:[^\W\d_]|(?:ab|am|bis|dem|den|der|des|vom|zum|zur)\s+\d{1,2}"
    r"|Dr|Mr|Mrs|Ms|St|Prof|Abs|Art|Nr|Str|Tel|bspw|bzw|ca|etc|evtl|ggf|inkl|usw|vgl|Sr|Sra|Mme|ej|env|approx|vs)"
    r"\.[^\S\n]+\Z"
)
"""A stop that may end no sentence: behind a single letter, a German ordinal or an abbreviation."""

_LIST_MARK = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s*$")
_ITEM = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")
_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:[.,]\d+)*(?![\w/:-]|[.,]\d)")
"""A number that stands alone: no part of a word, a date, a time or an address."""


def sentences(text: str) -> list[str]:
    """Return the sentences, each with the blanks behind it, so that joining them gives the text."""
    ends = [found.end() for found in _END.finditer(text)]
    parts = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    whole: list[str] = []
    for part in parts:
        if whole and (not part.strip() or _LIST_MARK.fullmatch(whole[-1]) or _NO_END.search(whole[-1])):
            whole[-1] += part  # blanks, the mark of a list's item and what ends in "Dr." are no sentence
        elif part:
            whole.append(part)
    return whole


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


def as_list(text: str) -> str:
    """Return the text in Markdown: its first sentence bold, the others as items of a list, as some may be already."""
    first, *others = [part.strip() for part in sentences(text)]
    lines = [first if "**" in first or _ITEM.match(first) or first.startswith("#") else f"**{first}**"]
    items = [each if _ITEM.match(each) or each.startswith("#") else f"- {each}" for each in others]
    return "\n".join([*lines, *(["", *items] if items else [])])


def _is_mark(text: str, found: re.Match[str]) -> bool:
    line = text[: found.start()].rpartition("\n")[2]
    return not line.strip(" *-•") and text[found.end() : found.end() + 1] in (".", ")")
