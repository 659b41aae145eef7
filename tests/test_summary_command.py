"""`pathway-local summary` tells what it leaves out."""

import csv
import json
from pathlib import Path

from rated_run import add, cases, judged_run, said
from typed_here import Run

from pathway_local.case import Case
from pathway_local.verdict import Failure, Score, Verdict


def test_a_value_with_few_cases_of_one_rater_is_told_though_another_has_many(run: Run, tmp_path: Path) -> None:
    rows = cases(audience="guest")
    with judged_run(tmp_path / "may.run", rows=rows) as made:
        add(made, "ann", said(1, 4), kind="human", rows=rows)
    found = run("summary", "may.run", "--by", "audience", "--min-group", 3, "--json")
    assert [group["rater"] for group in json.loads(found.out)] == ["demo"]
    assert (
        found.err == "note: one value of audience has under 3 scored cases of a rater and is left out (--min-group)\n"
    )
    every = run("summary", "may.run", "--by", "audience", "--min-group", 1)
    assert (every.code, every.err) == (0, "")


def test_small_groups_are_shown_with_a_mark(run: Run, tmp_path: Path) -> None:
    rows = [*cases(audience="guest"), *cases(ids=[f"t-{n}" for n in range(12)], audience="staff")]
    with judged_run(tmp_path / "may.run", rows=rows) as made:
        add(made, "ann", said(1, 4, 2, 5), kind="human", rows=rows[:4])
    found = run("summary", "may.run", "--by", "audience")
    assert "guest †" in found.out and "staff †" not in found.out and "† under 10 cases" in found.out
    groups = json.loads(run("summary", "may.run", "--by", "audience", "--json").out)
    assert {(group["audience"], bool(group["notes"])) for group in groups} == {("guest", True), ("staff", False)}
    table = run("agreement", "may.run", "--by", "audience")
    assert "guest" in table.out and "the group has 4 cases, under 10" in table.words
    left_out = run("summary", "may.run", "--by", "audience", "--min-group", 20)
    assert "no table: every group of audience is left out" in left_out.err


def test_failed_cases_are_named_once_and_the_rest_is_found(run: Run, tmp_path: Path) -> None:
    failed = {
        f"f-{n}": Failure("bad-row", f"x.csv line {n}: it has no {n}", "x.csv", n, f"it has no {n}")
        for n in range(1, 13)
    }
    rows = [*cases(), *(Case(name, {}, row=n) for n, name in enumerate(failed, 1))]
    with judged_run(tmp_path / "may.run", rows=rows[:4]) as made:
        add(made, "demo", failed, rows=rows[4:])
    found = run("summary", "may.run")
    assert found.words.count("it has no") == 10 and "f-3 (x.csv line 3): it has no 3" in found.out
    assert "all of them: `pathway-local export may.run --out verdicts.xlsx`" in found.words
    (group,) = json.loads(run("summary", "may.run", "--json").out)
    assert group["failed"][0] == {"case": "f-1", "row": 1, "reason": "it has no 1"}


def test_a_judge_that_would_rather_have_written_something_else_is_told_of(run: Run, tmp_path: Path) -> None:
    """Its scores have probabilities, but these are shares of the little that it gave to all legal values."""
    rows = cases(ids=[f"c-{n}" for n in range(40)])
    for name, low in (("few", 2), ("many", 3)):
        masses = [0.4] * low + [0.9] * (40 - low)
        given = {
            row.id: Verdict({"score": Score(4, {4: 0.75, 5: 0.25}, mass)})
            for row, mass in zip(rows, masses, strict=True)
        }
        with judged_run(tmp_path / f"{name}.run", rows=[]) as made:
            add(made, "judge", given, rows=rows)
        found = run("summary", f"{name}.run")
        told = "score: in 3 of 40 verdicts the judge would rather have written something else: it gave all legal values"
        assert (told in found.words) is (name == "many")
        (group,) = json.loads(run("summary", f"{name}.run", "--json").out)
        assert group["scores"]["score"]["median_mass"] == 0.9
        run("export", f"{name}.run", "--out", f"{name}.csv")
        with (tmp_path / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        assert [float(row["score_mass"]) for row in table].count(0.4) == low
        assert {row["score_confidence"] for row in table} == {"0.75"}
