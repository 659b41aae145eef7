"""Formats declared as a schema: JSON Schema in `response_format` or in the prompt, or the properties of Prompty v2."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from pathway_local.adopt.finding import Candidate, Place, Source

MOST, DEPTH = 40, 8
"""How many braces are tried as the beginning of a schema, from the end, and how deep schemas nest."""

KINDS = {
    "string": "text",
    "integer": "number",
    "int": "number",
    "number": "number",
    "float": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "null": "null",
}
MOST_MEMBERS = 300
"""Members that are read at most: definitions that refer to each other could go on for ever."""

_OPEN = re.compile(r"\{\s*\"(?:type|properties|\$defs|title|\$schema|required|description)\"")
KNOWN = frozenset((
    "type", "kind", "name", "title", "description", "default", "example", "examples", "sample", "required", "strict",
    "minimum", "maximum", "multipleOf", "enum", "enumValues", "const", "anyOf", "oneOf", "properties", "items", "$ref",
    "additionalProperties", "minLength", "maxLength", "minItems", "maxItems", "$defs", "definitions", "$schema",
))  # fmt: skip
"""Keywords that a place accounts for. Lengths only bound texts, whose budget is ours."""


def schema_candidates(declared: object) -> Iterator[Candidate]:
    """Yield the format that a schema declares: a mapping or list of properties, or an object with `properties`."""
    yield from _candidates("schema", declared, 0)


def shown_schema_candidates(source: Source) -> Iterator[Candidate]:
    """Yield the last JSON Schema in a prompt's text: one that explains schemas comes before the one that counts."""
    end = 0
    broken: list[int] = []
    found: list[Candidate] = []
    for brace in list(_OPEN.finditer(source.text))[-MOST:]:
        if brace.start() < end:
            continue
        try:
            declared, end = json.JSONDecoder().raw_decode(source.text, brace.start())
        except (ValueError, RecursionError):
            broken.append(brace.start())
            continue
        if isinstance(declared, Mapping) and isinstance(declared.get("properties"), Mapping):
            row, doubts = source.row(brace.start()), source.around(broken, end)
            found = list(_candidates("shown-schema", declared, row, doubts))
    yield from found


def _candidates(kind: str, declared: object, row: int, doubts: tuple[str, ...] = ()) -> Iterator[Candidate]:
    reader = _Reader(declared, row)
    places = tuple(reader.places(declared, "", 0))
    if places:
        yield Candidate(kind, "json", places, row, (*doubts, *reader.doubts))


class _Reader:
    """Reads the places of a schema, and notes each keyword that no place accounts for."""

    def __init__(self, root: object, row: int) -> None:
        self.definitions: dict[str, object] = {}
        for key in ("$defs", "definitions"):
            found = root.get(key) if isinstance(root, Mapping) else None
            for name, definition in found.items() if isinstance(found, Mapping) else ():
                self.definitions[f"#/{key}/{name}"] = definition
        self.row = row
        self.doubts: list[str] = []
        self.left = MOST_MEMBERS

    def places(self, declared: object, prefix: str, depth: int) -> Iterator[Place]:
        """Yield a place for each property, with dotted names for nested ones."""
        if isinstance(declared, Mapping) and isinstance(declared.get("properties"), Mapping | list):
            declared = declared["properties"]
        if isinstance(declared, list):
            named = (entry for entry in declared if isinstance(entry, Mapping) and isinstance(entry.get("name"), str))
            declared = {entry["name"]: entry for entry in named}
        if isinstance(declared, Mapping) and depth < DEPTH:
            for name, member in declared.items():
                self.left -= 1
                if isinstance(member, Mapping) and self.left > 0:
                    yield from self._place(f"{prefix}{name}", self._resolved(member), depth)

    def _resolved(self, member: Mapping[object, object], depth: int = 0) -> dict[object, object]:
        """Return the member with its reference followed and its one type beside null, which its description names."""
        found = dict(member)
        target = self.definitions.get(str(found.get("$ref")))
        if isinstance(target, Mapping):
            found = {**target, **found}
        types = found.get("type")
        several = [{"type": each} for each in types] if isinstance(types, list) else []
        options = found.get("anyOf", found.get("oneOf", several))
        real = [each for each in _members(options) if each.get("type") != "null"]
        if len(real) == 1 and depth < DEPTH:
            inner = self._resolved(real[0], depth + 1)
            null = len(_members(options)) > 1
            found = {**found, **inner} | ({"description": f"{found.get('description', '')} or null"} if null else {})
        return found

    def _place(self, name: str, member: Mapping[object, object], depth: int) -> Iterator[Place]:
        kind = str(member.get("kind", member.get("type", "")))
        said = str(member.get("description", ""))
        self.doubts += [f"{name}: {key} of the schema is not kept" for key in member if key not in KNOWN]
        if isinstance(member.get("type"), list) or ("type" not in member and {"anyOf", "oneOf"} & member.keys()):
            self.doubts.append(f"{name}: one of several types is a guess")
        low, high, step = member.get("minimum"), member.get("maximum"), member.get("multipleOf")
        if low is not None and high is not None:
            fine = f" in steps of {step}" if step else " float" if kind in ("number", "float") else ""
            said = f"{low} to {high}{fine} {said}"
        choices = [member["const"]] if "const" in member else member.get("enum", member.get("enumValues"))
        if kind == "object":
            yield from self.places(member, f"{name}.", depth + 1)
        elif kind == "array":
            items = member.get("items")
            items = self._resolved(items) if isinstance(items, Mapping) else {}
            nested = str(items.get("kind", items.get("type"))) == "object"
            inner = tuple(self.places(items, "", depth + 1)) if nested else ()
            yield Place(name, said, self.row, "objects" if nested else "list", inner=inner)
        elif isinstance(choices, list) and len(choices) > 1 and all(_is_number(choice) for choice in choices):
            yield Place(name, f"{', '.join(map(str, choices))} {said}", self.row, "")
        else:
            listed = choices if isinstance(choices, list) else []
            words = tuple("null" if choice is None else str(choice) for choice in listed)
            yield Place(name, said, self.row, "text" if words else KINDS.get(kind, ""), choices=words)


def _members(options: object) -> Sequence[Mapping[object, object]]:
    return [each for each in options if isinstance(each, Mapping)] if isinstance(options, list) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
