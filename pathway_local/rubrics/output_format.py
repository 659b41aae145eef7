"""A rubric's output format: literals and typed fields, from which constraint and reader both come."""

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
from pathway_local.rubrics.fields import AnyField, EchoField, ScoreField
from pathway_local.rubrics.lark import literal
from pathway_local.system.yaml_places import first_complaint
from pathway_local.verdict import Value, storable

Detail = Literal["full", "through-score", "score"]
"""How much of the format a judge writes: all, up to the last score, or the scores alone."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a field in a format."""

    name: str
    field: AnyField


Part = str | Slot


class Reading(Struct, frozen=True):
    """What a reply says: each generated field's value, and where it stands in the text (start, end)."""

    values: Mapping[str, Value]
    spans: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Form:
    """What is generated of a reply. All cases share one where the case's own texts stand in the start alone."""

    parts: tuple[Part, ...]
    in_json: bool
    _grammars: dict[tuple[int, ...], str] = field(default_factory=dict, init=False, repr=False)
    _texts: dict[tuple[str, str], Mapping[int, str]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def limit(self) -> int:
        """The most tokens that the reply can take, its end token included."""
        literals = sum(len(part.encode()) for part in self.parts if isinstance(part, str))
        return literals + sum(slot.field.budget(self.in_json) for slot in self.slots) + 2

    @cached_property
    def reserve(self) -> int:
        """The tokens to keep free for the reply."""
        literals = sum(len(part.encode()) for part in self.parts if isinstance(part, str))
        return literals + sum(slot.field.reserve(self.in_json) for slot in self.slots) + 2

    @cached_property
    def slots(self) -> list[Slot]:
        """The fields that are generated, in order."""
        return [part for part in self.parts if isinstance(part, Slot)]

    def before(self, name: str) -> str:
        """The literal in front of a field; empty before the first."""
        return _text_at(self.parts, self._places[name] - 1)

    def after(self, name: str) -> str:
        """The literal behind a field; empty behind the last."""
        return _text_at(self.parts, self._places[name] + 1)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {part.name: at for at, part in enumerate(self.parts) if isinstance(part, Slot)}

    def score_texts(self, slot: Slot, gap: str) -> Mapping[int, str]:
        """For each value of a score, the text from `gap` before it to the end of the literal behind it."""
        assert isinstance(slot.field, ScoreField)
        if (slot.name, gap) not in self._texts:
            after, written = self.after(slot.name), slot.field.values_by_text(self.in_json)
            self._texts[slot.name, gap] = {value: f"{gap}{text}{after}" for text, value in written.items()}
        return self._texts[slot.name, gap]

    def grammar(self, end_ids: Sequence[int] = ()) -> str:
        """The Lark grammar of what is generated.

        `end_ids` are the end-of-turn tokens beside the tokenizer's own: the grammar has to let them through.
        """
        key = tuple(end_ids)
        if key not in self._grammars:
            self._grammars[key] = self._written_grammar(key)
        return self._grammars[key]

    def _written_grammar(self, end_ids: tuple[int, ...]) -> str:
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
        """The values in `text`, which is what was generated behind the start. Raises ReplyError."""
        at, values, spans = 0, {}, {}
        for index, part in enumerate(self.parts):
            if isinstance(part, str):
                if not text.startswith(part, at):
                    raise ReplyError(f"{part.strip()!r} is missing")
                at += len(part)
                continue
            values[part.name], end = part.field.read(text, at, _text_at(self.parts, index + 1), self.in_json)
            spans[part.name] = (at, end)
            at = end
        if at != len(text):
            raise ReplyError("something follows behind the end of the format")
        return Reading(values, spans)

    def write(self, values: Mapping[str, Value]) -> str:
        """What a judge would generate for these values."""
        return "".join(
            part if isinstance(part, str) else part.field.write(values[part.name], self.in_json) for part in self.parts
        )


class Reply(Struct, frozen=True):
    """The reply that is asked for in one case: a fixed start, then what is generated.

    `start` is a list of texts, each with whether it comes from the case. It ends before a blank: with the
    blank in the prompt, a tokenizer that joins blank and word could no longer write the word its usual way.
    """

    start: tuple[tuple[str, bool], ...]
    form: Form

    @property
    def reserve(self) -> int:
        """The tokens to keep free for the reply."""
        return self.form.reserve

    @property
    def limit(self) -> int:
        """The most tokens that the reply can take, its end token included."""
        return self.form.limit

    def grammar(self, end_ids: Sequence[int] = ()) -> str:
        """The Lark grammar of what is generated; see `Form.grammar`."""
        return self.form.grammar(end_ids)

    def read(self, text: str) -> Reading:
        """The values in `text`, which is what was generated behind the start. Raises ReplyError."""
        return self.form.read(text)

    def write(self, values: Mapping[str, Value]) -> str:
        """What a judge would generate for these values."""
        return self.form.write(values)


class Outputs(BaseModel):
    """The `outputs:` block of a rubric: `layout` is "json", or the text with each field's name in braces.

    In a JSON layout the fields come in the order given; a dot in a name (`clarity.score`) makes an object.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: str
    fields: dict[str, AnyField] = Field(min_length=1)


class OutputFormat:
    """Literals and fields in order. `scores` and `fields` are what a verdict holds; echoes are in neither."""

    def __init__(self, outputs: Outputs) -> None:
        self.outputs = outputs
        self.in_json = outputs.layout.strip() == "json"
        self.parts = self._layout(list(outputs.fields))
        self._cuts: dict[Detail, tuple[tuple[Part, ...], Form]] = {}
        self._check()
        self.reply(dict.fromkeys(self.echoes.values(), "x")).grammar()

    @classmethod
    def load(cls, block: object) -> "OutputFormat":
        """The format that an `outputs:` block declares. Raises FormatError, which names the key."""
        try:
            return cls(Outputs.model_validate(block))
        except ValidationError as error:
            keys, _, said = first_complaint(error)
            raise FormatError(f"{'.'.join(map(str, ('outputs', *keys)))}: {said}") from None

    @cached_property
    def scores(self) -> dict[str, ScoreField]:
        """The score fields by name, in order."""
        return {slot.name: slot.field for slot in self._slots() if isinstance(slot.field, ScoreField)}

    @cached_property
    def fields(self) -> dict[str, AnyField]:
        """The generated fields that are no scores, by name, in order."""
        return {s.name: s.field for s in self._slots() if not isinstance(s.field, ScoreField | EchoField)}

    @cached_property
    def thinking(self) -> str:
        """The field of a verdict for what a judge thought before its reply."""
        return self.apart("thinking")

    def apart(self, name: str) -> str:
        """A field for what a judge said beside the format, called like none of the format's own."""
        while name in self.scores or name in self.fields:
            name = f"judge.{name}"
        return name

    @property
    def echoes(self) -> dict[str, str]:
        """Echo field name → the input that it gives back."""
        return {slot.name: slot.field.input for slot in self._slots() if isinstance(slot.field, EchoField)}

    def reply(self, inputs: Mapping[str, str], detail: Detail = "full") -> Reply:
        """What is asked for in a case with these inputs."""
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
        """JSON Schema of the whole output; for a text layout, of its fields as an object."""
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
        last = max(i for i, part in enumerate(parts) if isinstance(part, Slot) and isinstance(part.field, ScoreField))
        return parts[: last + 1]

    def _scores_alone(self) -> tuple[Part, ...]:
        """The format without its texts: of the literal before a score, the line that labels it is left."""
        if self.in_json:
            kept = [slot.name for slot in self._slots() if isinstance(slot.field, ScoreField | EchoField)]
            return self._layout(kept)
        parts: list[Part] = []
        for at, part in enumerate(self.parts):
            if isinstance(part, Slot) and isinstance(part.field, ScoreField):
                label = re.search(r"[^\n]*\S[^\n]*\s*\Z|\s*\Z", _text_at(self.parts, at - 1))
                parts += ["\n" * bool(parts) + (label.group() if label else ""), part]
        return _merged(parts)

    def _check(self) -> None:
        if not self.scores:
            raise FormatError("outputs: there is no field of type score", "A rubric needs one score or more.")
        used = [slot.name for slot in self._slots()]
        for name in self.outputs.fields:
            if used.count(name) != 1:
                raise FormatError(f"outputs: the layout holds {{{name}}} {used.count(name)} times", "Name it once.")
        for first, second in zip(self.parts, self.parts[1:], strict=False):
            if isinstance(first, Slot) and isinstance(second, Slot):
                message = f"outputs: nothing stands between {{{first.name}}} and {{{second.name}}}"
                raise FormatError(message, "Put a line break or a word between them.")


def _cut(parts: Sequence[Part]) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """What stands before the first generated field, up to a blank; and the rest."""
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
    """The parts with neighbouring literals joined and empty ones left out."""
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
        raise FormatError(f"outputs.layout: {error}", "Write {{ and }} for braces that are no field.") from None
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


def layout_text(outputs: Outputs) -> str:
    """The layout as a person would read it, each field's name in braces."""
    if outputs.layout.strip() != "json":
        return outputs.layout.rstrip("\n")
    return json.dumps({name: f"<{field.type}>" for name, field in outputs.fields.items()}, indent=2)
