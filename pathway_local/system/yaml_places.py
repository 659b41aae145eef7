"""Finds line and column of a YAML text's keys, and pydantic's first complaint, for errors."""

from collections.abc import Mapping

import yaml
from pydantic import ValidationError

Keys = tuple[str | int, ...]
LONGEST_TAG = 60


class Places:
    """The places of a YAML text that `load_yaml` has accepted, so that it has no aliases.

    `where` is the file's name, `first_line` the number of the text's first line in that file.
    """

    def __init__(self, text: str, where: str, first_line: int = 1) -> None:
        self.where, self.first_line = where, first_line
        self.marks: Mapping[Keys, tuple[int, int]] = _marks(text)

    def of(self, *keys: str | int) -> str:
        """Return file, line and column of that key, or of the nearest key around it."""
        for end in range(len(keys), 0, -1):
            if keys[:end] in self.marks:
                line, column = self.marks[keys[:end]]
                return f"{self.where} line {line + self.first_line}, column {column + 1}"
        return self.where


def first_complaint(error: ValidationError) -> tuple[Keys, str, str]:
    """Return the keys of pydantic's first complaint, its kind, and its words without the value.

    A tag that selects no type is part of pydantic's words; a long one is cut at LONGEST_TAG characters.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    said = first["msg"].removeprefix("Value error, ").replace("Input should", "should").replace("tuple", "list")
    said = said.replace("Extra inputs are not permitted", "unknown key")
    tag = str(first.get("ctx", {}).get("tag", ""))
    if len(tag) > LONGEST_TAG:
        said = said.replace(tag, f"{tag[:LONGEST_TAG]}…")
    return first["loc"], first["type"], said


def _marks(text: str) -> dict[Keys, tuple[int, int]]:
    found: dict[Keys, tuple[int, int]] = {}
    todo: list[tuple[Keys, yaml.Node | None]] = [((), yaml.compose(text, yaml.SafeLoader))]
    while todo:
        keys, node = todo.pop()
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                inner = (*keys, str(key.value))
                found[inner] = (key.start_mark.line, key.start_mark.column)
                todo.append((inner, value))
        elif isinstance(node, yaml.SequenceNode):
            for at, value in enumerate(node.value):
                found[(*keys, at)] = (value.start_mark.line, value.start_mark.column)
                todo.append(((*keys, at), value))
    return found
