"""Which cases a table shows, and in which order, as SQL on the `VerdictIndex`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pathway_local.viewer.case_texts import fold

VERDICTS, FAILURES = "verdicts", "failures"
"""The outcomes that a table can be limited to, besides single kinds of failures."""

KIND: Final = "kind:"
"""Begins the choice of one kind of failure."""

ORDERS: Mapping[str, str] = {
    "case": "",
    "low": "MIN(first_score) IS NULL, MIN(first_score), ",
    "high": "MAX(first_score) IS NULL, MAX(first_score) DESC, ",
    "unsure": "MIN(confidence) IS NULL, MIN(confidence), ",
}
"""What a table can be sorted by; cases without a value come last, equal ones in the order of the cases file."""

# A case's texts are searched once, however many raters it has.
_HOLDS = """(
    instr(verdicts.words, ?) OR case_key IN (SELECT key FROM cases WHERE instr(folded, ?))
    OR cases.case_id IN (SELECT case_id FROM texts WHERE instr(folded, ?))
)"""


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

    def where(self) -> tuple[str, list[object]]:
        """Return the condition on the index's `verdicts`, `cases` and `raters`, and its values."""
        chosen = _Conditions()
        if self.rubric:
            chosen.add("raters.rubric = ?", self.rubric)
        if self.rater:
            chosen.add("raters.name = ?", self.rater)
        if self.level:
            chosen.add("verdicts.id IN (SELECT verdict FROM scores WHERE name = ? AND value = ?)", *self.level)
        if self.outcome == VERDICTS:
            chosen.add("verdicts.failure IS NULL")
        elif self.outcome == FAILURES:
            chosen.add("verdicts.failure IS NOT NULL")
        elif self.outcome:
            chosen.add("verdicts.failure = ?", self.outcome.removeprefix(KIND))
        if self.mark:
            chosen.add("EXISTS (SELECT 1 FROM json_each(verdicts.marks) WHERE value = ?)", self.mark)
        for group in self.groups:
            chosen.add(
                "EXISTS (SELECT 1 FROM json_each(cases.metadata) AS kept WHERE kept.key = ? AND value = ?)", *group
            )
        if self.text.strip():
            chosen.add(_HOLDS, *[fold(self.text.strip())] * 3)
        return " AND ".join(chosen.conditions) or "1", chosen.values


@dataclass(slots=True)
class _Conditions:
    conditions: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    def add(self, condition: str, *values: object) -> None:
        self.conditions.append(condition)
        self.values += values
