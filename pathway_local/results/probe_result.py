"""Results of one probe for a judge: the share of cases that pass, the mean shift of scores, and the conclusion."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from pathway_local.probes.probe_list import Expected, Probe
from pathway_local.statistics.families import beyond, falling, holm_levels, share_above, share_below, within
from pathway_local.statistics.figure import Estimate, undefined_estimate
from pathway_local.statistics.intervals import Effect, mean_effect, wilson

Result = Literal["passed", "failed", "noisy", "not shown", "no cases"]

MARGIN, MOVE, NEAR = 1 / 16, 1 / 8, 1 / 4
"""Shares of the scale from its lowest to its highest level: 0.25, 0.5 and 1 on 1 to 5. Scores within the first count as
the same. A score falls or rises if it moves by more than the second, and is at a level if it is no further from it.
Levels within the third of the lowest count as low, of the highest as high."""

AT_BOTTOM, AT_TOP = "at the lowest level already: can't fall", "at the highest level already: can't rise"
NO_SCORE = "without a score on the scale"
IN_PART = "with a change that has no score on the scale"
WRONG_ALREADY = "not at a high level before: the answer may be wrong already"

_SAME = ("same", "mirrored")
_FALLS = ("falls", "step by step")
_NOISE = 1e-9
"""Rounding of expected scores, which sum up probabilities."""


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """The lowest and the highest level of a score."""

    low: float
    high: float

    @property
    def margin(self) -> float:
        """The largest difference of scores that count as the same."""
        return (self.high - self.low) * MARGIN + _NOISE

    @property
    def move(self) -> float:
        """A score that differs by more than this has fallen or risen, or is no longer at a level."""
        return (self.high - self.low) * MOVE + _NOISE

    @property
    def near(self) -> float:
        """The largest difference of a low score from the lowest level, and of a high one from the highest."""
        return (self.high - self.low) * NEAR + self.move


@dataclass(frozen=True, slots=True)
class CaseScores:
    """The expected score `before`, None for a probe that expects a level, and that of each variant after the change.

    A score that the judge did not give is None. With `own`, the compared answer is the case's own, which may be wrong.
    """

    compared: bool
    before: float | None
    after: Mapping[str, float | None]
    own: bool = False


@dataclass(frozen=True, slots=True)
class Noise:
    """The share of the cases that keep their scores when they are judged again so many `times`, with no change."""

    share: float = 1.0
    times: int = 1

    def leaves(self, changes: int) -> float:
        """Return the least share of the cases that pass so many changes if these do nothing.

        A case keeps its score each time with a chance q of its own. With E[q^k] known, E[q^m] is at least its m/k-th
        power for m >= k (Jensen), and itself for fewer.
        """
        return float(self.share ** max(1.0, changes / self.times))


QUIET = Noise()


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One probe of one score: `passed` of `cases`, the share, the mean shift on the score's scale, and the result.

    The shift is that from the compared twin, or from the expected level. `passes` and `fails` are the p-values of the
    claims that the judge does, `noisy` that of the claim that too few cases pass, be it by noise. A judge fails if
    fewer than the share `fails_below` pass, which allows for the noise of repeats. `variants` has for each variant how
    many of how many passed, `unused` by reason how many cases were not used; `spread` is the standard deviation of a
    case's repeated scores.
    """

    probe: Probe
    score: str
    expected: Expected
    cases: int
    passed: int
    share: Estimate
    shift: Estimate
    passes: float
    fails: float
    noisy: float = 1.0
    fails_below: float = 0.0
    result: Result = "no cases"
    variants: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    unused: Mapping[str, int] = field(default_factory=dict)
    spread: float | None = None

    @property
    def noise(self) -> Noise:
        """What repeats, if these are their results, say about the judge's noise."""
        return Noise(self.passed / self.cases, len(self.variants)) if self.cases else QUIET


def probe_result(
    probe: Probe,
    score: str,
    expected: Expected,
    scale: ScoreRange,
    cases: Sequence[CaseScores],
    unused: Mapping[str, int],
    noise: Noise = QUIET,
) -> ProbeResult:
    """Return the result of a probe, before `settled` says whether it passed."""
    reasons, shifts = Counter(unused), list[dict[str, float]]()
    for case in cases:
        if why := _why_unused(case, expected, scale):
            reasons[why] += 1
        else:
            shifts.append(_shifts(case, expected, scale))
            reasons[IN_PART] += len(shifts[-1]) < len(case.after)
    if not shifts:
        none = undefined_estimate("no case could be used")
        return ProbeResult(probe, score, expected, 0, 0, none, none, 1.0, 1.0, unused=dict(+reasons))
    passed = sum(_passes(expected, scale, [*each.values()]) for each in shifts)
    effect = _mean(shifts)
    needed, count = probe.needed, len(shifts)
    below = 0.0 if probe.name == "repeat" else needed * noise.leaves(max(map(len, shifts)))
    return ProbeResult(
        probe,
        score,
        expected,
        cases=count,
        passed=passed,
        share=Estimate(passed / count, wilson(passed, count)),
        shift=effect.estimate(),
        passes=max(share_above(passed, count, needed), _p_of_shift(expected, scale, effect, shifts)),
        fails=_p_of_failing(share_below(passed, count, below), expected, scale, effect),
        noisy=share_below(passed, count, needed) if below < needed else 1.0,
        fails_below=below,
        variants=_by_variant(expected, scale, shifts),
        unused=dict(+reasons),
        spread=_spread(shifts) if probe.name == "repeat" else None,
    )


def settled(found: Sequence[ProbeResult]) -> tuple[ProbeResult, ...]:
    """Return a judge's results with what they come to: Holm's procedure accepts claims to pass, and claims to fail.

    Where too few cases pass, but not fewer than with the noise of repeats alone, the result is "noisy".
    """
    tested = [place for place, each in enumerate(found) if each.cases]
    results: dict[int, Result] = dict.fromkeys(tested, "not shown")
    results |= {tested[place]: "noisy" for place in _accepted([found[place].noisy for place in tested])}
    results |= {tested[place]: "failed" for place in _accepted([found[place].fails for place in tested])}
    results |= {tested[place]: "passed" for place in _accepted([found[place].passes for place in tested])}
    return tuple(replace(each, result=results.get(place, "no cases")) for place, each in enumerate(found))


def _accepted(p_values: Sequence[float]) -> list[int]:
    """Return the places of the claims that Holm's procedure accepts among these."""
    levels = holm_levels(p_values)
    return [place for place, (p, level) in enumerate(zip(p_values, levels, strict=True)) if p <= 1 - level]


def _why_unused(case: CaseScores, expected: Expected, scale: ScoreRange) -> str:
    given = [after for after in case.after.values() if after is not None]
    if not given or (case.compared and case.before is None):
        return NO_SCORE
    if expected == "step by step" and len(given) < len(case.after):
        return NO_SCORE
    if case.own and case.before is not None and expected == "falls" and case.before < scale.high - scale.near:
        return WRONG_ALREADY
    if case.before is not None and expected in _FALLS and case.before <= scale.low + scale.move:
        return AT_BOTTOM
    if case.before is not None and expected == "does not rise" and case.before >= scale.high - scale.move:
        return AT_TOP
    return ""


def _shifts(case: CaseScores, expected: Expected, scale: ScoreRange) -> dict[str, float]:
    """Return how far each variant's score is from the one before the change, or from the level that is expected."""
    level = scale.high if expected == "top" else scale.low
    before = level if case.before is None else case.before
    sign = -1 if expected == "mirrored" else 1
    return {variant: sign * after - before for variant, after in case.after.items() if after is not None}


def _passes(expected: Expected, scale: ScoreRange, shifts: Sequence[float]) -> bool:
    """Whether a case passes with the shifts of its variants, in their order."""
    if expected in ("top", "bottom"):
        return all(abs(shift) <= scale.move for shift in shifts)
    if expected == "low":
        return all(shift <= scale.near for shift in shifts)
    if expected in _SAME:
        return all(abs(shift) <= scale.margin for shift in shifts)
    if expected == "does not rise":
        return all(shift <= scale.move for shift in shifts)
    rises = [after - before for before, after in zip([0.0, *shifts], shifts, strict=False)]
    return shifts[-1] < -scale.move and all(rise <= scale.margin for rise in rises)


def _by_variant(
    expected: Expected, scale: ScoreRange, shifts: Sequence[Mapping[str, float]]
) -> dict[str, tuple[int, int]]:
    passed, total = Counter[str](), Counter[str]()
    for each in shifts:
        for variant, shift in each.items():
            total[variant] += 1
            passed[variant] += _passes(expected, scale, [shift])
    return {variant: (passed[variant], count) for variant, count in total.items()}


def _mean(shifts: Sequence[Mapping[str, float]]) -> Effect:
    """Return the mean shift; twins of one case are a cluster."""
    values = np.array([shift for each in shifts for shift in each.values()])
    codes = np.array([place for place, each in enumerate(shifts) for _ in each])
    return mean_effect(values, codes, each="shift")


def _p_of_shift(expected: Expected, scale: ScoreRange, effect: Effect, shifts: Sequence[Mapping[str, float]]) -> float:
    """Return the p-value of what a probe claims of the mean shift; 0 if it claims nothing beyond its share."""
    if expected in _SAME:
        return within(effect, scale.margin)
    if expected == "step by step":
        return falling(np.array([[0.0, *each.values()] for each in shifts]))
    return 0.0


def _p_of_failing(share: float, expected: Expected, scale: ScoreRange, effect: Effect) -> float:
    """Return the p-value of the claim that too few pass or, if scores should stay, that the mean leaves the margin."""
    return min(1.0, 2 * min(share, beyond(effect, scale.margin))) if expected in _SAME else share


def _spread(shifts: Sequence[Mapping[str, float]]) -> float:
    return float(np.sqrt(np.mean([np.var([0.0, *each.values()], ddof=1) for each in shifts])))
