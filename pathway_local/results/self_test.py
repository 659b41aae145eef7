"""The results of a self-test: each judge's scores of changed cases beside those of what they are compared with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathway_local.note import Note
from pathway_local.probes.drawing import SelfTest
from pathway_local.probes.probe_list import NEEDED, NEEDED_OF_ATTACKS, PROBES, Expected
from pathway_local.results.table import Cell, Column, Table
from pathway_local.scores.scores import Scores
from pathway_local.statistics.effect import mean_effect
from pathway_local.statistics.figure import Estimate
from pathway_local.statistics.intervals import wilson
from pathway_local.verdict import Verdict

MARGIN, TOP, LOW = 1 / 16, 1 / 8, 3 / 8
"""Shares of the scale: 0.25, 0.5 and 1.5 on 1 to 5. A score moves if it differs by more than the first and than twice
the spread of repeats. It is at the top within the second of the highest level, and low within the third of the lowest.
"""

_ROUNDING = 1e-9
"""Expected scores sum up probabilities."""

COLUMNS = (
    Column("probe"), Column("change"), Column("expected", "key"), Column("judge", "rater"), Column("result", "key"),
    Column("passed", "count"), Column("cases", "count"), Column("share", "estimate"), Column("mean_shift", "estimate"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Scale:
    """The lowest and the highest level of a score, and how far it must move to count as moved."""

    low: float
    high: float
    margin: float

    def shift(self, expected: Expected, before: float | None, after: float | None) -> float | None:
        """Return how far a score moved, or lies from the level expected; None if that can't be told.

        A level off the scale, such as "nothing to judge", is as good as the lowest. A score at the lowest level can't
        fall, and one at the highest can't rise.
        """
        if expected == "low":
            return (self.low if after is None else after) - self.low
        start = self.high if expected == "top" else before
        if start is None or after is None:
            return None
        stuck = start <= self.low + self.margin if expected == "falls" else start >= self.high - self.margin
        return None if stuck and expected in ("falls", "does not rise") else after - start

    def passes(self, expected: Expected, shift: float) -> bool:
        """Return whether a score did what is expected."""
        width = self.high - self.low
        return {
            "top": shift >= -width * TOP - _ROUNDING,
            "low": shift <= width * LOW + _ROUNDING,
            "falls": shift < -self.margin,
            "does not rise": shift <= self.margin,
            "same": abs(shift) <= self.margin,
        }[expected]


def self_test_table(data: Scores, tested: SelfTest, judges: Sequence[str], file: str) -> Table:
    """Return what each change did to each judge's scores, as a self-test's run shows it."""
    rows, notes, failures = list[dict[str, Cell]](), [Note("necessary", kind="answer")], 0
    for judge in judges:
        twins, values, failed = _read(data, tested, judge)
        failures += failed
        spread = _spread(twins, values)
        notes.append(Note("repeats_spread", {"judge": judge, "spread": spread}))
        rows += [{"judge": judge, **row} for row in _rows(tested, twins, values, spread)]
    order = list(PROBES)
    rows.sort(key=lambda row: (order.index(str(row["probe"])), str(row["change"])))
    notes.append(Note("probe_results", {"needed": NEEDED, "needed_of_attacks": NEEDED_OF_ATTACKS}))
    if failures:
        notes.append(Note("probes_without_verdict", {"count": failures}, "warning"))
    about = {"rubric": tested.rubric.name, "rubric_sha256": tested.rubric.sha256, "score": tested.score, "file": file}
    return Table("probes", about, COLUMNS, rows, notes, section="probes")


_Twins = Mapping[str, tuple[str, str, str]]
"""Of each changed row, by its id: the probe, the change, and the id of the row to compare with."""

_Values = Mapping[str, float | None]
"""Each row's expected score by its id; None off the scale."""


def _read(data: Scores, tested: SelfTest, judge: str) -> tuple[_Twins, _Values, int]:
    """Return the changed rows, all scores, and the number of rows without a verdict."""
    twins, values, failed = dict[str, tuple[str, str, str]](), dict[str, float | None](), 0
    special = tested.rubric.format.scores[tested.score].special
    for record in data.outcomes(rater=judge):
        if not isinstance(record.outcome, Verdict):
            failed += 1
            continue
        told = record.metadata
        if told.get("probe"):
            twins[record.case_id] = told["probe"], told["change"], told["twin_of"]
        if given := record.outcome.scores.get(tested.score):
            values[record.case_id] = given.expected(special)
    return twins, values, failed


def _spread(twins: _Twins, values: _Values) -> float:
    """Return the standard deviation of the shifts of scores that were given again with no change; 0 without repeats."""
    pairs = [(values.get(row), values.get(base)) for row, (probe, _, base) in twins.items() if probe == "repeat"]
    shifts = [after - before for after, before in pairs if after is not None and before is not None]
    return float(np.sqrt(np.mean(np.square(shifts)))) if shifts else 0.0


def _rows(tested: SelfTest, twins: _Twins, values: _Values, spread: float) -> Iterator[dict[str, Cell]]:
    """Yield a row for each change: the share of cases that do what is expected, and the mean shift."""
    scored = tested.rubric.format.scores[tested.score]
    levels = [float(value) for value in scored.values if value not in scored.special]
    low, high = min(levels), max(levels)
    scale = _Scale(low, high, max((high - low) * MARGIN, 2 * spread) + _ROUNDING)
    for probe in tested.probes:
        changes: dict[str, list[float]] = {}
        for row, (_, change, base) in ((row, each) for row, each in twins.items() if each[0] == probe.name):
            shifts, given = changes.setdefault(change, []), row in values
            shift = scale.shift(probe.expected, values.get(base), values.get(row)) if given else None
            shifts += [] if shift is None else [shift]
        for change, shifts in changes.items():
            passed = sum(scale.passes(probe.expected, shift) for shift in shifts)
            told: dict[str, Cell] = {"probe": probe.name, "change": change, "expected": probe.expected}
            yield told | _figures(passed, shifts, probe.needed)


def _figures(passed: int, shifts: Sequence[float], needed: float) -> dict[str, Cell]:
    if not shifts:
        return {"result": "no cases", "passed": 0, "cases": 0}
    interval = wilson(passed / len(shifts), len(shifts), len(shifts))
    result = "passed" if interval.low > needed else "failed" if interval.high < needed else "not shown"
    share, shift = Estimate(passed / len(shifts), interval), mean_effect(np.array(shifts), each="shift").estimate()
    return {"result": result, "passed": passed, "cases": len(shifts), "share": share, "mean_shift": shift}
