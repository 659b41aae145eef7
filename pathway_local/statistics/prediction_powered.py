"""Prediction-powered inference: a judge's mean over all cases, corrected by people's labels of some of them.

The labelled cases must be a probability sample: drawn at random from all cases, or at random within each stratum. The
labels alone decide what the corrected mean estimates; the judge only makes the interval shorter, however wrong it is.

Sources: Särndal, Swensson and Wretman (1992, chapter 6); Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023) for
the name.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathway_local.note import Note
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, Interval, Number, Reason, Undefined
from pathway_local.statistics.intervals import LEVEL, cluster_codes, log_odds_interval, tailed_freedom
from pathway_local.statistics.needed import Pilot

BoolArray = NDArray[np.bool_]

UNSEEN = 0.02
"""The share of cases in which labels may miss large errors without a warning; 149 labels are enough for it."""

FEW_DISSENTERS = 15
"""With fewer labels unlike the commonest one, a sample may miss most of the tail, and the interval is too short."""

TWICE = 20
"""The least number of cases with several labels from which the noise of a label is estimated."""


@dataclass(frozen=True, slots=True)
class Noise:
    """The variance of a label if the same people scored again, and the degrees of freedom of its estimate."""

    variance: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Survey:
    """How the labels were drawn, and which mean to estimate; arrays are (cases,).

    Labels were drawn at random within each code of `strata`. With `inside` the mean is that of the group of cases for
    which it is true. `noise` is that of a label: the same people would not give every score again, so some doubt stays
    when all cases are labelled. Without it, the mean is that of these labels. `level` is that of the intervals.
    """

    strata: IntArray | None = None
    inside: BoolArray | None = None
    noise: Noise | None = None
    level: float = LEVEL


CASES_ALONE = Survey()
"""Labels drawn at random from all cases, of which the mean is asked."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A judge's mean, corrected.

    `judge_mean` is the plain mean of the verdicts and `slope` is lambda: how far labels follow them. `corrected`
    and `labels_only` estimate the mean that people would give, with and without the judge. `pilot` says
    what labels are like, and `more_labels` how many further ones would halve the interval. `warnings` say why an
    interval may be too short.
    """

    cases: int
    labelled: int
    without_verdict: int
    judge_mean: Number
    slope: float
    corrected: Estimate
    labels_only: Estimate
    pilot: Pilot
    more_labels: int | Undefined
    warnings: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class _Sample:
    """All cases: the judge's scores with gaps filled, labels with NaN, strata, and how many cases each stands for."""

    judge: FloatArray
    people: FloatArray
    strata: IntArray
    weights: FloatArray
    scale: tuple[float, float]
    survey: Survey

    @property
    def labelled(self) -> BoolArray:
        return np.isfinite(self.people)


def corrected_mean(
    judge: FloatArray, people: FloatArray, scale: tuple[float, float], survey: Survey = CASES_ALONE
) -> Correction | Undefined:
    """The mean that people would give to these N cases.

    `judge` and `people` are (N,) with NaN where there is no verdict or no label; `scale` is the lowest and the
    highest score. With y of the n labelled cases and f of the judge, the mean is mean_n(y) + L (mean_N(f) - mean_n(f)),
    with L = Cov(y, f)/Var(f), and has the variance (1 - n/N) Var(y - L f)/n.

    L is cross-fitted: each labelled case uses that of all others. For a group inside the cases, L is still that of
    all. A case without a verdict keeps its place with the mean verdict as f, which is the same for all of them. Strata
    weight the cases, and the variance is summed within them.

    Intervals are those of `log_odds_interval` with `tailed_freedom`: where most scores lie at one end of the
    scale the residuals have long tails, for which plain t intervals are too short.
    """
    sample = _sample(judge, people, scale, survey)
    if isinstance(sample, Undefined):
        return sample
    group = np.ones(len(judge), dtype=np.bool_) if survey.inside is None else survey.inside
    if not np.any(group & sample.labelled):
        return Undefined("no case of the group is labelled")
    each = np.arange(len(judge), dtype=np.int64)
    return _correction(sample, judge, group, cross_fitted_slopes(sample.judge, people, sample.strata, each))


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


def _sample(judge: FloatArray, people: FloatArray, scale: tuple[float, float], survey: Survey) -> _Sample | Undefined:
    labelled = np.isfinite(people)
    if labelled.sum() < 2:
        return Undefined(
            Reason("{labelled} of {cases} cases are labelled, under 2", labelled=int(labelled.sum()), cases=len(people))
        )
    given = np.isfinite(judge)
    filled = np.where(given, judge, judge[given].mean() if given.any() else 0.0)
    layers = np.zeros(len(judge), dtype=np.int64)
    if survey.strata is not None:
        layers = np.unique(survey.strata, return_inverse=True)[1].astype(np.int64).reshape(-1)
    size = int(layers.max()) + 1
    whole, inside = np.bincount(layers, minlength=size), np.bincount(layers[labelled], minlength=size)
    if np.any(inside == 0):
        return Undefined(
            Reason("{empty} of {strata} strata have no label", empty=int(np.sum(inside == 0)), strata=size)
        )
    shares = np.where(labelled, inside[layers], np.maximum(whole - inside, 1)[layers])
    return _Sample(filled, people, layers, whole[layers] / shares, scale, survey)


def _correction(sample: _Sample, judge: FloatArray, inside: BoolArray, slopes: FloatArray) -> Correction:
    labels = inside & sample.labelled
    cases, count = int(inside.sum()), int(labels.sum())
    verdicts = judge[inside & np.isfinite(judge)]
    # With every case labelled the judge has nothing to add, and a slope would only add noise.
    if count == cases:
        slopes = np.zeros_like(slopes)
    corrected, variance, residual, parts = _estimate(sample, inside, slopes)
    parts = parts * (residual * (count - 1) / max(float(parts @ parts), 1e-18)) ** 0.5
    noise = sample.survey.noise.variance if sample.survey.noise else 0.0
    mean = corrected.value if isinstance(corrected.value, float) else 0.0
    return Correction(
        cases=cases,
        labelled=count,
        without_verdict=cases - len(verdicts),
        judge_mean=float(verdicts.mean()) if len(verdicts) else Undefined("no case has a verdict"),
        slope=float(np.average(slopes[labels], weights=sample.weights[labels])),
        corrected=corrected,
        labels_only=_estimate(sample, inside, np.zeros_like(slopes))[0],
        pilot=Pilot(mean, parts, count, cases, sample.scale, noise),
        more_labels=_more_labels(variance, residual, count, cases),
        warnings=few_dissenters(sample.people[labels]),
    )


def _estimate(sample: _Sample, inside: BoolArray, slopes: FloatArray) -> tuple[Estimate, float, float, FloatArray]:
    """The corrected mean of the cases inside, its variance, what one label adds to it, and what each label adds.

    What one label adds is s^2 in n -> s^2 (1/n - 1/N).
    """
    labels = inside & sample.labelled
    count, cases = int(labels.sum()), int(inside.sum())
    people, judge, weights = sample.people[labels], sample.judge[labels], sample.weights[labels]
    influence = np.zeros(len(sample.judge))
    centre = float(sample.judge[inside].mean())
    value, influence[labels] = weighted_residuals(people, judge, slopes[labels], weights, centre)
    variance, parts = _variance(sample, labels, influence)
    residual = variance / (1 / count - 1 / cases) if count < cases else 0.0
    if noise := sample.survey.noise:
        variance += noise.variance / cases
    freedom = tailed_freedom(parts) if len(parts) > 1 else 0.0
    return Estimate(value, _interval(sample, value, variance, freedom, labels, cases)), variance, residual, parts


def weighted_residuals(
    people: FloatArray, judge: FloatArray, slopes: FloatArray, weights: FloatArray, centre: float
) -> tuple[float, FloatArray]:
    """The weighted mean of y - L (f - centre) over labelled cases, and what each adds to it; all (labelled,)."""
    shares = weights / weights.sum()
    residuals = people - slopes * (judge - centre)
    value = float(shares @ residuals)
    return value, shares * (residuals - value)


def _variance(sample: _Sample, labels: BoolArray, influence: FloatArray) -> tuple[float, FloatArray]:
    """The variance over draws of labels within strata, and the parts of it that `labels` add.

    A group of cases is a domain of the whole sample: labels outside it have no influence but do count for
    the strata, and the small-sample factor is that of the labels inside.
    """
    every = sample.labelled
    layer = sample.strata[every]
    inside = np.bincount(layer)
    drawn = inside / np.bincount(sample.strata)
    own = int(labels.sum())
    if np.any((inside < 2) & (drawn < 1)) or own < 2:
        return float("nan"), np.empty(0)
    # Deviations from the stratum's own mean, since labels are drawn within strata; 1 - n/N is the finite-population
    # factor of the stratum, n/(n - 1) the usual one of an estimated variance.
    parts = influence[every] - (np.bincount(layer, influence[every]) / inside)[layer]
    parts = parts * np.sqrt((1 - drawn) * inside / np.maximum(inside - 1, 1))[layer]
    whole = len(layer)
    factor = own / (own - 1) * (whole - 1) / whole
    return float(factor * np.sum(parts**2)), parts[labels[every]]


def _interval(
    sample: _Sample, value: float, variance: float, freedom: float, labels: BoolArray, cases: int
) -> Interval | Undefined:
    scores = sample.people[labels]
    if len(scores) == cases and not sample.survey.noise:
        return Interval(value, value, "every case is labelled", len(scores), sample.survey.level)
    if not np.isfinite(variance):
        return Undefined("a stratum, or the group, has only one label")
    if variance <= 1e-18:
        if np.ptp(scores) == 0:
            return Undefined(Reason("every {each} is {value:g}", each="label", value=float(scores[0])))
        agreed = "every case is labelled, and its people agree"
        return Undefined(agreed if len(scores) == cases else "the judge explains every label")
    error = float(np.sqrt(variance))
    if noise := sample.survey.noise:
        part = noise.variance / cases  # Satterthwaite 1946
        freedom = variance**2 / (max(variance - part, 0.0) ** 2 / freedom + part**2 / noise.freedom)
    return log_odds_interval(value, error, freedom, len(scores), sample.scale, sample.survey.level)


def _more_labels(variance: float, each: float, count: int, cases: int) -> int | Undefined:
    """The number of further labels that quarter the variance, and so halve the interval."""
    if count == cases:
        return Undefined("every case is labelled")
    if not np.isfinite(variance) or variance <= 1e-18:
        return Undefined("there is no interval to halve")
    fixed = variance - each / count
    if variance / 4 <= fixed + each / cases:
        said = "even with all {cases} cases labelled the interval would be more than half as wide"
        return Undefined(Reason(said, cases=cases))
    return int(np.ceil(each / (variance / 4 - fixed) - 1e-9)) - count


def label_noise(scores: FloatArray) -> Noise | None:
    """The noise of a label, the mean of a case's scores (cases, people); None if too few cases have several.

    The noise of one score is what cases and people leave over, by least squares, of the cases with several scores; it
    is what cases alone leave over if nobody has enough cases in common with others to tell people apart. A label of m
    scores has a mth of it.
    """
    given = np.isfinite(scores)
    times = given.sum(axis=1)
    cases, people = np.nonzero(given & (times >= 2)[:, None])
    several, cases = np.unique(cases, return_inverse=True)
    if len(several) < TWICE:
        return None
    columns = np.column_stack([scores[several[cases], people], people[:, None] == np.arange(scores.shape[1])])
    # Within cases: each score, and who gave it, less the mean of its case.
    within = columns - np.stack([np.bincount(cases, column) / times[several] for column in columns.T], axis=1)[cases]
    slopes, _, rank, _ = np.linalg.lstsq(within[:, 1:], within[:, 0], rcond=None)
    left = within[:, 0] - within[:, 1:] @ slopes
    freedom = len(cases) - len(several) - int(rank)
    if freedom < 1:
        left, freedom = within[:, 0], len(cases) - len(several)
    return Noise(float(left @ left / freedom * np.mean(1 / times[times > 0])), freedom)


def unseen_errors(judge: FloatArray, people: FloatArray, scale: tuple[float, float]) -> tuple[Note, ...]:
    """A warning if no label shows a large error of the judge, but so few labels can miss such errors.

    Errors in a share p of all cases are absent from n labels with the chance (1 - p)^n, which is 5% for the share named
    (Hanley and Lippman-Hand 1983). Where a judge misses one failure in 25, samples of 60 labels without any of them
    make up nearly all intervals that miss the truth.
    """
    apart = np.abs(judge - people)[np.isfinite(judge) & np.isfinite(people)]
    large = (scale[1] - scale[0]) / 2
    share = 1 - 0.05 ** (1 / max(len(apart), 1))
    if not len(apart) or apart.max() >= large or share < UNSEEN:
        return ()
    return (Note("unseen_errors", {"points": large, "labels": len(apart), "share": share}, "warning"),)


def few_dissenters(labels: FloatArray) -> tuple[Note, ...]:
    """A warning if so few labels differ from the commonest one that intervals may be too short."""
    scores, counts = np.unique(labels, return_counts=True)
    common = int(counts.argmax())
    apart = len(labels) - int(counts[common])
    if apart >= FEW_DISSENTERS:
        return ()
    told = {"count": apart, "labels": len(labels), "commonest": float(scores[common])}
    return (Note("few_dissenters", told, "warning"),)
