"""The first screen of a dozen studies: each sentence by its key, each number computed again with numpy."""

import json
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint
from studies import LOW, Study, studies
from typed_here import Run, rows

STUDIES = studies()
SAYS = {
    "nobody labelled": {"bad_by_judge"},
    "a sample": {"bad_by_people"},
    "two people": {"bad_by_people"},
    "two judges": {"bad_by_people", "bad_also"},
    "picked labels": {"bad_by_judge", "labels_of_no_sample"},
    "a constant judge": {"bad_by_people"},
    "a mute chatbot": {"bad_by_people"},
    "eleven levels": {"bad_by_people"},
    "pass or fail": {"bad_by_people"},
    "no order": set[str](),
    "people alone": set[str](),
    "a stopped judge": {"bad_by_judge", "judge_stopped"},
}
"""The answers and warnings that a study's summary begins with."""

KEYS = {"bad_by_judge", "bad_by_people", "bad_also", "labels_of_no_sample", "judge_stopped"}


@pytest.mark.parametrize("name", SAYS)
def test_a_summary_begins_with_what_the_study_shows(run: Run, tmp_path: Path, name: str) -> None:
    study = STUDIES[name]
    study.make(tmp_path / "may.run")
    out = run("summary", "may.run", "--by", "chatbot", "--json").out
    told = {note["key"] for table in json.loads(out) for note in table["notes"]}
    assert told & KEYS == SAYS[name]
    found = rows(out, "bad")
    if study.scale not in LOW:
        assert not found
        return
    for row in found:
        inside = study.bots == row["group"] if "group" in row else np.ones(len(study.bots), dtype=np.bool_)
        _check(study, row, inside)
    judges = [rater for rater, (kind, _) in study.scores.items() if kind != "human"] or ["ann"]
    assert {row["rater"] for row in found} == set(judges)
    assert {row.get("group") for row in found} == {None, "Alfa", "Beta", "Gama"}


def _check(study: Study, row: dict[str, object], inside: np.ndarray) -> None:
    """Count a row again: who called what bad, on all cases and on those with labels."""
    own = study.scores[str(row["rater"])][1]
    scored, bad = inside & (own >= 0), own <= LOW[study.scale]
    assert row["cases"] == scored.sum()
    figure = row["bad"]
    assert isinstance(figure, dict)
    if scored.any():
        assert figure["value"] == pytest.approx(bad[scored].mean())
        ends = proportion_confint(bad[scored].sum(), scored.sum(), method="wilson")
        np.testing.assert_allclose((figure["low"], figure["high"]), ends, atol=1e-9)
    people = np.stack(
        [given for kind, given in study.scores.values() if kind == "human"] or [np.full(len(own), np.nan)]
    )
    given = np.isfinite(people).sum(axis=0)
    labelled = scored & (given > 0)
    if "bad_labels" in row:
        is_bad = np.sum(people <= LOW[study.scale], axis=0) >= 0.5 * np.maximum(given, 1)
        assert row["bad_labels"] == np.sum(labelled & is_bad) and row["passed"] == np.sum(labelled & is_bad & ~bad)
        assert row["good_labels"] == np.sum(labelled & ~is_bad) and row["flagged"] == np.sum(labelled & ~is_bad & bad)
