"""Counts a run's outcomes: each rater's levels and preferences, and why verdicts are missing."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.pair import A_BETTER, CHOICE, FLIPPED, Pair
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import Record
from pathway_local.statistics.figure import Estimate, undefined_estimate
from pathway_local.statistics.share import scale_mean, share
from pathway_local.verdict import Failure, Number, Verdict


@dataclass(slots=True)
class Preferences:
    """One rater's choices: `choices` has 1 for each case that A won, 0.5 for a tie and 0 for one that B won.

    `flips` has for each case that was judged in both orders 1 if the orders disagreed, which counts as a tie, else 0;
    `first` counts those that favour the response that was read first each time. Both name the case's cluster of cases
    that depend on each other, if there are any. `likely` are the probabilities with which the judge chose A.
    """

    pair: Pair
    choices: list[tuple[str, float]] = field(default_factory=list)
    flips: list[tuple[str, float]] = field(default_factory=list)
    first: int = 0
    likely: list[float] = field(default_factory=list)

    def times(self, choice: float) -> int:
        """In how many cases it chose so; special values choose nothing."""
        return sum(own == choice for _, own in self.choices)

    @property
    def flipped(self) -> int:
        """In how many cases the orders disagreed."""
        return sum(flip == 1 for _, flip in self.flips)

    @property
    def win_rate(self) -> Estimate:
        """The share of cases that A won, a tie as half of one.

        With halves a share varies less than one of ones and zeros, so its interval is rather too wide.
        """
        return _share(self.choices, "no case has a choice")

    @property
    def flip_rate(self) -> Estimate:
        """The share of cases judged in both orders in which the orders disagree."""
        return _share(self.flips, "no case was judged in both orders")

    @property
    def a_better(self) -> float | None:
        """The mean probability with which the judge chose A; None without probabilities."""
        return sum(self.likely) / len(self.likely) if self.likely else None

    def count(self, verdict: Verdict, cluster: str = "") -> None:
        """Add a verdict on a case of that cluster, if cases have clusters."""
        win = win_of(verdict, self.pair)
        if win is None:
            return
        self.choices.append((cluster, win))
        in_orders = [verdict.fields.get(f"{CHOICE}{order}") for order in ("ab", "ba")]
        if isinstance(in_orders[0], int | float) and isinstance(in_orders[1], int | float):
            flipped = FLIPPED in verdict.marks
            self.flips.append((cluster, float(flipped)))
            self.first += flipped and in_orders[0] > in_orders[1]
        likely = verdict.fields.get(A_BETTER)
        if isinstance(likely, int | float):
            self.likely.append(float(likely))


def win_of(verdict: Verdict, pair: Pair) -> float | None:
    """Return 1 if A won the case, 0 if B did, 0.5 for a tie or a flip, and None without a choice."""
    score = verdict.scores.get(pair.score)
    win = pair.win(score.value) if score else None
    return 0.5 if win is not None and FLIPPED in verdict.marks else win


def _share(counted: Sequence[tuple[str, float]], missing: str) -> Estimate:
    if not counted:
        return undefined_estimate(missing)
    names = {name: code for code, name in enumerate(dict.fromkeys(name for name, _ in counted))}
    clusters = np.array([names[name] for name, _ in counted], np.int64) if counted[0][0] else None
    return share(np.array([each for _, each in counted], float), clusters)


def clustered_mean(counts: Mapping[tuple[str, float], int], levels: Sequence[float]) -> Estimate:
    """The mean of scores on a scale with these levels, given as how often each cluster of cases has each score."""
    names = {name: code for code, name in enumerate(dict.fromkeys(name for name, _ in counts))}
    times = list(counts.values())
    codes = np.repeat(np.array([names[name] for name, _ in counts], np.int64), times)
    return scale_mean(np.repeat(np.array([score for _, score in counts], float), times), levels, codes)


SHOWN_FAILURES = 10

LOW_MASS = 0.5
"""Below this, the judge would rather have written something that is no legal value."""

Key = tuple[str, str, str]
"""Rater, rubric, group; the group is empty without a column of groups."""


@dataclass(slots=True)
class ScoreSummary:
    """One score of one rater under one rubric: how often each value was given, and with what confidence.

    `masses` has for each verdict what the judge gave to all legal values together, where that is known. `between`
    counts scores that are no values of the scale: numbers between levels by people. `clusters` counts how often
    each cluster of cases that depend on each other has each score on the scale, if there are any.
    """

    name: str
    declared: ScoreField
    counts: dict[Number, int]
    between: Counter[float] = field(default_factory=Counter)
    confidence_sum: float = 0.0
    confidences: int = 0
    masses: "array[float]" = field(default_factory=lambda: array("d"))
    clusters: Counter[tuple[str, float]] = field(default_factory=Counter)

    @property
    def n(self) -> int:
        """Verdicts with this score."""
        return sum(self.counts.values()) + self.between.total()

    @property
    def confidence(self) -> float | None:
        """The mean of the largest probabilities."""
        return self.confidence_sum / self.confidences if self.confidences else None

    @property
    def median_mass(self) -> float | None:
        """The median of the probabilities that the judge gave to all legal values together."""
        return median(self.masses) if self.masses else None

    @property
    def reluctant(self) -> int:
        """Verdicts in which the judge gave less than LOW_MASS to all legal values together."""
        return sum(mass < LOW_MASS for mass in self.masses)

    @property
    def special_share(self) -> float | None:
        """The share of verdicts with a special value; None where the scale has none."""
        return (
            sum(self.counts[value] for value in self.declared.special) / self.n
            if self.declared.special and self.n
            else None
        )

    @property
    def mean(self) -> Estimate:
        """The mean of the values on the scale, with the interval of `scale_mean`."""
        if self.declared.scale == "nominal":
            return undefined_estimate("the scale is nominal")
        on_scale = {value: count for value, count in self.counts.items() if value not in self.declared.special}
        levels = sorted(map(float, on_scale))
        if self.clusters:
            return clustered_mean(self.clusters, levels)
        given = Counter({float(value): count for value, count in on_scale.items()}) + self.between
        scores = np.repeat(np.array(list(given), float), list(given.values()))
        return scale_mean(scores, levels)


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A case without a verdict: its id, its row in the cases file, the failure's kind, why, and where it is."""

    case: str
    row: int
    kind: str
    reason: str
    place: str

    @classmethod
    def of(cls, record: Record, failure: Failure) -> "FailedCase":
        """The failed case of a record."""
        place, sign, _ = failure.message.rpartition(f": {failure.reason}") if failure.reason else ("", "", "")
        place = place if sign else ""
        return cls(record.case_id, failure.row or record.row, failure.kind, failure.reason or failure.message, place)


@dataclass(slots=True)
class Group:
    """One rater under one rubric, or the part of its cases with one value in a metadata column.

    `failed` has its first failures, `definition` is the rubric. `preferences` sums up the choices under a rubric that
    compares two responses.
    """

    rater: str
    rubric: str
    group: str
    scores: dict[str, ScoreSummary]
    verdicts: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    failed: list[FailedCase] = field(default_factory=list)
    marks: Counter[str] = field(default_factory=Counter)
    definition: Rubric | None = None
    preferences: Preferences | None = None

    @property
    def cases(self) -> int:
        """Cases with an outcome; a verdict may lack some of the scores."""
        return self.verdicts + self.failures.total()


def tally(
    records: Iterable[Record], rubrics: Mapping[str, Rubric], columns: Sequence[str], cluster: str = ""
) -> list[list[Group]]:
    """Count every rater's outcomes under each rubric, once for each column in one pass; "" makes no groups.

    A case without the column is in the empty group. Cases with the same value of the column `cluster` depend on each
    other; one without a value is alone.
    """
    found: list[dict[Key, Group]] = [{} for _ in columns]
    for record in records:
        own = (record.metadata.get(cluster) or f"\n{record.case_id}") if cluster else ""
        for by, groups in zip(columns, found, strict=True):
            key = (record.rater, record.rubric, record.metadata.get(by, ""))
            if key not in groups:
                groups[key] = _group(key, rubrics[record.rubric])
            _count(groups[key], record, own)
    return [sorted(each.values(), key=lambda group: (group.rater, group.rubric, group.group)) for each in found]


def _group(key: Key, rubric: Rubric) -> Group:
    preferences = Preferences(rubric.pair) if rubric.pair else None
    declared = rubric.format.scores.items()
    empty = {name: ScoreSummary(name, each, dict.fromkeys(each.values, 0)) for name, each in declared}
    return Group(*key, empty, definition=rubric, preferences=preferences)


def _count(group: Group, record: Record, cluster: str) -> None:
    """Add an outcome of a case of that cluster, if cases have clusters."""
    if isinstance(record.outcome, Failure):
        group.failures[record.outcome.kind] += 1
        if len(group.failed) < SHOWN_FAILURES:
            group.failed.append(FailedCase.of(record, record.outcome))
        return
    group.verdicts += 1
    group.marks.update(record.outcome.marks)
    if group.preferences:
        group.preferences.count(record.outcome, cluster)
    for name, score in record.outcome.scores.items():
        found = group.scores[name]
        (found.counts if score.value in found.counts else found.between)[score.value] += 1
        if cluster and score.value not in found.declared.special:
            found.clusters[cluster, float(score.value)] += 1
        if score.confidence is not None:
            found.confidence_sum += score.confidence
            found.confidences += 1
        if score.mass is not None:
            found.masses.append(score.mass)
