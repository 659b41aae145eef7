"""Turns a rubric's JSON layout into the strict schema that a hosted service accepts."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pathway_local.rubrics.fields import EchoField, ScoreField
from pathway_local.rubrics.form import Slot
from pathway_local.rubrics.output_format import OutputFormat

Service = Literal["openai", "azure", "anthropic"]

# Keywords that each service refuses in a strict schema. Our reader checks these bounds when results come back.
_OPENAI = frozenset(("minLength", "maxLength", "uniqueItems", "default", "$schema", "title"))
_REFUSED: Mapping[Service, frozenset[str]] = {
    "openai": _OPENAI,
    "azure": _OPENAI,
    "anthropic": frozenset(
        (
            "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
            "multipleOf", "maxItems", "minItems", "uniqueItems", "default", "$schema", "title",
        )
    ),
}  # fmt: skip


def strict_schema(output_format: OutputFormat, inputs: Mapping[str, str], service: Service) -> dict[str, Any]:
    """Return the schema of a whole reply to a case with these inputs: all keys required, echoes with one value."""
    schema: dict[str, Any] = output_format.schema()
    for part in output_format.parts:
        if not isinstance(part, Slot):
            continue
        *path, last = part.name.split(".")
        owner = schema["properties"]
        for key in path:
            owner = owner[key]["properties"]
        described = {"description": part.field.description} if part.field.description else {}
        if isinstance(part.field, EchoField):
            owner[last] = {"type": "string", "const": inputs[part.field.input], **described}
        elif isinstance(part.field, ScoreField) and part.field.written:
            # Words alone are strings; null beside numbers stays null.
            mixed = len(part.field.written) < len(part.field.values)
            texts = [json.loads(text) for text in part.field.texts(True)] if mixed else list(part.field.texts(False))
            owner[last] = {**({} if mixed else {"type": "string"}), "enum": texts, **described}
    return _strict(schema, _REFUSED[service])


def _strict(schema: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    """Return the schema without refused keywords; every object is closed and requires all its keys."""
    kept = {key: value for key, value in schema.items() if key not in refused}
    for key in ("items", "not"):
        if isinstance(kept.get(key), Mapping):
            kept[key] = _strict(kept[key], refused)
    for key in ("anyOf", "allOf", "oneOf"):
        if isinstance(kept.get(key), list):
            kept[key] = [_strict(each, refused) if isinstance(each, Mapping) else each for each in kept[key]]
    if isinstance(kept.get("properties"), Mapping):
        kept["properties"] = {
            name: _strict(each, refused) if isinstance(each, Mapping) else each
            for name, each in kept["properties"].items()
        }
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept
