"""Shares with Wilson's interval: as in statsmodels for simple samples, and as often right as they say for others."""

import numpy as np
from statsmodels.stats.proportion import proportion_confint

from pathway_local.statistics.corrected import corrected_share
from pathway_local.statistics.figure import Estimate, Interval
from pathway_local.statistics.share import share


def ends(found: Estimate) -> tuple[float, float]:
    assert isinstance(found.interval, Interval)
    return found.interval.low, found.interval.high


def test_a_simple_share_is_that_of_wilson_also_at_both_ends() -> None:
    for hits, cases in ((0, 300), (19, 20), (300, 300), (7, 40)):
        found = share(np.repeat([1.0, 0.0], [hits, cases - hits]))
        assert found.value == hits / cases
        np.testing.assert_allclose(ends(found), proportion_confint(hits, cases, method="wilson"), atol=1e-9)


def test_answers_of_one_student_count_as_one_where_they_are_all_alike() -> None:
    """Six answers of each of 40 students: the interval is that of 40 cases, with Student's t."""
    hits = np.repeat([1.0, 0.0], [60, 180])
    low, high = ends(share(hits, np.repeat(np.arange(40), 6)))
    simple = proportion_confint(10, 40, method="wilson")
    assert simple[1] - simple[0] < high - low < 1.1 * (simple[1] - simple[0])
    assert ends(share(hits, np.arange(240))) == ends(share(hits))


def test_uneven_weights_leave_fewer_cases() -> None:
    hits, weights = np.tile([1.0, 0.0], 50), np.repeat([1.0, 9.0], 50)
    np.testing.assert_allclose(
        ends(share(hits, weights=weights)), proportion_confint(0.5 * 60.98, 60.98, method="wilson"), atol=1e-3
    )


def test_a_corrected_share_holds_the_truth_as_often_as_it_says() -> None:
    """Few bad answers, of which the judge finds some, all or hardly any."""
    rng = np.random.default_rng(2)
    for rate, finds, wrong in ((0.05, 0.6, 0.05), (0.15, 0.1, 0.02), (0.15, 0.95, 0.01)):
        held = 0
        for _ in range(150):
            bad = (rng.random(1000) < rate).astype(float)
            judge = (rng.random(1000) < np.where(bad, finds, wrong)).astype(float)
            labels = np.full(1000, np.nan)
            drawn = rng.choice(1000, 80, replace=False)
            labels[drawn] = bad[drawn]
            nobody = np.zeros(1000, dtype=np.bool_)
            low, high = ends(corrected_share(judge, labels, nobody, nobody))
            held += low <= bad.mean() <= high
        assert held >= 0.91 * 150, (rate, finds, held)
