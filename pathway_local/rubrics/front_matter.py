"""Writes front matter, one key on each line."""

import json
from collections.abc import Iterator, Mapping

import yaml


def write_front(front: Mapping[str, object]) -> str:
    """Return the keys and values as YAML lines."""
    return "".join(f"{line}\n" for line in _lines(front, ()))


def _lines(block: Mapping[str, object], above: tuple[str, ...]) -> Iterator[str]:
    indent = "  " * len(above)
    for key, value in block.items():
        begin = f"{indent}{in_yaml(key)}:"
        if isinstance(value, Mapping) and (not above or (*above, key) == ("outputs", "fields")):
            yield begin
            yield from _lines(value, (*above, key))
        elif isinstance(value, str) and "\n" in value and not value[0].isspace() and value == value.rstrip():
            yield f"{begin} |-"
            yield from (f"{indent}  {line}" if line else "" for line in value.split("\n"))
        else:
            yield f"{begin} {in_yaml(value)}"


def in_yaml(value: object) -> str:
    """Return the value as YAML on one line."""
    if isinstance(value, str) and ("\n" in value or not value.isprintable()):
        return json.dumps(value)
    written = yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False)
    return str(written).removesuffix("\n").removesuffix("\n...")
