"""One turn of a prompt: a role, and a text with places for a case's inputs."""

import itertools
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from jinja2 import nodes

from pathway_local.errors import RubricError

Syntax = Literal["jinja2", "braces", "single-braces", "double-braces", "dollars", "angles", "none"]
"""How a prompt marks where its inputs go.

`braces` is the syntax of `str.format`: {name}, with {{ and }} for plain braces. In the next two, only {name} or only
{{name}} marks an input, and all other braces are text. `dollars` is $name or ${name}, `angles` is <name>. `none` marks
nothing.
"""

MARKS: Mapping[str, re.Pattern[str]] = {
    "braces": re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}"),
    "single-braces": re.compile(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})"),
    "double-braces": re.compile(r"\{\{[ \t]*([A-Za-z_]\w*)[ \t]*\}\}"),
    "dollars": re.compile(r"\$\{?([a-z_]\w*)\}?"),
    "angles": re.compile(r"<([A-Za-z_]\w*)>"),
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

MESSAGE_PARTS = ("role", "content", "tool_calls")
"""The parts of a message that a loop may name."""


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


@dataclass(frozen=True, slots=True)
class Loop:
    """A `{% for message in messages %}` block over an input that lists messages; `target` names one of them."""

    input: str
    target: str
    parts: tuple["TurnPart", ...]


TurnPart = str | Insert | Choice | Loop | Unread


@dataclass(frozen=True)
class Turn:
    """One turn of the prompt: a role, the text as its file writes it, and the same text in parts.

    A turn may insert inputs, choose by them and go through the messages of one, and nothing else. If it changed a
    case's text, the result could no longer be told apart from the rubric's own words.
    """

    role: str
    template: str
    parts: tuple[TurnPart, ...]

    @cached_property
    def variables(self) -> frozenset[str]:
        """The inputs that the turn inserts or tests."""
        return _variables(self.parts)

    @cached_property
    def loops(self) -> frozenset[str]:
        """The inputs whose messages the turn goes through."""
        return frozenset(part.input for part in _nodes(self.parts) if isinstance(part, Loop))

    @cached_property
    def plain(self) -> bool:
        """Whether the turn's own words depend only on which inputs are empty, so that few variants are tokenized."""
        return not any(isinstance(node, nodes.Compare | Loop) for node in _nodes(self.parts))

    @cached_property
    def _unread(self) -> Unread | None:
        return next((part for part in _nodes(self.parts) if isinstance(part, Unread)), None)

    def render(self, values: Mapping[str, str], fenced: Mapping[str, str]) -> str:
        """Return the turn's text: tests see `values`, and the text receives `fenced`. Raises RubricError."""
        if self._unread:
            raise RubricError(
                f"the prompt's template: {self._unread.said}",
                "An earlier version judged by this rubric; judge anew with a corrected file, in another run.",
            )
        try:
            return "".join(_rendered(self.parts, values, fenced))
        except TypeError as error:
            # The error's own message may quote a case, so only its kind is passed on.
            raise RubricError(f"the prompt's template failed with {type(error).__name__}") from None


def _variables(parts: Sequence[TurnPart]) -> frozenset[str]:
    found: set[str] = set()
    own: set[str] = set()
    for part in parts:
        if isinstance(part, Insert):
            found |= set() if "." in part.name else {part.name}
        elif isinstance(part, Loop):
            found |= {part.input} | (_variables(part.parts) - {part.target, "loop"})
        elif isinstance(part, Choice):
            for test, inner in part.branches:
                found |= _names(test) | _variables(inner)
        elif isinstance(part, Unread):
            found |= _names(part.node)
            loops = any(isinstance(node, nodes.For) for node in _with_all_below(part.node))
            own |= _names(part.node, "store") | ({"loop"} if loops else set())
    return frozenset(found - own)


def _names(test: nodes.Node, ctx: str = "") -> set[str]:
    """Return the names in a test or a construct; with `ctx` "store", those that it sets."""
    every = (node for node in _with_all_below(test) if isinstance(node, nodes.Name))
    return {node.name for node in every if ctx in ("", node.ctx)}


def _nodes(parts: Sequence[TurnPart]) -> Iterator[Insert | Loop | Unread | nodes.Node]:
    """Yield every place of an input, every loop, and every node of a test."""
    for part in parts:
        if isinstance(part, Insert):
            yield part
        elif isinstance(part, Choice):
            for test, inner in part.branches:
                yield from _with_all_below(test)
                yield from _nodes(inner)
        elif isinstance(part, Loop):
            yield part
            yield from _nodes(part.parts)
        elif isinstance(part, Unread):
            yield part
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
        elif isinstance(part, Loop):
            # Without the parts of all messages, which would be copied for each of them.
            plain, hidden = ({name: each[name] for name in each if "." not in name} for each in (values, fenced))
            for own, shown in zip(_messages(part, values), _messages(part, fenced), strict=True):
                yield from _rendered(part.parts, {**plain, **own}, {**hidden, **shown})
        elif isinstance(part, Choice):
            chosen = next((inner for test, inner in part.branches if _value(test, values)), ())
            yield from _rendered(chosen, values, fenced)


def _messages(part: Loop, values: Mapping[str, str]) -> list[dict[str, str]]:
    """Return for each message of a case its parts, and its place, by the names that the loop gives them."""
    count = next(at for at in itertools.count() if f"{part.input}.{at}.role" not in values)
    return [
        {f"{part.target}.{key}": values[f"{part.input}.{at}.{key}"] for key in MESSAGE_PARTS}
        | {"loop.index": str(at + 1), "loop.first": "1" * (at == 0), "loop.last": "1" * (at == count - 1)}
        for at in range(count)
    ]


def _value(test: nodes.Node, values: Mapping[str, str]) -> object:
    match test:
        case nodes.Name():
            return values[test.name]
        case nodes.Getattr() | nodes.Getitem():
            return values[attribute(test)]
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


def attribute(node: nodes.Node) -> str:
    """Return `message.role` for that and for `message["role"]`; empty for any other node."""
    if not isinstance(node, nodes.Getattr | nodes.Getitem) or not isinstance(node.node, nodes.Name):
        return ""
    key = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", "")
    return f"{node.node.name}.{key}"


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
