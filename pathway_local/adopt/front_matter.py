"""Writes front matter as a person would: one key per line, and a mark above each point that is not certain."""

import json
from collections.abc import Iterator, Mapping

import yaml

MARK = "# UNSETTLED:"

Doubts = Mapping[tuple[str, ...], str]
"""Why values are not certain, by their keys, such as ("outputs", "fields", "score")."""


def write_front(front: Mapping[str, object], doubts: Doubts) -> str:
    """Return the keys and values as YAML lines."""
    return "".join(f"{line}\n" for line in _lines(front, doubts, ()))


def _lines(block: Mapping[str, object], doubts: Doubts, above: tuple[str, ...]) -> Iterator[str]:
    indent = "  " * len(above)
    for key, value in block.items():
        path, begin = (*above, key), f"{indent}{in_yaml(key)}:"
        yield from _mark(path, doubts, indent)
        if isinstance(value, Mapping) and (not above or path == ("outputs", "fields")):
            yield begin
            yield from _lines(value, doubts, path)
        elif isinstance(value, list) and not above:
            yield begin
            for item in value:
                yield from _mark((key, str(item)), doubts, "  ")
                yield f"  - {in_yaml(item)}"
        elif isinstance(value, str) and "\n" in value and not value[0].isspace() and value == value.rstrip():
            yield f"{begin} |-"
            yield from (f"{indent}  {line}" if line else "" for line in value.split("\n"))
        else:
            yield f"{begin} {in_yaml(value)}"


def _mark(path: tuple[str, ...], doubts: Doubts, indent: str) -> Iterator[str]:
    if doubt := doubts.get(path):
        yield f"{indent}{MARK} {' '.join(doubt.split())}"


def in_yaml(value: object) -> str:
    """Return the value as YAML on one line."""
    if isinstance(value, str) and ("\n" in value or not value.isprintable()):
        return json.dumps(value)
    written = yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False)
    return str(written).removesuffix("\n").removesuffix("\n...")
