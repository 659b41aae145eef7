"""`agreement --drift`, `--twice` and `--level` on a run in which one person grows stricter and rates twice."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agreement_run import HELPFUL
from pathway_local.results.agreement_plan import IMPORT, AgreementPlan
from rated_run import add, cases, judged_run, said
from typed_here import typing_in

from pathway_local.case import Case
from pathway_local.errors import UsageError
from pathway_local.results.agreement import ScoreAgreement, agreement
from pathway_local.results.agreement_tables import agreement_tables, check_no_column, first_and_second, level_of
from pathway_local.results.analysis import OptionError
from pathway_local.results.ratings import Ratings
from pathway_local.results.ratings_matrix import ratings_matrices
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.figure import Interval

COUNT = 90
VERSIONS = ("v1", "v2", "v10")
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
    kept = [{"version": VERSIONS[version[at]], "topic": str(at % 15)} for at in range(COUNT)]
    texts = [{"question": name, "answer": name} for name in IDS]
    rows = [Case(name, texts[at], kept[at], at + 1) for at, name in enumerate(IDS)]
    run = RunFile.create(tmp_path_factory.mktemp("drift") / "a.run")
    for name, scores in given.items():
        kind = "judge" if name == "judge" else "human"
        add(run, name, said(*map(int, scores), ids=IDS), HELPFUL, kind, rows)
    return run


def found(run: RunFile, plan: AgreementPlan) -> ScoreAgreement:
    [score] = agreement(run, HELPFUL, plan, ratings_matrices(run, HELPFUL))
    return score


def test_drift_repeats_and_levels_are_shown(run: RunFile) -> None:
    again = (("ann", "ann-again"),)
    plan = AgreementPlan(drift="version", by="version", twice=again, level="document", level_column="topic")
    score = found(run, plan)
    assert [rater.name for rater in score.raters] == ["judge", "ann", "bob", "eve"], "the repeats are no further person"
    moved = {each.rater: each.change for each in score.people.drift}
    stricter, milder = moved["ann"].interval, moved["judge"].interval
    assert isinstance(stricter, Interval) and stricter.high < 0
    assert isinstance(milder, Interval) and milder.low > 0, "against people of whom one grows stricter"
    value = moved["ann"].value
    assert isinstance(value, float) and value == pytest.approx(-1.6, abs=0.5)
    [twice] = score.twice
    assert (twice.first.name, twice.second.name, twice.agreement.cases) == ("ann", "ann-again", 40)
    tables = {table.key: table for table in agreement_tables(score)}
    assert {"twice", "drift", "level"} <= tables.keys()
    assert not [each for table in tables.values() for each in table.notes if each.key == "each_case_once"]
    uneven = agreement_tables(replace(score, people=replace(score.people, unweighted=True)))
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
    plan = AgreementPlan(drift=IMPORT, twice=(("ann", "ann-again"),))
    [score] = agreement(run, HELPFUL, plan, [imported])
    moved = {each.rater: each.change for each in score.people.drift}
    assert set(moved) == {"ann", "bob", "eve"}, "a judge's scores come with no import"
    interval = moved["ann"].interval
    assert isinstance(interval, Interval) and interval.high < 0
    [alone] = agreement(run, HELPFUL, replace(plan, against="ann"), [imported])
    assert any(note.key == "no_import_drift" for note in alone.people.missing)


def test_a_person_s_second_ratings_are_no_further_person_of_a_named_group(run: RunFile) -> None:
    plan = AgreementPlan(against="ann", twice=(("ann", "ann-again"),))
    group = replace(plan, against="", raters=("judge", "ann", "ann-again", "bob"))
    for each in (plan, group):
        assert "ann-again" not in {name for table in agreement_tables(found(run, each)) for name in table.raters()} - {
            name for table in agreement_tables(found(run, each)) if table.key == "twice" for name in table.raters()
        }


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
    assert level_of("case") == ("case", "") and level_of("system=bot") == ("system", "bot")
    assert first_and_second("ann=ann-again") == ("ann", "ann-again")
    for given in ("", "bot", "system", "document=", "case=bot"):
        with pytest.raises(OptionError, match="is not case, system=COLUMN"):
            level_of(given)
    for given in ("ann", "ann=", "ann=ann"):
        with pytest.raises(OptionError, match="is not NAME=NAME"):
            first_and_second(given)
    with pytest.raises(UsageError, match="no rater is called 'zoe'"):
        found(run, AgreementPlan(twice=(("ann", "zoe"),)))
