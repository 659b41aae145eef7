from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from pathway_local.statistics.agreement import pair_agreement, reliability
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.figure import Undefined

ROOT = Path(__file__).parents[1]
SCALE = (1, 2, 3, 4, 5)
GAP = np.nan
# Four raters of twelve units from Krippendorff (2011), the example of Gwet's handbook as well.
TWELVE = np.array(
    [
        [1, 1, GAP, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [GAP, 5, 5, 5],
        [GAP, GAP, 1, 1],
        [GAP, GAP, 3, GAP],
    ]
)
cell = st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, GAP])
tables = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(cell, min_size=raters, max_size=raters), min_size=2, max_size=15).map(np.array)
)


def values(scores: NDArray[np.float64], scale: tuple[int, ...] = SCALE) -> dict[str, object]:
    return {name: found.value for name, found in reliability(scores, scale).figures.items()}


small = st.tuples(st.integers(0, 5), st.integers(0, 3)).flatmap(
    lambda shape: st.lists(cell, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]).map(
        lambda cells: np.array(cells, dtype=np.float64).reshape(shape)
    )
)


@settings(deadline=None, max_examples=200)
@given(small, st.none() | st.lists(st.integers(0, 2), min_size=5, max_size=5))
@example(np.array([[1.0, 2.0], [1.0, 2.0]]), None)  # only the raters differ
@example(np.array([[4.0, 1.0], [1.0, 4.0], [1.0, 4.0], [1.0, 5.0]]), None)  # an ICC far below 0
@example(np.array([[4.0, 1.0], [1.0, 5.0], [GAP, 2.0], [2.0, 5.0]]), None)  # agreement below chance
def test_every_figure_of_any_table_lies_in_its_interval_or_says_why(
    scores: NDArray[np.float64], students: list[int] | None
) -> None:
    clusters = None if students is None else np.array(students[: len(scores)], dtype=np.int64)
    found = dict(reliability(scores, SCALE, clusters=clusters).figures)
    if scores.shape[1] > 1:
        found |= pair_agreement(*scores.T[:2], SCALE, clusters=clusters).figures
    for name, figure in found.items():
        if isinstance(figure.value, Undefined):
            assert figure.value.reason and figure.interval == figure.value, name
        elif isinstance(figure.interval, Undefined):
            assert np.isfinite(figure.value) and figure.interval.reason, name
        else:
            ends = (figure.interval.low, figure.interval.high)
            assert np.isfinite(ends).all() and ends[0] - 1e-9 <= figure.value <= ends[1] + 1e-9, name


def test_published_figures_of_four_raters_with_gaps() -> None:
    found = values(TWELVE)
    expected = {
        "alpha_ordinal": 0.815388,
        "ac1": 0.775444,
    }
    nominal = reliability(TWELVE, SCALE, nominal=True).figures["alpha_nominal"]
    assert nominal.value == pytest.approx(0.743421, abs=5e-7)
    assert {name: round(found[name], 6) for name in expected} == expected  # type: ignore[call-overload]


@settings(deadline=None, max_examples=60)
@given(tables)
def test_alpha_matches_the_krippendorff_package(scores: NDArray[np.float64]) -> None:
    shared = scores[np.isfinite(scores).sum(axis=1) >= 2]
    given_scores = shared[np.isfinite(shared)]
    for level in ("nominal", "ordinal"):
        value = reliability(scores, SCALE, nominal=level == "nominal").figures[f"alpha_{level}"].value
        if len(shared) < 2 or np.ptp(given_scores) == 0:
            assert isinstance(value, Undefined)
            continue
        expected = krippendorff.alpha(scores.T, level_of_measurement=level, value_domain=SCALE)
        assert value == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_icc_follows_from_the_mean_squares_of_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.clip(rng.integers(1, 6, (9, 1)) + rng.integers(-1, 2, (9, 3)), 1, 5).astype(float)
    long = pd.DataFrame({"y": scores.ravel(), "case": np.repeat(range(9), 3), "rater": np.tile(range(3), 9)})
    squares = anova_lm(ols("y ~ C(case) + C(rater)", long).fit())["mean_sq"]
    msr, msc, mse = squares["C(case)"], squares["C(rater)"], squares["Residual"]
    found = values(scores)
    assert found["icc_2_1"] == pytest.approx((msr - mse) / (msr + 2 * mse + 3 * (msc - mse) / 9), abs=1e-9)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_weights_count_cases_that_often(name: str) -> None:
    rng, each = np.random.default_rng(4), COEFFICIENTS[name]
    rows = np.clip(rng.integers(1, 6, (20, 1)) + rng.integers(-1, 2, (20, 3)), 1, 5).astype(float)
    if each.cases in ("scored", "shared"):
        rows[rng.random(rows.shape) < 0.15] = GAP
        rows = rows[np.isfinite(rows).sum(axis=1) >= 2]
    rows = rows[:, :2] if each.cases == "pair" else rows
    weights = rng.integers(0, 4, len(rows))
    measured = each.measure(rows, weights[None, :].astype(float), SCALE)[0]
    repeated = np.repeat(rows, weights, axis=0)
    assert measured == pytest.approx(each.measure(repeated, np.ones((1, len(repeated))), SCALE)[0])


def test_constant_raters_single_cases_and_no_overlap_say_why() -> None:
    fours = values(np.full((5, 3), 4.0))
    assert fours["alpha_ordinal"] == fours["icc_2_1"] == Undefined("every score is 4")
    assert fours["ac1"] == 1.0
    assert values(np.array([[4.0, 5.0]]))["alpha_ordinal"] == Undefined("there is only one case")
    apart = values(np.array([[4.0, GAP], [GAP, 5.0]]))
    assert apart["alpha_ordinal"] == apart["icc_2_1"] == Undefined("there is no case to compare")
    assert apart["ac1"] == Undefined("fewer than two cases have two scores")


def test_off_scale_raters_keep_the_figures_of_plain_numbers() -> None:
    found = values(np.array([[1, 2], [3.4, 3], [5, 4.0]]))
    refused = {name for name, value in found.items() if value == Undefined("3.4 is not on the scale 1, 2, 3, 4, 5")}
    assert refused == {"ac1"}


def test_nominal_scores_get_nominal_figures_and_coverage_is_counted() -> None:
    found = reliability(TWELVE, SCALE, nominal=True)
    assert tuple(found.figures) == ("alpha_nominal", "ac1")
    assert (found.raters, found.cases, found.shared, found.complete) == (4, 12, 11, 8)


def test_intervals_are_clustered() -> None:
    rng = np.random.default_rng(1)
    scores = np.clip(rng.integers(1, 6, (200, 1)) + rng.integers(-1, 2, (200, 3)), 1, 5).astype(float)
    doubled = np.repeat(scores, 4, axis=0)
    alone = reliability(scores, SCALE).figures["alpha_ordinal"].interval
    together = reliability(doubled, SCALE, clusters=np.repeat(np.arange(200), 4))
    interval = together.figures["alpha_ordinal"].interval
    assert not isinstance(alone, Undefined) and not isinstance(interval, Undefined)
    assert interval.clusters == 200
    assert (interval.low, interval.high) == pytest.approx((alone.low, alone.high), abs=0.01)


def test_ac_is_high_for_raters_with_nothing_in_common_as_the_page_says() -> None:
    scores = np.repeat([1.0, 2, 3, 4, 5], [1, 1, 1, 1, 16])
    rows = np.array([(first, second) for first in scores for second in scores])
    assert f"{values(rows)['ac1']:.2f}" == "0.62"
    assert "reach 0.62" in (ROOT / "docs" / "agreement.md").read_text("utf-8")


def test_half_points_have_the_ordinal_alpha_and_no_kappa() -> None:
    rows = np.array([[1, 1.5], [2, 2], [3.5, 3], [5, 4], [2, 2.5], [4, 4]])
    found = krippendorff.alpha(rows.T, level_of_measurement="ordinal", value_domain=np.arange(1, 5.5, 0.5))
    assert values(rows)["alpha_ordinal"] == pytest.approx(found)
    assert isinstance(pair_agreement(*rows.T, SCALE).figures["kappa"].value, Undefined)
