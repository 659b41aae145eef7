"""A run's summary: distribution, mean and confidence for each rater, rubric and score; and the failures."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np

from pathway_local.case import placed
from pathway_local.rater import LABEL
from pathway_local.results.kept_column import repeated_columns
from pathway_local.results.panel import mean_of
from pathway_local.results.preferences import Preferences, clustered_mean
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.jobs import UNFIT
from pathway_local.runs.limit import Limit, limits_of
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.runs.shard import shards_of
from pathway_local.sheets.kinds import Page
from pathway_local.statistics.figure import Estimate, Interval, undefined_estimate
from pathway_local.statistics.intervals import scale_mean
from pathway_local.verdict import Failure, Number, Value

SHOWN_FAILURES = 10

LOW_MASS = 0.5
"""Below this, the judge would rather have written something that is no legal value."""

GROUP_KEYS = ("rater", "rubric", "cluster_by", "cases", "scores", "failures", "failed", "marks")
"""What JSON tells of a group under its own names."""

Key = tuple[str, str, str]
"""Rater, rubric, group; the group is empty without `by`."""


@dataclass(slots=True)
class ScoreSummary:
    """One score of one rater under one rubric: how often each value was given, and with what confidence.

    `masses` has for each verdict what the judge gave to all legal values together, where that is known. `between`
    counts scores that are no values of the scale: a panel's means, half points of people. `clusters` counts how often
    each cluster of cases that depend on each other has each score on the scale, if there are any.
    """

    name: str
    levels: Mapping[Number, str]
    scale: str
    special: tuple[Number, ...]
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
        return sum(self.counts[value] for value in self.special) / self.n if self.special and self.n else None

    @property
    def mean(self) -> Estimate:
        """The mean of the values on the scale, with the interval of `scale_mean`."""
        if self.scale == "nominal":
            return undefined_estimate("the scale is nominal")
        on_scale = {value: count for value, count in self.counts.items() if value not in self.special}
        ends = float(min(on_scale)), float(max(on_scale))
        if self.clusters:
            return clustered_mean(self.clusters, ends)
        given = Counter({float(value): count for value, count in on_scale.items()}) + self.between
        scores = np.repeat(np.array(list(given), float), list(given.values()))
        return scale_mean(scores, ends)


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A case without a verdict: its id, its row in the cases file, why, and where a person finds it."""

    case: str
    row: int
    reason: str
    place: str

    @classmethod
    def of(cls, record: Record, failure: Failure) -> "FailedCase":
        """The failed case of a record."""
        place, sign, _ = failure.message.rpartition(f": {failure.reason}") if failure.reason else ("", "", "")
        place = place if sign else f"row {record.row}"
        return cls(record.case_id, failure.row or record.row, failure.reason or failure.message, place)

    def __str__(self) -> str:
        return placed(self.case, self.place, self.reason)


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


@dataclass(frozen=True, slots=True)
class Summary:
    """All groups of a run, in the order of its raters; `by` is the metadata column that defines them.

    `hidden` counts the values of that column that are left out for some rater, because they have too few cases. `path`
    is the run's. `limits` and `shards` have the parts of cases files that were judged, by rater and rubric. `unfit` has
    a sentence for each rubric that a judge left out. Cases with the same value of the column `cluster` depend on each
    other; without it, `repeated` has the columns that may group such cases, and the number of their values.
    """

    groups: list[Group]
    by: str
    labels: Mapping[str, str]
    hidden: int = 0
    path: str = ""
    limits: Mapping[tuple[str, str], Sequence[Limit]] = field(default_factory=dict)
    shards: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    unfit: tuple[str, ...] = ()
    cluster: str = ""
    repeated: Mapping[str, int] = field(default_factory=dict)

    def parts(self, group: "Group") -> list[str]:
        """Return in words the parts of cases files to which the group's rater was limited."""
        key = (group.rater, group.rubric)
        return [*map(str, self.limits.get(key, ())), *self.shards.get(key, ())]

    def as_json(self) -> list[dict[str, object]]:
        """The same as plain values."""
        return [_group_json(group, self) for group in self.groups]


def column_name(by: str) -> str:
    """The column that the groups are of, in words that no column of the summary has: rater becomes case.rater."""
    return f"case.{by}" if by in GROUP_KEYS else by


def summarize(run: RunFile, by: str = "", smallest: int = 1, cluster: str = "") -> Summary:
    """The summary of a run; with `by`, one group for each value of that metadata column.

    A case without the column is in the empty group. Groups with under `smallest` verdicts of a rater are left out,
    because a mean of few can reveal what one of them got. Intervals allow for cases with the same value of the metadata
    column `cluster`, which depend on each other.
    """
    [groups] = _groups(run, rubrics_of(run), cluster, by)
    return _summary(run, groups, by, smallest, cluster)


def summarize_by(
    run: RunFile, rubrics: Mapping[str, Rubric], by: str, smallest: int, cluster: str = ""
) -> tuple[Summary, Summary]:
    """The summary of a run and the one with groups, as by `summarize`, from one pass over its outcomes."""
    whole, groups = _groups(run, rubrics, cluster, "", by)
    parts = _summary(run, groups, by, smallest, cluster)
    return replace(parts, groups=whole, by="", hidden=0), parts


def _groups(run: RunFile, rubrics: Mapping[str, Rubric], cluster: str, *columns: str) -> list[list[Group]]:
    """Every rater's verdicts under each rubric, once for each column; "" makes no groups of its values."""
    found: list[dict[Key, Group]] = [{} for _ in columns]
    for record in run.records():
        own = (record.metadata.get(cluster) or f"\n{record.case_id}") if cluster else ""  # without a value: alone
        for by, groups in zip(columns, found, strict=True):
            key = (record.rater, record.rubric, record.metadata.get(by, ""))
            if key not in groups:
                groups[key] = _group(key, rubrics[record.rubric])
            _count(groups[key], record, own)
    return [sorted(each.values(), key=lambda group: (group.rater, group.rubric, group.group)) for each in found]


def _group(key: Key, rubric: Rubric) -> Group:
    preferences = Preferences(rubric.pair) if rubric.pair else None
    return Group(*key, _empty(rubric), definition=rubric, preferences=preferences)


def _summary(run: RunFile, groups: list[Group], by: str, smallest: int, cluster: str) -> Summary:
    shown = [group for group in groups if not by or group.verdicts >= smallest]
    hidden = {group.group for group in groups if by and group.verdicts < smallest}
    limits, shards, unfit = limits_of(run), shards_of(run), tuple(_unfit(run))
    repeated = {} if cluster else repeated_columns(run)
    labels = labels_of(run)
    return Summary(shown, by, labels, len(hidden), str(run.path), limits, shards, unfit, cluster, repeated)


def _unfit(run: RunFile) -> list[str]:
    """Return a sentence for each rubric that `judge --skip-unfit` left out, and that the judge has not judged since."""
    found: dict[tuple[str, str], str] = {}
    for job in run.jobs.all():
        for each in job.rows("raters"):
            found.pop((each["rater"], each["rubric"]), None)
        for each in job.rows(UNFIT):
            found[each["rater"], each["rubric"]] = f"{each['rubric']} by {each['rater']} was left out: {each['reason']}"
    return list(found.values())


def labels_of(run: RunFile) -> dict[str, str]:
    """The label of each judge that must stand wherever its scores are shown, by the rater's name."""
    labels = {rater.name: run.get_setting(f"{LABEL}{rater.name}") for _, rater in run.raters()}
    return {name: label for name, label in labels.items() if isinstance(label, str) and label}


def _empty(rubric: Rubric) -> dict[str, ScoreSummary]:
    return {
        name: ScoreSummary(name, each.levels, each.scale, each.special, dict.fromkeys(each.values, 0))
        for name, each in rubric.format.scores.items()
    }


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
    for name, found in group.scores.items():
        given = mean_of(record.outcome, name)
        if given is not None:
            found.between[given] += 1
            if cluster:
                found.clusters[cluster, given] += 1
    for name, score in record.outcome.scores.items():
        found = group.scores[name]
        (found.counts if score.value in found.counts else found.between)[score.value] += 1
        if cluster and score.value not in found.special:
            found.clusters[cluster, float(score.value)] += 1
        if score.confidence is not None:
            found.confidence_sum += score.confidence
            found.confidences += 1
        if score.mass is not None:
            found.masses.append(score.mass)


def _group_json(group: Group, found: Summary) -> dict[str, object]:
    return {
        "rater": group.rater,
        "rubric": group.rubric,
        **({column_name(found.by): group.group} if found.by else {}),
        "cluster_by": found.cluster or None,
        "cases": group.cases,
        "scores": {name: _score_json(score) for name, score in group.scores.items()},
        "failures": dict(group.failures),
        "failed": [{"case": each.case, "row": each.row, "reason": each.reason} for each in group.failed],
        "marks": dict(group.marks),
        **({"preferences": _preferences_json(group.preferences)} if group.preferences else {}),
    }


def _preferences_json(found: Preferences) -> dict[str, object]:
    rate, flips = found.win_rate, found.flip_rate
    return {
        **{"wins": found.wins, "ties": found.ties, "losses": found.losses, "a_better": found.a_better},
        **{"win_rate": _value(rate), "win_interval": _ends(rate)},
        **{"both_orders": found.both, "flips": found.flips, "read_first": found.first},
        **{"flip_rate": _value(flips), "flip_interval": _ends(flips)},
    }


def _value(found: Estimate) -> float | None:
    return found.value if isinstance(found.value, float) else None


def _ends(found: Estimate) -> list[float] | None:
    return [found.interval.low, found.interval.high] if isinstance(found.interval, Interval) else None


def _score_json(score: ScoreSummary) -> dict[str, object]:
    mean = score.mean
    return {
        "n": score.n,
        "mean": _value(mean),
        "interval": _ends(mean),
        "distribution": {str(value): count for value, count in score.counts.items()},
        "between_levels": score.between.total(),
        "special_share": score.special_share,
        "mean_confidence": score.confidence,
        "median_mass": score.median_mass,
    }


def summary_page(run: RunFile) -> Page:
    """The summary as a sheet of a workbook: a row for each score of each rater, with the judge and its label."""
    found = summarize(run)
    judges = {
        (rater.name, rater.rubric): str(rater.spec.get("judge") or rater.spec.get("model") or rater.kind)
        for _, rater in run.raters()
    }
    rows: list[dict[str, Value]] = []
    for group in found.groups:
        for name, score in group.scores.items():
            figure = group.preferences.win_rate if group.preferences else score.mean
            interval = figure.interval
            rows.append(
                {
                    "rater": group.rater,
                    "judge": judges[group.rater, group.rubric],
                    "rubric": group.rubric,
                    "score": name,
                    "n": score.n,
                    "A's wins" if group.preferences else "mean": _value(figure),
                    **({"low": interval.low, "high": interval.high} if isinstance(interval, Interval) else {}),
                    **{f"{value}s": count for value, count in score.counts.items()},
                    "flips": group.preferences.flips if group.preferences and group.preferences.both else None,
                    "confidence": score.confidence,
                    "mass": score.median_mass,
                    "failed": group.failures.total(),
                    "caution": found.labels.get(group.rater, ""),
                }
            )
    levels = sorted({value for group in found.groups for score in group.scores.values() for value in score.counts})
    named = ["rater", "judge", "rubric", "score", "n", "mean", "A's wins", "low", "high"]
    heads = [*named, *(f"{value}s" for value in levels), "flips", "confidence", "mass", "failed", "caution"]
    filled = [head for head in heads if any(row.get(head) not in (None, "") for row in rows)]
    return Page("summary", filled, rows)
