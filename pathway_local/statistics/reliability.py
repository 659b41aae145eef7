"""Agreement beyond chance: Cohen's kappa of two raters; Krippendorff's alpha, Gwet's AC1 and AC2 and ICC of any number.

Scores are (rows, raters) with NaN where a rater has none; special values are taken out beforehand. Each function sums
what a row adds once; a figure is then a product of weights with those sums, not a pass over the scores.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from pathway_local.statistics.figure import FloatArray, IntArray, Undefined, why_constant
from pathway_local.statistics.intervals import LEVEL
from pathway_local.statistics.resampling import SAME_EVERYWHERE, Statistic

Weights = Literal["none", "quadratic"]


def disagreement(size: int, weights: Weights) -> FloatArray:
    """Return the distance at which two of `size` levels count, (size, size).

    "none": 0 for the same level, else 1. "quadratic": levels apart, squared. Levels count by their position on the
    declared scale, so unused ones keep their place.
    """
    place = np.arange(size)
    apart = np.abs(place[:, None] - place).astype(np.float64)
    if weights == "none":
        return (apart > 0).astype(np.float64)
    return apart**2


def one_minus(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """1 - observed / expected disagreement; NaN where chance brings none."""
    defined = expected > 1e-9
    return np.where(defined, 1 - observed / np.where(defined, expected, 1.0), np.nan)


def kappa(first: IntArray, second: IntArray, values: Sequence[float], weights: Weights) -> Statistic:
    """Kappa for rows of positions on the declared scale `values`.

    1 - sum(d o) / sum(d e) with disagreement d, observed shares o and expected shares e, the products of the
    two raters' own shares. Unweighted: Cohen (1960). Weighted: Cohen (1968), with the quadratic weights of Fleiss
    and Cohen (1973).
    """
    apart = disagreement(len(values), weights)
    levels = np.eye(len(values))
    observed = apart[first, second]

    def measure(counts: FloatArray) -> FloatArray:
        cases = counts.sum(axis=1)
        expected = np.sum((counts @ levels[first] @ apart) * (counts @ levels[second]), axis=1)
        return one_minus(cases * (counts @ observed), expected)

    scale = np.asarray(values, dtype=np.float64)
    return Statistic(measure, why_constant((scale[first], scale[second])), needs=2, least=-1.0, most=1.0)


def alpha_nominal(rows: FloatArray, values: Sequence[float]) -> Statistic | Undefined:
    """Krippendorff's alpha where two levels are either the same or not.

    Krippendorff (2011): 1 - D_o/D_e over pairable scores, in coincidences o_ck that count each pair of scores
    of a case with m scores by 1/(m - 1). D_o = sum_{c != k} o_ck / n and D_e = sum_{c != k} n_c n_k / (n (n-1)).
    """
    levels = _level_counts(rows, values)
    scored = levels.sum(axis=1)
    # Ordered pairs of a row's scores that differ: all m^2 less those of equal levels (the m pairs of a score with
    # itself are in both).
    apart = (scored**2 - np.sum(levels**2, axis=1)) / (scored - 1)

    def measure(weights: FloatArray) -> FloatArray:
        total, held = weights @ scored, weights @ levels
        return one_minus(weights @ apart, (total**2 - np.sum(held**2, axis=1)) / (total - 1))

    return _coefficient(measure, rows)


def alpha_interval(rows: FloatArray, _values: Sequence[float] = ()) -> Statistic | Undefined:
    """Krippendorff's alpha with squared differences of the scores; these need not be on the scale.

    As `alpha_nominal`, each pair weighted by (c - k)^2. Sums of squares give it without the coincidences:
    over a case's ordered pairs, sum (x_i - x_j)^2 = 2 (m sum x^2 - (sum x)^2).
    """
    scored = np.isfinite(rows).sum(axis=1).astype(np.float64)
    filled = _centred(rows)
    first, second = filled.sum(axis=1), np.sum(filled**2, axis=1)
    apart = 2 * (scored * second - first**2) / (scored - 1)

    def measure(weights: FloatArray) -> FloatArray:
        total = weights @ scored
        spread = total * (weights @ second) - (weights @ first) ** 2
        return one_minus(weights @ apart, 2 * spread / (total - 1))

    return _coefficient(measure, rows)


def alpha_ordinal(rows: FloatArray, values: Sequence[float]) -> Statistic | Undefined:
    """Krippendorff's alpha where levels are as far apart as there are scores between them.

    The distance |sum_{g=c..k} n_g - (n_c + n_k)/2| is the difference of the levels' mid-ranks among all
    pairable scores, so this is the interval alpha of mid-ranks, which are taken anew for all weights.
    """
    levels = _level_counts(rows, values)
    scored = levels.sum(axis=1)

    def measure(weights: FloatArray) -> FloatArray:
        held = weights @ levels
        total = held.sum(axis=1)
        # Mid-ranks less the middle of all ranks, which keeps their squares small.
        ranks = np.cumsum(held, axis=1) - held / 2 - total[:, None] / 2
        first, second = ranks @ levels.T, ranks**2 @ levels.T
        apart = np.sum(weights * 2 * (scored * second - first**2) / (scored - 1), axis=1)
        spread = total * np.sum(held * ranks**2, axis=1) - np.sum(held * ranks, axis=1) ** 2
        return one_minus(apart, 2 * spread / (total - 1))

    return _coefficient(measure, rows)


def gwet(weights: Weights) -> Callable[[FloatArray, Sequence[float]], Statistic | Undefined]:
    """Gwet's AC1 (weights "none") or AC2 (quadratic) for rows of scores and the declared scale.

    Gwet (2008; 2014, chapters 2 to 4): (p_a - p_e) / (1 - p_e). p_a is the mean over cases with two scores or
    more of their weighted agreement, p_e = T / (q (q-1)) sum pi_k (1 - pi_k) with T the sum of the agreement
    weights over the q levels and pi_k the mean share of level k over all cases with a score. Agreement
    weights are 1 - d/d_max with the disagreement d of Cohen's kappa.
    """

    def build(rows: FloatArray, values: Sequence[float]) -> Statistic | Undefined:
        size = len(values)
        if size < 2:
            return Undefined("the scale has one level only")
        apart = disagreement(size, weights)
        return _gwet(rows, values, 1 - apart / apart.max())

    return build


def _gwet(rows: FloatArray, values: Sequence[float], alike: FloatArray) -> Statistic:
    levels = _level_counts(rows, values)
    scored = levels.sum(axis=1)
    paired = (scored >= 2).astype(np.float64)
    pairs = np.where(paired > 0, scored * (scored - 1), 1.0)
    # A score agrees with itself (weight 1), which is no pair of raters: hence the -1.
    agreed = paired * np.sum(levels * (levels @ alike - 1), axis=1) / pairs
    shares = levels / scored[:, None]
    size = len(values)

    def measure(weights: FloatArray) -> FloatArray:
        shared = weights @ paired
        common = weights @ shares / weights.sum(axis=1, keepdims=True)
        chance = alike.sum() / (size * (size - 1)) * np.sum(common * (1 - common), axis=1)
        seen = weights @ agreed / np.where(shared > 0, shared, 1.0)
        return np.where(shared > 1, (seen - chance) / (1 - chance), np.nan)

    # Chance agreement is at most T / q^2 (all levels equally common), so AC is at least -(T / q^2) / (1 - T / q^2).
    least = -alike.sum() / (size**2 - alike.sum())
    return Statistic(measure, "fewer than two cases have two scores", least=float(least), most=1.0)


def icc(average: bool) -> Callable[[FloatArray, Sequence[float]], Statistic | Undefined]:
    """The intraclass correlation of absolute agreement for complete rows: of one rater, or of their mean.

    Shrout and Fleiss (1979), two-way random effects, n cases and k raters, with mean squares of cases (MSR),
    raters (MSC) and error (MSE): ICC(2,1) = (MSR - MSE) / (MSR + (k-1) MSE + k (MSC - MSE)/n) and
    ICC(2,k) = (MSR - MSE) / (MSR + (MSC - MSE)/n). The interval is that of McGraw and Wong (1996) for raters who are a
    random draw, too; a jackknife over cases would hold them fixed.
    """

    def build(rows: FloatArray, _values: Sequence[float]) -> Statistic | Undefined:
        if rows.shape[1] < 2:
            return Undefined("there is only one rater")
        varied = rows.size and np.ptp(rows) > 0
        reason = "the raters differ more than the cases do" if varied else why_constant((rows.reshape(-1),))
        squares, raters = _mean_squares(_centred(rows)), rows.shape[1]

        def measure(weights: FloatArray) -> FloatArray:
            cases, msr, msc, mse = squares(weights)
            noise = (msc - mse) / cases if average else (raters - 1) * mse + raters * (msc - mse) / cases
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.where(msr + noise > 1e-12, (msr - mse) / (msr + noise), np.nan)

        def any_raters(counts: FloatArray) -> tuple[float, float] | Undefined:
            ends = _ends_for_any_raters(raters, *(float(each[0]) for each in squares(counts[None, :])))
            if not average or isinstance(ends, Undefined):
                return ends
            low, high = (raters * end / (1 + (raters - 1) * end) for end in ends)  # Spearman 1910, Brown 1910
            return low, high

        return Statistic(measure, reason, needs=2, most=1.0, any_raters=any_raters)

    return build


def _mean_squares(rows: FloatArray) -> Callable[[FloatArray], tuple[FloatArray, ...]]:
    """The cases and the mean squares of cases, raters and error, for weights (R, rows)."""
    raters = rows.shape[1]
    # All sums of squares of a two-way analysis of variance follow from weighted sums of these columns.
    sums = np.column_stack([np.ones(len(rows)), rows.sum(axis=1) ** 2, np.sum(rows**2, axis=1), rows])

    def measure(weights: FloatArray) -> tuple[FloatArray, ...]:
        totals = weights @ sums
        cases, of_cases, squares, of_raters = totals[:, 0], totals[:, 1], totals[:, 2], totals[:, 3:]
        with np.errstate(invalid="ignore", divide="ignore"):
            grand = of_raters.sum(axis=1) ** 2 / (cases * raters)
            between_cases = of_cases / raters - grand
            between_raters = np.sum(of_raters**2, axis=1) / cases - grand
            rest = squares - grand - between_cases - between_raters
            msr, msc = between_cases / (cases - 1), between_raters / (raters - 1)
            return cases, msr, msc, rest / ((cases - 1) * (raters - 1))

    return measure


def _ends_for_any_raters(k: int, n: float, msr: float, msc: float, mse: float) -> tuple[float, float] | Undefined:
    """The 95% interval of ICC(2,1) if cases and raters are both random (McGraw and Wong 1996, case 2A).

    The degrees of freedom rest on an estimate of the ICC, which is 0 where it comes out below. No ICC is at or below
    -1/(k-1), where that of the mean of k raters has a pole: an end there says nothing.
    """
    from scipy import special  # scipy.stats would take seconds to import

    rest = k * msc + (k * n - k - n) * mse
    one = max(n * (msr - mse) / (rest + n * msr), 0.0)
    if one >= 1 - 1e-9 or msr + mse <= 1e-12:
        return SAME_EVERYWHERE
    a, b = k * one / (n * (1 - one)), 1 + k * one * (n - 1) / (n * (1 - one))
    freedom = (a * msc + b * mse) ** 2 / ((a * msc) ** 2 / (k - 1) + (b * mse) ** 2 / ((n - 1) * (k - 1)))
    below, above = special.fdtri(n - 1, freedom, (1 + LEVEL) / 2), special.fdtri(freedom, n - 1, (1 + LEVEL) / 2)
    low = n * (msr - below * mse) / (below * rest + n * msr)
    if not 1 + (k - 1) * low > 1e-9:
        return Undefined("the raters differ too much, on too few cases, for it to have a lower end")
    return float(low), float(n * (above * msr - mse) / (rest + n * above * msr))


def _coefficient(measure: Callable[[FloatArray], FloatArray], rows: FloatArray) -> Statistic:
    return Statistic(measure, why_constant((rows[np.isfinite(rows)],)), needs=2, least=-1.0, most=1.0)


def _level_counts(rows: FloatArray, values: Sequence[float]) -> FloatArray:
    """Count the raters who gave each row each level of the scale, (rows, levels)."""
    return np.stack([np.sum(rows == value, axis=1) for value in values], axis=1).astype(np.float64)


def _centred(rows: FloatArray) -> FloatArray:
    """Scores less their mean, and 0 for missing ones."""
    given = np.isfinite(rows)
    return np.where(given, rows - (rows[given].mean() if given.any() else 0.0), 0.0)
