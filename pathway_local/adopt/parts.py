"""Recognises tagged or labelled slots as the reply's format."""

import re
from collections.abc import Iterator

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.slots import Found, Slot, as_name, in_layout
from pathway_local.adopt.values import words_in
from pathway_local.adopt.words import any_of

LONG = 160
"""Characters in a tag at most, for it to be a slot of the reply and no part of the prompt."""

_PAIR = re.compile(r"<([A-Za-z]\w*)>((?:(?!</?\1>)[^{}]){0,1500}?)</\1>", re.DOTALL)
_TOLD = re.compile(r"(?i)`?<([a-z]\w*)>`?(?:\s*(?:and|</?\w+>))*\s*(?:xml )?-?tags?\b")
_VAGUE = re.compile(r"[A-Za-z]{0,2}\d+")
_BEGINS = re.compile(r"(?i)(?:start|begin)[^\n\"“]{0,60}with:?\s+[\"“]([^\"”\n]{2,80})[\"”]")
_SLOT = r"(?:\[[^\[\]\n]{1,300}\]|<[^<>\n]{1,300}>|\([^()\n]{1,200}\)|_{2,}|\.\.\.|…)"
_LABEL = re.compile(
    r"^(?P<before>[ \t]*(?:[-•]\s+|\d+[.)]\s+)?[*_#]*\s*)(?P<label>[A-Z][\w '/-]{0,40}?)(?P<after>[*_]*\s*:\s*[*_]*\s*)"
    rf"(?P<slot>{_SLOT})?[*_.]*\s*$|^(?P<hashes>#{{1,4}}\s+)(?P<head>[A-Z][\w '/-]{{0,40}}?)\s*$"
)

Part = tuple[str, Slot]
"""The text before a slot, and the slot."""


def tagged_parts(source: Source) -> Found | None:
    """Return the format of tags that the reply is to hold; None without any, or if none holds a score."""
    said: dict[str, list[tuple[str, int]]] = {}
    for found in _PAIR.finditer(source.text):
        inside, short = " ".join(found[2].split()), found[2].strip().count("\n") < 2
        told = any_of("reply").search(source.text[max(0, found.start() - 400) : found.start()])
        if told and (_VAGUE.fullmatch(found[1]) or (len(inside) <= LONG and short)) and not _PAIR.search(found[2]):
            said.setdefault(found[1], []).append((inside, source.row(found.start())))
    for found in _TOLD.finditer(source.text):
        before = source.text[max(0, found.start() - 200) : found.start()]
        if found[1] not in said and any_of("reply").search(before):
            about = re.split(r"(?<=[.!?])\s|>|\btags?\b", before[-120:])[-1]
            said[found[1]] = [(" ".join(about.split()), source.row(found.start()))]
    slots = {tag: _tagged(tag, texts) for tag, texts in said.items()}
    if not any(map(_scores, slots.values())) or len({slot.name for slot in slots.values()}) < len(slots):
        return None
    lines = [f"<{tag}>{in_layout(_start(source, tag))}{{{slot.name}}}</{tag}>" for tag, slot in slots.items()]
    outer = re.search(rf"<(\w+)>\s*<{next(iter(slots))}>.*</{list(slots)[-1]}>\s*</\1>", source.text, re.DOTALL)
    if outer and outer[1] not in slots and len(outer[0]) < 600:
        lines = [f"<{outer[1]}>", *lines, f"</{outer[1]}>"]
    return Found("tagged slots", "\n".join(lines), tuple(slots.values()))


def _tagged(tag: str, texts: list[tuple[str, int]]) -> Slot:
    """Return the slot of a tag; S0 with "your chain of thoughts" is called thoughts."""
    words = tuple(dict.fromkeys(text for text, _ in texts))
    if len(words) > 1 and all(re.fullmatch(r"[\w-]{1,20}", word) for word in words):
        numbers = all(word.isdecimal() for word in words)
        return Slot(as_name(tag), ", ".join(words) * numbers, texts[0][1], words=() if numbers else words)
    text, row = min(texts, key=lambda each: len(each[0]) or LONG)
    last = re.findall(r"[A-Za-z]+", text)[-1:] if _VAGUE.fullmatch(tag) else []
    return Slot(as_name(last[0] if last else tag), "" if last else text, row)


def _start(source: Source, tag: str) -> str:
    """Return the words with which the prompt has the text in a tag begin."""
    inside = re.findall(rf"<{tag}>(.*?)</{tag}>", source.text, re.DOTALL)
    return next((found[1] for text in inside if (found := _BEGINS.search(text))), "")


def _scores(slot: Slot) -> bool:
    number = re.search(r"(?i)\d\s*(?:-|–|to|or|,|/|\|)\s*\d|\b(?:number|integer|score)\b", slot.said)
    called = any_of("score").search(slot.name.replace("_", " "))
    return bool(number or called or slot.words or len(words_in(slot.said)) > 1)


def labelled_parts(source: Source) -> Found | None:
    """Return the format of labels in a row, such as `Score: [1-5]`; None if no two stand together, or if several do."""
    runs = [run for run in _runs(source) if len(run) > 1 and any(_scores(slot) for _, slot in run)]
    slots = [slot for _, slot in (runs or [[]])[-1]]
    names = {tuple(slot.name for _, slot in run) for run in runs}
    if len(names) != 1 or len(set(*names)) < len(slots):
        return None
    layout, begin = "", slots[0].row
    for before, slot in runs[-1]:
        gap = "\n\n" if slot.row and not source.lines[slot.row - 1].strip() else "\n"
        layout += (gap if layout else "") + in_layout(before) + f"{{{slot.name}}}"
    reasons = any_of("at_end").search(" ".join(source.lines[max(0, begin - 3) : begin]))
    if reasons and any_of("reasons").search("\n".join(source.lines[:begin])) and all(map(_scores, slots)):
        layout, slots = f"{{reasoning}}\n\n{layout}", [Slot("reasoning", "", begin, "text"), *slots]
    return Found("labelled slots", layout, tuple(slots))


def has_labels(source: Source) -> bool:
    """Return whether labels with slots stand in a row, whatever they hold: then no shorter reply is meant."""
    return any(len(run) > 1 for run in _runs(source))


def _runs(source: Source) -> Iterator[list[Part]]:
    """Yield runs of labels with a slot each, behind the label or below it, with blank lines between at most."""
    run: list[Part] = []
    row = 0
    while row < len(source.lines):
        found, used = _LABEL.match(source.lines[row]), row + 1
        slot, below = (found["slot"] if found else None), " ".join(source.lines[row + 1 : row + 2]).strip()
        if found and not slot and re.fullmatch(_SLOT, below):
            slot, used = below, row + 2
        if found and slot:
            label = found["label"] or found["head"]
            before = (found["hashes"] or found["before"]).lstrip(" \t") + label + (found["after"] or "").rstrip()
            run.append((before + (" " if found["slot"] else "\n"), Slot(as_name(label), slot.strip("[]<>() "), row)))
        elif source.lines[row].strip():
            yield run
            run = []
        row = used
    yield run
