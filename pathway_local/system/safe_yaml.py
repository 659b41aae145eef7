"""Reads YAML from outside; refuses tags, duplicate keys, aliases (which can multiply), and lone surrogates.

Finds where a key stands in a file, and says in a line what pydantic found wrong there.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from pathway_local.errors import PathwayError
from pathway_local.verdict import storable

LIMIT = 2_000_000
"""Characters; a rubric or a registry has a few thousand."""


class _Loader(yaml.SafeLoader):
    """A safe loader without aliases (few lines stand for gigabytes), tags (errors quote them), and duplicate keys."""

    def fetch_alias(self) -> None:
        raise yaml.scanner.ScannerError(None, None, "aliases are not allowed", self.get_mark())

    def fetch_tag(self) -> None:
        raise yaml.scanner.ScannerError(None, None, "tags are not allowed", self.get_mark())

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> str:
        text = super().construct_scalar(node)
        if isinstance(text, str) and storable(text) != text:
            said = "an escape such as \\ud83d is half a character: write the character itself"
            raise yaml.constructor.ConstructorError(None, None, said, node.start_mark)
        return text

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, dict | list):
                raise yaml.constructor.ConstructorError(None, None, "a key must be plain text", key_node.start_mark)
            if key in seen:
                # It is not quoted: a line of a text may look like a key.
                raise yaml.constructor.ConstructorError(None, None, "duplicate key", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def load_yaml(text: str, where: str, error: type[PathwayError], first_line: int = 1) -> object:
    """Return the value of a YAML text. Raises `error`, which names `where`, line and column."""
    if len(text) > LIMIT:
        raise error(f"{where}: {len(text)} characters are too many for such a file", f"The limit is {LIMIT}.")
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        at = f" line {mark.line + first_line}, column {mark.column + 1}" if mark else ""
        raise error(
            f"{where}{at}: {problem.problem or 'invalid YAML'}",
            "Fix the YAML there; a value that holds : or begins with !, [, { or a quotation mark stands in quotes.",
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        raise error(f"{where}: invalid YAML", "Fix the file.") from None


_FastLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml, if PyYAML has it, reads a file in a tenth of the time; deep nesting from outside would crash it."""


def load_ours(path: Path) -> Any:
    """Return the value of a YAML file of the package, without the checks: its tests make them."""
    return yaml.load(path.read_text(encoding="utf-8"), _FastLoader)


Keys = tuple[str | int, ...]
LONGEST = 300
"""Characters of a complaint: pydantic quotes a type that does not exist, however long."""


class Places:
    """The places of a YAML text that `load_yaml` has accepted, so that it has no aliases.

    `where` is the file's name, `first_line` the number of the text's first line in that file.
    """

    def __init__(self, text: str, where: str, first_line: int = 1) -> None:
        self.where, self._first_line, self._text = where, first_line, text

    @cached_property
    def _root(self) -> yaml.Node | None:
        return yaml.compose(self._text, yaml.SafeLoader)  # once more, and most texts have nothing to complain about

    def of(self, *keys: str | int) -> str:
        """Return file, line and column of that key, or of the nearest key around it."""
        node, where = self._root, self.where
        for key in keys:
            if isinstance(node, yaml.MappingNode):
                inner = {str(name.value): (name.start_mark, value) for name, value in node.value}
            elif isinstance(node, yaml.SequenceNode):
                inner = {str(at): (value.start_mark, value) for at, value in enumerate(node.value)}
            else:
                break
            if str(key) not in inner:
                break
            mark, node = inner[str(key)]
            where = f"{self.where} line {mark.line + self._first_line}, column {mark.column + 1}"
        return where


PLAIN = {
    "Value error, ": "", "Input should": "must", "be a valid string": "be a text",
    "be a valid integer": "be a whole number",
    "be a valid number": "be a number", "be a valid list": "be a list", "be a valid tuple": "be a list",
    "be a valid dictionary": "be a mapping", "be a valid boolean": "be true or false",
    "be greater than or equal to": "be at least", "be less than or equal to": "be at most",
    "be greater than": "be above", "be less than": "be below", "Extra inputs are not permitted": "unknown key",
    "Field required": "it is missing",
    ", unable to parse string as an integer": "", ", unable to parse string as a number": "",
}  # fmt: skip
"""Pydantic's words, in plain ones."""


def plain(said: str) -> str:
    """Return pydantic's words in plain ones."""
    for theirs, ours in PLAIN.items():
        said = said.replace(theirs, ours)
    return said


def first_complaint(error: ValidationError) -> tuple[Keys, str, str]:
    """Return the keys of pydantic's first complaint, its kind, and its words without the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    return first["loc"], first["type"], plain(first["msg"])[:LONGEST]
