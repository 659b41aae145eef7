"""How noisy labels are, and which errors so few of them can miss."""

import numpy as np
import pytest
from scipy import stats

from pathway_local.statistics.labels import unseen_errors


def test_errors_that_no_label_shows_are_warned_of_until_there_are_enough_labels() -> None:
    judge = np.full(200, 4.0)
    (said,) = unseen_errors(judge[:60], np.full(60, 3.0), (1, 5))
    assert said.values == {"points": 2.0, "labels": 60, "share": pytest.approx(0.0487, abs=1e-4)}
    assert stats.binom.pmf(0, 60, 0.0487) == pytest.approx(0.05, abs=0.001)
    assert unseen_errors(judge[:149], np.full(149, 3.0), (1, 5)) == ()
    assert unseen_errors(judge[:60], np.array([2.0] + [4.0] * 59), (1, 5)) == ()
    assert unseen_errors(judge[:60], np.full(60, np.nan), (1, 5)) == ()
    assert unseen_errors(np.full(60, 4.99994), np.full(60, 3.0), (1, 5)) == (), "5 but for what other levels got"
