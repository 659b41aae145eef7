"""What labels of a sample may miss: errors that none of them shows, and cases that did not come back."""

from pathlib import Path

import numpy as np
import pytest
from rated_run import add, cases, judged_run, said, store_draw
from scipy import stats
from typed_here import Run, notes

from pathway_local.results.sampled_labels import unlike
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
