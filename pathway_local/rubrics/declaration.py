"""Declarations of an output format: the shortest of a compiled one, and a JSON Schema read as one.

`spelling` reads the first back to the same format. A schema is never guessed at: what it leaves open is an error.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any, assert_never

from pathway_local.rubrics.fields import (
    BooleanField,
    ChoiceField,
    EchoField,
    JsonField,
    NumberField,
    ScoreField,
    TextField,
    TextListField,
)
from pathway_local.rubrics.form import AnyField
from pathway_local.rubrics.output_format import Outputs
from pathway_local.rubrics.spelling import Field, field_of
from pathway_local.rubrics.verdict_list import VerdictListField
from pathway_local.verdict import Number

_SAFE = re.compile(r"[^\W\d_][\w'’./%]*(?: [\w'’./%]+)*")
_NAME = re.compile(r"[^\W\d][\w.-]*")
_RESERVED = re.compile(r"(?:^| )(?:or|as|by|to)(?: |$)")
"""Words that mean something in a spelling, so that a level which holds one stands in quotes."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """An output format as `--fields` and `--line` declare it; without lines, the reply is JSON."""

    fields: str
    lines: tuple[str, ...] = ()

    def options(self) -> str:
        """Return the options to paste into a command."""
        return " ".join([f"--fields {shlex.quote(self.fields)}", *(f"--line {shlex.quote(ln)}" for ln in self.lines)])


def declaration_of(outputs: Outputs) -> Declaration:
    """Return the declaration of this format; `spelling.outputs_in(fields, lines)` gives the format back."""
    fields = "; ".join(f"{quoted_name(name)}: {spelling_of(field)}" for name, field in outputs.fields.items())
    return Declaration(fields, lines_of(outputs.layout, list(outputs.fields)))


def lines_of(layout: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of a layout; without its first field if that stands before them, and none for JSON."""
    before = f"{{{names[0]}}}\n\n" if len(names) > 1 else ""
    return () if layout == "json" else tuple(layout.removeprefix(before).split("\n"))


def spelling_of(field: AnyField) -> str:
    """Return the spelling of a field; `spelling.field_of` gives the field back."""
    spelled = _spelled(field)
    return f"{spelled} -- {quoted_word(field.description)}" if field.description else spelled


def _spelled(field: AnyField) -> str:
    match field:
        case ScoreField():
            return _score(field)
        case TextField():
            return ("line" if field.lines == "one" else "text") + _size(field, "tokens")
        case ChoiceField():
            return "choice " + " | ".join(map(quoted_word, field.choices))
        case BooleanField():
            return "true/false"
        case NumberField():
            step = f" by 0.{'1'.zfill(field.decimals)}" if field.decimals else ""
            return f"number {_range(field.min, field.max)}{step}"
        case TextListField():
            return "list" + _size(field, "items") + _size(field, "tokens", " of text")
        case EchoField():
            return f"= {quoted_word(field.input)}"
        case VerdictListField():
            members = ", ".join(f"{quoted_name(name)}: {spelling_of(member)}" for name, member in field.members.items())
            return f"[{members}]{_size(field, 'items', ' up to')} as {quoted_name(field.score)}"
        case JsonField():
            return f"json{_size(field, 'tokens')} {json.dumps(dict(field.json_schema), ensure_ascii=False)}"
        case _:
            assert_never(field)


def _size(field: AnyField, key: str, before: str = "") -> str:
    """Return a size behind a blank, unless it is the usual one."""
    value = getattr(field, key)
    return f"{before} {value}" if value != type(field).model_fields[key].default else ""


def _score(field: ScoreField) -> str:
    """Return the shortest spelling of a score that is read back as the same score."""
    return min((text for text in _ways(field) if _means(text, field)), key=len)


def _means(text: str, field: ScoreField) -> bool:
    try:
        return ScoreField.model_validate(field_of(text)) == field.model_copy(update={"description": ""})
    except ValueError:
        return False


def _ways(field: ScoreField) -> Iterator[str]:
    """Yield spellings of a score: words with numbers or without, in quotes where needed or always."""
    regular = [value for value in field.values if value not in field.special]
    for numbered, special_numbered, quotes in product((False, True), repeat=3):
        levels = [_level(field, value, numbered, quotes) for value in regular]
        special = "".join(f" or {_level(field, value, special_numbered, quotes)}" for value in field.special)
        if field.min is not None and field.max is not None:
            named = [_level(field, v, True, quotes) for v in regular if v in field.levels or v in field.written]
            step = "" if field.step == 1 and (field.min, field.max) != (0, 1) else f" by {_digits(field.step)}"
            unordered = "unordered " if field.scale == "nominal" else ""
            names = f" ({', '.join(named)})" if named else ""
            yield f"{unordered}{_range(field.min, field.max)}{step}{names}{special}"
        elif field.scale == "ordinal":
            yield " < ".join(levels) + special
        elif set(regular) != {-value for value in regular}:
            yield " | ".join(levels) + special
        else:
            yield f"prefer {' > '.join(reversed(levels))}{special}"


def _level(field: ScoreField, value: Number, numbered: bool, quotes: bool) -> str:
    """Return a level with what it has of a number, a name and a spelling."""
    name, written = field.levels.get(value), field.written.get(value)
    if not numbered and written is not None:
        word = quoted_word(written, quotes)
        return word if name in (None, written) else f"{quoted_word(name or '', quotes)} as {word}"
    text = _digits(value)
    if name is not None and (name or field.min is not None):
        text += f" {quoted_word(name, quotes)}"
    beyond = field.min is not None and field.max is not None and not field.min <= value <= field.max
    return (
        text if written is None or (beyond and written == str(value)) else f"{text} as {quoted_word(written, quotes)}"
    )


def _range(low: Number, high: Number) -> str:
    return f"{_digits(low)}{' to ' if low < 0 or high < 0 else '-'}{_digits(high)}"


def _digits(number: Number) -> str:
    return format(Decimal(str(number)), "f")


def quoted_name(name: str) -> str:
    """Return a field's name as a declaration takes it."""
    return name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def quoted_word(text: str, quotes: bool = False) -> str:
    """Return a word as a spelling takes it; with `quotes`, always in them."""
    plain = _SAFE.fullmatch(text) and not _RESERVED.search(text) and not quotes
    return text if plain else json.dumps(text, ensure_ascii=False)


Schema = Mapping[str, Any]
SPELLING = "spelling"
"""A key of a property that spells its field in a line, such as `no < yes`: it says what a schema can't."""

_DEPTH = 20
_KEPT_AS_JSON = {"pattern", "format", "minItems", "uniqueItems"}
"""Keys of a text or list that only a JSON Schema keeps to."""


def outputs_of_schema(schema: object) -> dict[str, Any]:
    """Return the `outputs:` block of an object's schema, or of a list of named properties. Raises ValueError."""
    fields: dict[str, Field] = {}
    for path, inner, whole in properties_of(schema):
        try:
            field = _field(inner, whole)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        fields[path] = field | ({"description": said} if (said := str(inner.get("description", ""))) else {})
    if not any(field["type"] in ("score", "verdicts") for field in fields.values()):
        raise ValueError(f'no property is a score: give one "{SPELLING}": "no < yes", or minimum and maximum')
    return {"layout": "json", "fields": fields}


def _whole(schema: object) -> Schema:
    properties = schema.get("properties") if isinstance(schema, Mapping) else schema
    if isinstance(properties, list) and all(isinstance(each, Mapping) and "name" in each for each in properties):
        properties = {str(each["name"]): each for each in properties}
    if not isinstance(properties, Mapping) or not properties:
        raise ValueError("outputs has neither fields nor a schema with properties")
    return {**(schema if isinstance(schema, Mapping) else {}), "properties": properties}


def properties_of(schema: object) -> list[tuple[str, Schema, Schema]]:
    """Return each property that holds no others: its path, its own schema, and the whole one. Raises ValueError."""
    whole = _whole(schema)
    return _properties(whole, whole, "", 0)


def _properties(schema: Schema, whole: Schema, prefix: str, depth: int) -> list[tuple[str, Schema, Schema]]:
    found: list[tuple[str, Schema, Schema]] = []
    for name, given in schema["properties"].items():
        path = f"{prefix}{name}"
        inner = _resolved(given, whole, path)
        if depth < _DEPTH and isinstance(inner.get("properties"), Mapping) and SPELLING not in inner:
            found += _properties(inner, whole, f"{path}.", depth + 1)
        else:
            found.append((path, inner, whole))
    return found


def _resolved(given: object, whole: Schema, path: str) -> Schema:
    """Return a property's schema with the definition that it refers to. Raises ValueError."""
    schema = given if isinstance(given, Mapping) else {}
    for _ in range(_DEPTH):
        refers = schema.get("$ref", schema["allOf"][0].get("$ref") if _one(schema.get("allOf")) else None)
        if refers is None:
            return schema
        found = re.fullmatch(r"#/(\$defs|definitions)/([^/]+)", str(refers))
        target = whole.get(found[1], {}).get(found[2]) if found else None
        if not isinstance(target, Mapping):
            raise ValueError(f"{path}: {refers} is no definition of the schema")
        schema = {**target, **{key: value for key, value in schema.items() if key not in ("$ref", "allOf")}}
    raise ValueError(f"{path}: definitions refer to each other")


def _one(parts: object) -> bool:
    return isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], Mapping)


def _field(schema: Schema, whole: Schema) -> Field:
    if SPELLING in schema:
        return field_of(str(schema[SPELLING]))
    plain, nullable = _without_null(schema, whole)
    values = plain.get("enum", [plain["const"]] if "const" in plain else None)
    kind = plain.get("type", plain.get("kind"))
    if _are(values, str) and not nullable:
        return {"type": "choice", "choices": list(values)}
    if _are(values, int | float) and len(values) > 1:
        return _or_null({"type": "score", "levels": dict.fromkeys(sorted(values), "")}, nullable)
    if kind in ("integer", "number"):
        return _or_null(_number(plain, kind == "integer"), nullable)
    if values is not None or not _KEPT_AS_JSON.isdisjoint(plain):
        return _json(schema, whole)
    if kind == "string":  # never null, which would say nothing: as JSON, a long text would be cut without a mark
        return {"type": "text"}
    if nullable:
        return _json(schema, whole)
    if kind == "boolean":
        return {"type": "boolean"}
    items = plain.get("items")
    if kind == "array" and isinstance(items, Mapping) and dict(items) == {"type": "string"}:
        return {"type": "list"} | ({"items": plain["maxItems"]} if "maxItems" in plain else {})
    return _json(schema, whole)


def _without_null(schema: Schema, whole: Schema) -> tuple[Schema, bool]:
    """Return the schema of the values besides null, and whether null is one."""
    types, options, values = schema.get("type"), schema.get("anyOf"), schema.get("enum")
    if isinstance(types, list) and len(types) == 2 and "null" in types:
        return {**schema, "type": next(each for each in types if each != "null")}, True
    if isinstance(options, list) and len(options) == 2 and {"type": "null"} in options:
        other = next(each for each in options if each != {"type": "null"})
        return {**schema, **_resolved(other, whole, "anyOf")}, True
    if isinstance(values, list) and None in values:
        return {**schema, "enum": [value for value in values if value is not None]}, True
    return schema, False


def _are(values: object, kind: Any) -> bool:
    return isinstance(values, list) and all(isinstance(v, kind) and not isinstance(v, bool) for v in values)


def _number(schema: Schema, whole_numbers: bool) -> Field:
    low, high, step = (schema.get(key) for key in ("minimum", "maximum", "multipleOf"))
    if low is None or high is None:
        raise ValueError(f'a number needs minimum and maximum (ge and le in Pydantic), or "{SPELLING}": "1-5"')
    if step is None and not whole_numbers:
        raise ValueError(
            f'how fine is the number? give multipleOf (multiple_of in Pydantic), or "{SPELLING}": "{low}-{high} by 0.1"'
        )
    return {"type": "score", "min": low, "max": high, "step": step or 1}


def _or_null(field: Field, nullable: bool) -> Field:
    """Return the score with null off its scale, as the number below all others."""
    if not nullable:
        return field
    below = int(min(field.get("levels", [field.get("min")]))) - 1
    added: Field = {"special": [below], "written": {below: "null"}}
    return field | added | ({"levels": field["levels"] | {below: "null"}} if "levels" in field else {})


def _json(schema: Schema, whole: Schema) -> Field:
    definitions = {key: whole[key] for key in ("$defs", "definitions") if key in whole}
    return {"type": "json", "schema": {**schema, **definitions}}
