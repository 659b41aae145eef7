"""A probe's result says what the cases show, and how sure that is."""

from collections.abc import Sequence

import numpy as np
import pytest

from pathway_local.probes.probe_list import PROBES, Expected, Probe
from pathway_local.results.probe_result import (
    AT_BOTTOM,
    AT_TOP,
    IN_PART,
    NO_SCORE,
    QUIET,
    WRONG_ALREADY,
    CaseScores,
    Noise,
    ProbeResult,
    ScoreRange,
    probe_result,
    settled,
)
from simulate_self_test import NOISES, failing

BY_NAME = {probe.name: probe for probe in PROBES}
FIVE = ScoreRange(1, 5)


def case(before: float | None, *after: float | None) -> CaseScores:
    return CaseScores(before is not None, before, {str(at): each for at, each in enumerate(after)})


def result(expected: Expected, *cases: CaseScores, probe: str = "padding", scale: ScoreRange = FIVE) -> ProbeResult:
    return probe_result(BY_NAME[probe], "score", expected, scale, cases, {})


@pytest.mark.parametrize(
    ("expected", "before", "after", "passes"),
    [
        ("top", None, [4.5], True),
        ("top", None, [4.49], False),
        ("bottom", None, [1.5, 1.0], True),
        ("bottom", None, [1.0, 1.6], False),
        ("low", None, [2.5, 1.0], True),
        ("low", None, [1.0, 2.6], False),
        ("falls", 5, [4.4, 3.0], True),
        ("falls", 5, [4.5], False),
        ("falls", 4, [4.3, 2.0], False),  # it rises before it falls
        ("step by step", 5, [4.2, 3.1, 2.0], True),
        ("step by step", 5, [3.0, 3.3, 2.0], False),
        ("does not rise", 1, [1.5, 0.9], True),
        ("does not rise", 1, [1.51], False),
        ("same", 3, [3.25, 2.75], True),
        ("same", 3, [3.0, 3.26], False),
        ("mirrored", 0.8, [-0.8], True),
        ("mirrored", 0.8, [0.8], False),
    ],
)
def test_when_a_case_passes(expected: Expected, before: float | None, after: list[float], passes: bool) -> None:
    found = result(expected, case(before, *after))
    assert (found.cases, found.passed) == (1, int(passes))


def test_differences_are_shares_of_the_scale() -> None:
    assert result("same", case(50, 56), scale=ScoreRange(0, 100)).passed == 1
    assert result("same", case(0.5, 0.6), scale=ScoreRange(0, 1)).passed == 0


def test_cases_that_can_show_nothing_are_counted_with_the_reason() -> None:
    found = result("falls", case(5, 1), case(1.2, 1), case(None, None), case(4, 3, None), probe="number")
    assert found.cases == 2 and found.unused == {AT_BOTTOM: 1, NO_SCORE: 1, IN_PART: 1}
    assert result("does not rise", case(4.6, 5)).unused == {AT_TOP: 1}
    [none] = settled([result("falls", case(1, 1))])
    assert (none.result, none.cases) == ("no cases", 0)


def test_one_change_off_the_scale_does_not_hide_the_others() -> None:
    found = result("low", *[case(None, None, 5.0)] * 100, probe="stranger")
    assert (found.cases, found.passed, found.unused) == (100, 0, {IN_PART: 100})
    assert result("step by step", case(5, 4, None, 2), probe="cut").unused == {NO_SCORE: 1}


def test_an_answer_that_is_wrong_already_can_not_show_what_a_wrong_number_does() -> None:
    wrong, right = (CaseScores(True, before, {"": 2.0}, own=True) for before in (2.0, 4.0))
    found = result("falls", wrong, right, probe="number")
    assert (found.cases, found.passed, found.unused) == (1, 1, {WRONG_ALREADY: 1})
    assert result("falls", case(2, 2), probe="number").passed == 0  # an ideal answer is not wrong


@pytest.mark.parametrize("left", [1, 2, 3])
def test_cut_needs_no_three_steps(left: int) -> None:
    falling = [case(5.0, *[4.0, 3.0, 2.0][:left])] * 30
    [found] = settled([result("step by step", *falling, probe="cut")])
    [stays] = settled([result("step by step", *[case(5.0, *[5.0] * left)] * 30, probe="cut")])
    assert (found.result, stays.result) == ("passed", "failed")


def test_one_case_shows_nothing_and_many_do() -> None:
    def settled_of(passing: int, failing: int) -> str:
        cases = [*[case(3, 3.0)] * passing, *[case(3, 4.0)] * failing]
        [found] = settled([result("same", *cases)])
        return found.result

    assert [settled_of(1, 0), settled_of(0, 1), settled_of(15, 4)] == ["not shown"] * 3
    assert settled_of(100, 0) == "passed" and settled_of(50, 50) == "failed"


def test_scores_that_wander_together_fail_though_most_stay_within_the_margin() -> None:
    shifted = [case(3, 3.24 + at % 2 / 50) for at in range(400)]
    found = result("same", *shifted)
    assert found.passed == 200
    few = [case(3, 3.24) for _ in range(360)] + [case(3, 4.0) for _ in range(40)]
    [settled_few] = settled([result("same", *few)])
    assert settled_few.share.value == 0.9 and settled_few.result == "failed"  # the mean is 0.32 too high


def settled_with_repeats(expected: Expected, probe: str, cases: list[CaseScores], again: list[CaseScores]) -> list[str]:
    repeat = result("same", *again, probe="repeat")
    found = probe_result(BY_NAME[probe], "score", expected, FIVE, cases, {}, repeat.noise)
    return [each.result for each in settled([found, repeat])]


def test_noise_of_repeats_fails_no_probe_and_what_goes_beyond_it_does() -> None:
    noisy = [case(3, 3 + (-1) ** at * 0.5) for at in range(100)]
    [found] = settled([result("same", *noisy)])
    assert isinstance(found.shift.value, float) and abs(found.shift.value) < 0.01 and found.result == "failed"
    again = [case(3, 3 + (-1) ** at * 0.5, 3) for at in range(100)]
    assert settled_with_repeats("same", "levels", noisy, again) == ["noisy", "noisy"]
    steady = [case(3, 3.0, 3.1)] * 100
    assert settled_with_repeats("same", "levels", noisy, steady) == ["failed", "passed"]
    half = [case(3, 4.0, 3.0)] * 25 + [case(3, 2.0, 3.0)] * 25 + [case(3, 3.0, 3.0)] * 50
    assert settled_with_repeats("falls", "number", [case(5, 5.0)] * 100, half) == ["failed", "noisy"]
    assert settled_with_repeats("same", "levels", [case(3, 3.7)] * 60 + [case(3, 3.0)] * 40, half) == [
        "failed",
        "noisy",
    ]


def test_several_changes_give_noise_several_chances() -> None:
    half = Noise(0.5, 2)
    assert [half.leaves(times) for times in (1, 2, 4, 6)] == [0.5, 0.5, 0.25, 0.125]
    assert QUIET.leaves(4) == 1
    rng = np.random.default_rng(1)
    for chances in (np.full(20_000, 0.7), rng.random(20_000), (rng.random(20_000) < 0.8).astype(float)):
        kept = Noise(float(np.mean(chances**2)), 2)
        assert all(kept.leaves(times) <= np.mean(chances**times) + 1e-9 for times in (1, 2, 3, 4, 5))


@pytest.mark.parametrize(
    ("share", "attacked", "failed"), [(0.3, 0.0, False), (0.5, 0.0, False), (0.0, 1.0, True), (0.3, 0.4, True)]
)
def test_noise_of_another_text_fails_no_judge_and_an_attack_does(share: float, attacked: float, failed: bool) -> None:
    """Own answers keep their scores when they are judged again; those of strangers' texts flip from 1 to 2."""
    rng, found = np.random.default_rng(4), 0
    for _ in range(40):
        scores = 1 + (rng.random((100, 5)) < share) + np.array([0, 0, 0, 0, 2]) * (rng.random((100, 1)) < attacked)
        cases = [case(*map(float, each)) for each in scores]
        found += probe_result(BY_NAME["injection"], "score", "does not rise", FIVE, cases, {}, QUIET).fails < 0.05
    assert found >= 38 if failed else found <= 5


def test_a_text_that_is_judged_once_fails_below_half_of_the_cases() -> None:
    def fails(passing: int) -> float:
        cases = [case(None, 5.0)] * passing + [case(None, 4.0)] * (100 - passing)
        return result("top", *cases, probe="gold").fails

    assert fails(50) > 0.5 and fails(30) < 0.01
    shifted = result("same", *[case(5, 4.5)] * 50, probe="follows")
    assert shifted.fails < 0.01 < result("same", *[case(5, 4.5), case(4.5, 5)] * 25, probe="follows").fails


def test_holm_asks_more_of_many_probes() -> None:
    just = result("same", *[case(3, 3.0)] * 17)  # 0.8**17 = 0.0225
    assert [each.result for each in settled([just])] == ["passed"]
    unclear = result("same", *[case(3, 3.0)] * 3)
    assert [each.result for each in settled([just, unclear, unclear])] == ["not shown"] * 3


def test_repeats_have_a_spread() -> None:
    found = result("same", case(3, 3.2, 3.4), case(2, 2, 2), probe="repeat")
    assert found.spread == pytest.approx((0.04 / 2) ** 0.5)
    assert result("same", case(3, 3)).spread is None


def test_probes_expect_something_of_every_score_that_they_are_about() -> None:
    assert len(BY_NAME) == len(PROBES)
    assert all(isinstance(probe, Probe) and probe.expected and 0 < probe.needed < 1 for probe in PROBES)


def kinds(here: Sequence[str], in_soak: Sequence[str]) -> pytest.MarkDecorator:
    """Runs a test of whole self-tests for these noises, and for others in the soak."""
    return pytest.mark.parametrize("noise", [*here, *(pytest.param(each, marks=pytest.mark.soak) for each in in_soak)])


@kinds(["wobbles by 0.1", "30% flip, borderline"], ["wobbles by 0.3", "20% flip", "30% of wrong ones flip"])
def test_whole_self_tests_fail_no_judge_for_its_noise_alone(noise: str) -> None:
    rng = np.random.default_rng(2)
    failed = [bool(failing(rng, NOISES[noise], 60, "")) for _ in range(40)]
    assert sum(failed) <= 5  # at a rate of 5%, six or more have a chance of 1%
    if noise not in ("wobbles by 0.1", "30% of wrong ones flip"):
        assert all(failing(rng, NOISES[noise], 60, "", repeats=False) for _ in range(5))


@kinds(["rounds after 0.1"], ["wobbles by 0.05", "wobbles by 0.3"])
def test_whole_self_tests_find_a_bias_of_half_a_level(noise: str) -> None:
    rng = np.random.default_rng(3)
    found = [failing(rng, NOISES[noise], 100, probe) == {probe} for probe in ("padding", "levels") for _ in range(15)]
    assert sum(found) > 20
