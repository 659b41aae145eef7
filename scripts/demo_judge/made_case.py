"""A made-up case with its right verdict, and the words in which an analysis compares two texts fact by fact."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from demo_judge.world import Fact
from pathway_local.verdict import Value


@dataclass(frozen=True, slots=True)
class MadeCase:
    """A case for one rubric with its right verdict.

    `scores` and `fields` have the names of the rubric's output format, without echoes. One of the fields contains
    `decisive`, which names the fact that decides the score.
    """

    inputs: Mapping[str, str]
    scores: Mapping[str, int]
    fields: Mapping[str, Value]
    decisive: str

    @property
    def values(self) -> dict[str, Value]:
        """Every generated field's value, scores included."""
        return {**self.fields, **self.scores}


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
