"""Recognises a reply of one word of a set, or of one number with its range."""

import re

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.scales import Levels
from pathway_local.adopt.slots import Found, Slot
from pathway_local.adopt.values import words_in
from pathway_local.adopt.words import any_of

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]+)*")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+[*_]*[\"'`“]?([^\"'`”*\n:–(]{1,40}?)[\"'`”]?[*_]*\s*(?:$|[:–(-])")
_USUAL = "**Analysis:**\n{analysis}\n\n**Score:** {score}\n\n**Justification:**\n{justification}"


def short_replies(source: Source, levels: list[Levels]) -> Found | None:
    """Return the format of a reply that is one word or one number, alone or behind reasons; None without."""
    for found in _SENTENCE.finditer(source.text):
        text, row = found[0].strip(), source.row(found.start() + len(found[0]) - len(found[0].lstrip()))
        if not (any_of("reply").search(text) and any_of("only").search(text)):
            continue
        if any_of("after").search(text):
            return None
        words = words_in(text) or (_items(source, row) if text.endswith(":") else [])
        words = [word for word in words if not any_of("number").search(word)]
        if len(words) > 1:
            return _short(source, Slot("verdict", "", row, "text", words=tuple(words)), "a set of words")
        if any_of("number").search(text):
            return _short(source, Slot("score", text, row, "number"), "a number")
    return _levels_alone(source, levels)


def _items(source: Source, row: int) -> list[str]:
    """Return the words in bullets right below a row."""
    found: list[str] = []
    for line in source.lines[row + 1 : row + 14]:
        if item := _ITEM.match(line):
            found.append(item[1].strip())
        elif found or line.strip():
            break
    return found


def _short(source: Source, slot: Slot, recogniser: str) -> Found:
    """Return a reply of this slot alone, or behind free text where the prompt asks for reasons as well."""
    text = any_of("silent").sub(" ", source.text)
    if not any_of("first").search(text) or not any_of("reasons").search(text):
        return Found(recogniser, f"{{{slot.name}}}", (slot,))
    label = slot.name.capitalize()
    told = f'End your reply with one line that begins with "{label}: ".'
    slots = (Slot("reasoning", "", slot.row, "text"), slot)
    return Found(f"{recogniser} behind reasons", f"{{reasoning}}\n\n{label}: {{{slot.name}}}", slots, told)


def _levels_alone(source: Source, levels: list[Levels]) -> Found | None:
    """Return the usual format for a prompt that lists levels and says nothing of a reply."""
    if not levels or any_of("format").search(source.text):
        return None
    low, high, row = min(levels[0].names), max(levels[0].names), levels[0].row
    marks = {"analysis": "[what speaks for and against it]", "score": f"[one whole number from {low} to {high}]"}
    told = _USUAL.format(**marks, justification="[why this number]")
    slots = (Slot("analysis", "", row, "text"), Slot("score", f"{low} to {high}", row), Slot("justification", "", row, "text"))  # fmt: skip # noqa: E501
    return Found("levels without a format; the usual one is added", _USUAL, slots, f"Write exactly:\n\n{told}")
