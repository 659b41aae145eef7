"""Turns a prompt into a rubric: proposes what it shows, and keeps the prompt byte for byte."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from pathway_local.adopt.inputs import Inputs, inputs_of, is_conversation
from pathway_local.adopt.objects import key_lists, objects
from pathway_local.adopt.pairs import compared, swap_of
from pathway_local.adopt.prompt import Prompt, Source
from pathway_local.adopt.questions import questions
from pathway_local.adopt.shown import Form, Slot, endings, labels, short_replies, tags, usual_reply
from pathway_local.adopt.values import OPEN, Value, is_open, levels_in, values_of
from pathway_local.adopt.words import any_of


@dataclass(frozen=True)
class Proposal:
    """The reply that a prompt seems to ask for: its layout, the spellings of its fields, and the rows that say so.

    `fields` are empty if no form was found. A yes settles the `questions`, but completes no spelling with a question
    mark. `swap` names the inputs of a comparison.
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
    def open(self) -> dict[str, list[str]]:
        """The fields that must be completed, by the spelling that they have so far."""
        found: dict[str, list[str]] = {}
        for name, spelling in self.fields.items():
            if is_open(spelling):
                found.setdefault(spelling, []).append(name)
        return found

    @property
    def asked(self) -> tuple[str, ...]:
        """A question for each open spelling, whose answer completes it, and those that a yes settles."""
        return (*(_asked(names, spelling) for spelling, names in self.open.items()), *self.questions)


def _asked(names: list[str], spelling: str) -> str:
    """Return the question that completes the spelling of these fields."""
    quoted = '", "'.join(names)
    said = f'{"are" if len(names) > 1 else "is"} "{quoted}"?'
    if f" by {OPEN}" in spelling:
        return f"how fine {said} Write its steps for the {OPEN} in {spelling}, such as 1, 0.5 or 0.01"
    if spelling == OPEN:
        return f"what {said} I read no range and no words for it; write 1-5, no < yes, list or text for the {OPEN}"
    return f"what {said} Complete {spelling}"


def propose(prompt: Prompt) -> Proposal:
    """Return what the prompt shows of the reply, with a question for all that its sentences leave in doubt."""
    source, inputs = prompt.source, inputs_of(prompt)
    forms = _forms(source, inputs)
    if not forms:
        return Proposal(inputs, questions=inputs.asked)
    form, values = forms[0]
    swap, values = compared(source, values, swap_of(list(inputs.said)))
    values = [_named_alike(slot, value, inputs) for slot, value in zip(form.slots, values, strict=True)]
    fields = {slot.name: value.spelling for slot, value in zip(form.slots, values, strict=True)}
    rows = {slot.name: tuple(dict.fromkeys(value.rows)) for slot, value in zip(form.slots, values, strict=True)}
    asked = [value.question for value in values if value.question]
    asked += questions(source, form, fields, [other for other, _ in forms[1:]])
    if swap and (twins := swap_of(list(inputs.said), others=True)):
        stay = ", ".join([*twins, *twins.values()])
        asked.append(f"the responses change places, and {stay} stay: is that right?")
    return Proposal(inputs, form.kind, form.layout, fields, rows, form.closing, swap, (*asked, *inputs.asked))


def _named_alike(slot: Slot, value: Value, inputs: Inputs) -> Value:
    """Return the value of a part of the reply; if an input has its name, the text that the prompt describes is that."""
    if slot.name not in inputs.said:
        return value
    spelling = value.spelling if value.scores else f"= {slot.name}" if slot.text else OPEN
    repeats = ", so the judge repeats that text" * spelling.startswith("=")
    asked = f'"{slot.name}" names an input and a part of the reply{repeats}: is that meant?'
    return replace(value, spelling=spelling, question=f"{value.question} {asked}".strip())


def _forms(source: Source, inputs: Inputs) -> list[tuple[Form, list[Value]]]:
    """Return the form to propose and the others, with their values; none if the prompt shows one that can't be read."""
    shown = [form for each in (objects, key_lists, tags, labels, endings) for form in each(source)]
    shown = [form for form in shown if not form.slots or not {slot.name for slot in form.slots} <= {*inputs.said}]
    if not all(form.readable for form in shown):
        return []
    read = [(form, values_of(form.slots, source)) for form in shown]
    scoring = [each for each in read if any(value.scores for value in each[1])]
    if not scoring:
        short = [(form, values_of(form.slots, source)) for form in short_replies(source)]
        levels = sorted(levels_in(source), key=lambda scale: scale.low - scale.high)
        alone = len({(scale.low, scale.high) for scale in levels[:2]}) == len(levels[:2]) > 0
        if alone and all(form.question for form, _ in short) and not any_of("format").search(source.text):
            usual = usual_reply(levels[0].low, levels[0].high, levels[0].row)
            short = [(usual, values_of(usual.slots, source))]
        return [*short, *read] if short else []
    return [scoring[0], *(each for each in read if each is not scoring[0])]


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
    asked = "".join(f"# {question}\n" for question in proposal.asked)
    return prompt.with_front(front, "" if confirmed else f"{asked}confirmed: false\n")


def _declared(name: str, prompt: Prompt, said: str) -> dict[str, object]:
    kind = "conversation" if is_conversation(name, prompt) else "string"
    described = {"description": said} if said else {}
    return {"type": kind, **described, "empty": "judge" if any_of("empty").search(said) else "fail"}
