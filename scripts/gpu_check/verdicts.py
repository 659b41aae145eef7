"""Compares two sets of a judge's verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Verdict

Scored = dict[str, dict[str, float]]
"""For each score its value, as `value`, and the probability of each value of its scale."""

CLOSE = 0.02
"""Probabilities that differ by at most this count as equal: 16-bit numbers round differently on each machine."""

SAME = 0.9
"""The share of scores that must be equal. Another batch order or processor rounds differently and so changes close
calls: on an H100, 79 of 82 scores of the demo judge were those of a processor."""


@dataclass
class Difference:
    """Differences of verdicts from the expected ones; the lists name rubric, case and score."""

    scores: int = 0
    equal: int = 0
    greatest: float = 0.0
    other: list[str] = field(default_factory=list)
    far: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """Differences in close calls, which another batch order or processor can cause."""
        kinds = {"different scores": self.other, f"probabilities that differ by more than {CLOSE}": self.far}
        return [f"{name}: {_listed(found)}" for name, found in kinds.items() if found]

    @property
    def problems(self) -> list[str]:
        """Missing verdicts, and more different scores than close calls explain."""
        found = [f"no verdict: {_listed(self.missing)}"] if self.missing else []
        if self.equal < SAME * self.scores:
            found.append(f"only {self.equal} of {self.scores} scores are equal; at least {SAME:.0%} should be")
        return found


def scored(run: Path) -> dict[str, dict[str, Scored]]:
    """Return the verdicts of a run by rubric and case, without failures."""
    found: dict[str, dict[str, Scored]] = {}
    with RunFile.read(run) as read:
        for record in read.records():
            if isinstance(record.outcome, Verdict):
                scores = {
                    name: {"value": score.value} | {str(value): p for value, p in score.probabilities.items()}
                    for name, score in record.outcome.scores.items()
                }
                found.setdefault(record.rubric, {})[record.case_id] = scores
    return found


def compare(expected: Mapping[str, Scored], found: Mapping[str, Scored], name: str, into: Difference) -> Difference:
    """Add the differences between the expected verdicts and those found to `into`, and return it."""
    for case, scores in expected.items():
        for score, wanted in scores.items():
            at = f"{name} {case} {score}"
            into.scores += 1
            given = found.get(case, {}).get(score)
            if given is None:
                into.missing.append(at)
                continue
            off = _farthest(wanted, given)
            into.greatest = max(into.greatest, off)
            if given["value"] == wanted["value"]:
                into.equal += 1
            else:
                into.other.append(f"{at} ({given['value']:.0f}, not {wanted['value']:.0f})")
            if off > CLOSE:
                into.far.append(f"{at} ({off:.3f})")
    into.missing += [f"{name} {case}: not expected" for case in found if case not in expected]
    return into


def _farthest(wanted: Mapping[str, float], given: Mapping[str, float]) -> float:
    values = (wanted.keys() | given.keys()) - {"value"}
    return max((abs(wanted.get(value, 0.0) - given.get(value, 0.0)) for value in values), default=0.0)


def _listed(found: list[str], most: int = 8) -> str:
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return f"{len(found)}: {', '.join(found[:most])}{more}"
