"""How people would score a case, learned from their labels: ordinal logistic regression with a ridge, cross-fitted.

Proportional odds (McCullagh 1980): the log-odds of a score above each level are a line in the features, with one slope
for all levels. The ridge keeps slopes small where labels are few (Le Cessie and van Houwelingen 1992).
"""

from dataclasses import dataclass

import numpy as np

from pathway_local.statistics.figure import BoolArray, FloatArray, IntArray
from pathway_local.statistics.intervals import cluster_codes

RIDGE = 1.0
"""Half of this times the squared slopes is the penalty, in units of the log-likelihood of a case.

Of 0.03 to 3, tried on simulated judges with 50 to 500 labels, 1 had nearly the lowest loss each time.
"""

FOLDS = 10
"""Parts of the labelled clusters of which each is scored by the fit of the others."""


def spread(scores: FloatArray, levels: FloatArray) -> FloatArray:
    """Each score (cases,) as shares of the levels, (cases, levels): one between two levels is some of both."""
    places = np.interp(scores, levels, np.arange(len(levels)))
    return np.asarray(np.clip(1 - np.abs(places[:, None] - np.arange(len(levels))), 0.0, 1.0))


def features(shares: FloatArray, levels: FloatArray, mass: FloatArray) -> FloatArray:
    """One judge's features, (cases, features), from its shares of levels (cases, levels) and its mass, NaN if unknown.

    The expected score, as on five levels, and the chance of each level or a higher one: so a line in them can move,
    stretch and bend the judge's scale. A judge that spreads its scores little would need slopes that the ridge holds
    back, so both are in units of its spread.
    """
    expected = shares @ (4 * (levels - levels[0]) / (levels[-1] - levels[0]))
    above = np.cumsum(shares[:, ::-1], axis=1)[:, -2::-1]
    whole = np.column_stack([above, expected]) / max(float(np.nanstd(expected)), 0.1)
    return np.column_stack([whole, np.nan_to_num(np.log(np.maximum(mass, 1e-3)))])


def middle_of(chances: FloatArray, levels: FloatArray) -> FloatArray:
    """The level in the middle of the chances (cases, levels), which is likely to be nearest; NaN without chances."""
    place = np.sum(np.cumsum(chances, axis=1) < 0.5, axis=1)
    return np.where(np.isfinite(chances).all(axis=1), levels[np.minimum(place, len(levels) - 1)], np.nan)


@dataclass(frozen=True, slots=True)
class Ordinal:
    """A fit: slopes (features,), edges (levels seen - 1,), and the levels that were `seen` in its labels (levels,)."""

    slopes: FloatArray
    edges: FloatArray
    seen: BoolArray

    def chances(self, features: FloatArray) -> FloatArray:
        """The probability of each level, (cases, levels), for features (cases, features)."""
        found = np.zeros((len(features), len(self.seen)))
        found[:, self.seen] = _chances(self.edges - (features @ self.slopes)[:, None])[0]
        return found


def fit(features: FloatArray, targets: FloatArray, ridge: float = RIDGE) -> Ordinal:
    """Fit to features (cases, features) and the share of people who gave each level, (cases, levels)."""
    from scipy.optimize import minimize

    seen = np.asarray(targets.sum(axis=0) > 0)
    given, width = targets[:, seen], features.shape[1]
    shares = np.cumsum(given.sum(axis=0))[:-1] / given.sum()
    edges = np.log(shares / (1 - shares))
    # The first edge, and the logarithms of the steps between edges, which so stay in order.
    start = np.concatenate([np.zeros(width), edges[:1], np.log(np.diff(edges))])
    found = minimize(_loss, start, (features, given, ridge), jac=True, method="L-BFGS-B").x
    return Ordinal(found[:width], _edges(found[width:]), seen)


def _edges(free: FloatArray) -> FloatArray:
    return np.cumsum(np.concatenate([free[:1], np.exp(free[1:])]))


def _chances(above: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The chances of levels, (cases, levels), and those up to each edge, (cases, edges), of its distances."""
    from scipy.special import expit

    upto = expit(above)
    ends = np.ones((len(above), 1))
    return np.maximum(np.diff(np.hstack([0 * ends, upto, ends])), 1e-12), upto


def _loss(at: FloatArray, features: FloatArray, given: FloatArray, ridge: float) -> tuple[float, FloatArray]:
    """The penalized loss, and its gradient."""
    slopes, free = np.split(at, [features.shape[1]])
    chances, upto = _chances(_edges(free) - (features @ slopes)[:, None])
    ratio = given / chances
    pull = upto * (1 - upto) * (ratio[:, 1:] - ratio[:, :-1])
    later = np.cumsum(pull.sum(axis=0)[::-1])[::-1]
    slope = ridge * slopes - features.T @ pull.sum(axis=1)
    loss = float(ridge / 2 * slopes @ slopes - np.sum(given * np.log(chances)))
    return loss, np.concatenate([slope, later[:1], later[1:] * np.exp(free[1:])])


def cross_fitted(
    features: FloatArray, targets: FloatArray, clusters: IntArray | None = None, ridge: float = RIDGE
) -> FloatArray:
    """The probability of each level for each case, (cases, levels), by a fit that saw no label of its cluster.

    `targets` (cases, levels) are the shares of people who gave each level, all 0 for a case without a label; a case
    whose cluster has none is scored by the fit of all labels. Features that are missing leave it NaN.
    """
    known = np.isfinite(features).all(axis=1)
    labelled, codes = known & (targets.sum(axis=1) > 0), cluster_codes(clusters, len(features))
    own = np.unique(codes[labelled])
    folds = np.full(codes.max(initial=-1) + 1, FOLDS)
    folds[np.random.default_rng(0).permutation(own)] = np.arange(len(own)) % FOLDS
    found = np.full(targets.shape, np.nan)
    for fold in range(FOLDS + 1):
        scored, learnt = known & (folds[codes] == fold), labelled & (folds[codes] != fold)
        if scored.any() and learnt.any():
            found[scored] = fit(features[learnt], targets[learnt], ridge).chances(features[scored])
    return found
