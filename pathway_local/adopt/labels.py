"""Formats of labelled parts: lines such as **Score:** [1-5], a label and a slot to fill in."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathway_local.adopt.finding import Candidate, Place, Source, in_layout
from pathway_local.adopt.mentions import identifier
from pathway_local.adopt.number_phrases import scale_in
from pathway_local.adopt.scales import SCORE_WORDS
from pathway_local.adopt.short_replies import REASONING, REASONS, follows_reasons
from pathway_local.adopt.word_phrases import listed_words

_SLOT = r"\[{1,2}[^\[\]\n]{1,400}\]{1,2}|<(?!/)[^<>\n]{1,400}>|\([^()\n]{3,400}\)|_{3,}|\.{3}|…|\d+\s*[-–]\s*\d+"
_LABEL = r"(?P<label>[ \t]*(?:[#>]+[ \t]*)?[*_]*[A-Z][\w /'-]{0,40}?[*_]*[ \t]*:[*_]*)"
_ON_LINE = re.compile(rf"^{_LABEL}(?P<gap>[ \t]*)(?P<slot>{_SLOT})[*_]*\.?[ \t]*$")
_HEAD = re.compile(rf"^(?:{_LABEL}|(?P<heading>[ \t]*#+[ \t]+[A-Z][\w /'-]{{0,40}}))[ \t]*$")
_ALONE = re.compile(rf"^[ \t]*(?P<slot>{_SLOT})[ \t]*$")


@dataclass(frozen=True, slots=True)
class _Part:
    """A label and its slot: where each stands in the text, and their rows."""

    label: str
    start: int
    slot: tuple[int, int]
    rows: tuple[int, int]


def label_candidates(source: Source) -> Iterator[Candidate]:
    """Yield each block of labelled slots with a score among them."""
    blocks = list(_blocks(source, list(_parts(source))))
    for block in blocks:
        said = [source.text[slice(*part.slot)] for part in block]
        scored = [bool(SCORE_WORDS.search(source.english_name(part.label))) for part in block]
        if not any(scored) and not any(scale_in(text) or listed_words(text) for text in said):
            continue
        names = _names(block)
        places = tuple(
            Place(name, f"{text.strip('[]<>()')}", part.rows[1])
            for name, text, part in zip(names, said, block, strict=True)
        )
        layout = _layout(source.text, block, names)
        labelled = any(REASONS.search(source.english_name(part.label)) for part in block)
        if not labelled and all(map(_is_value, said)) and follows_reasons(source, block[0].rows[0]):
            # Lines that end a reply: the reasons before them are a part of it, too.
            places = (Place("reasoning", REASONING, block[0].rows[0], "text"), *places)
            layout = f"{{reasoning}}\n{layout}"
        yield Candidate("labels", layout, places, block[0].rows[0], tuple(_elsewhere(source, block, blocks)))


def _elsewhere(source: Source, block: Sequence[_Part], blocks: Sequence[Sequence[_Part]]) -> Iterator[str]:
    """Yield a doubt for each label with a slot in brackets that stands in other blocks alone."""
    labels = {identifier(part.label) for part in block}
    for part in (part for other in blocks for part in other):
        if identifier(part.label) not in labels and source.text[part.slot[0]] in "[<":
            yield f"line {source.line(part.rows[0])} shows another labelled part"


def _is_value(said: str) -> bool:
    return bool(scale_in(said) or listed_words(said) or len(said.strip("[]<>()").split()) == 1)


def _parts(source: Source) -> Iterator[_Part]:
    for row, line in enumerate(source.lines):
        found = _ON_LINE.match(line)
        if found and "{{" not in line:
            at = source.start(row)
            yield _Part(found.group("label"), at, (at + found.start("slot"), at + found.end("slot")), (row, row))
            continue
        head = _HEAD.match(line)
        below = row + 1
        slot = _ALONE.match(source.lines[below]) if head and below < len(source.lines) else None
        if head and slot:
            at = source.start(below)
            span = (at + slot.start("slot"), at + slot.end("slot"))
            yield _Part(head.group("label") or head.group("heading"), source.start(row), span, (row, below))


def _blocks(source: Source, parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    block: list[_Part] = []
    for part in parts:
        if block and source.text[block[-1].slot[1] : part.start].strip(" \t\n*_."):
            yield block
            block = []
        block.append(part)
    if block:
        yield block


def _names(block: Sequence[_Part]) -> list[str]:
    names: list[str] = []
    for part in block:
        name = identifier(part.label) or "text"
        names.append(name if name not in names else f"{name}_{len(names) + 1}")
    return names


def _layout(text: str, block: Sequence[_Part], names: Sequence[str]) -> str:
    """Return the block's text with a field's name in place of each slot; [[…]] keeps its brackets."""
    layout, at = "", block[0].start
    for part, name in zip(block, names, strict=True):
        start, end = part.slot
        doubled = text[start:end].startswith("[[")
        layout += f"{in_layout(text[at:start])}{'[[' * doubled}{{{name}}}{']]' * doubled}"
        at = end
    return layout.strip(" \t")
