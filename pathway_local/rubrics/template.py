"""Reads a rubric's template, the part of Jinja that inserts inputs, chooses by them and goes through messages."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

from jinja2 import Environment, TemplateSyntaxError, nodes

from pathway_local.rubrics.conversation import MESSAGE_PARTS
from pathway_local.rubrics.turn import Choice, Constant, Insert, Loop, Named, Operation, Operator, Test, Turn, TurnPart

DEPTH = 60
"""Levels of a template's tree at most: Jinja and Python fail on deeper ones."""

PLACE_PARTS = ("index", "first", "last")
"""The parts of a message's place that a loop may name, such as `loop.first`."""

_JINJA = Environment(keep_trailing_newline=True)


def jinja_turn(role: str, text: str) -> Turn:
    """Return the turn of a Jinja template, without blanks at its ends.

    Jinja only parses it. A template is a program from elsewhere, and Jinja would run all of it: a format width, a
    product or nested loops could take all memory. Raises TemplateSyntaxError for anything but inputs and tests.
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
    return Turn(role, text, tuple(_parts(tree.body)))


def _parts(body: Sequence[nodes.Node], target: str = "") -> Iterator[TurnPart]:
    """Yield the parts of a template; within a loop, `target` names a message."""
    for node in body:
        if isinstance(node, nodes.Output):
            for piece in node.nodes:
                if isinstance(piece, nodes.TemplateData | nodes.Const):
                    yield str(piece.data if isinstance(piece, nodes.TemplateData) else piece.value)
                elif name := _name(piece, target):
                    yield Insert(name)
                else:
                    raise _refused(piece, "only inputs may be inserted")
        elif isinstance(node, nodes.If):
            branches = [(_test(each.test, target), tuple(_parts(each.body, target))) for each in (node, *node.elif_)]
            yield Choice((*branches, (Constant(True), tuple(_parts(node.else_, target)))))
        elif isinstance(node, nodes.For) and not target and _is_over_messages(node):
            name = str(getattr(node.target, "name", ""))
            yield Loop(str(getattr(node.iter, "name", "")), name, tuple(_parts(node.body, name)))
        else:
            raise _refused(node, "a rubric may only insert inputs, choose by them, and go through the messages of one")


def _is_over_messages(node: nodes.For) -> bool:
    """Return whether a loop is the one that a rubric may have: for each message of an input, without a filter."""
    named = isinstance(node.target, nodes.Name) and isinstance(node.iter, nodes.Name)
    return named and not (node.else_ or node.test or node.recursive)


def _name(node: nodes.Node, target: str) -> str:
    """Return the name of an input, or of a part of a message such as `message.role` or `loop.last`; else nothing."""
    taken = (target, "loop") if target else ()
    if isinstance(node, nodes.Name):
        return "" if node.name in taken else node.name
    if not isinstance(node, nodes.Getattr | nodes.Getitem) or not isinstance(node.node, nodes.Name):
        return ""
    key = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", "")
    known = {target: MESSAGE_PARTS, "loop": PLACE_PARTS} if target else {}
    return f"{node.node.name}.{key}" if key in known.get(node.node.name, ()) else ""


def _test(node: nodes.Node, target: str) -> Test:
    """Return a test of inputs. Raises TemplateSyntaxError for anything else."""
    if name := _name(node, target):
        return Named(name)
    match node:
        case nodes.Const():
            return _constant(node)
        case nodes.List() | nodes.Tuple():
            return Operation("list", tuple(_test(item, target) for item in node.items))
        case nodes.Not():
            return Operation("not", (_test(node.node, target),))
        case nodes.And() | nodes.Or():
            sides = (_test(node.left, target), _test(node.right, target))
            return Operation("and" if isinstance(node, nodes.And) else "or", sides)
        case nodes.Compare():
            every = [_test(node.expr, target), *(_test(operand.expr, target) for operand in node.ops)]
            steps = zip(node.ops, pairwise(every), strict=True)
            return Operation("and", tuple(Operation(cast(Operator, each.op), sides) for each, sides in steps))
    raise _refused(node, "a test may only name and compare inputs")


def _constant(node: nodes.Const) -> Constant:
    """Return a fixed value. Raises TemplateSyntaxError for one that JSON can't hold, since runs store tests as JSON."""
    value = node.value
    try:
        if isinstance(value, str):
            value.encode()
        if isinstance(value, int | float) and not -(2.0**53) <= value <= 2.0**53:
            raise ValueError
    except ValueError:
        raise TemplateSyntaxError("a test holds a number that is too large or half a character", node.lineno) from None
    return Constant(value)


def _refused(node: nodes.Node, rule: str) -> TemplateSyntaxError:
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
    name = f" {node.name!r}" if isinstance(node, nodes.Filter | nodes.Test) else ""
    return TemplateSyntaxError(f"{kind}{name} is not allowed: {rule}", node.lineno)
