"""What labels of a sample may miss: errors that none of them shows, and cases that did not come back."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rated_run import add, cases, judged_run, said, store_draw
from scipy import stats
from typed_here import Run, notes, rows

from pathway_local.results.corrected_mean import reliability_points, unlike
from pathway_local.statistics.figure import Interval
from pathway_local.words.language import Language


@pytest.mark.parametrize(("labels", "worst", "share"), [(60, 5, "5%"), (149, 5, ""), (60, 1, "")])
def test_errors_that_no_label_shows_are_warned_of_until_there_are_enough_labels(
    run: Run, tmp_path: Path, labels: int, worst: int, share: str
) -> None:
    """demo gave 4 to all cases, and people 5, but once `worst`."""
    assert stats.binom.pmf(0, 60, 0.0487) == pytest.approx(0.05, abs=0.001)
    ids = [f"s-{number}" for number in range(200)]
    every = cases(ids=ids)
    with judged_run(tmp_path / "may.run", rows=every) as made:
        store_draw(made, every, range(labels))
        add(made, "ann", said(*[5] * (labels - 1), worst, ids=ids), kind="human", rows=every, sheet=True)
    told = notes(run("agreement", "may.run", "--json").out, "unseen_errors")
    assert len(told) == bool(share) and all("In none of 60 rated cases does demo miss" in each for each in told)
    assert all(f"up to {share} of all cases" in each for each in told)


def test_people_who_share_the_labels_out_leave_more_doubt_than_one(run: Run, tmp_path: Path) -> None:
    ids = [f"s-{number}" for number in range(60)]
    every, values = cases(ids=ids), said(*[1, 2, 2, 4, 5, 5] * 10, ids=ids)
    widths = list[list[float]]()
    for name, parts in (("one", {"ann": ids[:40]}), ("shared", {"ann": ids[:40:2], "bob": ids[1:40:2]})):
        with judged_run(tmp_path / f"{name}.run", rows=every) as made:
            store_draw(made, every, range(40))
            for person, own in parts.items():
                add(made, person, {each: values[each] for each in own}, kind="human", rows=every, sheet=True)
        out = run("agreement", f"{name}.run", "--json").out
        mean, bad = rows(out, "corrected")[0]["corrected"], rows(out, "bad")[0]["bad_by_people"]
        widths.append([each["high"] - each["low"] for each in (mean, bad)])
    assert widths[1][0] == pytest.approx(3**0.5 * widths[0][0], rel=0.05), "1/40 instead of 1/40 - 1/60"
    assert widths[1][1] > 1.5 * widths[0][1]


def test_labels_that_the_judge_tells_apart_from_missing_ones_are_doubted() -> None:
    missing = np.arange(40) < 20
    high = np.where(missing, 5.0, 3.0)
    say = Language("en")
    [clear] = unlike(high, ~missing, missing, "demo")
    assert "2.00 points higher than the others, so" in say.note(clear)
    almost = high.copy()
    almost[0] = 4
    [told] = unlike(almost, ~missing, missing, "demo")
    assert "1.95 points higher than the others (95% interval 1.78 to 2.12), so" in say.note(told)
    assert not [*unlike(np.full(40, 3.0), ~missing, missing, "demo")]
    assert not [*unlike(high, ~missing, missing & (np.arange(40) == 0), "demo")], "one case says nothing"


pairs = st.lists(st.tuples(st.floats(1, 5).map(lambda x: round(x, 2)), st.integers(1, 5)), min_size=2, max_size=40)


@settings(deadline=None, max_examples=60)
@given(pairs)
def test_bins_hold_every_case_once_in_order_and_keep_equals_together(cases: list[tuple[float, int]]) -> None:
    expected, people = np.array(cases, dtype=float).T
    points = [*reliability_points(np.append(expected, np.nan), np.append(people, 3.0), (1, 5))]
    counts, middles, means = ([each[name] for each in points] for name in ("cases", "expected", "given_by_people"))
    assert sum(counts) == len(cases) and len(counts) <= max(1, len(cases) // 10)
    assert [*middles] == sorted(middles)
    assert np.average(middles, weights=counts) == pytest.approx(expected.mean())
    assert np.average([float(str(each.value)) for each in means], weights=counts) == pytest.approx(people.mean())
    intervals = [each.interval for each in means if isinstance(each.interval, Interval)]
    assert all(each.low >= 1 and each.high <= 5 for each in intervals), "no mean's interval goes beyond the scale"


def test_bins_are_of_equal_size_where_no_scores_are_equal() -> None:
    expected = np.random.default_rng(3).permutation(200) / 50
    points = [*reliability_points(expected, np.round(expected), (0, 4))]
    assert [each["cases"] for each in points] == [20] * 10
    assert points[0]["expected"] == pytest.approx(np.sort(expected)[:20].mean())
    assert [*reliability_points(np.array([np.nan]), np.array([1.0]), (1, 5))] == []
