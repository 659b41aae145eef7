"""Writes front matter as a person would: one key per line, and a mark above each point that is not certain."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import yaml

MARK = "# UNSETTLED:"


@dataclass(frozen=True, slots=True)
class FrontMatterEntry:
    """A key and its value. `doubts` says by the value's own keys why something is not certain.

    For `outputs`, `value` holds the fields, and `layout` is the text around them.
    """

    key: str
    value: object
    doubts: Mapping[str, str] = field(default_factory=dict)
    layout: str = ""
    layout_doubt: str = ""


def write_front(entries: Iterable[FrontMatterEntry]) -> str:
    """Return the entries as YAML lines."""
    return "".join(f"{line}\n" for entry in entries for line in _lines(entry))


def _lines(entry: FrontMatterEntry) -> Iterator[str]:
    if entry.key == "outputs":
        yield "outputs:"
        yield from _marks(entry.layout_doubt, "  ")
        yield from _text("layout", entry.layout, "  ")
        yield "  fields:"
        assert isinstance(entry.value, Mapping)
        for name, declared in entry.value.items():
            yield from _marks(entry.doubts.get(name, ""), "    ")
            yield f"    {in_yaml(name)}: {in_yaml(declared)}"
    elif isinstance(entry.value, Mapping):
        yield f"{entry.key}:"
        for name, value in entry.value.items():
            yield from _marks(entry.doubts.get(name, ""), "  ")
            yield from _text(name, value, "  ")
    elif isinstance(entry.value, list):
        yield f"{entry.key}:"
        for item in entry.value:
            yield from _marks(entry.doubts.get(str(item), ""), "  ")
            yield f"  - {in_yaml(item)}"
    else:
        yield f"{entry.key}: {in_yaml(entry.value)}"


def _marks(doubt: str, indent: str) -> Iterator[str]:
    if doubt:
        yield f"{indent}{MARK} {' '.join(doubt.split())}"


def _text(key: str, value: object, indent: str) -> Iterator[str]:
    """Yield a text of several lines as a readable block, anything else on one line."""
    if isinstance(value, str) and "\n" in value and not value[0].isspace() and value == value.rstrip():
        yield f"{indent}{in_yaml(key)}: |-"
        yield from (f"{indent}  {line}" if line else "" for line in value.split("\n"))
    else:
        yield f"{indent}{in_yaml(key)}: {in_yaml(value)}"


def in_yaml(value: object) -> str:
    """Return the value as YAML on one line."""
    if isinstance(value, str) and ("\n" in value or not value.isprintable()):
        return json.dumps(value)
    written = yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False)
    return str(written).removesuffix("\n").removesuffix("\n...")
