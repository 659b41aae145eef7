"""Reads a JSON Schema as an output format. A schema is never guessed at: what it leaves open is an error."""

import json
import re
from collections.abc import Mapping
from typing import Any

from pathway_local.rubrics.fields import ChoiceField, ScoreField
from pathway_local.rubrics.keywords import SPELLING, Schema, check_keywords, consts_of
from pathway_local.rubrics.kind import Listed
from pathway_local.rubrics.spelling import Field, field_of

_DEPTH = 20
_KEPT_AS_JSON = {"minLength", "maxLength", "pattern", "format", "minItems"}
"""Keys of a text or list that only a JSON Schema keeps to."""


def outputs_of_schema(schema: object) -> dict[str, Any]:
    """Return the `outputs:` block of an object's schema, or of a list of named properties. Raises ValueError."""
    fields: dict[str, Field] = {}
    check_keywords(_whole(schema))
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
        properties = {str(each["name"]): {k: v for k, v in each.items() if k != "required"} for each in properties}
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
        if "." in str(name):
            raise ValueError(f"{path}: a dot in a name would make an object of it")
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
        refers = schema.get("$ref", schema["allOf"][0]["$ref"] if "allOf" in schema else None)
        if refers is None:
            return schema
        found = re.fullmatch(r"#/(\$defs|definitions)/([^/]+)", str(refers))
        target = whole.get(found[1], {}).get(found[2]) if found else None
        if not isinstance(target, Mapping):
            raise ValueError(f"{path}: {refers} is no definition of the schema")
        schema = {**target, **{key: value for key, value in schema.items() if key not in ("$ref", "allOf")}}
    raise ValueError(f"{path}: definitions refer to each other")


def _field(schema: Schema, whole: Schema) -> Field:
    if SPELLING in schema:
        return _spelled(schema)
    plain, nullable = _without_null(schema, whole)
    named = consts_of(plain)
    values = list(named) or plain.get("enum", [plain["const"]] if "const" in plain else None)
    kind = plain.get("type", plain.get("kind"))
    if _are(values, str) and not nullable:
        return {"type": "choice", "choices": list(values)}
    if _are(values, int | float) and len(values) > 1:
        return _or_null({"type": "score", "levels": {each: named.get(each, "") for each in sorted(values)}}, nullable)
    if values is None and kind in ("integer", "number"):
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


def _spelled(schema: Schema) -> Field:
    """Return the field that a property spells; beside it only a type and the same values may stand."""
    field = field_of(str(schema[SPELLING]))
    listed: dict[str, type[Listed]] = {"score": ScoreField, "choice": ChoiceField}
    made = listed[field["type"]].model_validate(field).texts(True) if field["type"] in listed else {}
    texts = [json.loads(text) for text in made]
    bounds = {"minimum", "maximum", "multipleOf", "const", *_KEPT_AS_JSON} & schema.keys()
    if bounds or sorted(map(str, schema.get("enum", texts))) != sorted(map(str, texts)):
        raise ValueError(f"{SPELLING} says otherwise than the keywords beside it")
    return field


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


def _json(schema: Schema, whole: Schema) -> Field:
    definitions = {key: whole[key] for key in ("$defs", "definitions") if key in whole}
    kind = {"type": schema["kind"]} if "kind" in schema else {}
    return {"type": "json", "schema": {**kind, **schema, **definitions}}
