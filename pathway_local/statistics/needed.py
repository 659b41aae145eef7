"""How many labels make a corrected mean's interval narrow enough, and how many cases show a difference."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from pathway_local.statistics.figure import FloatArray, Undefined
from pathway_local.statistics.intervals import LEVEL, t_quantile

POWER = 0.8
"""The chance to reach an aim: the width, or to find a difference as large as named."""

LEAST = 20
"""Units below which nothing is planned: intervals of fewer rest on a spread that is hardly known."""

MANY = 10_000_000
"""Units that nobody has: an aim that asks for more can't be reached."""

DRAWS = 400
"""Samples that are drawn to see how often a width is reached."""
END = 0.2
"""Labels at each end of the scale that count beside those that are there: without them, few labels plan too few."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """Labels that are there: how far each is from the mean `value` once the judge's scores are taken out, (labels,).

    So many of these labels are `there`; the others are only taken to be like those to come. The labels are some of so
    many `cases`, and a share of them is `by_all` people.
    """

    value: float
    residuals: FloatArray
    there: int
    cases: int
    scale: tuple[float, float]
    by_all: float = 1.0


def labels_for_width(pilot: Pilot, half_width: float) -> int | Undefined:
    """The least number of labels, those that are there included, whose interval is as narrow in 80% of the samples.

    The samples are drawn. Labels to come are like those that are there, up to the chance that these are no fair picture
    (a Bayesian bootstrap: Rubin 1981), and one of each end of the scale may be among them.
    """
    low, high = min(max(LEAST, pilot.there), pilot.cases), pilot.cases
    if pilot.by_all < 1 and not _reached(pilot, high, half_width):
        return Undefined("labels that people share out do not reach it, even of all cases")
    low -= 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _reached(pilot, middle, half_width) else (middle, high)
    return high


def _reached(pilot: Pilot, count: int, half_width: float) -> bool:
    return float(np.mean(_half_widths(pilot, count) <= half_width)) >= POWER


def _half_widths(pilot: Pilot, count: int) -> FloatArray:
    """Half the width of the interval that `count` labels would have, (DRAWS,), by `log_odds_interval`."""
    from scipy.special import expit

    rng, (low, high) = np.random.default_rng(0), pilot.scale
    ends = np.array([low, high]) - pilot.value
    values = np.concatenate([pilot.residuals, ends])
    worlds = rng.gamma(np.r_[np.ones(len(pilot.residuals)), np.full(2, END)], size=(DRAWS, len(values)))
    worlds /= worlds.sum(axis=1, keepdims=True)
    there = np.r_[np.full(len(pilot.residuals), float(pilot.there > 0)), 0.0, 0.0]
    drawn = there + rng.multinomial(count - pilot.there, worlds)
    mean = drawn @ values / count
    apart = values - mean[:, None]
    second, fourth = (np.sum(drawn * apart**power, axis=1) / count for power in (2, 4))
    variance = second * count / (count - 1) * max(1 / count - pilot.by_all / pilot.cases, 0.0)
    kurtosis = fourth / np.maximum(second, 1e-12) ** 2
    freedom = np.clip(2 * count / np.maximum(kurtosis - 1 + 2 / (count - 1), 1e-9), 3, max(count - 1, 3))
    place = np.clip((pilot.value + mean - low) / (high - low), 1e-3, 1 - 1e-3)
    reach = t_quantile(LEVEL, freedom) * np.sqrt(variance) / (high - low) / (place * (1 - place))
    odds = np.log(place / (1 - place))
    found: FloatArray = (high - low) / 2 * (expit(odds + reach) - expit(odds - reach))
    return found


def units_to_detect(points: float, deviation: float, alpha: float) -> int | Undefined:
    """The number of units whose t interval at 1 - alpha leaves out zero in 80% of the samples if `points` is true.

    `deviation` is that of one unit.
    """
    count, beyond = MANY, NormalDist().inv_cdf(POWER)
    for _ in range(6):  # Student's factor depends on the number, but hardly
        reach = t_quantile(1 - alpha, count - 1) + beyond
        count = max(LEAST, int(np.ceil(min((reach * deviation / points) ** 2, MANY))))
    return Undefined("no number of them is enough") if count >= MANY else count
