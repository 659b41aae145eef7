"""Bradley–Terry strengths, against published figures, a logistic regression and what a simulation put in."""

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests

from pathway_local.results.ranking import above, places
from pathway_local.statistics.bradley_terry import bradley_terry, strength_differences
from pathway_local.statistics.families import at_holm_levels
from pathway_local.statistics.figure import FloatArray, IntArray, Undefined

TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
BASEBALL = [
    [0, 7, 9, 7, 7, 9, 11],
    [6, 0, 7, 5, 11, 9, 9],
    [4, 6, 0, 7, 7, 8, 12],
    [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12],
    [4, 4, 5, 6, 6, 0, 6],
    [2, 4, 1, 3, 1, 7, 0],
]
"""Wins of the row's team over the column's, American League 1987: Agresti, Categorical Data Analysis (2002), 10.6."""

PUBLISHED = {
    "Boston": 1.1077, "Cleveland": 0.6839, "Detroit": 1.4364, "Milwaukee": 1.5814, "New York": 1.2476, "Toronto": 1.2945
}  # fmt: skip
"""Strengths above Baltimore's: Turner and Firth, Bradley-Terry Models in R, Journal of Statistical Software 48 (9)."""


def games() -> tuple[IntArray, IntArray, FloatArray]:
    """Each game once, now with the winner first, now with the loser."""
    played = [(i, j) for i, row in enumerate(BASEBALL) for j, count in enumerate(row) for _ in range(count)]
    turned = [(i, j, 1.0) if at % 2 else (j, i, 0.0) for at, (i, j) in enumerate(played)]
    first, second, wins = zip(*turned, strict=True)
    return np.array(first), np.array(second), np.array(wins)


def fitted(found: Any) -> Any:
    assert not isinstance(found, Undefined), found
    return found


def test_the_published_example() -> None:
    found = fitted(bradley_terry(*games(), TEAMS))
    above = dict(zip(TEAMS, found - found[-1], strict=True))
    assert {team: above[team] for team in PUBLISHED} == pytest.approx(PUBLISHED, abs=5e-5)
    assert found.sum() == pytest.approx(0)


def test_errors_are_near_those_of_a_robust_logistic_regression() -> None:
    first, second, wins = games()
    clusters = np.arange(len(wins)) // 4
    _, apart = fitted(strength_differences(first, second, wins, TEAMS, clusters))
    design = np.eye(len(TEAMS))[first] - np.eye(len(TEAMS))[second]
    fit = sm.Logit(wins, design[:, :-1]).fit(disp=0, cov_type="cluster", cov_kwds={"groups": clusters})
    theirs = np.array([1, -1, 0, 0, 0, 0]) @ fit.cov_params() @ np.array([1, -1, 0, 0, 0, 0])
    assert apart[0, 1].value == pytest.approx(fit.params[0] - fit.params[1])
    assert apart[0, 1].error == pytest.approx(theirs**0.5, rel=0.1)


def test_weights_count_comparisons_that_often() -> None:
    first, second, wins = games()
    times = np.random.default_rng(1).integers(1, 4, len(wins))
    copied = fitted(bradley_terry(*(np.repeat(each, times) for each in (first, second, wins)), TEAMS))
    assert fitted(bradley_terry(first, second, wins, TEAMS, times.astype(float))) == pytest.approx(copied)


def test_a_tie_is_half_a_win_of_both() -> None:
    first, second, wins = games()
    tied, both = np.where(np.arange(len(wins)) < 60, 0.5, wins), np.concatenate([wins, wins])
    both[:60], both[len(wins) : len(wins) + 60] = 1, 0
    copied = fitted(bradley_terry(np.tile(first, 2), np.tile(second, 2), both, TEAMS))
    assert fitted(bradley_terry(first, second, tied, TEAMS)) == pytest.approx(copied)


@pytest.mark.parametrize(
    ("first", "second", "wins", "said"),
    [
        ([0, 0, 1], [1, 2, 2], [1, 1, 0.5], "a won every comparison with the others"),
        ([0, 2], [1, 3], [0.5, 0.5], "c was never compared with a"),
        ([], [], [], "fewer than two were compared"),
    ],
)
def test_strengths_without_a_maximum_are_undefined(
    first: list[int], second: list[int], wins: list[float], said: str
) -> None:
    codes = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    names = "abcd"[: max([*first, *second], default=0) + 1]
    found = bradley_terry(*codes, np.array(wins, dtype=np.float64), list(names))
    assert isinstance(found, Undefined) and said in found.reason


def test_the_places_are_those_that_holm_s_tests_of_all_differences_leave_open() -> None:
    _, apart = fitted(strength_differences(*games(), TEAMS))
    p_values = [each.p_value for each in apart.values()]
    rejected, *_ = multipletests(p_values, method="holm")
    ahead = [
        pair if each.value > 0 else pair[::-1]
        for (pair, each), clear in zip(apart.items(), rejected, strict=True)
        if clear
    ]
    differences = zip(apart, at_holm_levels([*apart.values()]), strict=True)
    found = places(TEAMS, above((TEAMS[one], TEAMS[other], each) for (one, other), each in differences))
    assert {TEAMS[low] for _, low in ahead} == {"Baltimore"} and len(ahead) > 3
    assert found == {
        team: (1 + sum(low == place for _, low in ahead), 7 - sum(high == place for high, _ in ahead))
        for place, team in enumerate(TEAMS)
    }
