"""Turns a prompt into a rubric: proposes what it reads, and keeps the prompt byte for byte."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from pathway_local.adopt.inputs import Inputs, inputs_of, is_conversation
from pathway_local.adopt.json_blocks import json_blocks, key_lists
from pathway_local.adopt.pairs import compared, others_of, swap_of
from pathway_local.adopt.prompt import Prompt
from pathway_local.adopt.scales import Levels, levels_in
from pathway_local.adopt.slots import Found, Source, as_name
from pathway_local.adopt.text_replies import (
    ends_open,
    labelled_parts,
    last_lines,
    short_replies,
    tagged_parts,
    usual_reply,
)
from pathway_local.adopt.values import OPEN, Value, in_quotes, values_of
from pathway_local.adopt.words import any_of
from pathway_local.probes.subject import language_of

TEXTS = ("text", "line", "list", "json", "[")
"""Spellings of fields that can hold reasons begin so."""


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
        return [name for name, spelling in self.fields.items() if OPEN in re.sub(r'"[^"]*"', "", spelling)]


def propose(prompt: Prompt) -> Proposal:
    """Return what the recognisers read."""
    source, inputs, levels = prompt.source, inputs_of(prompt), levels_in(prompt.source)
    found = _found(source, levels)
    if found is None:
        return Proposal(inputs, questions=inputs.questions)
    values = [_with_fractions(value, source) for value in values_of(found.slots, source, levels)]
    swap, values = compared(source, values, swap_of(list(inputs.said)))
    named = {slot.name: value for slot, value in zip(found.slots, values, strict=True)}
    fields = {
        name: f"= {name}" if name in inputs.said and not value.scores else value.spelling
        for name, value in named.items()
    }
    rows = {name: tuple(row for row in value.rows if row >= 0) for name, value in named.items()}
    echoed = [
        f'"{name}" names an input and a part of the reply, so the judge repeats that text: is that meant?'
        for name, spelling in fields.items()
        if spelling == f"= {name}"
    ]
    questions = [*(value.question for value in values if value.question), *echoed, *_another(source, found)]
    questions += _questions(source, found, fields)
    if swap and (others := others_of(list(inputs.said), swap)):
        questions.append(f"the responses change places, and {', '.join(others)} stay: is that right?")
    return Proposal(
        inputs, found.recogniser, found.layout, fields, rows, found.closing, swap, (*questions, *inputs.questions)
    )


def rubric_text(prompt: Prompt, proposal: Proposal, where: str, *, confirmed: bool) -> str:
    """Return the rubric's file: the prompt, with what its front matter still lacks. Raises RubricError."""
    name = re.sub(r"[^\w.-]+", "-", PurePath(where).stem).strip("-") or "rubric"
    front: dict[str, object] = {} if prompt.head else {"name": name}
    if proposal.swap and "kind" not in prompt.front:
        front |= {"kind": "pair", "swap": dict(proposal.swap)}
    if list(proposal.inputs.said) != list(prompt.declared):
        front["inputs"] = {name: _declared(name, prompt, said) for name, said in proposal.inputs.said.items()}
    syntax = prompt.placeholders.syntax if prompt.placeholders.names or prompt.declared else "none"
    syntax = "none" if syntax == "jinja2" and not prompt.source.text.count("{{") and not prompt.declared else syntax
    template = {"format": syntax, "parser": "prompty" if prompt.roles else "text", "closing": proposal.closing}
    if "template" not in prompt.front and (proposal.closing or syntax != "jinja2" or not prompt.roles):
        front["template"] = {key: value for key, value in template.items() if value}
    front["outputs"] = {"layout": proposal.layout, "fields": dict(proposal.fields)}
    asked = "".join(f"# {question}\n" for question in proposal.questions)
    return prompt.with_front(front, "" if confirmed else f"{asked}confirmed: false\n")


def _declared(name: str, prompt: Prompt, said: str) -> dict[str, object]:
    kind = "conversation" if is_conversation(name, prompt) else "string"
    described = {"description": said} if said else {}
    return {"type": kind, **described, "empty": "judge" if any_of("empty").search(said) else "fail"}


def _found(source: Source, levels: list[Levels]) -> Found | None:
    """Return the format of the first recogniser that knows one with a score; None if it knows several."""
    recognisers = (json_blocks, key_lists, tagged_parts, labelled_parts, last_lines, short_replies, ends_open)
    for every in (*(each(source) for each in recognisers), usual_reply(source, levels)):
        scoring = [found for found in every if any(value.scores for value in values_of(found.slots, source, levels))]
        if len({tuple(slot.name for slot in found.slots) for found in scoring}) > 1:
            return None
        if scoring:
            # A skeleton says what stands in its places; an example only shows a value of each.
            return max(scoring, key=lambda found: sum(bool(slot.words or slot.said) for slot in found.slots))
    return None


def _another(source: Source, found: Found) -> list[str]:
    """Return a question for a form that the prompt shows as well and that has other parts than the one proposed."""
    have = {slot.name for slot in found.slots}
    others = [other for each in (json_blocks, key_lists, tagged_parts) for other in each(source)]
    shown = [[slot.name for slot in other.slots] for other in others if len(other.slots) > 1]
    told = next((names for names in shown if not have & set(names)), [])
    return [f"the prompt also shows {', '.join(told)[:80]} side by side: is this the reply instead?"] * bool(told)


def _questions(source: Source, found: Found, fields: Mapping[str, str]) -> list[str]:
    """Return what a yes to this format settles, besides its values."""
    keyed = [line for line in source.lines if any_of("added").search(line) and any_of("key").search(line)]
    named = [key for line in keyed for key in in_quotes(line) if key.isidentifier() and key not in fields]
    questions = [found.question] * bool(found.question)
    if (end := re.search(r"\n *([A-Z][\w ]{2,30}):\s*\Z", source.text)) and found.recogniser == "labelled slots":
        missing = as_name(end[1]) not in fields
        questions += [f'the prompt ends with "{end[1]}:": must the reply hold it?'] * missing
    questions += [f'the prompt also names "{key}": must the reply hold it?' for key in named]
    if any(each.startswith("prefer ") for each in fields.values()) and not any_of("better").search(source.text):
        questions.append("the response that the judge chooses counts as the better one: is that meant?")
    asks = [line for line in source.lines if any_of("first").search(line) and not any_of("silent").search(line)]
    told = [said[0] for line in asks if (said := any_of("reasons").search(line))]
    if told and not found.question and not any(each.startswith(TEXTS) for each in fields.values()):
        questions.append(f'the prompt says "{told[0]}", and the reply holds no text: does the judge write no reasons?')
    if found.closing:
        added = found.closing.partition("\n")[0]
        questions.append(
            f'I found no line that tells of such a form, so the rubric adds "{added}" to the prompt: is that right?'
        )
    if not language_of(source.text) and not all(map(language_of, source.lines)):
        questions.append("the prompt is in a language whose words are not known here: is all of this right?")
    return questions


def _with_fractions(value: Value, source: Source) -> Value:
    """Return a score of whole numbers, with the steps that a line seems to allow, and a question about them."""
    whole = re.match(r"-?\d+(?:-| to )\d+(?![\d.]| by)", value.spelling)
    if not whole or not value.scores or value.question:
        return value
    steps = {"uneven": OPEN, "halves": "0.5", "quarters": "0.25", "fraction": "0.1"}
    small = int(re.findall(r"\d+", whole[0])[-1]) <= 20
    for row, line in enumerate(source.lines):
        said = any_of("negated").sub(" ", line)
        if step := next((step for group, step in steps.items() if any_of(group).search(said)), ""):
            step = step if small else OPEN
            spelling = re.sub(r"^(\S+(?: to \S+)?)", rf"\1 by {step}", value.spelling)
            asked = f'line {source.line(row)} says "{line.strip()[:80]}": is {step} as fine as you want?'
            asked = asked if step != OPEN else ""
            return replace(value, spelling=spelling, rows=(*value.rows, row), question=asked)
    return value
