"""Reads YAML from outside; refuses tags, duplicate keys, aliases (which can multiply), and lone surrogates."""

import yaml

from pathway_local.errors import PathwayError
from pathway_local.verdict import storable

LIMIT = 2_000_000
"""Characters; a rubric or a registry has a few thousand."""


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses aliases (a few lines of them can stand for gigabytes) and duplicate keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed", mark)
        return super().compose_node(parent, index)

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
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
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
            "Fix the YAML there; a value that holds : or begins with [, { or a quotation mark stands in quotes.",
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        raise error(f"{where}: invalid YAML", "Fix the file.") from None
