"""Turns a prompt into a rubric: proposes what it reads, and keeps the prompt byte for byte but for chat tokens."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from pathway_local.adopt.inputs import Inputs, inputs_of, is_conversation
from pathway_local.adopt.json_blocks import json_blocks, key_lists
from pathway_local.adopt.pairs import others_of, preference, swap_of
from pathway_local.adopt.prompt import Prompt
from pathway_local.adopt.scales import Levels, levels_in, stated
from pathway_local.adopt.slots import Found, Source, as_name
from pathway_local.adopt.text_replies import labelled_parts, last_lines, short_replies, tagged_parts, usual_reply
from pathway_local.adopt.values import BESIDE, OPEN, Value, in_quotes, values_of
from pathway_local.adopt.words import any_of, is_in
from pathway_local.probes.language import language_of
from pathway_local.prompty.front_matter import write_front
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.spelling import field_of

_WORD = r"[\"“'`«]\s?([A-Za-z][^\"”'`»{}<>\n]{0,30}?)\s?[\"”'`»]"


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
        return [name for name, spelling in self.fields.items() if _is_open(spelling)]


def propose(prompt: Prompt) -> Proposal:
    """Return what the recognisers read."""
    source, inputs, levels = prompt.source, inputs_of(prompt), levels_in(prompt.source)
    found = _found(source, levels)
    if found is None:
        return Proposal(inputs, questions=inputs.questions)
    values = values_of(found.slots, source, levels)
    alone = sum(value.scores and not value.words for value in values) == 1
    own = {slot.name.lower() for slot in found.slots}
    values = [_with_doubts(value, own, alone, source, levels) if value.scores else value for value in values]
    swap, values = _compared(source, values, swap_of(list(inputs.said)))
    names = [slot.name for slot in found.slots]
    fields = {
        name: f"= {name}" if name in inputs.said and not value.scores else value.spelling
        for name, value in zip(names, values, strict=True)
    }
    rows = {name: tuple(row for row in value.rows if row >= 0) for name, value in zip(names, values, strict=True)}
    questions = tuple(_questions(source, found, fields))
    if swap and (others := others_of(list(inputs.said), swap)):
        questions += (f"the responses change places, and {', '.join(others)} stay: is that right?",)
    return Proposal(
        inputs, found.recogniser, found.layout, fields, rows, found.closing, swap, (*questions, *inputs.questions)
    )


def directions(source: Source, rubric: Rubric) -> tuple[str, ...]:
    """Return a question for each sign that a lower score is better; a comparison has its direction in its words."""
    fields = rubric.format.outputs.fields
    harms = [name for name in fields if is_in("harm", name.split(".")[-1])]
    scores = {name: each for name, each in fields.items() if isinstance(each, ScoreField) and each.scale == "ordinal"}
    scores = {} if rubric.pair else scores
    questions = [f'a higher "{name}" is taken as better: is that meant?' for name in scores if name in harms]
    told = [found for score in scores.values() if (found := _turned(source, score))]
    asks = "a higher score is taken as better, and"
    questions += [f'{asks} line {source.line(row)} says "{said[:60]}": is that meant?' for row, said in told]
    counted = re.search(rf"(?i){any_of('how_many').pattern} {any_of('harm').pattern}", source.text)
    if counted and len(scores) == 1 and not harms:
        questions.append(f'{asks} the prompt asks "{counted[0]}": is that meant?')
    return tuple(dict.fromkeys(questions))


def _turned(source: Source, score: ScoreField) -> tuple[int, str] | None:
    """Return the first row that calls the lowest level good or the highest bad, and its words."""
    ends = [text for text, value in score.values_by_text(False).items() if value not in score.special]
    between = rf"(?:[\s(=:–—\"'*-]|{any_of('joins').pattern})+"
    sides = ((ends[0], "top"), (ends[-1], "bottom"))
    signs = [re.compile(rf"(?i)(?<![\w.,/-]){re.escape(end)}{between}{any_of(word).pattern}") for end, word in sides]
    # Where levels have words, their order says which is better.
    signs += [any_of("reversed")] * (not score.written)
    every = ((row, sign.search(line)) for row, line in enumerate(source.lines) for sign in signs)
    return next(((row, found[0]) for row, found in every if found), None)


def rubric_text(prompt: Prompt, proposal: Proposal, where: str, *, confirmed: bool) -> str:
    """Return the rubric's file: the prompt, with what its front matter still lacks. Raises RubricError."""
    name = re.sub(r"[^\w.-]+", "-", PurePath(where).stem).strip("-") or "rubric"
    front: dict[str, object] = {} if prompt.head else {"name": name}
    if proposal.swap and "kind" not in prompt.front:
        front |= {"kind": "pair", "swap": dict(proposal.swap)}
    if {"inputs", "inputSchema", "sample"}.isdisjoint(prompt.front):
        front["inputs"] = {name: _declared(name, prompt, said) for name, said in proposal.inputs.said.items()}
    syntax = prompt.placeholders.syntax if prompt.placeholders.names or prompt.declared else "none"
    syntax = "none" if syntax == "jinja2" and not prompt.source.text.count("{{") and not prompt.declared else syntax
    template = {"format": syntax, "parser": "prompty" if prompt.roles else "text", "closing": proposal.closing}
    if "template" not in prompt.front and (proposal.closing or syntax != "jinja2" or not prompt.roles):
        front["template"] = {key: value for key, value in template.items() if value}
    front["outputs"] = {"layout": proposal.layout, "fields": dict(proposal.fields)}
    asked = "".join(f"# {question}\n" for question in proposal.questions)
    return prompt.with_front(write_front(front) + ("" if confirmed else f"{asked}confirmed: false\n"))


def _declared(name: str, prompt: Prompt, said: str) -> dict[str, object]:
    kind = "conversation" if is_conversation(name, prompt) else "string"
    described = {"description": said} if said else {}
    return {"type": kind, **described, "empty": "judge" if any_of("empty").search(said) else "fail"}


def _found(source: Source, levels: list[Levels]) -> Found | None:
    """Return the format of the first recogniser that knows one with a score; None if it knows several."""
    recognisers = (json_blocks, key_lists, tagged_parts, labelled_parts, last_lines, short_replies)
    for every in (*(each(source) for each in recognisers), usual_reply(source, levels)):
        scoring = [found for found in every if any(value.scores for value in values_of(found.slots, source, levels))]
        if len({tuple(slot.name for slot in found.slots) for found in scoring}) > 1:
            return None
        if scoring:
            # A skeleton says what stands in its places; an example only shows a value of each.
            return max(scoring, key=lambda found: sum(bool(slot.words or slot.said) for slot in found.slots))
    return None


def _questions(source: Source, found: Found, fields: Mapping[str, str]) -> list[str]:
    """Return what a yes to this format settles, besides the format itself."""
    keyed = [line for line in source.lines if any_of("added").search(line) and any_of("key").search(line)]
    named = [key for line in keyed for key in in_quotes(line) if key.isidentifier() and key not in fields]
    questions = [found.question] * bool(found.question)
    if (end := re.search(r"\n *([A-Z][\w ]{2,30}):\s*\Z", source.text)) and found.recogniser == "labelled slots":
        missing = as_name(end[1]) not in fields
        questions += [f'the prompt ends with "{end[1]}:": must the reply hold it?'] * missing
    questions += [f'the prompt also names "{key}": must the reply hold it?' for key in named]
    if any(each.startswith("prefer ") for each in fields.values()) and not any_of("better").search(source.text):
        questions.append("the response that the judge chooses counts as the better one: is that meant?")
    if found.closing:
        added = found.closing.partition("\n")[0]
        questions.append(f'the prompt tells of no such form, so the rubric adds "{added}" to it: is that right?')
    if not language_of(source.text):
        questions.append("the prompt is in a language whose words are not known here: is all of this right?")
    return questions


def _with_doubts(value: Value, own: set[str], alone: bool, source: Source, levels: list[Levels]) -> Value:
    """Return a score, left open where a line speaks of fractions, of another scale, or of a reply off the scale."""
    if _is_open(value.spelling):
        return value
    declared = field_of(value.spelling)
    given = declared.get("levels", ()) or [declared[end] for end in ("min", "max") if end in declared]
    ends = [] if value.words else [float(each) for each in given if each not in declared.get("special", ())]
    spans = [(each.scale.low, each.scale.high) for each in levels]
    others = [each.row for each in stated(source) if alone and ends and (each.low, each.high) != (min(ends), max(ends))]
    marks = {row: mark for row, line in enumerate(source.lines) if (mark := _doubt(line, value, own, ends))}
    if ends and (min(ends), max(ends)) not in spans:
        marks |= dict.fromkeys(others, OPEN)
    spelling = " ".join([value.spelling, *list(marks.values())[:1]])
    return replace(value, spelling=spelling, rows=(*value.rows, *list(marks)[:2]))


def _doubt(line: str, value: Value, own: set[str], ends: list[float]) -> str:
    """Return what is open if a line tells the judge of a value that the score can't have; empty for another line."""
    if re.match(r'\s*(?:["{}\[]|\d+\s*[:=])', line):
        return ""
    whole = ends and not re.search(" by |<", value.spelling) and all(each.is_integer() for each in ends)
    if whole and any_of("fraction").search(any_of("negated").sub(" ", line)):
        return f"by {OPEN}"
    if not (any_of("reply").search(line) or any_of("give").search(line)) or " or " in value.spelling:
        return ""
    begins = rf"{any_of('give').pattern}(?: \w+){{0,3}}?\s+"
    given = [float(each) for each in re.findall(rf"(?i){begins}(\d+(?:\.\d+)?)(?![\w%]|[.,]\d)", line)]
    words = re.findall(rf"(?i)(?:{begins}|,? \bor\s+|[.,;:]\s+(?:please )?(?:answer|say)\s+){_WORD}", line)
    known = own | {word.lower() for word in value.words}
    said = [*BESIDE.findall(line), *(word for word in words if not any_of("number").search(word))]
    beyond = ends and (any_of("never").search(line) or any(not min(ends) <= each <= max(ends) for each in given))
    return OPEN if beyond or any(word.lower() not in known for word in said) else ""


def _is_open(spelling: str) -> bool:
    return OPEN in re.sub(r'"[^"]*"', "", spelling)


def _compared(source: Source, values: list[Value], swap: Mapping[str, str]) -> tuple[dict[str, str], list[Value]]:
    """Return which inputs of a comparison change places, and the values with its choice."""
    counted = {"1-2": ("1", "2"), "0-1 by 1": ("0", "1")}
    asks = swap and any_of("compare").search(source.text) and sum(value.scores for value in values) == 1
    for at, value in enumerate(values):
        words = value.words or (counted.get(value.spelling, ()) if asks else ())
        if value.scores and words and (choice := preference(words, source, swap)):
            return dict(swap), [*values[:at], replace(value, spelling=choice), *values[at + 1 :]]
        if value.scores and words and asks:
            return {}, [*values[:at], replace(value, spelling=f"{value.spelling} {OPEN}"), *values[at + 1 :]]
    return {}, values
