"""A judge's figures over all cases, corrected by people's labels of some: a mean, a share and a difference.

The labelled cases must be a probability sample: drawn at random from all cases, or at random within each stratum. The
labels alone decide what is estimated; the judge only makes the interval shorter, however wrong it is.

Sources: Särndal, Swensson and Wretman (1992, chapter 6); Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), who
call it prediction-powered inference.
"""

from dataclasses import dataclass, replace

import numpy as np

from pathway_local.statistics.effect import SAME, Effect, Strata, of_sums
from pathway_local.statistics.figure import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    Number,
    Reason,
    Undefined,
    undefined_estimate,
)
from pathway_local.statistics.intervals import cluster_codes, cluster_sums, wilson
from pathway_local.statistics.needed import Pilot

FEW_ERRORS = 10
"""With fewer labels that differ from the judge, their spread says too little: only the number of labels counts."""

ROUNDS = 4
"""Steps to the mean of cases with a place. It is solved but for cross-fitting, so it has many digits by then."""

FEWEST = 10
"""Labels that each side of a difference needs, and clusters: with fewer, the judge's errors show too little."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A judge's mean, corrected.

    `judge_mean` is the plain mean of the verdicts. `corrected` and `labels_only` estimate the mean that people would
    give, with and without the judge. `pilot` says what labels are like.
    """

    cases: int
    labelled: int
    without_verdict: int
    judge_mean: Number
    corrected: Estimate
    labels_only: Estimate
    pilot: Pilot


@dataclass(frozen=True, slots=True)
class _Sample:
    """All cases (cases,): which are `known` by a label, which are `inside` the group, and their strata.

    The share `by_all` of the labels is by all of the people. The rest would differ had others of them labelled the
    case, so its doubt does not end with the last case.
    """

    known: BoolArray
    inside: BoolArray
    strata: IntArray
    by_all: float

    @property
    def count(self) -> int:
        """The labels inside."""
        return int(np.sum(self.known & self.inside))

    @property
    def cases(self) -> int:
        """The cases inside."""
        return int(self.inside.sum())

    def missing(self, labels: int) -> str:
        """Why these are too few for a mean, of which so many `labels` inside have a place; empty if they are not."""
        whole, drawn = np.bincount(self.strata), np.bincount(self.strata, self.known)
        if self.known.sum() < 2:
            told = {"labelled": int(self.known.sum()), "cases": len(self.known)}
            return Reason("{labelled} of {cases} cases are labelled, under 2", **told)
        if empty := int(np.sum((drawn == 0) & (whole > 0))):
            return Reason("{empty} of {strata} strata have no label", empty=empty, strata=int(np.sum(whole > 0)))
        if self.count and labels < min(2, self.count):
            return Reason("{labels} of the labels has a place on the scale, under 2", labels=labels)
        return "" if self.count else "no case of the group is labelled"

    def ratio(self, *pairs: tuple[FloatArray, FloatArray]) -> tuple[Effect, FloatArray]:
        """The ratio of two sums over the group as people would give them, and what each label inside adds to its error.

        `pairs` are people's and the judge's scores (cases,) of either sum.
        """
        codes, whole = self.strata[self.known], np.bincount(self.strata)
        drawn = np.bincount(codes, minlength=len(whole)) / np.maximum(whole, 1)
        columns = []
        for people, judge in pairs:
            filled = np.where(np.isfinite(judge), judge, judge[np.isfinite(judge)].mean())
            slopes = cross_fitted_slopes(filled, people, self.strata, np.arange(len(judge)))
            apart = people - slopes * (filled - filled[self.inside].mean())
            columns.append((self.inside * apart)[self.known] / drawn[codes])
        found, parts = of_sums(_ratio, np.stack(columns, axis=1), Strata(codes, drawn * self.by_all))
        return replace(found, clusters=self.count), parts[self.inside[self.known]]


def _ratio(sums: FloatArray) -> FloatArray:
    return np.where(sums[:, 1] > 0, sums[:, 0] / sums[:, 1], np.nan)


def corrected_mean(
    judge: FloatArray,
    people: FloatArray,
    scale: tuple[float, float],
    *,
    strata: IntArray | None = None,
    inside: BoolArray | None = None,
    special: tuple[BoolArray, BoolArray] | None = None,
    by_all: float = 1.0,
) -> Correction | Undefined:
    """The mean that people would give to those of N cases that have a place on the scale.

    Arrays are (N,). `judge` and `people` have NaN where there is no score; `scale` is the lowest and the highest score.
    Labels were drawn at random within each code of `strata`. With `inside` the mean is that of this group of cases.
    `special` says to which cases the judge, and people, gave a level off the scale. With y of the n labelled cases and
    f of the judge, the mean is mean_n(y) + L (mean_N(f) - mean_n(f)), with the slope L of `cross_fitted_slopes`, also
    for a group. A case without a verdict keeps its place with the mean verdict as f.

    Whether people would give a special level is known of labelled cases only. So the mean is a ratio: of scores, 0 for
    special levels, by the share of cases with a place, both corrected. Scores are less the labels' mean, so that it
    hardly matters that each has a slope of its own.

    Labels are left out one by one. Intervals are those of the log-odds: where most scores lie at one end of the scale
    the residuals have long tails, for which plain t intervals are too short.
    """
    nowhere, nothing = np.zeros(len(judge), np.bool_), (np.zeros(len(judge)), np.zeros(len(judge)))
    judged, placed = (_placed(*each) for each in zip((judge, people), special or (nowhere, nowhere), strict=True))
    inside = ~nowhere if inside is None else inside
    sample = _Sample(np.isfinite(placed), inside, nowhere.astype(np.int64) if strata is None else strata, by_all)
    labels, verdicts = (scores[inside & np.isfinite(scores)] for scores in (people, judge))
    if missing := sample.missing(len(labels)):
        return Undefined(missing)
    useful = sample.count < sample.cases and np.isfinite(judged).any()  # else the judge has nothing to add
    (effect, parts), (alone, _) = (
        _centred(sample, float(labels.mean()), (people, placed), said)
        for said in ((judge, judged) if useful else nothing, nothing)
    )
    corrected, labels_only = (_estimate(each, sample, labels, scale) for each in (effect, alone))
    return Correction(
        cases=sample.cases,
        labelled=sample.count,
        without_verdict=int(np.sum(inside & ~np.isfinite(judged))),
        judge_mean=float(verdicts.mean()) if len(verdicts) else Undefined("no case has a verdict on the scale"),
        corrected=corrected,
        labels_only=labels_only,
        pilot=_pilot(effect.value or 0.0, parts, sample, scale),
    )


def _placed(scores: FloatArray, special: BoolArray) -> FloatArray:
    """1 for a score on the scale, 0 for a special level, NaN where there is neither."""
    return np.where(np.isfinite(scores) | special, np.isfinite(scores), np.nan)


def _centred(
    sample: _Sample, middle: float, people: tuple[FloatArray, FloatArray], judge: tuple[FloatArray, FloatArray]
) -> tuple[Effect, FloatArray]:
    """The mean of scores with a place, as a ratio of scores above a middle, which is moved to the mean found.

    There it hardly matters that either sum has a slope of its own. `people` and `judge` have scores and places.
    """
    for _ in range(ROUNDS):
        above = [np.where(has == 1, scores - middle, has) for scores, has in (people, judge)]
        found, parts = sample.ratio((above[0], above[1]), (people[1], judge[1]))
        step = found.value if found.value is not None else float("nan")
        middle += step
        if not abs(step) > 1e-9:
            break
    return replace(found, value=middle), parts


def cross_fitted_slopes(judge: FloatArray, people: FloatArray, strata: IntArray, clusters: IntArray) -> FloatArray:
    """Cov(y, f)/Var(f) within strata for each case, from all labelled cases but its own cluster's, (N,).

    0 where the judge's scores of those do not vary, and for cases without a label.
    """
    labelled = np.isfinite(people)
    f, y = judge[labelled], people[labelled]
    layer = np.unique(strata[labelled], return_inverse=True)[1].reshape(-1)
    own = cluster_codes(clusters[labelled], len(y))
    size = int(layer.max()) + 1
    f, y = f - f.mean(), y - y.mean()  # else sums of squares of large scores would lose digits
    amounts = (np.ones_like(f), f, y, f * f, f * y)
    cells = own * size + layer
    # Sums of all clusters less those of one are the sums without it: all slopes come from one pass over the cases.
    held = np.stack([np.bincount(cells, a, (int(own.max()) + 1) * size).reshape(-1, size) for a in amounts])
    count, sf, sy, sff, sfy = held.sum(axis=1, keepdims=True) - held
    count = np.maximum(count, 1)
    spread = np.sum(sff - sf**2 / count, axis=1)
    together = np.sum(sfy - sf * sy / count, axis=1)
    slopes = np.zeros(len(judge))
    slopes[labelled] = np.where(spread > 1e-9, together / np.where(spread > 1e-9, spread, 1.0), 0.0)[own]
    return slopes


def _estimate(found: Effect, sample: _Sample, labels: FloatArray, scale: tuple[float, float]) -> Estimate:
    """The mean on the scale, which the labels leave no doubt of where every case has one."""
    if found.value is None or not np.isfinite(found.value):
        return undefined_estimate("no place on the scale is left")
    value = float(np.clip(found.value, *scale))
    if sample.count == sample.cases and sample.by_all == 1:
        return Estimate(value, Undefined("every case is labelled"))
    if sample.count < 2 or found.missing not in ("", SAME):
        return Estimate(value, Undefined("a stratum, or the group, has only one label"))
    if found.error**2 <= 1e-18:
        same = Reason("every {each} is {value:g}", each="label", value=float(labels[0]))
        return Estimate(value, Undefined(same if np.ptp(labels) == 0 else "the judge explains every label"))
    return replace(found, value=value).estimate(scale=scale)


def _pilot(value: float, parts: FloatArray, sample: _Sample, scale: tuple[float, float]) -> Pilot:
    """Describe the labels: parts are scaled so that n of them, all by all, leave the variance s^2 (1/n - 1/N)."""
    count, part = sample.count, 1 / sample.count - sample.by_all / sample.cases
    each = (count - 1) / part if part > 0 else 0.0
    return Pilot(value, parts * each**0.5, count, sample.cases, scale, sample.by_all)


def corrected_share(
    judge: FloatArray,
    people: FloatArray,
    inside: BoolArray,
    strata: IntArray | None = None,
    special: tuple[BoolArray, BoolArray] | None = None,
    by_all: float = 1.0,
) -> Estimate:
    """The share of cases inside that people would call a hit: the judge's (N,), corrected by labels (N,), 0, 1 or NaN.

    The value is that of `corrected_mean`. Wilson's interval has the number of cases with which a simple sample would
    have its variance. With few errors among the labels, it has the number of labels.
    """
    found = corrected_mean(judge, people, (0.0, 1.0), strata=strata, inside=inside, special=special, by_all=by_all)
    if isinstance(found, Undefined):
        return undefined_estimate(found.reason)
    value = found.corrected.value
    if isinstance(value, Undefined):
        return found.corrected
    labelled, pilot = np.isfinite(people) & inside, found.pilot
    each = float(pilot.residuals @ pilot.residuals) / max(pilot.there - 1, 1)
    variance, errors = each * (1 / pilot.there - pilot.by_all / pilot.cases), np.sum((judge != people)[labelled])
    cases = float(labelled.sum())
    if strata is not None:
        whole, drawn = np.bincount(strata), np.bincount(strata, np.isfinite(people))
        heavy = (whole / np.maximum(drawn, 1))[strata[labelled]]
        cases = float(heavy.sum() ** 2 / np.sum(heavy**2))
    if errors >= FEW_ERRORS and variance > 0:
        cases = value * (1 - value) / variance
    return Estimate(value, wilson(value, cases, int(labelled.sum())))


def corrected_difference(
    judge: FloatArray,
    people: FloatArray,
    first: BoolArray,
    shares: FloatArray,
    weights: FloatArray,
    clusters: IntArray,
) -> tuple[Effect, tuple[int, int]]:
    """First minus second as people would score them, and the labels of each side; each array is (cases,).

    `judge` has no gaps, `people` NaN where there is no label. `shares` add up to 1 on each side and say how much a case
    counts, `weights` are 1/probability of being labelled. Cases with the same code of `clusters` (both answers to a
    question) depend on each other. Each side's mean is m(y - L f over labels) + L m(f over all), with the slope L of
    all other clusters. Clusters are left out, judge and labels of both sides at once: so pairing and the judge both
    help, and neither is trusted.
    """
    labelled, codes = np.isfinite(people), cluster_codes(clusters, len(judge))
    counts = (int(np.sum(labelled & first)), int(np.sum(labelled & ~first)))
    if min(counts) < FEWEST:
        few = Reason("one side has {labels} labels, under {fewest}", labels=min(counts), fewest=FEWEST)
        return Effect(None, missing=few), counts
    slopes = cross_fitted_slopes(judge, people, first.astype(np.int64), codes)
    heavy, y = np.where(labelled, shares * weights, 0.0), np.where(labelled, people, 0.0)
    columns = (heavy * (y - slopes * judge), heavy * slopes, heavy, shares * judge, shares)
    sums = [cluster_sums(side * column, codes) for side in (first, ~first) for column in columns]
    found, _ = of_sums(_difference, np.stack(sums, axis=1), sizes=np.stack([sums[2], sums[7]], axis=1))
    missing = found.missing and "the labels of one side come from one cluster"
    if found.missing == SAME:
        missing = "people's labels do not vary"
    if (many := len(np.unique(codes[labelled]))) < FEWEST:
        missing = Reason("the labels come from {clusters} clusters, under {fewest}", clusters=many, fewest=FEWEST)
    return Effect(found.value, missing=missing) if missing else found, counts


def _difference(sums: FloatArray) -> FloatArray:
    """First minus second, from the sums of both."""
    residuals, slopes, weights, verdicts, cases = sums.reshape(len(sums), 2, -1).transpose(2, 1, 0)
    means = (residuals + slopes * verdicts / cases) / weights
    difference: FloatArray = means[0] - means[1]
    return difference
