"""Which cases a table shows, and in which order, as SQL on the `VerdictIndex`."""

from collections.abc import Mapping
from dataclasses import dataclass
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

_HAS = "EXISTS (SELECT 1 FROM json_each(cases.metadata) AS kept WHERE kept.key = ? AND value = ?)"

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
        chosen: list[tuple[str, tuple[object, ...]]] = []
        if self.rubric:
            chosen.append(("raters.rubric = ?", (self.rubric,)))
        if self.rater:
            chosen.append(("raters.name = ?", (self.rater,)))
        if self.level:
            chosen.append(("verdicts.id IN (SELECT verdict FROM scores WHERE name = ? AND value = ?)", self.level))
        if self.outcome in (VERDICTS, FAILURES):
            chosen.append((f"verdicts.failure IS {'NOT' if self.outcome == FAILURES else ''} NULL", ()))
        elif self.outcome:
            chosen.append(("verdicts.failure = ?", (self.outcome.removeprefix(KIND),)))
        if self.mark:
            chosen.append(("EXISTS (SELECT 1 FROM json_each(verdicts.marks) WHERE value = ?)", (self.mark,)))
        chosen += [(_HAS, group) for group in self.groups]
        if self.text.strip():
            chosen.append((_HOLDS, (fold(self.text.strip()),) * 3))
        values = [value for _, given in chosen for value in given]
        return " AND ".join(condition for condition, _ in chosen) or "1", values
