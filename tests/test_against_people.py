"""Errors by group: a judge that is noise in one language shows, and each figure is counted again here."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rated_run import add, cases, judged_run, said
from scipy import stats
from statsmodels.stats.multitest import multipletests
from typed_here import Run, notes, rows

from pathway_local.statistics.effect import holm_levels
from pathway_local.statistics.intervals import tailed_freedom


@settings(deadline=None, max_examples=12)
@example([0.01, 0.02, 0.9])
@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=8))
def test_an_interval_at_holms_level_leaves_zero_out_exactly_where_holm_rejects(p_values: list[float]) -> None:
    rejected = multipletests(p_values, alpha=0.05, method="holm")[0]
    levels = holm_levels(p_values)
    assert [p <= 1 - level + 1e-15 for p, level in zip(p_values, levels, strict=True)] == list(rejected)


def test_a_judge_that_is_noise_in_one_language_shows(run: Run, tmp_path: Path) -> None:
    rng, values = np.random.default_rng(4), np.array([1, 2, 4, 5])
    names = [f"{lang}-{n}" for lang in ("en", "es") for n in range(40)]
    every = [*cases(ids=names[:40], lang="en"), *cases(ids=names[40:], lang="es")]
    worth = rng.integers(0, 4, 80)
    people = [values[np.clip(worth + rng.integers(-1, 2, 80) * (rng.random(80) < 0.3), 0, 3)] for _ in range(2)]
    judge = np.where(np.arange(80) < 40, values[worth], values[rng.permutation(worth)])
    with judged_run(tmp_path / "may.run", rows=[]) as made:
        add(made, "demo", said(*judge.tolist(), ids=names), rows=every)
        for name, own in zip(("ann", "bob"), people, strict=True):
            add(made, name, said(*own.tolist(), ids=names), kind="human", rows=every)
    out = run("agreement", "may.run", "--by", "lang", "--json").out
    found = {row["group"]: row for row in rows(out, "group_errors")}
    errors = judge - np.mean(people, axis=0)
    groups = {"en": slice(0, 40), "es": slice(40, 80)}
    laws = [stats.t(tailed_freedom(errors[own]), errors[own].mean(), stats.sem(errors[own])) for own in groups.values()]
    levels = holm_levels([2 * min(law.cdf(0), law.sf(0)) for law in laws])
    for (lang, inside), wanted in zip(groups.items(), levels, strict=True):
        row = found[lang]
        assert row["cases"] == 40 and row["mean_difference"]["value"] == pytest.approx(errors[inside].mean())
        assert row["mean_absolute_error"]["value"] == pytest.approx(np.abs(errors[inside]).mean())
        assert row["people_error"]["value"] == pytest.approx(np.abs(people[0] - people[1])[inside].mean())
        level = row["mean_difference"]["level"]
        assert level == pytest.approx(wanted)
        ends = stats.t.interval(level, tailed_freedom(errors[inside]), errors[inside].mean(), stats.sem(errors[inside]))
        np.testing.assert_allclose((row["mean_difference"]["low"], row["mean_difference"]["high"]), ends)
    (warning,) = notes(out, "group_apart")
    assert warning.startswith("Where lang is es, demo is ")
    few = run("agreement", "may.run", "--by", "lang", "--min-group", "50", "--json").out
    assert not rows(few, "group_errors") and "2 values of lang" in str(notes(few, "hidden_groups"))


def test_one_person_has_no_error_of_their_own(run: Run, tmp_path: Path) -> None:
    every = cases(ids=[f"c-{n}" for n in range(12)], lang="en")
    with judged_run(tmp_path / "may.run", rows=every) as made:
        add(made, "ann", said(*[1, 4] * 6, ids=[row.id for row in every]), kind="human", rows=every)
    (row,) = rows(run("agreement", "may.run", "--by", "lang", "--json").out, "group_errors")
    assert row["people_error"] is None and row["mean_absolute_error"]["value"] == pytest.approx(1.5)
