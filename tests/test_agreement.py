import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix, mean_absolute_error

from pathway_local.statistics.agreement import confusion, pair_agreement, special_agreement
from pathway_local.statistics.coefficients import pearson
from pathway_local.statistics.figure import Estimate, Number, Undefined

SCALE = (1, 2, 3, 4, 5)
Scores = NDArray[np.float64]
DATA = Path(__file__).parents[2] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the published scores are not beside the repository")

scores = st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, np.nan])
two_raters = st.lists(st.tuples(scores, scores), min_size=1, max_size=40).map(lambda pairs: np.array(pairs).T)

PUBLISHED = {
    "naturalness": (0.443666, 0.513986),
    "coherence": (0.595143, 0.612942),
    "engagingness": (0.55651, 0.604739),
    "groundedness": (0.536209, 0.574954),
    "understandability": (0.380038, 0.467807),
    "overall": (0.632796, 0.662583),
}


def figures(first: Scores, second: Scores, values: Sequence[float] = SCALE) -> dict[str, Number]:
    """All figures of two raters on this scale, without their intervals."""
    return {name: found.value for name, found in pair_agreement(first, second, values).figures.items()}


@needs_data
@pytest.mark.parametrize("dimension", PUBLISHED)
def test_correlations_reproduce_those_published_for_topical_chat(dimension: str) -> None:
    replies = json.loads((DATA / "unieval_topical_chat_result.json").read_text())
    people = np.array([reply["scores"][dimension] for reply in replies])
    judge = np.array([reply["predict_scores"][dimension] for reply in replies])
    given = figures(people, judge)
    found = [given[name] for name in ("pearson", "spearman")]
    rounded = tuple(value if isinstance(value, Undefined) else round(value, 6) for value in found)
    assert rounded == PUBLISHED[dimension]


@needs_data
def test_quadratic_kappa_reproduces_that_of_repeated_gpt4_scores() -> None:
    replies = json.loads((DATA / "prometheus_mt_bench_eval.json").read_text())
    first, second, third = np.array([reply["gpt4_score"] for reply in replies], dtype=float).T
    pairs = ((first, second), (first, third), (second, third))
    found = [figures(one, other)["kappa_quadratic"] for one, other in pairs]
    assert [value if isinstance(value, Undefined) else round(value, 6) for value in found] == [
        0.835478,
        0.875886,
        0.841071,
    ]


@settings(deadline=None, max_examples=60)
@given(two_raters)
def test_figures_match_scikit_learn_and_scipy_on_the_cases_that_both_scored(raters: Scores) -> None:
    first, second = raters
    both = np.isfinite(first) & np.isfinite(second)
    a, b = first[both], second[both]
    found = figures(first, second)
    if len(a) == 0:
        assert set(found.values()) == {Undefined("there is no case to compare")}
        return
    assert (confusion(first, second, SCALE) == confusion_matrix(a, b, labels=SCALE)).all()
    assert found["exact"] == pytest.approx(np.mean(a == b))
    assert found["within_one"] == pytest.approx(np.mean(abs(a - b) <= 1))
    assert found["mean_difference"] == pytest.approx(np.mean(a) - np.mean(b))
    assert found["mean_absolute_error"] == pytest.approx(mean_absolute_error(a, b))
    alike = len(a) < 2 or (np.ptp(a) == 0 and np.ptp(b) == 0 and a[0] == b[0])
    for name, weights in (("kappa", None), ("kappa_quadratic", "quadratic")):
        if alike:
            assert isinstance(found[name], Undefined)
        else:
            assert found[name] == pytest.approx(cohen_kappa_score(a, b, labels=SCALE, weights=weights), abs=1e-9)
    for name, function in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        if np.ptp(a) == 0 or np.ptp(b) == 0:
            assert isinstance(found[name], Undefined)
        else:
            assert found[name] == pytest.approx(function(a, b).statistic, abs=1e-9)


def test_reasons_name_what_is_wrong() -> None:
    fours, mixed = np.full(6, 4.0), np.array([4.0, 4, 3, 5, 4, 2])

    def said(name: str, first: Scores, second: Scores) -> str:
        return str(figures(first, second)[name])

    assert said("kappa", fours, fours) == "not defined, because every score is 4"
    assert said("pearson", fours, mixed) == "not defined, because the first rater gave 4 every time"
    assert said("spearman", mixed, fours) == "not defined, because the second rater gave 4 every time"
    assert said("spearman", fours[:1], mixed[:1]) == "not defined, because there is only one case"
    assert said("exact", fours, np.full(6, np.nan)) == "not defined, because there is no case to compare"
    assert figures(fours, mixed)["kappa"] == pytest.approx(0.0)


def test_a_rater_off_the_scale_keeps_only_the_figures_that_need_no_scale() -> None:
    judge, panel = np.array([3.0, 4, 5, 2]), np.array([3.0, 3.4, np.nan, 2])
    pair = pair_agreement(judge, panel, SCALE)
    reason = "3.4 is not on the scale 1, 2, 3, 4, 5"
    assert {name for name, figure in pair.figures.items() if figure.value == Undefined(reason)} == {
        "exact", "within_one", "kappa", "kappa_quadratic",
    }  # fmt: skip
    assert pair.table == Undefined(reason)
    assert pair.figures["mean_difference"].value == pytest.approx(0.2)


def test_a_rater_is_off_the_scale_even_where_the_shared_cases_are_on_it() -> None:
    pair = pair_agreement(np.array([1.0, 2, 2, np.nan]), np.array([1.0, 2, 1, 2.5]), SCALE)
    assert isinstance(pair.figures["kappa"].value, Undefined)


def test_unused_levels_of_the_declared_scale_keep_their_distance() -> None:
    first, second = np.array([1.0, 1, 5, 5, 5]), np.array([1.0, 5, 5, 5, 1])
    assert figures(first, second)["within_one"] == pytest.approx(0.6)
    assert "within_one" not in figures(first, second, (1, 5)), "on two levels all scores are within one"


def test_a_nominal_score_gets_nominal_figures_only() -> None:
    pair = pair_agreement(np.array([1.0, 2, 1]), np.array([1.0, 2, 2]), (1, 2), nominal=True)
    assert tuple(pair.figures) == ("exact", "kappa")


def test_agreement_on_special_levels_counts_special_against_not() -> None:
    first = np.array([3.0, 3, 1, 5, 3, 2, np.nan])
    second = np.array([3.0, 1, 3, 4, 3, 2, 3])
    found = special_agreement(first, second, {3})
    exact, kappa = found.pop("exact"), found.pop("kappa")
    assert found == {"both": 2, "first_only": 1, "second_only": 1, "neither": 2}
    assert isinstance(exact, Estimate) and exact.value == pytest.approx(4 / 6)
    assert isinstance(kappa, Estimate)
    assert kappa.value == pytest.approx(cohen_kappa_score(first[:6] == 3, second[:6] == 3))


def test_agreement_on_special_levels_without_any_says_so() -> None:
    found = special_agreement(np.array([1.0, 2, 2]), np.array([1.0, 1, 2]), {3})
    exact, kappa = found["exact"], found["kappa"]
    assert isinstance(kappa, Estimate) and kappa.value == Undefined("no case is special to either")
    assert isinstance(exact, Estimate) and exact.value == 1.0


def test_levels_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(ValueError, match="ascend"):
        pair_agreement(np.array([1.0]), np.array([2.0]), (2, 1))


def test_large_offsets_lose_no_digits() -> None:
    rng = np.random.default_rng(5)
    first = rng.normal(size=50)
    second = first + rng.normal(size=50)
    shifted = pearson(np.column_stack([first + 1e9, second]), np.ones((1, 50)))[0]
    assert shifted == pytest.approx(stats.pearsonr(first, second).statistic, abs=1e-6)
