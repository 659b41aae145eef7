"""Reads a turn from a Jinja template, of which a rubric may use inputs, tests of inputs, and loops over messages."""

import re
from collections.abc import Iterator, Sequence

from jinja2 import Environment, TemplateSyntaxError, nodes

from pathway_local.prompty.turn import MESSAGE_PARTS, Choice, Insert, Loop, Turn, TurnPart, Unread, attribute

DEPTH = 60
"""Levels of a template's tree at most: Jinja and Python fail on deeper ones."""

_TESTS = (
    *(nodes.Name, nodes.Const, nodes.Not, nodes.And, nodes.Or, nodes.Compare, nodes.Operand),
    *(nodes.List, nodes.Tuple),
)
PLACE_PARTS = ("index", "first", "last")
"""The parts of a message's place that a loop may name, such as `loop.first`."""

_JINJA = Environment(keep_trailing_newline=True)


def jinja_turn(role: str, text: str, *, stored: bool = False) -> Turn:
    """Return the turn of a Jinja template, without blanks at its ends.

    Jinja only parses it. A template is a program from elsewhere, and Jinja would run all of it: a format width, a
    product or nested loops could take all memory. Raises TemplateSyntaxError for anything but inputs and tests; in a
    `stored` rubric, by which a run has judged, only rendering refuses the rest.
    """
    text = text.strip()
    try:
        tree = _JINJA.parse(text)
    except RecursionError:
        raise TemplateSyntaxError("the template is nested too deep", 1) from None
    except ValueError:
        raise TemplateSyntaxError("the template holds a number that is too long", 1) from None
    level: list[nodes.Node] = [tree]
    for _ in range(DEPTH):
        level = [inner for node in level for inner in node.iter_child_nodes()]
    if level:
        raise TemplateSyntaxError("the template is nested too deep", level[0].lineno)
    return Turn(role, text, tuple(_parts(tree.body, stored)))


def _parts(body: Sequence[nodes.Node], stored: bool, target: str = "") -> Iterator[TurnPart]:
    """Yield the parts of a template; within a loop, `target` names a message."""
    for node in body:
        if isinstance(node, nodes.Output):
            for piece in node.nodes:
                if isinstance(piece, nodes.Name) and piece.name not in _taken(target):
                    yield Insert(piece.name)
                elif isinstance(piece, nodes.TemplateData | nodes.Const):
                    yield str(piece.data if isinstance(piece, nodes.TemplateData) else piece.value)
                elif _is_of_message(piece, target):
                    yield Insert(attribute(piece))
                else:
                    yield _unread(piece, piece, "only inputs may be inserted", stored)
        elif isinstance(node, nodes.If):
            strange = [inner for branch in (node, *node.elif_) for inner in _strange(branch.test, target)]
            if strange:
                yield _unread(node, strange[0], "a test may only name and compare inputs", stored)
            else:
                yield Choice(tuple(_branches(node, stored, target)))
        elif isinstance(node, nodes.For) and not target and _is_over_messages(node):
            name = str(getattr(node.target, "name", ""))
            yield Loop(str(getattr(node.iter, "name", "")), name, tuple(_parts(node.body, stored, name)))
        else:
            rule = "a rubric may only insert inputs, choose by them, and go through the messages of one"
            yield _unread(node, node, rule, stored)


def _is_over_messages(node: nodes.For) -> bool:
    """Return whether a loop is the one that a rubric may have: for each message of an input, without a filter."""
    named = isinstance(node.target, nodes.Name) and isinstance(node.iter, nodes.Name)
    return named and not (node.else_ or node.test or node.recursive)


def _taken(target: str) -> tuple[str, ...]:
    """Return the names that a loop gives to a message and to its place; empty outside of a loop."""
    return (target, "loop") if target else ()


def _is_of_message(node: nodes.Node, target: str) -> bool:
    """Return whether the node is a part of a message, such as `message.role`, or of its place, such as `loop.last`."""
    name, _, key = attribute(node).partition(".")
    return bool(target) and ((name == target and key in MESSAGE_PARTS) or (name == "loop" and key in PLACE_PARTS))


def _strange(test: nodes.Node, target: str) -> Iterator[nodes.Node]:
    """Yield the nodes of a test that a rubric may not use."""
    if _is_of_message(test, target):
        return
    if not isinstance(test, _TESTS) or (isinstance(test, nodes.Name) and test.name in _taken(target)):
        yield test
    for inner in test.iter_child_nodes():
        yield from _strange(inner, target)


def _branches(node: nodes.If, stored: bool, target: str) -> Iterator[tuple[nodes.Node, tuple[TurnPart, ...]]]:
    for branch in (node, *node.elif_):
        yield branch.test, tuple(_parts(branch.body, stored, target))
    yield nodes.Const(True), tuple(_parts(node.else_, stored, target))


def _unread(whole: nodes.Node, node: nodes.Node, rule: str, stored: bool) -> Unread:
    """Return the whole construct unread because of a node in it. Raises TemplateSyntaxError if it is not stored."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
    name = f" {node.name!r}" if isinstance(node, nodes.Filter | nodes.Test) else ""
    said = f"{kind}{name} is not allowed: {rule}"
    if not stored:
        raise TemplateSyntaxError(said, node.lineno)
    return Unread(whole, said)
