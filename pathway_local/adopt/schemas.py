"""Formats declared as a schema: JSON Schema in `response_format`, or the properties of Prompty v2."""

from collections.abc import Iterator, Mapping

from pathway_local.adopt.finding import Candidate, Place

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


def schema_candidates(declared: object) -> Iterator[Candidate]:
    """Yield the format that a schema declares: a mapping or list of properties, or an object with `properties`."""
    places = tuple(_places(declared, ""))
    if places:
        yield Candidate("schema", "json", places, 0)


def _places(declared: object, prefix: str) -> Iterator[Place]:
    if isinstance(declared, Mapping) and isinstance(declared.get("properties"), Mapping | list):
        declared = declared["properties"]
    if isinstance(declared, list):
        named = (entry for entry in declared if isinstance(entry, Mapping) and isinstance(entry.get("name"), str))
        declared = {entry["name"]: entry for entry in named}
    if isinstance(declared, Mapping):
        for name, member in declared.items():
            if isinstance(member, Mapping):
                yield from _place(f"{prefix}{name}", member)


def _place(name: str, member: Mapping[object, object]) -> Iterator[Place]:
    kind = str(member.get("kind", member.get("type", "")))
    said = str(member.get("description", ""))
    low, high = member.get("minimum"), member.get("maximum")
    if low is not None and high is not None:
        said = f"{low}-{high} {said}"
    choices = member.get("enum", member.get("enumValues"))
    if kind == "object":
        yield from _places(member, f"{name}.")
    elif kind == "array":
        items = member.get("items")
        nested = isinstance(items, Mapping) and str(items.get("kind", items.get("type"))) == "object"
        yield Place(name, said, 0, "objects" if nested else "list", inner=tuple(_places(items, "")) if nested else ())
    elif isinstance(choices, list) and all(isinstance(choice, int) for choice in choices):
        yield Place(name, f"{', '.join(map(str, choices))} {said}", 0, "number")
    else:
        words = tuple(map(str, choices)) if isinstance(choices, list) else ()
        yield Place(name, said, 0, KINDS.get(kind, ""), choices=words)
