"""Turns a prompt into a rubric: proposes what it reads, and keeps the prompt byte for byte but for chat tokens."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from pathway_local.adopt.inputs import Inputs, inputs_of, is_conversation
from pathway_local.adopt.json_blocks import json_blocks
from pathway_local.adopt.key_lists import key_lists
from pathway_local.adopt.last_lines import last_lines
from pathway_local.adopt.pairs import compares, preference, swap_of
from pathway_local.adopt.parts import has_labels, labelled_parts, tagged_parts
from pathway_local.adopt.prompt import Prompt, Source
from pathway_local.adopt.scales import Levels, another_scale, levels_in
from pathway_local.adopt.short_replies import short_replies
from pathway_local.adopt.slots import Found
from pathway_local.adopt.values import OPEN, Value, values_of
from pathway_local.adopt.words import any_of
from pathway_local.probes.language import language_of
from pathway_local.prompty.front_matter import write_front
from pathway_local.rubrics.declaration import spelling_of
from pathway_local.rubrics.output_format import OutputFormat

_QUOTED_REPLY = re.compile(r"[\"“'`«]\s?([A-Za-z][^\"”'`»{}<>\n]{0,30}?)\s?[\"”'`»]")
_KEY = re.compile(r"[\"'`„“«](\w+)[\"'`”“»]")


@dataclass(frozen=True)
class Proposal:
    """The reply that a prompt seems to ask for: its layout, the spellings of its fields, and the rows that say so.

    A spelling with a question mark must be completed; `fields` are empty if no recogniser knows the format. A yes
    settles the `questions`. `swap` names the inputs of a comparison.
    """

    inputs: Inputs
    recogniser: str = ""
    layout: str = "json"
    fields: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    closing: str = ""
    swap: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[str, ...] = ()

    @property
    def open(self) -> list[str]:
        """The fields that must be completed."""
        return [name for name, spelling in self.fields.items() if OPEN in _bare(spelling)]


def propose(prompt: Prompt) -> Proposal:
    """Return what the recognisers read."""
    source, inputs, levels = prompt.source, inputs_of(prompt), levels_in(prompt.source)
    nothing = Proposal(inputs, questions=inputs.questions)
    found = _found(prompt, levels)
    values = values_of(found.slots, source, levels) if found else []
    if found is None or not any(value.scores or OPEN in value.spelling for value in values):
        return nothing
    alone = sum(value.scores and not value.words for value in values) == 1
    values = [_with_doubts(value, source, levels if alone else None) if value.scores else value for value in values]
    swap, values = _compared(source, values, list(inputs.said))
    names = [slot.name for slot in found.slots]
    fields = {
        name: f"= {name}" if name in inputs.said and not value.scores else value.spelling
        for name, value in zip(names, values, strict=True)
    }
    rows = {name: tuple(row for row in value.rows if row >= 0) for name, value in zip(names, values, strict=True)}
    keyed = [line for line in source.lines if any_of("added").search(line) and any_of("key").search(line)]
    questions = [f'the prompt also names "{key}": must the reply hold it?' for line in keyed for key in _KEY.findall(line) if key not in names]  # fmt: skip # noqa: E501
    if any(value.spelling.startswith("prefer ") for value in values) and not any_of("better").search(source.text):
        questions.append("the response that the judge chooses counts as the better one: is that meant?")
    if found.closing:
        added = found.closing.partition("\n")[0]
        questions.append(f'the prompt tells of no such form, so the rubric adds "{added}" to it: is that right?')
    if not language_of(source.text):
        questions.append("the prompt is in a language whose words are not known here: is all of this right?")
    return Proposal(
        inputs, found.recogniser, found.layout, fields, rows, found.closing, swap, (*questions, *inputs.questions)
    )


def rubric_text(prompt: Prompt, proposal: Proposal, where: str, *, confirmed: bool) -> str:
    """Return the rubric's file: the prompt, with what its front matter still lacks. Raises RubricError."""
    front: dict[str, object] = {} if prompt.head else {"name": _name(where)}
    if proposal.swap and "kind" not in prompt.front:
        front |= {"kind": "pair", "swap": dict(proposal.swap)}
    if {"inputs", "inputSchema", "sample"}.isdisjoint(prompt.front):
        front["inputs"] = {name: _declared(name, prompt, proposal.inputs) for name in proposal.inputs.said}
    syntax = prompt.placeholders.syntax if prompt.placeholders.names or prompt.declared else "none"
    syntax = "none" if syntax == "jinja2" and not prompt.source.text.count("{{") and not prompt.declared else syntax
    template = {"format": syntax, "parser": "prompty" if prompt.roles else "text", "closing": proposal.closing}
    if "template" not in prompt.front and (proposal.closing or syntax != "jinja2" or not prompt.roles):
        front["template"] = {key: value for key, value in template.items() if value}
    declared = OutputFormat.load({"layout": proposal.layout, "fields": dict(proposal.fields)}).outputs
    front["outputs"] = {"layout": declared.layout, "fields": {name: spelling_of(each) for name, each in declared.fields.items()}}  # fmt: skip # noqa: E501
    asked = "".join(f"# {question}\n" for question in proposal.questions)
    tail = "" if confirmed else f"{asked}confirmed: false\n"
    return prompt.with_front(write_front(front) + tail)


def _name(where: str) -> str:
    return re.sub(r"[^\w.-]+", "-", PurePath(where).stem).strip("-") or "rubric"


def _declared(name: str, prompt: Prompt, inputs: Inputs) -> dict[str, object]:
    kind = "conversation" if is_conversation(name, prompt) else "string"
    said = {"description": inputs.said[name]} if inputs.said[name] else {}
    return {"type": kind, **said, "empty": "judge" if name in inputs.empty else "fail"}


def _found(prompt: Prompt, levels: list[Levels]) -> Found | None:
    source = prompt.source
    return (
        json_blocks(source, prompt.schema)
        or key_lists(source)
        or tagged_parts(source)
        or labelled_parts(source)
        or last_lines(source)
        or (None if has_labels(source) else short_replies(source, levels))
    )


def _with_doubts(value: Value, source: Source, levels: list[Levels] | None) -> Value:
    """Return a score that is open where a line speaks of fractions, or of a reply off its scale, that it lacks."""
    numbers = [float(each) for each in re.findall(r"\d+(?:\.\d+)?", value.spelling.partition(" by ")[0])]
    spelling, rows = value.spelling, value.rows
    if (
        levels is not None
        and numbers
        and (other := another_scale(source, levels, min(numbers), max(numbers))) is not None
    ):
        spelling, rows = f"{spelling} {OPEN}", (*rows, other)
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
    words += re.findall(rf"(?i)(?:,? \bor|[.,;:]\s+(?:please )?(?:answer|say))\s+{_QUOTED_REPLY.pattern}", line)
    return any(word.lower() not in known and not any_of("number").search(word) for word in words)


def _bare(spelling: str) -> str:
    return re.sub(r'"[^"]*"', "", spelling)


def _compared(source: Source, values: Sequence[Value], names: Sequence[str]) -> tuple[dict[str, str], list[Value]]:
    """Return which inputs of a comparison change places, and the values with its choice."""
    counted = {"1-2": ("1", "2"), "0-1 by 1": ("0", "1")}
    asks = swap_of(names) and any_of("compare").search(source.text) and sum(value.scores for value in values) == 1
    for at, each in enumerate(values):
        value = replace(each, words=counted.get(each.spelling, ())) if asks and not each.words else each
        if value.scores and compares(source, value.words, swap_of(names)):
            choice = replace(value, spelling=preference(value.words, source, swap_of(names)))
            return swap_of(names), [*values[:at], choice, *values[at + 1 :]]
        if value.words and value.scores and asks:
            return {}, [*values[:at], replace(value, spelling=f"{value.spelling} {OPEN}"), *values[at + 1 :]]
    return {}, list(values)
