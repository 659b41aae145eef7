"""Which cases a table shows, and in which order."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from pathway_local.rater import Rater

VERDICTS, FAILURES = "verdicts", "failures"
"""The outcomes that a table can be limited to, besides single kinds of failures."""

KIND: Final = "kind:"
"""Begins the choice of one kind of failure."""


@dataclass(frozen=True, slots=True)
class IndexedCase:
    """A case with its kept metadata, and these as the run stores them."""

    key: int
    id: str
    row: int
    metadata: dict[str, str]
    stored: str


@dataclass(frozen=True, slots=True)
class IndexedVerdict:
    """What can be chosen, searched and sorted by of a verdict, or of a failure, which has a kind."""

    id: int
    case: int
    rater: int
    failure: str
    marks: Sequence[str]
    scores: Mapping[str, float]
    confidence: float | None
    words: str

    @property
    def first_score(self) -> float | None:
        """The value of its first score."""
        return next(iter(self.scores.values()), None)


def _least(values: Iterable[float | None]) -> float:
    return min((value for value in values if value is not None), default=inf)


ORDERS: Mapping[str, Callable[[Sequence[IndexedVerdict]], float]] = {
    "case": lambda own: 0.0,
    "low": lambda own: _least(each.first_score for each in own),
    "high": lambda own: _least(None if each.first_score is None else -each.first_score for each in own),
    "unsure": lambda own: _least(each.confidence for each in own),
}
"""What a table can be sorted by; cases without a value come last, equal ones in the order of the cases file."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a person chose to see; an empty choice leaves nothing out. A case is shown if one verdict fits all choices.

    `level` is a score's name with a value, `groups` are kept columns with a value each. The chart shows the levels
    for each value of the column `by`.
    """

    rubric: str = ""
    rater: str = ""
    level: tuple[str, float] | None = None
    outcome: str = ""
    mark: str = ""
    groups: tuple[tuple[str, str], ...] = ()
    text: str = ""
    order: str = "case"
    by: str = ""

    def fits(self, verdict: IndexedVerdict, rater: Rater, case: IndexedCase, found: Collection[int], text: str) -> bool:
        """Whether a verdict fits; `found` are the keys of the cases that hold the folded `text` in their own texts."""
        return (
            self.rubric in ("", rater.rubric)
            and self.rater in ("", rater.name)
            and (self.level is None or verdict.scores.get(self.level[0]) == self.level[1])
            and self._has_outcome(verdict.failure)
            and (not self.mark or self.mark in verdict.marks)
            and all(case.metadata.get(name) == value for name, value in self.groups)
            and (not text or text in verdict.words or case.key in found)
        )

    def _has_outcome(self, failure: str) -> bool:
        if self.outcome in (VERDICTS, FAILURES):
            return bool(failure) is (self.outcome == FAILURES)
        return self.outcome in ("", f"{KIND}{failure}")
