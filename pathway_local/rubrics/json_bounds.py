"""A JSON schema with bounds on whatever has none, so that a reply under it always ends."""

from collections.abc import Mapping

from pydantic import JsonValue


def bounded(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """`schema` with a bound on each text, list and number that has none."""
    result = {key: _part(value) for key, value in schema.items()}
    kind = schema.get("type")
    if kind == "string" and not {"maxLength", "enum", "const", "pattern", "format"} & schema.keys():
        result["maxLength"] = 400
    if kind == "array":
        result.setdefault("maxItems", 10)
    if kind == "integer":
        result.setdefault("minimum", -1_000_000)
        result.setdefault("maximum", 1_000_000)
    if kind == "number" and not {"enum", "const", "multipleOf"} & schema.keys():
        result = {"type": "number", "multipleOf": 0.001, "minimum": -1_000_000, "maximum": 1_000_000, **result}
    if kind == "object":
        result.setdefault("additionalProperties", False)
    return result


def _part(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return bounded(value)
    return [_part(item) for item in value] if isinstance(value, list) else value
