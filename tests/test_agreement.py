"""Every figure of agreement against the libraries and papers that it comes from."""

import json
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix, mean_absolute_error

from pathway_local.statistics.coefficients import COEFFICIENTS, agreement_figures, confusion
from pathway_local.statistics.figure import Estimate, Number, Undefined

SCALE = (1, 2, 3, 4, 5)
GAP = np.nan
Scores = NDArray[np.float64]
DATA = Path(__file__).parents[2] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the published scores are not beside the repository")

cell = st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, GAP])
two_raters = st.lists(st.tuples(cell, cell), min_size=1, max_size=40).map(lambda pairs: np.array(pairs).T)
tables = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(cell, min_size=raters, max_size=raters), min_size=2, max_size=15).map(np.array)
)
small = st.tuples(st.integers(0, 5), st.integers(0, 3)).flatmap(
    lambda shape: st.lists(cell, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]).map(
        lambda cells: np.array(cells, dtype=np.float64).reshape(shape)
    )
)
TWELVE = np.array(
    [
        [1, 1, GAP, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
        [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [GAP, 5, 5, 5], [GAP, GAP, 1, 1], [GAP, GAP, 3, GAP],
    ]
)  # fmt: skip
"""Four raters of twelve units from Krippendorff (2011)."""

PUBLISHED = {
    "naturalness": 0.513986, "coherence": 0.612942, "engagingness": 0.604739, "groundedness": 0.574954,
    "understandability": 0.467807, "overall": 0.662583,
}  # fmt: skip


def figures(first: Scores, second: Scores, **more: object) -> dict[str, Number]:
    """All figures of two raters on this scale, without their intervals."""
    return values(np.stack([first, second], axis=1), of_pairs=True, **more)


def values(scores: Scores, *, of_pairs: bool = False, **more: object) -> dict[str, Number]:
    """All figures of scores (cases, raters), without their intervals."""
    levels = more.pop("levels", SCALE)
    found: dict[str, Estimate] = agreement_figures(scores, levels, of_pairs=of_pairs, **more)  # type: ignore[arg-type]
    return {name: each.value for name, each in found.items()}


@needs_data
@pytest.mark.parametrize("dimension", PUBLISHED)
def test_correlations_reproduce_those_published_for_topical_chat(dimension: str) -> None:
    replies = json.loads((DATA / "unieval_topical_chat_result.json").read_text())
    people, judge = (np.array([reply[key][dimension] for reply in replies]) for key in ("scores", "predict_scores"))
    assert figures(people, judge)["spearman"] == pytest.approx(PUBLISHED[dimension], abs=5e-7)


@needs_data
def test_quadratic_kappa_reproduces_that_of_repeated_gpt4_scores() -> None:
    replies = json.loads((DATA / "prometheus_mt_bench_eval.json").read_text())
    first, second, third = np.array([reply["gpt4_score"] for reply in replies], dtype=float).T
    pairs = ((first, second), (first, third), (second, third))
    found = [figures(one, other)["kappa_quadratic"] for one, other in pairs]
    assert found == pytest.approx([0.835478, 0.875886, 0.841071], abs=5e-7)


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
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert isinstance(found["spearman"], Undefined)
    else:
        assert found["spearman"] == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-9)


def test_reasons_name_what_is_wrong() -> None:
    fours, mixed = np.full(6, 4.0), np.array([4.0, 4, 3, 5, 4, 2])

    def said(name: str, first: Scores, second: Scores) -> str:
        return str(figures(first, second)[name])

    assert said("kappa", fours, fours) == "not defined, because every score is 4"
    assert said("spearman", fours, mixed) == "not defined, because the first rater gave 4 every time"
    assert said("spearman", mixed, fours) == "not defined, because the second rater gave 4 every time"
    assert said("spearman", fours[:1], mixed[:1]) == "not defined, because there is only one case"
    assert said("exact", fours, np.full(6, np.nan)) == "not defined, because there is no case to compare"
    assert figures(fours, mixed)["kappa"] == pytest.approx(0.0)


def test_scores_off_the_scale_keep_only_the_figures_that_need_no_levels() -> None:
    """So they do where the shared cases alone are on it."""
    reason = Undefined("3.4 is not on the scale 1, 2, 3, 4, 5")
    for panel in ([3.0, 3.4, GAP, 2], [3.0, 4, 3.4, 2]):
        found = figures(np.array([3.0, 4, GAP, 2]), np.array(panel))
        assert {name for name, value in found.items() if value == reason} == {
            "exact", "within_one", "kappa", "kappa_quadratic",
        }  # fmt: skip
        assert isinstance(found["mean_difference"], float)
    rows = np.array([[1, 1.5], [2, 2], [3.5, 3], [5, 4], [2, 2.5], [4, 4]])
    alpha = krippendorff.alpha(rows.T, level_of_measurement="ordinal", value_domain=np.arange(1, 5.5, 0.5))
    assert values(rows)["alpha_ordinal"] == pytest.approx(alpha)


def test_unused_levels_of_the_declared_scale_keep_their_distance() -> None:
    first, second = np.array([1.0, 1, 5, 5, 5]), np.array([1.0, 5, 5, 5, 1])
    assert figures(first, second)["within_one"] == pytest.approx(0.6)
    assert "within_one" not in figures(first, second, levels=(1, 5)), "on two levels all scores are within one"


def test_a_nominal_score_gets_nominal_figures_only() -> None:
    two = figures(np.array([1.0, 2, 1]), np.array([1.0, 2, 2]), levels=(1, 2), nominal=True)
    assert (tuple(two), tuple(values(TWELVE, nominal=True))) == (("exact", "kappa"), ("alpha_nominal",))


def test_levels_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(ValueError, match="ascend"):
        figures(np.array([1.0]), np.array([2.0]), levels=(2, 1))


@settings(deadline=None, max_examples=200)
@given(small, st.none() | st.lists(st.integers(0, 2), min_size=5, max_size=5))
@example(np.array([[1.0, 2.0], [1.0, 2.0]]), None)  # only the raters differ
@example(np.array([[4.0, 1.0], [1.0, 5.0], [GAP, 2.0], [2.0, 5.0]]), None)  # agreement below chance
def test_every_figure_of_any_table_lies_in_its_interval_or_says_why(
    scores: NDArray[np.float64], students: list[int] | None
) -> None:
    clusters = None if students is None else np.array(students[: len(scores)], dtype=np.int64)
    found = agreement_figures(scores, SCALE, of_pairs=False, clusters=clusters)
    if scores.shape[1] > 1:
        found |= agreement_figures(scores[:, :2], SCALE, of_pairs=True, clusters=clusters)
    for name, figure in found.items():
        if isinstance(figure.value, Undefined):
            assert figure.value.reason and figure.interval == figure.value, name
        elif isinstance(figure.interval, Undefined):
            assert np.isfinite(figure.value) and figure.interval.reason, name
        else:
            ends = (figure.interval.low, figure.interval.high)
            assert np.isfinite(ends).all() and ends[0] - 1e-9 <= figure.value <= ends[1] + 1e-9, name


def test_published_figures_of_four_raters_with_gaps() -> None:
    assert values(TWELVE)["alpha_ordinal"] == pytest.approx(0.815388, abs=5e-7)
    assert values(TWELVE, nominal=True)["alpha_nominal"] == pytest.approx(0.743421, abs=5e-7)


@settings(deadline=None, max_examples=60)
@given(tables)
def test_alpha_matches_the_krippendorff_package(scores: NDArray[np.float64]) -> None:
    shared = scores[np.isfinite(scores).sum(axis=1) >= 2]
    given_scores = shared[np.isfinite(shared)]
    for level in ("nominal", "ordinal"):
        value = values(scores, nominal=level == "nominal")[f"alpha_{level}"]
        if len(shared) < 2 or np.ptp(given_scores) == 0:
            assert isinstance(value, Undefined)
            continue
        expected = krippendorff.alpha(scores.T, level_of_measurement=level, value_domain=SCALE)
        assert value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_weights_count_cases_that_often(name: str) -> None:
    rng, each = np.random.default_rng(4), COEFFICIENTS[name]
    rows = np.clip(rng.integers(1, 6, (20, 1)) + rng.integers(-1, 2, (20, 3)), 1, 5).astype(float)
    if not each.of_pairs:
        rows[rng.random(rows.shape) < 0.15] = GAP
        rows = rows[np.isfinite(rows).sum(axis=1) >= 2]
    rows = rows[:, :2] if each.of_pairs else rows
    weights = rng.integers(0, 4, len(rows))
    measured = each.measure(rows, weights[None, :].astype(float), SCALE)[0]
    repeated = np.repeat(rows, weights, axis=0)
    assert measured == pytest.approx(each.measure(repeated, np.ones((1, len(repeated))), SCALE)[0])


def test_constant_raters_single_cases_and_no_overlap_say_why() -> None:
    for scores, why in (
        (np.full((5, 3), 4.0), "every score is 4"),
        (np.array([[4.0, 5.0]]), "there is only one case"),
        (np.array([[4.0, GAP], [GAP, 5.0]]), "there is no case to compare"),
    ):
        found = values(scores)
        assert found["alpha_ordinal"] == Undefined(why)
