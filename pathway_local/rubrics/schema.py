"""Reads a JSON Schema as an output format. A schema is never guessed at: what a format can't keep to is an error."""

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from pathway_local.rubrics.fields import ChoiceField, Listed, ScoreField
from pathway_local.rubrics.spelling import Field, field_of

Schema = Mapping[str, Any]

SPELLING = "spelling"
"""A key of a property that spells its field in a line, such as `no < yes`: it says what a schema can't."""

_SAID = {
    *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema"),
    *("$id", "$defs", "definitions"),
}
"""Keywords that say nothing about a value."""

_BY_TYPE: Mapping[str, Collection[str]] = {
    "integer": ("minimum", "maximum", "multipleOf"),
    "number": ("minimum", "maximum", "multipleOf"),
    "array": ("items", "maxItems"),
    "string": (),
    "boolean": (),
}
_VALUES = ("oneOf", "enum", "const")
_PYTHON = {"string": str, "integer": int, "number": int | float}
_NULL = {"type": "null"}
_DEPTH = 20


Property = tuple[str, Schema, bool]
"""A property that holds no others: its path, its own schema, and whether it may also be null."""


def outputs_of_schema(schema: object) -> dict[str, Any]:
    """Return the `outputs:` block of an object's schema. Raises ValueError."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        raise ValueError("outputs has neither fields nor a schema with properties")
    fields: dict[str, Field] = {}
    for path, inner, nullable in _properties(schema, schema, "", 0):
        try:
            field = _field(inner, nullable)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        said = str(inner.get("description", ""))
        fields[path] = field | ({"description": said} if said else {})
    if not any(field["type"] in ("score", "verdicts") for field in fields.values()):
        raise ValueError(f'no property is a score: give one "{SPELLING}": "no < yes", or minimum and maximum')
    return {"layout": "json", "fields": fields}


def _properties(schema: Schema, whole: Schema, prefix: str, depth: int) -> list[Property]:
    """Return the properties of an object's schema, and of the objects in it. Raises ValueError."""
    where, properties, found = prefix.rstrip(".") or "the schema", schema["properties"], list[Property]()
    _refuse_others(schema, ("type", "properties", "required", "additionalProperties"), where)
    if not isinstance(properties, Mapping) or not properties or schema.get("type", "object") != "object":
        raise ValueError(f"{where}: an object needs properties")
    required = schema.get("required", [])
    lost = [each for each in required if each not in [*properties]] if isinstance(required, list) else ["no list"]
    if lost:
        raise ValueError(f"{where}: required names {str(lost[0])[:60]}, which is no property")
    for name, given in properties.items():
        path = f"{prefix}{name}"
        if "." in str(name):
            raise ValueError(f"{path}: a dot in a name would make an object of it")
        inner, nullable = _resolved(given, whole, path, depth)
        if "properties" in inner and SPELLING not in inner and not nullable:
            found += _properties(inner, whole, f"{path}.", depth + 1)
        else:
            found.append((path, inner, nullable))
    return found


def _resolved(schema: object, whole: Schema, path: str, depth: int) -> tuple[Schema, bool]:
    """Return a schema with the definition that it refers to, without null, and whether it allows null."""
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        raise ValueError(f"{path}: {'it is nested too deep' if depth > _DEPTH else 'this is no schema'}")
    options, kinds = schema.get("anyOf"), schema.get("type")
    if isinstance(kinds, list) and kinds.count("null") == 1 == len(kinds) - 1 and schema.keys().isdisjoint(_VALUES):
        return {**schema, "type": next(each for each in kinds if each != "null")}, True
    if "$ref" in schema:
        alone = "$ref"
        found = re.fullmatch(r"#/(\$defs|definitions)/([^/]+)", str(schema["$ref"]))
        definitions = whole.get(found[1]) if found else None
        target = definitions.get(found[2]) if found and isinstance(definitions, Mapping) else None
        if target is None:
            raise ValueError(f"{path}: {str(schema['$ref'])[:60]} is no definition of the schema")
    elif isinstance(options, list) and len(options) == 2 and _NULL in options:
        alone, target = "anyOf", next((each for each in options if each != _NULL), None)
    else:
        return schema, False
    _refuse_others(schema, (alone, SPELLING), path)
    inner, nullable = _resolved(target, whole, path, depth + 1)
    said = {key: value for key, value in schema.items() if key != alone}
    return {**inner, **said}, nullable or alone == "anyOf"


def _refuse_others(schema: Schema, known: Collection[str], where: str) -> None:
    """Raise ValueError for a keyword that is not honoured."""
    if strange := sorted(map(str, schema.keys() - _SAID - {*known})):
        raise ValueError(f"{where}: {strange[0][:60]} is no keyword that a format keeps to here")


def _field(schema: Schema, nullable: bool) -> Field:
    if SPELLING in schema:
        return _spelled(schema)
    if key := next((key for key in _VALUES if key in schema), ""):
        _refuse_others(schema, (key, "type"), "its values")
        return _listed(schema, key, nullable)
    kind = str(schema.get("type"))
    if kind not in _BY_TYPE:
        raise ValueError(f'type {kind[:60]} is none that a format keeps to; give it a "{SPELLING}"')
    _refuse_others(schema, ("type", *_BY_TYPE[kind]), f"a value of type {kind}")
    if kind in ("integer", "number"):
        return _or_null(_number(schema, kind == "integer"), nullable)
    if kind == "string":  # never null, which would say nothing
        return {"type": "text"}
    if nullable:
        raise ValueError("null may only stand beside a score or a text")
    if kind == "boolean":
        return {"type": "boolean"}
    items = schema.get("items")
    if not isinstance(items, Mapping) or items.get("type") != "string":
        raise ValueError(f'a list holds texts, or give it a "{SPELLING}": "[claim: text, verdict: no < yes] as share"')
    _refuse_others(items, ("type",), "a text of the list")
    return {"type": "list"} | ({"items": schema["maxItems"]} if "maxItems" in schema else {})


def _spelled(schema: Schema) -> Field:
    """Return the field that a property spells; beside it only a type and the same values may stand."""
    field = field_of(str(schema[SPELLING]))
    listed: dict[str, type[Listed]] = {"score": ScoreField, "choice": ChoiceField}
    made = listed[field["type"]].model_validate(field).texts(True) if field["type"] in listed else {}
    texts = [json.loads(text) for text in made]
    _refuse_others(schema, (SPELLING, "type", "enum", "items", "properties"), f"beside {SPELLING}")
    beside = schema.get("enum", texts)
    if not isinstance(beside, list) or sorted(map(str, beside)) != sorted(map(str, texts)):
        raise ValueError(f"{SPELLING} says otherwise than the values beside it")
    return field


def _listed(schema: Schema, key: str, nullable: bool) -> Field:
    """Return the field whose values a schema lists: texts are a choice, numbers a score."""
    kind, values, titles = schema.get("type"), schema[key], dict[str, str]()
    if key == "const":
        values = [values]
    elif key == "oneOf":
        values, titles = _constants(values)
    if kind is None and isinstance(values, list) and None in values:
        values, nullable = [each for each in values if each is not None], True
    if _are(values, str) and kind in (None, "string") and not nullable:
        return {"type": "choice", "choices": values}
    if _are(values, _PYTHON.get(str(kind), int | float)) and _are(values, int | float):
        levels = {each: titles.get(str(each), "") for each in sorted(values)}
        return _or_null({"type": "score", "levels": levels}, nullable)
    raise ValueError(f"{key} may only list texts or numbers, all of the type that stands beside it")


def _constants(parts: object) -> tuple[list[Any], dict[str, str]]:
    """Return the values in a `oneOf`, and their titles. Raises ValueError."""
    if not isinstance(parts, list) or not all(isinstance(each, Mapping) and "const" in each for each in parts):
        raise ValueError("oneOf may only list const with title")
    for each in parts:
        _refuse_others(each, ("const",), "an item of oneOf")
    return [each["const"] for each in parts], {str(each["const"]): str(each.get("title", "")) for each in parts}


def _are(values: object, kind: Any) -> bool:
    """Return whether the values are of this kind, and no two the same."""
    if not isinstance(values, list) or not all(_is(each, kind) for each in values):
        return False
    return len({*values}) == len(values) > 0


def _is(value: object, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _number(schema: Schema, whole_numbers: bool) -> Field:
    low, high, step = (schema.get(key) for key in _BY_TYPE["number"])
    if step == 0 or not all(each is None or _is(each, int | float) for each in (low, high, step)):
        raise ValueError("minimum, maximum and multipleOf must be numbers, and multipleOf not 0")
    if low is None or high is None:
        raise ValueError(f'a number needs minimum and maximum (ge and le in Pydantic), or "{SPELLING}": "1-5"')
    if step is None and not whole_numbers:
        raise ValueError(
            f'how fine is the number? give multipleOf (multiple_of in Pydantic), or "{SPELLING}": "{low}-{high} by 0.1"'
        )
    step = step or 1
    whole = not whole_numbers or all(float(each).is_integer() for each in (low, high, step))
    if not whole or any(abs(each / step - round(each / step)) > 1e-9 for each in (low, high) if "multipleOf" in schema):
        raise ValueError("minimum and maximum must be multiples of multipleOf, and whole for an integer")
    return {"type": "score", "min": low, "max": high, "step": step}


def _or_null(field: Field, nullable: bool) -> Field:
    """Return the score with null off its scale, as the number below all others."""
    if not nullable:
        return field
    below = int(min(field.get("levels", [field.get("min")]))) - 1
    added: Field = {"special": [below], "written": {below: "null"}}
    return field | added | ({"levels": field["levels"] | {below: "null"}} if "levels" in field else {})
