"""A further coefficient is one entry of the register: tables, JSON and files then have it."""

import json
from pathlib import Path

import numpy as np
import pytest
from agreement_run import answers_run
from typed_here import Run, typing_in

from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.jackknife import Coefficient

READING = "The share of cases in which the second rater is above the first: 1 is all, 0 is none, it is never below 0."


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    answers_run(tmp_path / "answers.run")
    return typing_in(tmp_path, monkeypatch, capsys)


def _higher(ratings: np.ndarray, weights: np.ndarray, _levels: object) -> np.ndarray:
    return weights @ (ratings[:, 1] > ratings[:, 0]).astype(float) / weights.sum(axis=1)


@pytest.mark.parametrize(("of_pairs", "table"), [(True, "pairs"), (False, "together")])
@pytest.mark.parametrize("needs_levels", [True, False])
def test_a_stand_in_is_shown_everywhere(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_pairs: bool, table: str, needs_levels: bool
) -> None:
    made = Coefficient(
        "higher", "share above", "ordinal", READING, _higher, needs_levels, of_pairs, bounds=lambda _: (0, 1)
    )
    monkeypatch.setitem(COEFFICIENTS, made.name, made)
    two = ("agreement", "answers.run", "--rater", "demo", "--rater", "gpt")
    shown = run(*two, "--full")
    assert shown.code == 0, shown.err
    assert f"share above: {READING}" in shown.words
    tables = {each["table"]: each for each in json.loads(run(*two, "--json").out)}
    assert [name for name, each in tables.items() if "higher" in each["rows"][0]] == [table]
    [figure] = [row["higher"] for row in tables[table]["rows"]]
    assert 0 < figure["low"] < figure["value"] < figure["high"] < 1
    assert tables[table]["readings"]["higher"] == READING
    assert run(*two, "--out", "figures.csv").code == 0
    assert ",higher," in (tmp_path / "figures.csv").read_text()
