"""One turn of a prompt: a role, and a text with places for a case's inputs."""

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from jinja2 import Environment, TemplateSyntaxError, nodes

from pathway_local.errors import RubricError

Syntax = Literal["jinja2", "braces", "single-braces", "double-braces", "dollars", "none"]
"""How a prompt marks where its inputs go.

`braces` is the syntax of `str.format`: {name}, with {{ and }} for plain braces. In the next two, only {name} or only
{{name}} marks an input, and all other braces are text. `dollars` is $name or ${name}. `none` marks nothing.
"""

DEPTH = 60
"""Levels of a template's tree at most: Jinja and Python fail on deeper ones."""

MARKS: Mapping[str, re.Pattern[str]] = {
    "braces": re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}"),
    "single-braces": re.compile(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})"),
    "double-braces": re.compile(r"\{\{[ \t]*([A-Za-z_]\w*)[ \t]*\}\}"),
    "dollars": re.compile(r"\$\{?([a-z_]\w*)\}?"),
}

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": lambda part, whole: operator.contains(whole, part),
    "notin": lambda part, whole: not operator.contains(whole, part),
}
"""The comparisons that a test may make, by Jinja's name."""

_TESTS = (
    *(nodes.Name, nodes.Const, nodes.Not, nodes.And, nodes.Or, nodes.Compare, nodes.Operand),
    *(nodes.List, nodes.Tuple),
)
_JINJA = Environment(keep_trailing_newline=True)


@dataclass(frozen=True, slots=True)
class Insert:
    """The place of an input."""

    name: str


@dataclass(frozen=True, slots=True)
class Choice:
    """An `{% if %}` block: the parts behind the first test that holds. The test of `{% else %}` always holds."""

    branches: tuple[tuple[nodes.Node, tuple["TurnPart", ...]], ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """A construct in a run's rubric that an earlier version allowed. The run stays readable; rendering refuses it."""

    node: nodes.Node
    said: str


TurnPart = str | Insert | Choice | Unread


@dataclass(frozen=True)
class Turn:
    """One turn of the prompt: a role, the text as its file writes it, and the same text in parts.

    A turn may insert inputs and choose by them, and nothing else. If it changed a case's text, the result could no
    longer be told apart from the rubric's own words.
    """

    role: str
    template: str
    parts: tuple[TurnPart, ...]

    @cached_property
    def variables(self) -> frozenset[str]:
        """The inputs that the turn inserts or tests."""
        found = [node for node in _nodes(self.parts) if isinstance(node, Insert | nodes.Name)]
        # A loop or a `set` of an earlier version names variables of its own.
        own = {"loop"} | {node.name for node in found if isinstance(node, nodes.Name) and node.ctx == "store"}
        return frozenset(node.name for node in found) - own

    @cached_property
    def plain(self) -> bool:
        """Whether the turn's own words depend only on which inputs are empty, so that few variants are tokenized."""
        return not any(isinstance(node, nodes.Compare) for node in _nodes(self.parts))

    def render(self, values: Mapping[str, str], fenced: Mapping[str, str]) -> str:
        """Return the turn's text: tests see `values`, and the text receives `fenced`. Raises RubricError."""
        try:
            return "".join(_rendered(self.parts, values, fenced))
        except TypeError as error:
            # The error's own message may quote a case, so only its kind is passed on.
            raise RubricError(f"the prompt's template failed with {type(error).__name__}") from None


def _nodes(parts: Sequence[TurnPart]) -> Iterator[Insert | nodes.Node]:
    """Yield every place of an input, and every node of a test."""
    for part in parts:
        if isinstance(part, Insert):
            yield part
        elif isinstance(part, Choice):
            for test, inner in part.branches:
                yield from _with_all_below(test)
                yield from _nodes(inner)
        elif isinstance(part, Unread):
            yield from _with_all_below(part.node)


def _with_all_below(test: nodes.Node) -> Iterator[nodes.Node]:
    yield test
    yield from test.find_all(nodes.Node)


def _rendered(parts: Sequence[TurnPart], values: Mapping[str, str], fenced: Mapping[str, str]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Insert):
            yield fenced[part.name]
        elif isinstance(part, Unread):
            raise RubricError(
                f"the prompt's template: {part.said}",
                "An earlier version judged by this rubric; judge anew with a corrected file, in another run.",
            )
        else:
            chosen = next((inner for test, inner in part.branches if _value(test, values)), ())
            yield from _rendered(chosen, values, fenced)


def _value(test: nodes.Node, values: Mapping[str, str]) -> object:
    match test:
        case nodes.Name():
            return values[test.name]
        case nodes.Not():
            return not _value(test.node, values)
        case nodes.And():
            return _value(test.left, values) and _value(test.right, values)
        case nodes.Or():
            return _value(test.left, values) or _value(test.right, values)
        case nodes.Compare():
            left = _value(test.expr, values)
            for operand in test.ops:
                right = _value(operand.expr, values)
                if not COMPARISONS[operand.op](left, right):
                    return False
                left = right
            return True
        case nodes.List() | nodes.Tuple():
            return [_value(item, values) for item in test.items]
    assert isinstance(test, nodes.Const)
    return test.value


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


def _parts(body: Sequence[nodes.Node], stored: bool) -> Iterator[TurnPart]:
    for node in body:
        if isinstance(node, nodes.Output):
            for piece in node.nodes:
                if isinstance(piece, nodes.Name):
                    yield Insert(piece.name)
                elif isinstance(piece, nodes.TemplateData | nodes.Const):
                    yield str(piece.data if isinstance(piece, nodes.TemplateData) else piece.value)
                else:
                    yield _unread(piece, piece, "only inputs may be inserted", stored)
        elif isinstance(node, nodes.If):
            strange = [
                inner for test in _tests(node) for inner in _with_all_below(test) if not isinstance(inner, _TESTS)
            ]
            if strange:
                yield _unread(node, strange[0], "a test may only name and compare inputs", stored)
            else:
                yield Choice(tuple(_branches(node, stored)))
        else:
            yield _unread(node, node, "a rubric may only insert inputs and choose by them", stored)


def _tests(node: nodes.If) -> list[nodes.Node]:
    return [branch.test for branch in (node, *node.elif_)]


def _branches(node: nodes.If, stored: bool) -> Iterator[tuple[nodes.Node, tuple[TurnPart, ...]]]:
    for branch in (node, *node.elif_):
        yield branch.test, tuple(_parts(branch.body, stored))
    yield nodes.Const(True), tuple(_parts(node.else_, stored))


def _unread(whole: nodes.Node, node: nodes.Node, rule: str, stored: bool) -> Unread:
    """Return the whole construct unread because of a node in it. Raises TemplateSyntaxError if it is not stored."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
    name = f" {node.name!r}" if isinstance(node, nodes.Filter | nodes.Test) else ""
    said = f"{kind}{name} is not allowed: {rule}"
    if not stored:
        raise TemplateSyntaxError(said, node.lineno)
    return Unread(whole, said)


def joined(first: Turn, second: Turn) -> Turn:
    """Return both turns as one, with the role of the first and an empty line between them."""
    return Turn(first.role, f"{first.template}\n\n{second.template}", (*first.parts, "\n\n", *second.parts))


def placed_turn(role: str, text: str, syntax: Syntax = "none", names: Collection[str] = ()) -> Turn:
    """Return the turn with places for the inputs called `names`; marks with other names are text."""
    return Turn(role, text.strip(), tuple(_placed(text.strip(), syntax, names)))


def _placed(text: str, syntax: Syntax, names: Collection[str]) -> Iterator[str | Insert]:
    at = 0
    for mark in MARKS[syntax].finditer(text) if syntax in MARKS else ():
        yield text[at : mark.start()]
        at = mark.end()
        if mark.group(1) in names:
            yield Insert(mark.group(1))
        else:
            yield mark.group()[0] if mark.group() in ("{{", "}}") else mark.group()
    yield text[at:]


def labelled(names: Collection[str], closing: str = "") -> Turn:
    """Return a user turn with each input between tags of its name, then `closing`."""
    parts: list[str | Insert] = []
    for name in names:
        parts += ["\n\n" * bool(parts) + f"<{name}>\n", Insert(name), f"\n</{name}>"]
    if closing.strip():
        parts.append("\n\n" * bool(parts) + closing.strip())
    shown = "".join(f"{{{{{part.name}}}}}" if isinstance(part, Insert) else part for part in parts)
    return Turn("user", shown, tuple(parts))
