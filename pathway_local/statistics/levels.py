"""Correlation of two raters over systems or within documents, as studies of summaries report it.

Over systems: each rater's mean for every system, and their correlation (system level). Within documents: the
correlation over a document's cases, averaged over documents (summary level: Louis and Nenkova 2013; Deutsch, Dror and
Roth 2021). The systems are fixed; cases, or clusters of them such as documents, are what another study would draw anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pathway_local.statistics.correlation import kendall, pearson, spearman
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Reason, undefined_estimate
from pathway_local.statistics.intervals import linked_clusters, mean
from pathway_local.statistics.resampling import Statistic, counted_rows

GroupLevel = Literal["system", "document"]

Correlation = Callable[[FloatArray, FloatArray], Statistic]

WITHIN: Mapping[str, Correlation] = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
"""The correlations that are taken at a level, by the names that they have for cases."""


@dataclass(frozen=True, slots=True)
class GroupedCorrelation:
    """Correlations by name; `groups` have a case that both scored, and `used` of them count in the correlation."""

    groups: int
    used: int
    figures: Mapping[str, Estimate]


def correlation_at(
    level: GroupLevel,
    first: FloatArray,
    second: FloatArray,
    groups: IntArray,
    *,
    clusters: IntArray | None = None,
) -> GroupedCorrelation:
    """The correlations of two raters at that level; arrays are (cases,), NaN where there is no score."""
    both = np.isfinite(first) & np.isfinite(second) & (groups >= 0)
    codes = np.unique(groups[both], return_inverse=True)[1].astype(np.int64).reshape(-1)
    scores = np.stack([first[both], second[both], codes], axis=1)
    own = None if clusters is None else clusters[both]
    return _over_systems(scores, own) if level == "system" else _within_documents(scores, own)


def _over_systems(scores: FloatArray, clusters: IntArray | None) -> GroupedCorrelation:
    """The correlation of the means of systems, with the intervals of a resampling of clusters."""
    count = len(np.unique(scores[:, 2]))
    cases = counted_rows(scores, clusters)
    member = (cases.rows[:, 2][:, None] == np.arange(count)).astype(np.float64)

    def of_means(correlation: Correlation) -> Statistic:
        def measure(weights: FloatArray) -> FloatArray:
            held = weights @ member
            with np.errstate(invalid="ignore", divide="ignore"):
                # Rounded, so that means which differ by the order of their sums alone are ties.
                means = [np.round((weights * cases.rows[:, at]) @ member / held, 9) for at in (0, 1)]
            each = [_of_all(correlation, x, y) for x, y in zip(*map(np.nan_to_num, means), strict=True)]
            return np.where((held > 0).all(axis=1), each, np.nan)

        return Statistic(measure, "a rater's means of systems do not vary", needs=2, least=-1.0, most=1.0)

    if count < 3:
        few = undefined_estimate(Reason("there are {systems} systems, under 3", systems=count))
        return GroupedCorrelation(count, count, dict.fromkeys(WITHIN, few))
    return GroupedCorrelation(count, count, cases.estimate({name: of_means(each) for name, each in WITHIN.items()}))


def _of_all(correlation: Correlation, first: FloatArray, second: FloatArray) -> float:
    """The correlation of all scores, each counting once."""
    return float(correlation(first, second).measure(np.ones((1, len(first))))[0])


def _within_documents(scores: FloatArray, clusters: IntArray | None) -> GroupedCorrelation:
    """The mean of documents' own correlations; those in which a rater's scores do not vary have none."""
    # Clusters may reach into several documents, and a document into several clusters.
    count = len(np.unique(scores[:, 2]))
    linked = None if clusters is None or not count else linked_clusters(scores[:, 2].astype(np.int64), clusters, count)
    order = np.argsort(scores[:, 2], kind="stable")
    starts = np.flatnonzero(np.diff(scores[order, 2], prepend=-1))
    found: dict[str, list[float]] = {name: [] for name in WITHIN}
    together = []
    for members in np.split(order, starts[1:]) if len(scores) else []:
        x, y = scores[members, 0], scores[members, 1]
        if len(members) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0:
            together.append(int(scores[members[0], 2]))
            for name, correlation in WITHIN.items():
                found[name].append(_of_all(correlation, x, y))
    own = None if linked is None else linked[np.array(together, dtype=np.int64)]
    each = "document in which both raters' scores vary"
    figures = {name: mean(np.array(values), own, each=each) for name, values in found.items()}
    return GroupedCorrelation(len(starts), len(together), figures)
