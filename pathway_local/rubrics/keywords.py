"""The keywords of JSON Schema that a format keeps to; every other one is refused by its name."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

Schema = Mapping[str, Any]
SPELLING = "spelling"
"""A key of a property that spells its field in a line, such as `no < yes`: it says what a schema can't."""

SAID = {
    *(
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
        "$schema",
        "$id",
    ),
    *("name", SPELLING, "$defs", "definitions", "type", "kind", "strict"),
}
_BY_TYPE = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "integer": {"minimum", "maximum", "multipleOf"},
    "number": {"minimum", "maximum", "multipleOf"},
    "boolean": set[str](),
    "null": set[str](),
}
_ALONE = ("$ref", "enum", "const", "anyOf", "allOf", "oneOf")
"""Keywords that stand alone: beside any of them only a type and what says nothing about a value."""
_PYTHON = {"object": Mapping, "array": list, "string": str, "integer": int, "number": int | float, "boolean": bool}
_DEPTH = 20


def check_keywords(schema: object, path: str = "the schema", depth: int = 0) -> None:
    """Raise ValueError, with the place, for a keyword that no format keeps to, at any depth."""
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        raise ValueError(f"{path} is no schema" if depth <= _DEPTH else f"{path} is nested too deep")
    kind = _type(schema, path)
    alone = [key for key in _ALONE if key in schema]
    known = SAID | ({alone[0]} if alone else _BY_TYPE.get(kind, set()))
    known -= {"type", "kind"} if {*alone} & {"$ref", "anyOf", "allOf"} else set()
    if strange := sorted(schema.keys() - known):
        beside = f" beside {alone[0]}" if alone else f" of a value of type {kind}" if kind else ""
        raise ValueError(f"{path}: {strange[0][:60]}{beside} is no keyword that a format keeps to")
    if {"pattern", "format"} & schema.keys() and len(_BY_TYPE["string"] & schema.keys()) > 1:
        raise ValueError(f"{path}: pattern or format must be the only bound of a text")
    _check_values(schema, kind, path)
    for name, inner in _inner(schema, path):
        check_keywords(inner, name, depth + 1)


def _type(schema: Schema, path: str) -> str:
    """Return the type besides null; "object" for properties alone, empty for none."""
    given = schema.get("type", schema.get("kind", "object" if "properties" in schema else ""))
    kinds = [each for each in given if each != "null"] if isinstance(given, list) and len(given) == 2 else [given]
    if len(kinds) != 1 or kinds[0] not in (*_BY_TYPE, ""):
        raise ValueError(f"{path}: type {str(given)[:60]} is none that a format keeps to")
    return str(kinds[0])


def _check_values(schema: Schema, kind: str, path: str) -> None:
    """Raise ValueError for values of keywords that contradict each other, or that no reply keeps to."""
    properties, more = schema.get("properties"), schema.get("additionalProperties", False)
    if kind == "object" and (not isinstance(properties, Mapping) or not properties or not isinstance(more, bool)):
        raise ValueError(f"{path}: an object needs properties, and additionalProperties that are true or false")
    if isinstance(properties, Mapping) and (lost := {*schema.get("required", ())} - properties.keys()):
        raise ValueError(f"{path}: required names {min(map(str, lost))[:60]}, which is no property")
    values = schema.get("enum", [schema["const"]] if "const" in schema else [*consts_of(schema)])
    if not isinstance(values, list) or ("enum" in schema and not values):
        raise ValueError(f"{path}: enum must list values")
    null = "null" in schema.get("type", ())
    if kind and any(not _fits(value, kind) and not (null and value is None) for value in values):
        raise ValueError(f"{path}: a value of enum or const is not of type {kind}")
    high = schema.get("maximum", 0)
    if isinstance(high, int | float) and high < 0 and ("multipleOf" in schema or kind == "number"):
        # The grammar's library writes nothing at all for such a range.
        raise ValueError(f"{path}: multipleOf in a range below 0 is none that a format keeps to")
    if "oneOf" in schema and not consts_of(schema):
        raise ValueError(f"{path}: oneOf may only list const with title")
    parts = schema.get("allOf")
    if parts is not None and not (isinstance(parts, list) and len(parts) == 1 and "$ref" in parts[0]):
        raise ValueError(f"{path}: allOf may only hold one $ref")


def _fits(value: object, kind: str) -> bool:
    return isinstance(value, _PYTHON.get(kind, object)) and (kind == "boolean" or not isinstance(value, bool))


def consts_of(schema: Schema) -> dict[Any, str]:
    """Return the values in a `oneOf` of `const`, each with its title; empty for anything else."""
    parts = schema.get("oneOf")
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) and "const" in part for part in parts):
        return {}
    plain = all(not part.keys() - {"const", "title", "description", "type"} for part in parts)
    values = [part["const"] for part in parts]
    if not plain or any(isinstance(each, list | dict | bool | None) for each in values) or len({*values}) < len(values):
        return {}
    return {part["const"]: str(part.get("title", "")) for part in parts}


def _inner(schema: Schema, path: str) -> Iterator[tuple[str, object]]:
    """Yield the schemas within a schema, each with its place."""
    for key in ("properties", "$defs", "definitions"):
        if isinstance(block := schema.get(key), Mapping):
            yield from ((f"{path}.{name}" if key == "properties" else str(name), each) for name, each in block.items())
    if "items" in schema:
        yield f"{path}[]", schema["items"]
    for key in ("anyOf", "allOf"):
        parts = schema.get(key, [])
        yield from ((f"{path} ({key})", each) for each in (parts if isinstance(parts, list) else [parts]))


def bounded(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a schema of which all keywords are kept, with a bound on each text, list and number that has none."""
    result = {key: _bounded_part(key, value) for key, value in schema.items()}
    if values := consts_of(schema):
        return {"enum": list(values)}
    kinds = schema.get("type", schema.get("kind"))
    kind = next((each for each in kinds if each != "null"), "") if isinstance(kinds, list) else kinds
    if {"enum", "const", "$ref", "anyOf", "allOf"} & schema.keys():
        return result
    if kind == "string" and not {"pattern", "format"} & schema.keys():
        result.setdefault("maxLength", _number(schema, "minLength") + 400)
    if kind == "array":
        result.setdefault("maxItems", _number(schema, "minItems") + 10)
    if kind in ("integer", "number"):
        low, high = (schema.get(key) for key in ("minimum", "maximum"))
        result.setdefault("minimum", high - 2_000_000 if isinstance(high, int | float) else -1_000_000)
        result.setdefault("maximum", low + 2_000_000 if isinstance(low, int | float) else 1_000_000)
    if kind == "number":
        result.setdefault("multipleOf", 0.001)
    if kind == "object":
        result["additionalProperties"] = False
    return result


def _number(schema: Mapping[str, JsonValue], key: str) -> int:
    value = schema.get(key, 0)
    return value if isinstance(value, int) else 0


def _bounded_part(key: str, value: JsonValue) -> JsonValue:
    """Return the value of a keyword, with bounds where it is a schema or holds some."""
    if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
        return {name: bounded(each) if isinstance(each, dict) else each for name, each in value.items()}
    if key == "items" and isinstance(value, dict):
        return bounded(value)
    if key in ("anyOf", "allOf") and isinstance(value, list):
        return [bounded(each) if isinstance(each, dict) else each for each in value]
    return value
