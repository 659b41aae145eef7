"""A rubric's output format: literals and typed fields. The grammar and the reader both come from them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from string import Formatter
from typing import Literal

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from pathway_local.errors import FormatError, ReplyError
from pathway_local.rubrics.any_field import AnyField
from pathway_local.rubrics.fields import EchoField, JsonField, ScoreField
from pathway_local.rubrics.lark import literal
from pathway_local.rubrics.verdict_list import VerdictListField
from pathway_local.system.yaml_places import first_complaint
from pathway_local.verdict import Number, Value, storable

Detail = Literal["full", "through-score", "score"]
"""How much of the format a judge writes: everything, up to the last score, or only the scores."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a field in a format."""

    name: str
    field: AnyField

    @property
    def score(self) -> str:
        """The name of the score that the field is, or that its verdicts make; empty if it gives none."""
        if isinstance(self.field, VerdictListField):
            return self.field.score
        return self.name if isinstance(self.field, ScoreField) else ""


Part = str | Slot


class Reading(Struct, frozen=True):
    """What a reply says: the value of each generated field, and where it stands in the text (start, end).

    `values` also has the score that a list of verdicts makes.
    """

    values: Mapping[str, Value]
    spans: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Form:
    """The part of a reply that the judge generates.

    All cases share one form, unless a case's own text (an echo) stands behind the first generated field.
    """

    parts: tuple[Part, ...]
    in_json: bool
    _grammars: dict[tuple[int, ...], str] = field(default_factory=dict, init=False, repr=False)
    _texts: dict[tuple[str, str], Mapping[Number, str]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def limit(self) -> int:
        """The most tokens that the reply can take, including its end token."""
        return self._fixed + sum(slot.field.budget(self.in_json) for slot in self.slots)

    @cached_property
    def reserve(self) -> int:
        """The tokens to keep free for the reply."""
        return self._fixed + sum(slot.field.reserve(self.in_json) for slot in self.slots)

    @cached_property
    def _fixed(self) -> int:
        # A judge may spell a literal byte by byte. Counted in the tokenizer's usual tokens instead, 39 of 128 replies
        # ran into their limit. The other two are end tokens: a family's own and the tokenizer's.
        return sum(len(part.encode()) for part in self.parts if isinstance(part, str)) + 2

    @cached_property
    def slots(self) -> list[Slot]:
        """The generated fields in order."""
        return [part for part in self.parts if isinstance(part, Slot)]

    def before(self, name: str) -> str:
        """Return the literal in front of a field; empty before the first."""
        return _text_at(self.parts, self._places[name] - 1)

    def after(self, name: str) -> str:
        """Return the literal behind a field; empty behind the last."""
        return _text_at(self.parts, self._places[name] + 1)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {part.name: at for at, part in enumerate(self.parts) if isinstance(part, Slot)}

    def score_texts(self, slot: Slot, gap: str) -> Mapping[Number, str]:
        """Return for each value of a score the text from `gap` in front of it to the end of the literal behind it."""
        assert isinstance(slot.field, ScoreField)
        if (slot.name, gap) not in self._texts:
            after, written = self.after(slot.name), slot.field.values_by_text(self.in_json)
            self._texts[slot.name, gap] = {value: f"{gap}{text}{after}" for text, value in written.items()}
        return self._texts[slot.name, gap]

    def grammar(self, end_ids: Sequence[int] = ()) -> str:
        """Return the Lark grammar of the form.

        `end_ids` are end-of-turn tokens that the tokenizer does not name as its end. llguidance lets through only the
        one that the tokenizer names, so without them a last free text could never end before its budget.
        """
        key = tuple(end_ids)
        if key not in self._grammars:
            self._grammars[key] = self._make_grammar(key)
        return self._grammars[key]

    def _make_grammar(self, end_ids: tuple[int, ...]) -> str:
        body, rules = [], []
        for at, part in enumerate(self.parts):
            if isinstance(part, str):
                body.append(literal(part))
                continue
            body.append(f"f{at}")
            rules.append(part.field.rules(f"f{at}", _text_at(self.parts, at + 1), self.in_json))
        end = f" ({' | '.join(f'<[{i}]>' for i in end_ids)})?" if end_ids else ""
        return f"start: {' '.join(body)}{end}\n{''.join(rules)}"

    def read(self, text: str) -> Reading:
        """Return the values in `text`, which the judge generated behind the start. Raises ReplyError."""
        at = 0
        values: dict[str, Value] = {}
        spans: dict[str, tuple[int, int]] = {}
        for index, part in enumerate(self.parts):
            if isinstance(part, str):
                if not text.startswith(part, at):
                    # A literal may hold an echo, the case's own text: the message only says where it belongs.
                    where = f"behind {next(reversed(values))}" if values else "at the start"
                    raise ReplyError(f"the layout's text {where} is missing")
                at += len(part)
                continue
            try:
                value, end = part.field.read(text, at, _text_at(self.parts, index + 1), self.in_json)
            except ReplyError as error:
                raise ReplyError(f"{part.name}: {error}") from None
            values[part.name], spans[part.name] = value, (at, end)
            if isinstance(part.field, VerdictListField):
                values[part.field.score] = part.field.share(value)
            at = end
        if at != len(text):
            raise ReplyError("more text follows the end of the format")
        return Reading(values, spans)

    def write(self, values: Mapping[str, Value]) -> str:
        """Return the text that a judge would generate for these values."""
        return "".join(
            part if isinstance(part, str) else part.field.write(values[part.name], self.in_json) for part in self.parts
        )


class Reply(Struct, frozen=True):
    """The reply to one case: a fixed start, which is filled in, then the form, which the judge generates.

    `start` holds texts, each with whether it comes from the case. It ends before a blank: many tokenizers join a blank
    and the word behind it, and with the blank in the prompt they could no longer write that word their usual way.
    """

    start: tuple[tuple[str, bool], ...]
    form: Form


class Outputs(BaseModel):
    """The `outputs:` block of a rubric. `layout` is "json", or a text with each field's name in braces.

    A JSON layout keeps the order of the fields; a dot in a name (`clarity.score`) makes an object.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: str
    fields: dict[str, AnyField] = Field(min_length=1)


class OutputFormat:
    """Literals and fields in order. A verdict holds `scores` and `fields`; echoes belong to neither."""

    def __init__(self, outputs: Outputs) -> None:
        self.outputs = outputs
        self.in_json = outputs.layout.strip() == "json"
        self.parts = self._layout(list(outputs.fields))
        self._cuts: dict[Detail, tuple[tuple[Part, ...], Form]] = {}
        self._check()
        # Fields that don't fit the layout (a list in a text) fail when their grammar is written: do it once here.
        self.reply(dict.fromkeys(self.echoes.values(), "x")).form.grammar()

    @classmethod
    def load(cls, block: object) -> "OutputFormat":
        """Return the format that an `outputs:` block declares. Raises a FormatError that names the key."""
        try:
            return cls(Outputs.model_validate(block))
        except ValidationError as error:
            keys, _, said = first_complaint(error)
            raise FormatError(f"{'.'.join(map(str, ('outputs', *keys)))}: {said}") from None

    @cached_property
    def scores(self) -> dict[str, ScoreField]:
        """The scores by name, in order: score fields, and those that verdicts make."""
        found = ((slot.score, slot.field) for slot in self._slots())
        scales = ((name, field.scale if isinstance(field, VerdictListField) else field) for name, field in found)
        return {name: scale for name, scale in scales if isinstance(scale, ScoreField)}

    @cached_property
    def fields(self) -> dict[str, AnyField]:
        """The generated fields other than scores, by name, in order."""
        return {s.name: s.field for s in self._slots() if not isinstance(s.field, ScoreField | EchoField)}

    @cached_property
    def thinking(self) -> str:
        """The field of a verdict that holds the judge's thinking."""
        return self.apart("thinking")

    def apart(self, name: str) -> str:
        """Return a field name for text outside of the format: `name`, or `judge.name` if the format has that field."""
        while name in self.scores or name in self.fields:
            name = f"judge.{name}"
        return name

    @property
    def echoes(self) -> dict[str, str]:
        """The input that each echo field repeats, by the field's name."""
        return {slot.name: slot.field.input for slot in self._slots() if isinstance(slot.field, EchoField)}

    def reply(self, inputs: Mapping[str, str], detail: Detail = "full") -> Reply:
        """Return the reply to a case with these inputs."""
        if detail not in self._cuts:
            lead, rest = _cut(self._parts_at(detail))
            self._cuts[detail] = lead, Form(rest, self.in_json)
        lead, form = self._cuts[detail]
        start = tuple((_said(part, inputs, self.in_json), _is_echo(part)) for part in lead)
        if any(isinstance(slot.field, EchoField) for slot in form.slots):
            said = [_said(part, inputs, self.in_json) if _is_echo(part) else part for part in form.parts]
            form = Form(_merged(said), self.in_json)
        return Reply(start, form)

    def schema(self) -> dict[str, JsonValue]:
        """Return the JSON Schema of the whole output; for a text layout, of its fields as an object."""
        return _object_schema([(slot.name.split("."), slot.field) for slot in self._slots()])

    def _slots(self) -> list[Slot]:
        return [part for part in self.parts if isinstance(part, Slot)]

    def _layout(self, names: Sequence[str]) -> tuple[Part, ...]:
        if self.in_json:
            return _merged(_json_parts([(name.split("."), name) for name in names], self.outputs.fields))
        return _merged(_text_parts(self.outputs.layout, self.outputs.fields))

    def _parts_at(self, detail: Detail) -> tuple[Part, ...]:
        if detail == "full":
            return self.parts
        parts = self.parts if detail == "through-score" else self._scores_alone()
        last = max(i for i, part in enumerate(parts) if isinstance(part, Slot) and part.score)
        return parts[: last + 1]

    def _scores_alone(self) -> tuple[Part, ...]:
        """Return the format with only its scores, each behind the last line of the literal before it: its label."""
        if self.in_json:
            kept = [slot.name for slot in self._slots() if slot.score or _is_echo(slot)]
            return self._layout(kept)
        parts: list[Part] = []
        for at, part in enumerate(self.parts):
            if isinstance(part, Slot) and isinstance(part.field, ScoreField):
                label = re.search(r"[^\n]*\S[^\n]*\s*\Z|\s*\Z", _text_at(self.parts, at - 1))
                parts += ["\n" * bool(parts) + (label.group() if label else ""), part]
        return _merged(parts)

    def _check(self) -> None:
        if not self.scores:
            raise FormatError("outputs: no field has the type score", "Declare at least one score.")
        made = [slot.score for slot in self._slots() if isinstance(slot.field, VerdictListField)]
        taken = next((name for name in made if name in self.outputs.fields or made.count(name) > 1), None)
        if taken is not None:
            raise FormatError(f"outputs: {taken!r} is the name of two fields or scores", "Give the score another name.")
        used = [slot.name for slot in self._slots()]
        for name in self.outputs.fields:
            if used.count(name) != 1:
                raise FormatError(f"outputs: the layout holds {{{name}}} {used.count(name)} times", "Write it once.")
        for first, second in zip(self.parts, self.parts[1:], strict=False):
            if isinstance(first, Slot) and isinstance(second, Slot):
                message = f"outputs: nothing separates {{{first.name}}} and {{{second.name}}}"
                raise FormatError(message, "Put a line break or a word between them.")


def _cut(parts: Sequence[Part]) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Return the parts before the first generated field, without a blank at their end; and the rest with that blank."""
    first = next(i for i, part in enumerate(parts) if isinstance(part, Slot) and not _is_echo(part))
    lead, rest = list(parts[:first]), list(parts[first:])
    if lead and isinstance(fixed := lead[-1], str):
        kept = fixed.rstrip(" \t")
        lead.pop()
        lead += [kept] if kept else []
        rest.insert(0, fixed[len(kept) :])
    return tuple(lead), _merged(rest)


def _is_echo(part: Part) -> bool:
    return isinstance(part, Slot) and isinstance(part.field, EchoField)


def _said(part: Part, inputs: Mapping[str, str], in_json: bool) -> str:
    if isinstance(part, str):
        return part
    assert isinstance(part.field, EchoField)
    text = storable(inputs[part.field.input])
    return literal(text) if in_json else text


def _text_at(parts: Sequence[Part], at: int) -> str:
    part = parts[at] if 0 <= at < len(parts) else ""
    return part if isinstance(part, str) else ""


def _merged(parts: Sequence[Part] | Iterator[Part]) -> tuple[Part, ...]:
    """Return the parts with neighbouring literals joined and empty ones left out."""
    merged: list[Part] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    return tuple(merged)


def _text_parts(layout: str, fields: Mapping[str, AnyField]) -> Iterator[Part]:
    try:
        pieces = list(Formatter().parse(layout.rstrip("\n")))
    except ValueError as error:
        raise FormatError(f"outputs.layout: {error}", "Write {{ and }} for braces without a field's name.") from None
    for text, name, spec, conversion in pieces:
        yield text
        if name is None:
            continue
        if name not in fields or spec or conversion:
            raise FormatError(f"outputs.layout names {{{name}}}, which fields does not declare", "Declare it there.")
        yield Slot(name, fields[name])


def _json_parts(members: Sequence[tuple[list[str], str]], fields: Mapping[str, AnyField]) -> Iterator[Part]:
    yield "{"
    for at, (key, group) in enumerate(groupby(members, key=lambda member: member[0][0])):
        yield f"{', ' if at else ''}{literal(key)}: "
        inner = [(path[1:], name) for path, name in group]
        if inner[0][0]:
            yield from _json_parts(inner, fields)
        else:
            yield Slot(inner[0][1], fields[inner[0][1]])
    yield "}"


def _object_schema(members: Sequence[tuple[list[str], AnyField]]) -> dict[str, JsonValue]:
    properties: dict[str, JsonValue] = {}
    for key, group in groupby(members, key=lambda member: member[0][0]):
        inner = [(path[1:], field) for path, field in group]
        if inner[0][0]:
            properties[key] = _object_schema(inner)
        else:
            field = inner[0][1]
            properties[key] = field.as_schema() | ({"description": field.description} if field.description else {})
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def text_budgets(output_format: OutputFormat) -> dict[str, int]:
    """Return the `tokens` of each field that a budget can cut; for a list, those of each item."""
    cut = {name: each for name, each in output_format.fields.items() if not isinstance(each, JsonField)}
    return {name: tokens for name, each in cut.items() if (tokens := getattr(each, "tokens", 0))}


def layout_text(outputs: Outputs) -> str:
    """Return the layout as people read it, with each field's name in braces."""
    if outputs.layout.strip() != "json":
        return outputs.layout.rstrip("\n")
    return json.dumps({name: f"<{field.type}>" for name, field in outputs.fields.items()}, indent=2)
