"""One turn of a prompt: a role, and a text with places for a case's inputs, some of which are conversations."""

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct

from pathway_local.errors import RubricError
from pathway_local.rubrics.conversation import MESSAGE_PARTS

Operator = Literal["and", "or", "not", "list", "eq", "ne", "lt", "lteq", "gt", "gteq", "in", "notin"]


def _of(function: Callable[..., object]) -> Callable[[Iterator[object]], object]:
    return lambda sides: function(*sides)


OPERATORS: Mapping[Operator, Callable[[Iterator[object]], object]] = {
    "and": all,
    "or": any,
    "not": _of(operator.not_),
    "list": list,
    "eq": _of(operator.eq),
    "ne": _of(operator.ne),
    "lt": _of(operator.lt),
    "lteq": _of(operator.le),
    "gt": _of(operator.gt),
    "gteq": _of(operator.ge),
    "in": _of(lambda part, whole: part in whole),
    "notin": _of(lambda part, whole: part not in whole),
}
"""What a test may do with its sides, by Jinja's name."""


class Insert(Struct, frozen=True, tag=True):
    """The place of an input, or within a loop of a part of a message."""

    name: str


class Named(Struct, frozen=True, tag=True):
    """An input in a test, or within a loop a part of a message."""

    name: str


class Constant(Struct, frozen=True, tag=True):
    """A fixed value in a test."""

    value: str | int | float | bool | None


class Operation(Struct, frozen=True, tag=True):
    """What a test makes of its sides: `and`, `not`, a list for `in`, a comparison of two …"""

    name: Operator
    sides: tuple["Test", ...]


Test = Named | Constant | Operation
"""What an `{% if %}` asks of a case's inputs."""


class Choice(Struct, frozen=True, tag=True):
    """An `{% if %}` block: the parts behind the first test that holds. The test of `{% else %}` always holds."""

    branches: tuple[tuple[Test, tuple["TurnPart", ...]], ...]


class Loop(Struct, frozen=True, tag=True):
    """A `{% for message in messages %}` block over an input that lists messages; `target` names one of them."""

    input: str
    target: str
    parts: tuple["TurnPart", ...]


TurnPart = str | Insert | Choice | Loop


class Turn(Struct, frozen=True, dict=True):
    """One turn of the prompt: a role, the text as its file writes it, and the same text in parts.

    A turn may insert inputs, choose by them and go through the messages of one, and nothing else. If it changed a
    case's text, the result could no longer be told apart from the rubric's own words.
    """

    role: str
    template: str
    parts: tuple[TurnPart, ...]

    @cached_property
    def variables(self) -> frozenset[str]:
        """The inputs that the turn inserts or tests; a dot marks a part of a message, which is no input."""
        inserted = {part.name for part in _all_parts(self.parts) if isinstance(part, Insert | Named)}
        return frozenset({name for name in inserted if "." not in name} | self.loops)

    @cached_property
    def loops(self) -> frozenset[str]:
        """The inputs whose messages the turn goes through."""
        return frozenset(part.input for part in _all_parts(self.parts) if isinstance(part, Loop))

    @cached_property
    def plain(self) -> bool:
        """Whether the turn's own words depend only on which inputs are empty, so that few variants are tokenized."""
        every = list(_all_parts(self.parts))
        joints = all(part.name in ("and", "or", "not") for part in every if isinstance(part, Operation))
        return joints and not self.loops

    def render(self, values: Mapping[str, str], fenced: Mapping[str, str]) -> str:
        """Return the turn's text: tests see `values`, and the text receives `fenced`. Raises RubricError."""
        try:
            return "".join(_rendered(self.parts, values, fenced))
        except TypeError as error:
            # The error's own message may quote a case, so only its kind is passed on.
            raise RubricError(f"the prompt's template failed with {type(error).__name__}") from None


def _all_parts(parts: Iterable[TurnPart | Test]) -> Iterator[TurnPart | Test]:
    """Yield these parts and tests, and all that lie within them."""
    for part in parts:
        yield part
        match part:
            case Choice():
                yield from _all_parts(itertools.chain.from_iterable((test, *inner) for test, inner in part.branches))
            case Loop():
                yield from _all_parts(part.parts)
            case Operation():
                yield from _all_parts(part.sides)


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


def _value(test: Test, values: Mapping[str, str]) -> object:
    if isinstance(test, Named):
        return values[test.name]
    if isinstance(test, Constant):
        return test.value
    return OPERATORS[test.name](_value(side, values) for side in test.sides)
