"""Compares two texts fact by fact, in the words of a judge's analysis."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from demo_judge.world import Fact


@dataclass(frozen=True, slots=True)
class Point:
    """What a second text says on a topic of the first: `state` is same, wrong, or a word for nothing said."""

    topic: str
    found: str
    state: str
    line: str


def point(head: str, topic: str, sides: tuple[str, str], value: str, found: str, lacking: str = "missing") -> Point:
    """Compare what the two `sides` say; "" stands for nothing."""
    state = lacking if not found else "same" if found == value else "wrong"
    return Point(topic, found, state, f"{head}: {sides[0]} {value}, {sides[1]} {found or 'silent'}: {state}.")


def points(
    facts: Iterable[Fact], others: Iterable[Fact], sides: tuple[str, str], lacking: str = "missing"
) -> list[Point]:
    """Compare `facts`, which the first side says, with `others`, which the second says."""
    said = {fact.topic: fact.value for fact in others}
    return [point(f"On {f.topic}", f.topic, sides, f.value, said.get(f.topic, ""), lacking) for f in facts]


def lines(compared: Sequence[Point], *states: str) -> list[str]:
    """Return the lines of the points in these states."""
    return [each.line for each in compared if each.state in states]
