"""`agreement --drift` and `--twice` on a run in which one person grows stricter and rates twice."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement_run import HELPFUL
from rated_run import add, cases, judged_run, said
from typed_here import typing_in

from pathway_local.case import Case
from pathway_local.errors import UsageError
from pathway_local.results import against_people
from pathway_local.results.agreement_options import IMPORT, AgreementOptions
from pathway_local.results.agreement_tables import agreement_tables, check_no_column
from pathway_local.results.analysis import OptionError
from pathway_local.results.ratings import Ratings
from pathway_local.results.ratings_matrix import RatingsMatrix, ratings_matrices
from pathway_local.results.table import Table
from pathway_local.runs.run_file import RunFile

COUNT = 90
VERSIONS = ("v1", "v2", "v10")
AGAIN = ("ann=ann-again",)
IDS = [f"c-{number}" for number in range(COUNT)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    rng = np.random.default_rng(2)
    true, version = rng.integers(2, 5, COUNT), np.arange(COUNT) // 30
    given = {
        "judge": np.clip(true + rng.integers(-1, 2, COUNT) * (rng.random(COUNT) < 0.3), 1, 5),
        "ann": np.clip(true - version + rng.integers(0, 2, COUNT), 1, 5),
        "ann-again": np.clip(true - version + rng.integers(0, 2, COUNT), 1, 5)[:40],
        "bob": np.clip(true + rng.integers(-1, 2, COUNT) * (rng.random(COUNT) < 0.2), 1, 5),
        "eve": np.clip(true + rng.integers(-1, 2, COUNT) * (rng.random(COUNT) < 0.2), 1, 5),
    }
    kept = [{"version": VERSIONS[version[at]]} for at in range(COUNT)]
    texts = [{"question": name, "answer": name} for name in IDS]
    rows = [Case(name, texts[at], kept[at], at + 1) for at, name in enumerate(IDS)]
    run = RunFile.create(tmp_path_factory.mktemp("drift") / "a.run")
    for name, scores in given.items():
        kind = "judge" if name == "judge" else "human"
        add(run, name, said(*map(int, scores), ids=IDS), HELPFUL, kind, rows)
    return run


def tables(run: RunFile, matrix: RatingsMatrix | None = None, **options: Any) -> dict[str, Table]:
    """The tables about the one score, by key."""
    matrices = [matrix] if matrix else ratings_matrices(run, HELPFUL)
    return {table.key: table for table in agreement_tables(run, matrices, AgreementOptions(**options))}


def moved(found: Mapping[str, Table]) -> dict[Any, Any]:
    """How far each rater's scores moved."""
    return {row["rater"]: row["change"] for row in found["drift"].rows}


def test_drift_and_repeats_are_shown(run: RunFile, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"drift": "version", "by": "version", "twice": AGAIN}
    found = tables(run, **options)
    named = [row["rater"] for row in found["raters"].rows]
    assert named == ["judge", "ann", "bob", "eve"], "the repeats are no further person"
    ann, judge = moved(found)["ann"], moved(found)["judge"]
    assert ann.interval.high < 0
    assert judge.interval.low > 0, "against people of whom one grows stricter"
    assert ann.value == pytest.approx(-1.6, abs=0.5)
    [twice] = found["twice"].rows
    assert (twice["first"], twice["second"], twice["cases"]) == ("ann", "ann-again", 40)
    assert not [each for table in found.values() for each in table.notes if each.key == "each_case_once"]
    monkeypatch.setattr(against_people, "uneven_strata", lambda _: ["version"])
    uneven = tables(run, **options).values()
    told = [table.key for table in uneven if any(note.key == "each_case_once" for note in table.notes)]
    assert told == ["severity", "drift", "group_errors", "group_errors_of_people"]


def test_drift_over_the_imports_of_each_person(run: RunFile) -> None:
    [matrix] = ratings_matrices(run, HELPFUL)
    jobs = np.zeros_like(matrix.jobs)
    judge, ann, bob = (matrix.columns(name)[0] for name in ("judge", "ann", "bob"))
    jobs[:, ann], jobs[:, bob] = 3 + 2 * (np.arange(COUNT) // 30), 4
    imported = replace(matrix, jobs=jobs)
    assert imported.import_order(ann).tolist() == matrix.order("version").tolist()
    assert np.isnan(imported.import_order(judge)).all()
    by_import = moved(tables(run, imported, drift=IMPORT, twice=AGAIN))
    assert set(by_import) == {"ann", "bob", "eve"}, "a judge's scores come with no import"
    assert by_import["ann"].interval.high < 0
    alone = tables(run, imported, drift=IMPORT, twice=AGAIN, against="ann")
    assert any(note.key == "no_import_drift" for note in alone["raters"].notes)


def test_a_person_s_second_ratings_are_no_further_person_of_a_named_group(run: RunFile) -> None:
    for named in ({"against": "ann"}, {"rater": ("judge", "ann", "ann-again", "bob")}):
        found = tables(run, twice=AGAIN, **named)
        assert "ann-again" in found.pop("twice").raters()
        assert "ann-again" not in {name for table in found.values() for name in table.raters()}


def test_a_column_called_import_is_not_taken_for_imports(
    run: RunFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged_run(tmp_path / "a.run", rows=cases(**{"import": "first"})).close()
    check_no_column(Ratings(run), IMPORT)
    refused = typing_in(tmp_path, monkeypatch, capsys)("agreement", "a.run", "--drift", "import")
    assert refused.code == 2 and "the run's column import or the order of each person's imports" in refused.words


def test_numbers_in_names_are_ordered_as_numbers(run: RunFile) -> None:
    [matrix] = ratings_matrices(run, HELPFUL)
    assert matrix.order("version").tolist() == [0.0] * 30 + [0.5] * 30 + [1.0] * 30
    for dates in (("23.11.2026",), ("11/23/26",), ("02.01.2026", "05.12.2025", "23.11.2025")):
        days = tuple({"day": dates[at % len(dates)]} for at in range(COUNT))
        dated = replace(matrix, metadata=days)
        with pytest.raises(UsageError, match="dates whose order is not clear"):
            dated.order("day")
    ordered = replace(matrix, metadata=tuple({"day": f"2026-0{1 + at // 30}-02"} for at in range(COUNT)))
    released = replace(matrix, metadata=tuple({"day": f"1.{(2, 9, 10)[at // 30]}.0"} for at in range(COUNT)))
    assert ordered.order("day").tolist() == released.order("day").tolist()
    assert ordered.order("day").tolist() == matrix.order("version").tolist()


def test_wrong_options_are_refused(run: RunFile) -> None:
    assert AgreementOptions(twice=AGAIN).again() == [("ann", "ann-again")]
    for given in ("ann", "ann=", "ann=ann"):
        with pytest.raises(OptionError, match="is not NAME=NAME"):
            AgreementOptions(twice=(given,)).check()
    with pytest.raises(UsageError, match="no rater is called 'zoe'"):
        tables(run, twice=("ann=zoe",))
