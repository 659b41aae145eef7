"""How noisy labels are, and which errors so few of them can miss."""

import numpy as np
import pytest
from scipy import stats

from pathway_local.statistics.labels import label_noise, unseen_errors


def test_errors_that_no_label_shows_are_warned_of_until_there_are_enough_labels() -> None:
    judge = np.full(200, 4.0)
    (said,) = unseen_errors(judge[:60], np.full(60, 3.0), (1, 5))
    assert said.values == {"points": 2.0, "labels": 60, "share": pytest.approx(0.0487, abs=1e-4)}
    assert stats.binom.pmf(0, 60, 0.0487) == pytest.approx(0.05, abs=0.001)
    assert unseen_errors(judge[:149], np.full(149, 3.0), (1, 5)) == ()
    assert unseen_errors(judge[:60], np.array([2.0] + [4.0] * 59), (1, 5)) == ()
    assert unseen_errors(judge[:60], np.full(60, np.nan), (1, 5)) == ()
    assert unseen_errors(np.full(60, 4.99994), np.full(60, 3.0), (1, 5)) == (), "5 but for what other levels got"


def test_the_noise_of_labels_is_what_cases_and_people_leave_over() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(3, 1, (4000, 1)) + np.array([0.0, 0.5, -0.3]) + rng.normal(0, 0.6, (4000, 3))
    everyone = label_noise(scores)
    assert everyone and everyone.variance == pytest.approx(0.36 / 3, rel=0.05) and everyone.freedom == 3999 * 2
    scores[:, 2] = np.nan
    pair = label_noise(scores)
    assert pair and pair.variance == pytest.approx(0.36 / 2, rel=0.05)
    scores[1000:, 1] = np.nan  # a quarter is labelled twice, the rest once
    scores[:1000, 0] += 1
    some = label_noise(scores)
    assert some and some.variance == pytest.approx(0.36 * (0.25 / 2 + 0.75), rel=0.1) and some.freedom == 999
    few = scores[981:]
    assert label_noise(few) is None and label_noise(scores[980:]) is not None
    assert label_noise(scores[:, :1]) is label_noise(np.empty((0, 2))) is None


def test_the_noise_of_labels_where_each_case_has_two_people_of_its_own() -> None:
    """Nothing tells these people apart, so what sets them apart is noise too."""
    rng, cases = np.random.default_rng(5), 400
    scores = np.full((cases, 2 * cases), np.nan)
    for case in range(cases):
        scores[case, 2 * case : 2 * case + 2] = rng.normal(3, 1) + rng.normal(0, 0.6, 2)
    found = label_noise(scores)
    assert found and found.variance == pytest.approx(0.36 / 2, rel=0.15) and found.freedom == cases
