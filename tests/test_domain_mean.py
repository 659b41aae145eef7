"""Corrected means where some cases have no place on the scale, and judge and people part on which these are."""

import numpy as np
import pytest

from pathway_local.statistics.corrected import Placed, corrected_domain_mean
from pathway_local.statistics.figure import FloatArray, Interval, Undefined
from pathway_local.statistics.prediction_powered import Correction, Noise, Survey, corrected_mean

CASES = 1500


def placed(judge: FloatArray, people: FloatArray, special: FloatArray, judged_special: FloatArray) -> Placed:
    return corrected_domain_mean(judge, people, judged_special.astype(bool), special.astype(bool), (1, 5))


def draw(seed: int, labels: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float, float]:
    """Judge, people's labels, where each says special, the true mean on the scale and the true share of special."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([1.0, 2, 4, 5], p=[0.1, 0.2, 0.3, 0.4], size=CASES)
    # Low answers are special more often, and the judge misses a fifth of them.
    special = rng.random(CASES) < np.where(truth < 3, 0.5, 0.15)
    judge = np.clip(truth + 1.0 + rng.normal(0, 0.7, CASES), 1, 5)
    judged_special = np.where(special, rng.random(CASES) < 0.8, rng.random(CASES) < 0.1)
    judge[judged_special] = np.nan
    drawn = np.zeros(CASES, np.bool_)
    drawn[rng.permutation(CASES)[:labels]] = True
    people = np.where(drawn & ~special, truth, np.nan)
    return judge, people, drawn & special, judged_special, float(truth[~special].mean()), float(special.mean())


def test_without_special_levels_it_is_the_plain_correction() -> None:
    judge, people, _, _, _, _ = draw(1, 100)
    judge = np.where(np.isnan(judge), 3.0, judge)
    nothing = np.zeros(CASES)
    found, plain = placed(judge, people, nothing, nothing).mean, corrected_mean(judge, people, (1, 5))
    assert isinstance(found, Correction) and isinstance(plain, Correction)
    assert found.corrected.value == pytest.approx(plain.corrected.value)
    assert found.labels_only.value == pytest.approx(plain.labels_only.value)
    assert isinstance(found.corrected.interval, Interval) and isinstance(plain.corrected.interval, Interval)
    assert found.corrected.interval.low == pytest.approx(plain.corrected.interval.low)
    assert found.corrected.interval.high == pytest.approx(plain.corrected.interval.high)


def test_intervals_hold_the_mean_of_cases_that_have_a_place_on_the_scale() -> None:
    held = np.zeros(3)
    misses, plain = [], []
    for seed in range(200):
        judge, people, special, judged_special, truth, share = draw(seed, 80)
        found = placed(judge, people, special, judged_special)
        assert isinstance(found.mean, Correction) and isinstance(found.special, Correction)
        pairs = ((found.mean.corrected, truth), (found.mean.labels_only, truth), (found.special.corrected, share))
        for place, (estimate, true) in enumerate(pairs):
            assert isinstance(estimate.interval, Interval)
            held[place] += estimate.interval.low <= true <= estimate.interval.high
        assert isinstance(found.mean.corrected.value, float) and isinstance(found.mean.judge_mean, float)
        misses.append(found.mean.corrected.value - truth)
        plain.append(found.mean.judge_mean - truth)
    assert held.min() / 200 > 0.9
    assert abs(np.mean(misses)) < 0.03
    assert np.mean(plain) > 0.2


@pytest.mark.parametrize("survey", [Survey(level=0.999), Survey(noise=Noise(0.5, 50))], ids=["level", "noise"])
def test_noise_is_that_of_the_mean_alone_and_the_level_that_of_the_share_as_well(survey: Survey) -> None:
    judge, people, special, judged_special, _, _ = draw(3, 80)
    told = (judge, people, judged_special.astype(bool), special.astype(bool), (1.0, 5.0))
    plain, look = corrected_domain_mean(*told), corrected_domain_mean(*told, survey)
    assert isinstance(plain.special, Correction) and isinstance(look.special, Correction)
    assert (plain.special.corrected == look.special.corrected) == (survey.level == 0.95)
    assert isinstance(plain.mean, Correction) and isinstance(look.mean, Correction)
    narrow, wide = plain.mean.corrected.interval, look.mean.corrected.interval
    assert isinstance(narrow, Interval) and isinstance(wide, Interval)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_too_few_labels_on_the_scale_are_told() -> None:
    judge, people, special, judged_special, _, _ = draw(2, 60)
    only = np.flatnonzero(np.isfinite(people))[1:]
    people[only] = np.nan
    found = placed(judge, people, special, judged_special)
    assert found.mean == Undefined("1 of the labels has a place on the scale, under 2")
    assert isinstance(found.special, Correction)
