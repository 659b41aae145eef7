"""A run's scores counted: each rater's levels, choices and failures under each rubric, in all and by group."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pathway_local.results.case_weights import case_weights
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.pair import Pair
from pathway_local.rubrics.rubric import Rubric
from pathway_local.scores.matrix import HELD, TO_FIRST, TURNED, RatingsMatrix, Trouble
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import BoolArray, Estimate, FloatArray, IntArray, undefined_estimate
from pathway_local.statistics.share import scale_mean, share
from pathway_local.verdict import Number

SHOWN_FAILURES = 10

LOW_MASS = 0.5
"""Below this, the judge would rather have written something that is no legal value."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """One rater's choices between two responses, on the cases with one; `weights` (n,) say how much each counts.

    `wins` (n,) has 1 for each case that A won, 0.5 for a tie and 0 for one that B won. `orders` (n,) says what a second
    order did to the choice; one that turned counts as a tie.
    """

    pair: Pair
    wins: FloatArray
    orders: IntArray
    weights: FloatArray
    clusters: IntArray | None

    def times(self, win: float) -> int:
        """In how many cases it chose so."""
        return int(np.sum(self.wins == win))

    @property
    def both(self) -> int:
        """The cases that were judged in both orders."""
        return int(np.sum(self.orders >= HELD))

    @property
    def flipped(self) -> int:
        """In how many cases the orders disagreed."""
        return int(np.sum(self.orders >= TURNED))

    @property
    def to_first(self) -> int:
        """In how many of these it chose the response that was read first."""
        return int(np.sum(self.orders == TO_FIRST))

    @property
    def win_rate(self) -> Estimate:
        """The share of cases that A won, a tie as half of one.

        With halves a share varies less than one of ones and zeros, so its interval is rather too wide.
        """
        heavy = self.weights > 0
        clusters = None if self.clusters is None else self.clusters[heavy]
        found = share(self.wins[heavy], clusters, self.weights[heavy])
        return found if heavy.any() else undefined_estimate("no case has a choice")

    @property
    def flip_rate(self) -> Estimate:
        """The share of cases judged in both orders in which the orders disagree."""
        known = self.orders >= HELD
        if not known.any():
            return undefined_estimate("no case was judged in both orders")
        flips = (self.orders[known] >= TURNED).astype(np.float64)
        return share(flips, None if self.clusters is None else self.clusters[known])


def choices_of(matrix: RatingsMatrix, pair: Pair) -> FloatArray:
    """What A got by each rater, (cases, raters): 1, 0.5 for a tie or a flip, or 0; NaN without a choice."""
    chosen = np.where(np.isin(matrix.given, pair.special), np.nan, 0.5 + 0.5 * np.sign(matrix.given))
    return np.asarray(np.where(matrix.flipped & np.isfinite(chosen), 0.5, chosen))


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """One score of one rater under one rubric; each array is (n,), and NaN where the rater did not say how sure it is.

    `weights` say how much a case counts in the mean, `clusters` which cases depend on each other, if some do.
    """

    name: str
    declared: ScoreField
    given: FloatArray
    confidences: FloatArray
    masses: FloatArray
    weights: FloatArray
    clusters: IntArray | None

    @property
    def n(self) -> int:
        """Verdicts with this score."""
        return len(self.given)

    @property
    def counts(self) -> dict[Number, int]:
        """How often each value of the scale was given."""
        return {value: int(np.sum(self.given == value)) for value in self.declared.values}

    @property
    def between(self) -> int:
        """Scores that are no values of the scale: numbers between levels by people."""
        return self.n - sum(self.counts.values())

    @property
    def confident(self) -> int:
        """Verdicts with a confidence."""
        return int(np.isfinite(self.confidences).sum())

    @property
    def confidence(self) -> float | None:
        """The mean of the largest probabilities."""
        return float(np.nanmean(self.confidences)) if self.confident else None

    @property
    def known_masses(self) -> FloatArray:
        """What the judge gave to all legal values together, where that is known."""
        return np.asarray(self.masses[np.isfinite(self.masses)])

    @property
    def special_share(self) -> float | None:
        """The share of verdicts with a special value; None where the scale has none."""
        return float(np.isin(self.given, self.declared.special).mean()) if self.declared.special and self.n else None

    @property
    def mean(self) -> Estimate:
        """The mean of the values on the scale, with the interval of `scale_mean`."""
        if self.declared.scale == "nominal":
            return undefined_estimate("the scale is nominal")
        levels = sorted(float(value) for value in self.declared.values if value not in self.declared.special)
        kept = ~np.isin(self.given, self.declared.special) & (self.weights > 0)
        clusters = None if self.clusters is None else self.clusters[kept]
        return scale_mean(self.given[kept], levels, clusters, self.weights[kept])


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A case without a verdict: its id, its row in the cases file, the failure's kind, why, and where it is."""

    case: str
    row: int
    kind: str
    reason: str
    place: str

    @classmethod
    def of(cls, case: str, trouble: Trouble) -> "FailedCase":
        """The failed case of such an outcome."""
        failure = trouble.failure
        assert failure, "an outcome with marks is no failure"
        place, sign, _ = failure.message.rpartition(f": {failure.reason}") if failure.reason else ("", "", "")
        row, reason = failure.row or trouble.row, failure.reason or failure.message
        return cls(case, row, failure.kind, reason, place if sign else "")


@dataclass(frozen=True, slots=True)
class Group:
    """One rater under one rubric, or the part of its cases with one value in a metadata column.

    `failed` has its first failures, `other_texts` counts the verdicts that are left out because their cases have
    other texts by now. `preferences` sums up the choices of a comparison.
    """

    rater: str
    rubric: str
    group: str
    scores: dict[str, ScoreSummary]
    verdicts: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    failed: Sequence[FailedCase] = ()
    marks: Counter[str] = field(default_factory=Counter)
    preferences: Preferences | None = None
    other_texts: int = 0

    @property
    def cases(self) -> int:
        """Cases with an outcome; a verdict may lack some of the scores."""
        return self.verdicts + self.failures.total()


def tally(data: Scores, by: str = "", cluster: str = "", weight: str = "") -> list[Group]:
    """Count every rater's outcomes under each rubric, for each value of the column `by` if one is given.

    Cases count in means by the column `weight`, if one is given. Raises UsageError.
    A case without the column is in the empty group. Cases with the same value of the column `cluster` depend on each
    other; one without a value is alone.
    """
    rubrics = [(rubric, [*data.matrices([rubric])]) for rubric in data.rubrics.values()]
    found = [group for rubric, every in rubrics if every for group in _groups(rubric, every, by, cluster, weight)]
    return sorted(found, key=lambda group: (group.rater, group.rubric, group.group))


def _groups(rubric: Rubric, matrices: Sequence[RatingsMatrix], by: str, cluster: str, weight: str) -> Iterator[Group]:
    first = matrices[0]
    values = [kept.get(by, "") for kept in first.metadata]
    names = {name: code for code, name in enumerate(dict.fromkeys(values))}
    codes = np.array([names[value] for value in values], dtype=np.int64)
    clusters = first.clusters(cluster) if cluster else None
    weights = case_weights(matrices, weight)
    judged = np.any([np.isfinite(matrix.given) for matrix in matrices], axis=0)
    troubles: dict[tuple[int, int], list[Trouble]] = {}
    for each in sorted(first.troubles, key=lambda each: each.case):
        troubles.setdefault((each.rater, int(codes[each.case])), []).append(each)
    for place, rater in enumerate(first.raters):
        for name, code in names.items():
            inside, own = codes == code, troubles.get((place, code), [])
            verdicts = int(judged[inside, place].sum())
            failed = [each for each in own if each.failure]
            if not (verdicts or failed or (rater.other_texts and not by)):
                continue
            yield Group(
                rater.name, rubric.name, name,
                {matrix.score: _summary(matrix, rubric, place, inside, weights, clusters) for matrix in matrices},
                verdicts,
                Counter(each.failure.kind for each in failed if each.failure),
                [FailedCase.of(first.case_ids[each.case], each) for each in failed[:SHOWN_FAILURES]],
                Counter(mark for each in own for mark in each.marks),
                _preferences(matrices, rubric.pair, place, inside, weights, clusters) if rubric.pair else None,
                rater.other_texts,
            )  # fmt: skip


def _summary(
    matrix: RatingsMatrix,
    rubric: Rubric,
    place: int,
    inside: BoolArray,
    weights: FloatArray,
    clusters: IntArray | None,
) -> ScoreSummary:
    kept = inside & np.isfinite(matrix.given[:, place])
    given, confidences, masses = (each[kept, place] for each in (matrix.given, matrix.confidence, matrix.mass))
    own = None if clusters is None else clusters[kept]
    return ScoreSummary(
        matrix.score, rubric.format.scores[matrix.score], given, confidences, masses, weights[kept], own
    )


def _preferences(
    matrices: Sequence[RatingsMatrix],
    pair: Pair,
    place: int,
    inside: BoolArray,
    weights: FloatArray,
    clusters: IntArray | None,
) -> Preferences:
    matrix = next(each for each in matrices if each.score == pair.score)
    wins = choices_of(matrix, pair)[:, place]
    kept = inside & np.isfinite(wins)
    own = None if clusters is None else clusters[kept]
    return Preferences(pair, wins[kept], matrix.orders[kept, place], weights[kept], own)
