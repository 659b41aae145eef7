"""A rubric's output format: literals and typed fields. The grammar and the reader both come from them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from string import Formatter
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

from pathway_local.errors import FormatError
from pathway_local.rubrics.ending import cores_of
from pathway_local.rubrics.fields import EchoField, FieldKind, ScoreField
from pathway_local.rubrics.form import AnyField, Form, Part, Reply, Slot, text_at
from pathway_local.rubrics.grammar import literal
from pathway_local.rubrics.lists import JsonKind, VerdictListField
from pathway_local.rubrics.spelling import field_of, fields_in
from pathway_local.rubrics.totals import Total, with_totals
from pathway_local.system.safe_yaml import first_complaint
from pathway_local.verdict import Number, Score, storable

Detail = Literal["full", "through-score", "score"]
"""How much of the format a judge writes: everything, up to the last score, or only the scores."""


class Outputs(BaseModel):
    """The `outputs:` block of a rubric. `layout` is "json", or a text with each field's name in braces.

    A JSON layout keeps the order of the fields; a dot in a name (`clarity.score`) makes an object. A field may be
    spelled in one line (`spelling.field_of`), and so may the whole block. `totals` are computed of scores.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: str = "json"
    fields: dict[str, AnyField] = Field(min_length=1)
    totals: dict[str, Total] = {}

    @model_validator(mode="before")
    @classmethod
    def _of_a_line(cls, block: object) -> object:
        return {"fields": fields_in(block)} if isinstance(block, str) else block

    @field_validator("layout")
    @classmethod
    def _trimmed(cls, layout: str) -> str:
        return "json" if layout.strip() == "json" else layout.rstrip("\n")

    @field_validator("fields", mode="before")
    @classmethod
    def _spelled(cls, fields: object) -> object:
        if isinstance(fields, str):
            return fields_in(fields)
        if not isinstance(fields, Mapping):
            return fields
        return {name: _field(str(name), field) for name, field in fields.items()}


class OutputFormat:
    """Literals and fields in order. A verdict holds `scores` and `fields`; echoes belong to neither.

    `scores` has the `given` ones, and totals behind them.
    """

    def __init__(self, outputs: Outputs) -> None:
        self.outputs = outputs
        self.in_json = outputs.layout == "json"
        self.parts = self._layout(list(outputs.fields))
        self._cuts: dict[Detail, tuple[tuple[Part, ...], Form]] = {}
        self._check()
        try:
            self.scores = with_totals(self.given, outputs.totals, outputs.fields)
        except ValueError as error:
            raise FormatError(f"outputs.totals.{error}", "docs/rubrics.md describes totals.") from None

    @classmethod
    def load(cls, block: object) -> "OutputFormat":
        """Return the format that an `outputs:` block declares. Raises a FormatError that names the key."""
        try:
            return cls(Outputs.model_validate(block))
        except ValidationError as error:
            keys, _, said = first_complaint(error)
            raise FormatError(f"{'.'.join(map(str, ('outputs', *keys)))}: {said}") from None

    @cached_property
    def given(self) -> dict[str, ScoreField]:
        """The scores that raters give by name, in order: score fields, and those that verdicts make."""
        found = ((slot.score, slot.field) for slot in self._slots())
        scales = ((name, field.scale if isinstance(field, VerdictListField) else field) for name, field in found)
        return {name: scale for name, scale in scales if isinstance(scale, ScoreField)}

    @cached_property
    def fields(self) -> dict[str, AnyField]:
        """The generated fields other than scores, by name, in order."""
        return {s.name: s.field for s in self._slots() if not isinstance(s.field, ScoreField | EchoField)}

    def with_totals(self, given: Mapping[str, Score]) -> dict[str, Score]:
        """Return a verdict's scores with the totals that they make."""
        found = dict(given)
        for name, total in self.outputs.totals.items():
            if made := total.score(found, self.scores):
                found[name] = made
        return found

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
            self._cuts[detail] = lead, Form(rest, self.in_json, self._cores)
        lead, form = self._cuts[detail]
        start = tuple((_said(part, inputs, self.in_json), _is_echo(part)) for part in lead)
        if any(isinstance(slot.field, EchoField) for slot in form.slots):
            said = [_said(part, inputs, self.in_json) if _is_echo(part) else part for part in form.parts]
            # Without cores: a case's own text could hold one.
            form = Form(_merged(said), self.in_json)
        return Reply(start, form)

    def reply_of(self, scores: Mapping[str, Number], inputs: Mapping[str, str]) -> str:
        """Return a reply to a case with these inputs that holds nothing but these scores."""
        return "".join(
            part.field.write(scores[part.name], self.in_json)
            if isinstance(part, Slot) and isinstance(part.field, ScoreField)
            else _said(part, inputs, self.in_json)
            for part in self._scores_alone()
        )

    def schema(self) -> dict[str, JsonValue]:
        """Return the JSON Schema of the whole output; for a text layout, of its fields as an object."""
        return _object_schema([(slot.name.split("."), slot.field) for slot in self._slots()])

    @cached_property
    def _cores(self) -> tuple[str, ...]:
        return () if self.in_json else cores_of(part for part in self.parts if isinstance(part, str))

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
                label = re.search(r"[^\n]*\S[^\n]*\s*\Z|\s*\Z", text_at(self.parts, at - 1))
                parts += ["\n" * bool(parts) + (label.group() if label else ""), part]
        return _merged(parts)

    def _check(self) -> None:
        if not self.given:
            raise FormatError("outputs: no field has the type score", "Declare at least one score.")
        made = [slot.score for slot in self._slots() if isinstance(slot.field, VerdictListField)]
        taken = next((name for name in made if name in self.outputs.fields or made.count(name) > 1), None)
        if taken is not None:
            raise FormatError(f"outputs: {taken!r} is the name of two fields or scores", "Give the score another name.")
        listed = next((each for each in self.outputs.fields.values() if isinstance(each, JsonKind)), None)
        if listed and not self.in_json:
            said = f"outputs: a field of type {listed.type} needs a JSON layout"
            raise FormatError(said, "Use layout: json, or another type.")
        used = [slot.name for slot in self._slots()]
        for name in self.outputs.fields:
            if used.count(name) != 1:
                raise FormatError(f"outputs: the layout holds {{{name}}} {used.count(name)} times", "Write it once.")
        for first, second in zip(self.parts, self.parts[1:], strict=False):
            if isinstance(first, Slot) and isinstance(second, Slot):
                message = f"outputs: nothing separates {{{first.name}}} and {{{second.name}}}"
                raise FormatError(message, "Put a line break or a word between them.")


def _field(name: str, field: Any) -> object:
    """Return a field as a mapping. Raises ValueError for a spelling that declares none, and for words lost to YAML."""
    if isinstance(field, str):
        try:
            return field_of(field)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if isinstance(field, bool):
        raise ValueError(f"{name}: YAML reads yes, no, on and off as true and false: put the spelling in quotes")
    if isinstance(field, FieldKind):
        return field
    if not isinstance(field, Mapping):
        raise ValueError(f"{name}: {str(field)[:60]} is no spelling of a field: put it in quotes, such as '1-5'")
    for key in ("levels", "written", "choices"):
        block = field.get(key)
        words = block.values() if isinstance(block, Mapping) else block if isinstance(block, list | tuple) else ()
        if any(isinstance(word, bool) for word in words):
            raise ValueError(f"{name}.{key}: YAML reads yes, no, on and off as true and false: put the word in quotes")
    return field


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
    if lost := re.search(r"\\[A-Za-z]+\{(\w+)\}", layout):
        hint = "Two braces stand for one in the reply, and a third pair marks the field."
        whole = lost[0].replace("{", "{{{").replace("}", "}}}")
        raise FormatError(f"outputs.layout: {lost[0]} would lose its braces; write {whole}", hint)
    try:
        pieces = list(Formatter().parse(layout))
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
