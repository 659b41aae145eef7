"""Turns a prompt into a rubric: proposes what it reads, and keeps the prompt byte for byte but for chat tokens."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pathway_local.adopt.inputs import Inputs, inputs_of
from pathway_local.adopt.json_blocks import json_blocks
from pathway_local.adopt.key_lists import key_lists
from pathway_local.adopt.last_lines import last_lines
from pathway_local.adopt.pairs import compares, preference, swap_of
from pathway_local.adopt.parts import labelled_parts, tagged_parts
from pathway_local.adopt.prompt import Prompt, Source
from pathway_local.adopt.scales import Levels, levels_in
from pathway_local.adopt.short_replies import short_replies
from pathway_local.adopt.slots import Found
from pathway_local.adopt.values import OPEN, Value, values_of
from pathway_local.adopt.words import any_of

_QUOTED_REPLY = re.compile(r"[\"“'`«]\s?([A-Za-z][^\"”'`»{}<>\n]{0,30}?)\s?[\"”'`»]")
_KEY = re.compile(r"[\"'`„“«](\w+)[\"'`”“»]")


@dataclass(frozen=True)
class Proposal:
    """What a prompt's reply seems to look like: spellings of its fields and its layout, and the rows that say so.

    A spelling with a question mark must be completed. `open` are questions that a yes settles. `swap` names the inputs
    of a comparison.
    """

    recogniser: str
    layout: str
    fields: dict[str, str]
    rows: dict[str, tuple[int, ...]]
    inputs: Inputs
    closing: str = ""
    swap: Mapping[str, str] = field(default_factory=dict)
    open: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether no field must be completed."""
        return (
            bool(self.fields)
            and not any(is_open(spelling) for spelling in self.fields.values())
            and bool(self.inputs.said)
        )

    def outputs(self) -> dict[str, object]:
        """Return the `outputs:` block."""
        return {"layout": self.layout, "fields": self.fields}


def is_open(spelling: str) -> bool:
    """Return whether a spelling has a question mark outside of quotes."""
    return OPEN in _bare(spelling)


def propose(prompt: Prompt) -> Proposal:
    """Return what the recognisers read; without fields if none of them knows the reply's format."""
    source, inputs = prompt.source, inputs_of(prompt)
    levels = levels_in(source)
    found = _found(prompt, levels)
    if found is None:
        return Proposal("", "json", {}, {}, inputs)
    values = values_of(found.slots, source, levels)
    if not any(value.scores or is_open(value.spelling) for value in values):
        return Proposal("", "json", {}, {}, inputs)
    values = [_with_doubts(value, source) if value.scores else value for value in values]
    swap, values = _compared(source, values, list(inputs.said))
    names = [slot.name for slot in found.slots]
    inputs = replace(
        inputs, said={name: said for name, said in inputs.said.items() if prompt.declared or name not in ("",)}
    )
    fields = dict(zip(names, (value.spelling for value in values), strict=True))
    echoes = {
        name: f"= {name}" for name, value in zip(names, values, strict=True) if name in inputs.said and not value.scores
    }
    rows = {name: tuple(row for row in value.rows if row >= 0) for name, value in zip(names, values, strict=True)}
    keyed = [line for line in source.lines if any_of("added").search(line) and any_of("key").search(line)]
    unnamed = [key for line in keyed for key in _KEY.findall(line) if key not in names]
    open_points = tuple(f'the prompt also names the field "{key}": does the reply hold it?' for key in unnamed)
    return Proposal(found.recogniser, found.layout, fields | echoes, rows, inputs, found.closing, swap, open_points)


def _found(prompt: Prompt, levels: list[Levels]) -> Found | None:
    source = prompt.source
    return (
        json_blocks(source, prompt.schema)
        or key_lists(source)
        or tagged_parts(source)
        or labelled_parts(source)
        or last_lines(source)
        or short_replies(source, levels)
    )


def _with_doubts(value: Value, source: Source) -> Value:
    """Return a score that is open where a line speaks of fractions, or of a reply off its scale, that it lacks."""
    numbers = [float(each) for each in re.findall(r"\d+(?:\.\d+)?", value.spelling.partition(" by ")[0])]
    spelling, rows = value.spelling, value.rows
    for row, line in enumerate(source.lines):
        if re.match(r'\s*["{}\[]', line) or OPEN in _bare(spelling):
            continue
        told = any_of("reply").search(line) or any_of("give").search(line)
        plain = any_of("negated").sub(" ", line)
        if not value.words and " by " not in spelling and any_of("fraction").search(plain) and "<" not in spelling:
            spelling, rows = f"{spelling} by {OPEN}", (*rows, row)
        elif any_of("never").search(line) and told and not value.words:
            spelling, rows = f"{spelling} {OPEN}", (*rows, row)
        elif " or " not in spelling and told and _is_beyond(line, value, numbers):
            spelling, rows = f"{spelling} or {OPEN}", (*rows, row)
    return replace(value, spelling=spelling, rows=rows)


def _is_beyond(line: str, value: Value, numbers: list[float]) -> bool:
    """Return whether a line that tells the judge what to reply names something that the score can't be."""
    known = {word.lower() for word in value.words}
    if any(each.lower() not in known for each in re.findall(r"(?i)\bnull\b|\bnone\b|\bn/a\b|(?<![\w-])-1\b", line)):
        return True
    give = any_of("give").pattern
    given = re.findall(rf"(?i){give}(?: \w+){{0,3}}?\s+(\d+(?:\.\d+)?)(?![\w%]|[.,]\d)", line)
    if not value.words and numbers and any(not min(numbers) <= float(each) <= max(numbers) for each in given):
        return True
    words = re.findall(rf"(?i){give}(?: \w+){{0,3}}?\s+{_QUOTED_REPLY.pattern}", line)
    return any(word.lower() not in known and not any_of("number").search(word) for word in words)


def _bare(spelling: str) -> str:
    return re.sub(r'"[^"]*"', "", spelling)


def _compared(source: Source, values: Sequence[Value], names: Sequence[str]) -> tuple[dict[str, str], list[Value]]:
    """Return which inputs of a comparison change places, and the values with its choice."""
    for at, value in enumerate(values):
        if value.scores and compares(source, value.words, swap_of(names)):
            choice = replace(value, spelling=preference(value.words, source, swap_of(names)))
            return swap_of(names), [*values[:at], choice, *values[at + 1 :]]
        if value.words and value.scores and swap_of(names) and any_of("compare").search(source.text):
            return {}, [*values[:at], replace(value, spelling=f"{value.spelling} {OPEN}"), *values[at + 1 :]]
    return {}, list(values)
