"""A verdict: one rater's judgement of one case under one rubric; or the failure in its place."""

import re
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

_SURROGATE = re.compile("[\ud800-\udfff]")

Number = int | float
"""A value of a score; whole ones are ints."""

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]


def plain(value: Number) -> Number:
    """Return the number without the noise of binary fractions, and as an int if it is whole: 1, not 1.0."""
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded


MOST_NESTED = 100
"""Levels of lists and objects in a value: the code that writes values recurses, and Python bounds recursion."""


class Score(Struct, frozen=True):
    """A score; a judge also gives the probability of each value of its scale (they sum to 1).

    These are shares among the legal values. `mass` is the probability that the judge gave to all legal values together,
    without the format; None if unknown. If it is low, the judge would rather have written something else.
    """

    value: Number
    probabilities: Mapping[Number, float] = {}
    mass: float | None = None

    @property
    def confidence(self) -> float | None:
        """The largest probability; None without probabilities."""
        return max(self.probabilities.values(), default=None)

    def expected(self, special: Collection[Number] = ()) -> float | None:
        """Return the mean of the values that are not special, weighted by probability.

        None without probabilities, and if the score itself is special, since it is then not on the scale.
        """
        on_scale = {v: p for v, p in self.probabilities.items() if v not in special}
        mass = sum(on_scale.values())
        if self.value in special or mass <= 0:
            return None
        return sum(v * p for v, p in on_scale.items()) / mass


def mean_mass(scores: Iterable[Score]) -> float | None:
    """Return the mean of the masses that are known; None if none is."""
    known = [score.mass for score in scores if score.mass is not None]
    return sum(known) / len(known) if known else None


COPIED, CUT, LOOP = "copied", "cut", "loop"
"""Kinds of marks that name a field, as in `cut:reason`."""

OF_FIELD = re.compile(f"^({COPIED}:|{CUT}:|{LOOP}:)")
"""The beginning of a mark that names a field."""


class Verdict(Struct, frozen=True):
    """Scores by name, the other fields by name, and marks that warn.

    A mark is `cut:FIELD` (the field reached its budget), `copied:FIELD` (it repeats a placeholder of the prompt),
    `loop:FIELD` (it repeats itself), `truncated:INPUT` (the input's end was cut off), `rule:NAME` (the verdict breaks a
    rule of its rubric) or `flipped` (two orders of a comparison disagree).
    """

    scores: Mapping[str, Score]
    fields: Mapping[str, Value] = {}
    marks: tuple[str, ...] = ()


class Failure(Struct, frozen=True):
    """Why a case has no verdict: a kind to count by and a message without case text.

    If the row of a cases file could not be read, `source` names the file, and `row` and `reason` say which row and why.
    """

    kind: str
    message: str
    source: str = ""
    row: int = 0
    reason: str = ""


Outcome = Verdict | Failure


class Tokens(Struct, frozen=True):
    """Tokens of a request's prompt, those of them that the prefix cache saved, and tokens of its reply."""

    prompt: int = 0
    cached: int = 0
    generated: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.prompt + other.prompt, self.cached + other.cached, self.generated + other.generated)


NO_TOKENS = Tokens()


def is_nested_deep(value: object) -> bool:
    """Return whether lists and objects in a value are nested deeper than MOST_NESTED."""
    level = [value]
    for _ in range(MOST_NESTED + 1):
        level = [inner for each in level for inner in _inner(each)]
    return bool(level)


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def storable(text: str) -> str:
    """Return the text with U+FFFD in place of each lone surrogate, which no file can hold."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
