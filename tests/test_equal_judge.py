"""The chance to show that a judge as good as a person can stand in for one, beside the test itself on drawn files."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.equal_judge import People, people_like, power
from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.statistics.human_benchmark import human_benchmark
from pathway_local.statistics.intervals import t_quantile
from pathway_local.statistics.resampling import counted_rows

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
EVERYBODY = np.ones((1, 3), dtype=np.bool_)


def people(rank: float) -> People:
    scores = np.repeat(SCALE, [50, 100, 200, 350, 300])[:, None]
    found = people_like(scores, SCALE, rank)
    assert isinstance(found, People) and found.alpha is None
    return found


def test_people_are_drawn_as_those_who_rated() -> None:
    scores = people(0.6).drawn(np.random.default_rng(1), 3000, 4)
    scores[:1500, 3] = np.nan
    found = people_like(scores, SCALE)
    assert isinstance(found, People) and found.alpha is not None
    assert found.levels.tolist() == list(SCALE) and found.shares == pytest.approx([0.05, 0.1, 0.2, 0.35, 0.3], abs=0.02)
    pairs = [stats.spearmanr(scores[:, one], scores[:, two]).statistic for one, two in ((0, 1), (0, 2), (1, 2))]
    assert found.rank == pytest.approx(np.mean(pairs), abs=0.02) == 0.6
    again = found.drawn(np.random.default_rng(2), 20_000, 2)
    assert stats.spearmanr(*again.T).statistic == pytest.approx(found.rank, abs=0.02)
    nothing = people_like(np.full((9, 2), 3.0), SCALE)
    assert nothing == Undefined("the rater's scores do not vary")


def test_the_error_is_that_of_the_test_on_one_large_file() -> None:
    like = people(0.7)
    scores = like.drawn(np.random.default_rng(3), 2000, 4)
    [found] = human_benchmark(scores[:, :3], scores[:, 3:], "spearman", 0.05, list("abcd")).averages
    assert isinstance(found.difference.interval, Interval)
    reach = (found.difference.interval.high - found.difference.interval.low) / 2
    planned = power(like, EVERYBODY, 0.05, 0.667).error / np.sqrt(2000)
    assert reach / t_quantile(0.95, 99) == pytest.approx(planned, rel=0.25)


@pytest.mark.soak
def test_the_chance_is_the_share_of_files_that_show_it() -> None:
    like = people(0.8)
    planned = power(like, EVERYBODY, 0.1, 0.667).chance(50)
    rng, shown = np.random.default_rng(4), 0
    for _ in range(200):
        scores = like.drawn(rng, 50, 4)
        [found] = human_benchmark(scores[:, :3], scores[:, 3:], "spearman", 0.1, list("abcd")).averages
        shown += found.standing in ("better", "not worse")
    assert 0.3 < planned < 0.9
    assert stats.binomtest(shown, 200, planned).pvalue > 0.001


def test_more_people_need_fewer_cases_and_cases_that_few_rate_say_less() -> None:
    like = people(0.7)
    found = {many: power(like, np.ones((1, many), dtype=np.bool_), 0.05, 0.667) for many in (2, 3, 5, 10)}
    needed = [each.cases for each in found.values()]
    assert all(isinstance(each, int) for each in needed) and needed == sorted(needed, reverse=True)
    assert found[3].chance(needed[1] or 0) >= 0.8 > found[3].chance((needed[1] or 0) - 1)
    in_part = power(like, np.array([[True, True, False], [True, False, True], [False, True, True]]), 0.05, 0.667)
    assert in_part.chance(400) < found[3].chance(400) - 0.05


def test_people_who_rated_alone_change_neither_alpha_nor_the_chance() -> None:
    """Of three people the third rated other cases: `agreement` compares the first two, and so does the plan."""
    scores = people(0.8).drawn(np.random.default_rng(6), 300, 3)
    scores[150:, :2], scores[:150, 2] = np.nan, np.nan
    alone, two = people_like(scores, SCALE), people_like(scores[:150, :2], SCALE)
    assert isinstance(alone, People) and isinstance(two, People)
    assert alone.alpha == two.alpha is not None and (alone.rank, alone.at_most) == (two.rank, two.at_most)
    planned = power(alone, np.array([[True, True, False]]), 0.05, 0.667)
    assert planned.error == pytest.approx(power(alone, EVERYBODY[:, :2], 0.05, 0.667).error, rel=0.03)


def test_scores_off_the_levels_have_the_alpha_of_intervals() -> None:
    scores = people(0.8).drawn(np.random.default_rng(7), 200, 2)
    scores[0, 0] = 3.7
    found = people_like(scores, ())
    rows = counted_rows(scores)
    built = COEFFICIENTS["alpha_interval"].of(rows.rows)
    assert isinstance(found, People) and not isinstance(built, Undefined)
    assert found.alpha == rows.value(built) and found.alpha is not None and found.alpha < found.at_most
    apart = power(found, EVERYBODY[:, :2], 0.05, 0.667)
    assert apart.apart > 0 and apart.alpha == found.alpha


def test_people_who_agree_too_little_show_nothing_however_many_cases_they_rate() -> None:
    like = people(0.6)
    rated = like.drawn(np.random.default_rng(5), 20_000, 2)
    rows = counted_rows(rated)
    built = COEFFICIENTS["alpha_ordinal"].of(rows.rows, SCALE)
    assert not isinstance(built, Undefined)
    alpha = rows.value(built)
    assert isinstance(alpha, float) and alpha < 0.667
    found = power(replace(like, alpha=alpha), EVERYBODY, 0.05, 0.667)
    assert found.cases is None and found.chance(2000) < found.chance(200) < 0.5
    assert power(like, EVERYBODY, 0.05, 0.667).cases
