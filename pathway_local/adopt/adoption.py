"""Turns a prompt into a rubric: proposes what it shows, and keeps the prompt byte for byte."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from pathway_local.adopt.inputs import Inputs, inputs_of, is_conversation
from pathway_local.adopt.objects import key_lists, objects
from pathway_local.adopt.pairs import compared, swap_of
from pathway_local.adopt.prompt import Prompt, Source
from pathway_local.adopt.questions import questions
from pathway_local.adopt.shown import Form, endings, labels, short_replies, tags, usual_reply
from pathway_local.adopt.values import OPEN, levels_in, values_of
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
    def open(self) -> dict[str, str]:
        """The fields that must be completed, each with the question whose answer is its spelling."""
        spelled = self.fields.items()
        return {name: _asked(name, each) for name, each in spelled if OPEN in re.sub(r'"[^"]*"', "", each)}


def _asked(name: str, spelling: str) -> str:
    """Return the question that completes a spelling."""
    if f" by {OPEN}" in spelling:
        return f'how fine is "{name}"? Write its steps for the {OPEN} in {spelling}, such as 1, 0.5 or 0.01'
    if spelling == OPEN:
        return f'what is "{name}"? I read no range and no set of words for it; write for the {OPEN}, such as 1-5'
    return f'what is "{name}"? Complete {spelling}'


def propose(prompt: Prompt) -> Proposal:
    """Return what the prompt shows of the reply, with a question for all that its sentences leave in doubt."""
    source, inputs = prompt.source, inputs_of(prompt)
    form, others = _chosen(source)
    if form is None:
        return Proposal(inputs, questions=inputs.asked)
    values = values_of(form.slots, source)
    swap, values = compared(source, values, swap_of(list(inputs.said)))
    named = {slot.name: value for slot, value in zip(form.slots, values, strict=True)}
    fields = {name: value.spelling for name, value in named.items()}
    # A key alone does not say that the judge repeats the input of its name.
    same = [slot for slot in form.slots if slot.name in inputs.said and not named[slot.name].scores]
    fields |= {slot.name: f"= {slot.name}" if slot.text else OPEN for slot in same}
    rows = {name: tuple(row for row in dict.fromkeys(value.rows) if row >= 0) for name, value in named.items()}
    asked = [value.question for value in values if value.question]
    asked += [
        f'"{name}" names an input and a part of the reply, so the judge repeats that text: is that meant?'
        if spelling == f"= {name}"
        else f'"{name}" names an input and a part of the reply: is that meant?'
        for name, spelling in fields.items()
        if name in inputs.said
    ]
    asked += questions(source, form, fields, others)
    if swap and (twins := swap_of(list(inputs.said), others=True)):
        stay = ", ".join([*twins, *twins.values()])
        asked.append(f"the responses change places, and {stay} stay: is that right?")
    return Proposal(inputs, form.kind, form.layout, fields, rows, form.closing, swap, (*asked, *inputs.asked))


def _chosen(source: Source) -> tuple[Form | None, list[Form]]:
    """Return the form to propose and the others that the prompt shows; none if it shows one that can't be read."""
    every = [form for each in (objects, key_lists, tags, labels, endings) for form in each(source)]
    if not all(form.readable for form in every):
        return None, []
    scoring = [form for form in every if any(value.scores for value in values_of(form.slots, source))]
    short = [] if scoring else list(short_replies(source))
    levels = sorted(levels_in(source), key=lambda scale: scale.low - scale.high)
    alone = len({(scale.low, scale.high) for scale in levels[:2]}) == len(levels[:2]) > 0
    if alone and not scoring and all(form.question for form in short) and not any_of("format").search(source.text):
        short = [usual_reply(levels[0].low, levels[0].high, levels[0].row)]
    every, scoring = [*every, *short], scoring or short
    if not scoring:
        return None, []
    first = scoring[0]
    # A skeleton says what stands in its places; an example only shows a value of each.
    alike = [form for form in scoring if {slot.name for slot in form.slots} == {slot.name for slot in first.slots}]
    best = max(alike, key=lambda form: sum(bool(slot.words or slot.text) for slot in form.slots))
    return best, [form for form in every if form not in alike]


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
    asked = "".join(f"# {question}\n" for question in (*proposal.open.values(), *proposal.questions))
    return prompt.with_front(front, "" if confirmed else f"{asked}confirmed: false\n")


def _declared(name: str, prompt: Prompt, said: str) -> dict[str, object]:
    kind = "conversation" if is_conversation(name, prompt) else "string"
    described = {"description": said} if said else {}
    return {"type": kind, **described, "empty": "judge" if any_of("empty").search(said) else "fail"}
