"""One turn of a prompt: a role, and a template, the part of Jinja that inserts inputs and asks which are empty."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from jinja2 import Environment, TemplateSyntaxError, nodes
from msgspec import Struct

DEPTH = 60
"""Levels of a template's tree at most: Jinja and Python fail on deeper ones."""

_JINJA = Environment(keep_trailing_newline=True)

_TESTS = (nodes.Name, nodes.Not, nodes.And, nodes.Or)
_ALLOWED: Mapping[type[nodes.Node], tuple[type[nodes.Node], ...]] = {
    nodes.Template: (nodes.Output, nodes.If),
    nodes.Output: (nodes.TemplateData, nodes.Name, nodes.Const),
    nodes.If: (nodes.Output, nodes.If, *_TESTS),
    **dict.fromkeys((nodes.Not, nodes.And, nodes.Or), _TESTS),
}
"""The nodes of Jinja's tree that may stand in each part of a template."""


class Turn(Struct, frozen=True, dict=True):
    """One turn of the prompt: a role, and its template without blanks at the ends.

    A turn inserts inputs and asks which of them are empty, and nothing else. If it changed a case's text, the result
    could no longer be told apart from the rubric's own words. Jinja only parses it: a template is a program from
    elsewhere, and Jinja would run all of it.
    """

    role: str
    template: str

    @cached_property
    def tree(self) -> nodes.Template:
        """The template as Jinja parses it. Raises TemplateSyntaxError for anything but inputs and tests of them."""
        try:
            tree = _JINJA.parse(self.template)
        except RecursionError:
            raise TemplateSyntaxError("the template is nested too deep", 1) from None
        except ValueError:
            raise TemplateSyntaxError("the template holds a number that is too long", 1) from None
        level: list[nodes.Node] = [tree]
        for _ in range(DEPTH):
            pairs = [(node, inner) for node in level for inner in node.iter_child_nodes()]
            for node, inner in pairs:
                if not isinstance(inner, _ALLOWED[type(node)]):
                    raise _refused(inner)
            level = [inner for _, inner in pairs]
        if level:
            raise TemplateSyntaxError("the template is nested too deep", level[0].lineno)
        return tree

    @cached_property
    def variables(self) -> frozenset[str]:
        """The inputs that the turn inserts or tests."""
        return frozenset(node.name for node in self.tree.find_all(nodes.Name))

    def render(self, texts: Mapping[str, str]) -> str:
        """Return the turn with these texts in the places of its inputs."""
        return "".join(_rendered(self.tree.body, texts))


def read_turn(role: str, text: str) -> Turn:
    """Return the turn of a template. Raises TemplateSyntaxError."""
    turn = Turn(role, text.strip())
    assert turn.tree
    return turn


def _refused(node: nodes.Node) -> TemplateSyntaxError:
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
    name = f" {node.name!r}" if isinstance(node, nodes.Filter | nodes.Test) else ""
    said = f"{kind}{name} is not allowed: a rubric may only insert inputs, and ask which of them are empty"
    return TemplateSyntaxError(said, node.lineno)


def _rendered(body: Sequence[nodes.Node], texts: Mapping[str, str]) -> Iterator[str]:
    for node in body:
        if isinstance(node, nodes.If):
            chosen = next((each.body for each in (node, *node.elif_) if _holds(each.test, texts)), node.else_)
            yield from _rendered(chosen, texts)
        elif isinstance(node, nodes.Output):
            for piece in node.nodes:
                if isinstance(piece, nodes.Name):
                    yield texts[piece.name]
                elif isinstance(piece, nodes.TemplateData):
                    yield piece.data
                elif isinstance(piece, nodes.Const):
                    yield str(piece.value)


def _holds(test: nodes.Node, texts: Mapping[str, str]) -> bool:
    match test:
        case nodes.Not():
            return not _holds(test.node, texts)
        case nodes.And():
            return _holds(test.left, texts) and _holds(test.right, texts)
        case nodes.Or():
            return _holds(test.left, texts) or _holds(test.right, texts)
    assert isinstance(test, nodes.Name)
    return bool(texts[test.name])
