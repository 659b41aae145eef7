"""A figure: a number computed from scores, or the reason why it is missing, and its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Reason(str):
    """Why something is missing: English, and its key with the values from which a language makes its own sentence.

    The key is the English text with blanks for the values.
    """

    key: str
    values: Mapping[str, object]

    def __new__(cls, key: str, **values: object) -> "Reason":
        """Return the English text with the values in its blanks."""
        made = super().__new__(cls, key.format(**values))
        made.key, made.values = key, values
        return made


FIRST, SECOND = "the first rater", "the second rater"


@dataclass(frozen=True, slots=True)
class Undefined:
    """Stands in place of a number that the data do not define; `reason` completes "not defined, because"."""

    reason: str

    def __str__(self) -> str:
        return f"not defined, because {self.reason}"


Number = float | Undefined


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of that `level`: 0.95, or higher where several are tested.

    `method` says how it was made, and `clusters` from how many independent units.
    """

    low: float
    high: float
    method: str
    clusters: int
    level: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its interval; each may be undefined on its own."""

    value: Number
    interval: Interval | Undefined

    @property
    def shown(self) -> str | None:
        """Which side a difference of first minus second shows to be higher; None without an interval."""
        if isinstance(self.interval, Undefined):
            return None
        return "first" if self.interval.low > 0 else "second" if self.interval.high < 0 else "not shown"

    def within(self, reach: float) -> "Estimate":
        """The estimate with its interval cut to the differences that the scale allows."""
        if isinstance(self.interval, Undefined):
            return self
        low, high = max(self.interval.low, -reach), min(self.interval.high, reach)
        return replace(self, interval=replace(self.interval, low=low, high=high))


def undefined_estimate(reason: str) -> Estimate:
    """Neither a value nor an interval, for the one reason."""
    return Estimate(Undefined(reason), Undefined(reason))


def why_constant(raters: Sequence[FloatArray]) -> str:
    """The reason why raters' scores do not vary enough to compare them.

    Each array holds one rater's scores on the cases in question, without missing ones.
    """
    scores = np.concatenate(raters) if raters else np.empty(0)
    if scores.size == 0:
        return "there is no case to compare"
    if np.ptp(scores) == 0:
        return Reason("every {each} is {value:g}", each="score", value=float(scores[0]))
    for rater, own in zip((FIRST, SECOND), raters, strict=False):
        if len(raters) == 2 and np.ptp(own) == 0:
            return Reason("{rater} gave {value:g} every time", rater=rater, value=float(own[0]))
    return "the scores do not vary enough"


def with_names(reason: str, first: str, second: str) -> str:
    """The reason with the raters' own names."""
    if not isinstance(reason, Reason):
        return reason
    named = {FIRST: first or FIRST, SECOND: second or SECOND}
    values = {name: named.get(str(value), value) for name, value in reason.values.items()}
    return Reason(reason.key, **values)
