"""Levels of looks and planned numbers, against published bounds, power and simulated looks."""

from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from pathway_local.statistics.figure import Undefined
from pathway_local.statistics.needed import LEAST, Goal, Spread, needed
from pathway_local.statistics.sequential import LEAST_ALPHA, look_alpha, planned_counts

# Bounds of z for evenly spaced looks at 5%, two-sided, spent as O'Brien and Fleming would: Jennison and Turnbull
# (2000), Group Sequential Methods, and the R package ldbounds.
PUBLISHED = {2: (2.9626, 1.9686), 3: (3.7103, 2.5114, 1.9930), 5: (4.8769, 3.3569, 2.6803, 2.2898, 2.0310)}


@pytest.mark.parametrize("looks", PUBLISHED)
def test_bounds_are_the_published_ones(looks: int) -> None:
    counts = planned_counts(100 * looks, looks)
    found = [-NormalDist().inv_cdf(look_alpha(0.05, 100 * looks, counts[: at + 1]) / 2) for at in range(looks)]
    assert found == pytest.approx(PUBLISHED[looks], abs=3e-4)


def test_one_look_at_the_end_costs_nothing_and_a_look_after_it_gets_nothing() -> None:
    assert look_alpha(0.05, 80, [80]) == pytest.approx(0.05)
    assert look_alpha(0.05, 80, [95]) == pytest.approx(0.05)
    assert look_alpha(0.05, 80, [80, 120]) == LEAST_ALPHA
    assert look_alpha(0.05, 100_000, [99_998, 99_999, 100_000]) < 0.05


@pytest.mark.parametrize("counts", [tuple(range(25, 201, 25)), (10, 11, 12, 150, 151, 200), (60, 190, 230)])
def test_looks_together_err_in_five_percent(counts: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    sums = np.cumsum(rng.normal(size=(20_000, counts[-1])), axis=1)[:, np.array(counts) - 1]
    z = np.abs(sums) / np.sqrt(counts)
    bounds = [-NormalDist().inv_cdf(look_alpha(0.05, 200, counts[: at + 1]) / 2) for at in range(len(counts))]
    assert np.mean((z > bounds).any(axis=1)) == pytest.approx(0.05, abs=0.005)
    assert np.mean((z > 1.96).any(axis=1)) > 0.09


def test_as_many_are_needed_as_the_power_says() -> None:
    count = needed(Goal("detect", 0.3), Spread(0.0, 1.0, 10))
    assert isinstance(count, int)

    def power(cases: int) -> float:
        return float(stats.nct.sf(stats.t.ppf(0.975, cases - 1), cases - 1, 0.3 * np.sqrt(cases)))

    assert power(count - 2) < 0.8 <= power(count + 2)
    equal = needed(Goal("margin", 0.3), Spread(0.0, 1.0, 10))
    assert isinstance(equal, int)
    reach = 0.3 * np.sqrt(equal) - stats.t.ppf(0.975, equal - 1)
    assert 2 * stats.norm.cdf(reach) - 1 == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("pilot", [0, 30, 100])
def test_the_width_is_reached_in_as_many_files_as_it_says(pilot: int) -> None:
    """Planned for the width to expect, it is reached in about half of them."""
    rng, reached, plain = np.random.default_rng(5), 0, 0
    for _ in range(400):
        there = rng.normal(size=pilot)
        variance = float(there.var(ddof=1)) if pilot else 1.0
        count = needed(Goal("half-width", 0.15), Spread(0.0, variance, pilot, None, pilot - 1 if pilot else None))
        assert isinstance(count, int)
        expected = next(n for n in range(20, 999) if stats.t.ppf(0.975, n - 1) * (variance / n) ** 0.5 <= 0.15)
        fresh = rng.normal(size=max(count, expected))
        widths = [
            stats.t.ppf(0.975, n - 1) * stats.sem(np.append(there, fresh)[: max(n, pilot)]) for n in (count, expected)
        ]
        reached, plain = reached + (widths[0] <= 0.15), plain + (widths[1] <= 0.15)
    assert 0.74 < reached / 400 < 0.86
    assert plain / 400 < 0.65


def test_looks_cost_a_little_and_what_labels_can_not_change_may_be_too_much() -> None:
    one, eight = (needed(Goal("detect", 0.2, looks), Spread(0.0, 1.0, 10)) for looks in (1, 8))
    assert isinstance(one, int) and isinstance(eight, int) and one < eight < 1.1 * one
    assert needed(Goal("half-width", 3.0), Spread(0.0, 1.0, 10)) == LEAST
    assert isinstance(needed(Goal("half-width", 0.1), Spread(0.01, 1.0, 10)), Undefined)
    assert needed(Goal("half-width", 2.0), Spread(-0.07, 1.0, 0, 15)) == 15, "a file may have fewer than the least"
    assert needed(Goal("half-width", 0.01), Spread(-1 / 60, 1.0, 0, 60)) == 60, "labels of all leave nothing to chance"
    beyond = needed(Goal("half-width", 0.1), Spread(0.0, 1.0, 10, 300))
    assert isinstance(beyond, Undefined) and "300" in beyond.reason
