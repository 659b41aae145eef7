"""Formats described as a list of JSON keys, each with a description, under a sentence that asks for an object."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pathway_local.adopt.finding import Candidate, Place, Source

_ASKS = re.compile(
    r"(?=.*\b(?:json|object|dictionary|output|respon\w+|return|reply)\b)(?=.*\b(?:keys?|fields?|with|contain\w*)\b).*:\s*\**\s*$",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"^(?P<indent>\s*)(?:[-*•+]\s+|\d+[.)]\s*)(?P<quote>[\"'`*]*)(?P<key>[A-Za-z_][\w-]{0,50})(?P=quote)?[\"'`*]*\s*"
    r"(?::|-|–|—)\s*(?P<said>.*)$"
)
_NESTS = re.compile(r"\b(?:dictionar(?:y|ies)|dicts?|objects?|maps?)\b", re.IGNORECASE)
_MANY = re.compile(r"\b(?:list|array)\b", re.IGNORECASE)
_CHOICE = re.compile(r"one of\b[^:]*:?\s*$|one of:", re.IGNORECASE)


_IN_PROSE = re.compile(r"[\"'`](?P<key>[A-Za-z_]\w{0,40})[\"'`]\s*(?:\((?P<said>[^()\n]{1,80})\))?")


@dataclass
class _Node:
    key: str
    said: str
    row: int
    indent: int
    below: list["_Node"] = field(default_factory=list)


def key_list_candidates(source: Source) -> Iterator[Candidate]:
    """Yield each list of keys that the prompt asks for."""
    end = 0
    for row, line in enumerate(source.lines):
        if row < end or not _ASKS.match(line):
            continue
        if "json" in " ".join(source.lines[max(0, row - 2) : row + 1]).lower():
            nodes, end = _nodes(source.lines, row + 1)
            places = tuple(place for node in nodes for place in _places(node, ""))
            if len(places) > 1:
                yield Candidate("keys", "json", places, row, tuple(_doubts(nodes)))


def named_key_candidates(source: Source) -> Iterator[Candidate]:
    """Yield the keys that a sentence names, as in `JSON with the keys "reason" and "score"`."""
    for row, line in enumerate(source.lines):
        asks = re.search(r"(?i)\bjson\b[^.\n]{0,60}?\b(?:keys?|fields?|with|contain\w*|has|having)\b", line)
        if asks and '":' not in line:
            told = list(_IN_PROSE.finditer(line, asks.start()))
            places = {each.group("key"): each.group("said") or "" for each in told}
            if len(places) > 1:
                found = tuple(Place(key, said, row, _kind(said)) for key, said in places.items())
                yield Candidate("named-keys", "json", found, row)


def _nodes(lines: Sequence[str], first: int) -> tuple[list[_Node], int]:
    """Return the bulleted keys from line `first` on, nested by their indentation, and the line that ends them."""
    top: list[_Node] = []
    path: list[_Node] = []
    for row in range(first, len(lines)):
        found = _KEY.match(lines[row])
        if not found:
            if not lines[row].strip():
                continue
            # Indented text under a key continues its description; text at the margin ends the list.
            if path and len(lines[row]) - len(lines[row].lstrip()) > path[0].indent:
                path[-1].said += f" {lines[row].strip()}"
                continue
            return top, row
        node = _Node(found.group("key"), found.group("said").strip(), row, len(found.group("indent").expandtabs(4)))
        while path and path[-1].indent >= node.indent:
            path.pop()
        (path[-1].below if path else top).append(node)
        path.append(node)
    return top, len(lines)


def _places(node: _Node, prefix: str) -> Iterator[Place]:
    name = f"{prefix}{node.key}"
    if _kind(node.said) == "list":
        yield Place(name, node.said, node.row, "list")
    elif node.below and _CHOICE.search(node.said):
        yield Place(name, node.said, node.row, "text", choices=tuple(inner.key for inner in node.below))
    elif node.below and _MANY.search(node.said):
        inner = tuple(place for below in node.below for place in _places(below, ""))
        yield Place(name, node.said, node.row, "objects", inner=inner)
    elif node.below and (_NESTS.search(node.said) or not node.said):
        for below in node.below:
            yield from _places(below, f"{name}.")
    else:
        yield Place(name, node.said, node.row, _kind(node.said))


def _doubts(nodes: Sequence[_Node]) -> Iterator[str]:
    for node in nodes:
        if node.below and not node.said:
            yield f"the keys below {node.key} may be its members, or the values that it may have"
        yield from _doubts(node.below)


def _kind(said: str) -> str:
    head = said.lower()[:60]
    if _MANY.search(head) and not _NESTS.search(head):
        return "list"
    if re.search(r"true or false|true/false|\bboolean\b|\bbool\b", head):
        return "boolean"
    if re.match(r"(?:an?\s+)?(?:string|text|sentence|explanation|some|brief|short)\b", head):
        return "text"
    return ""
