"""`pathway-local summary` tells what it leaves out."""

import csv
import json
from pathlib import Path

import numpy as np
import statsmodels.api as sm
from rated_run import add, cases, judged_run, said
from scipy import stats
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


def test_an_interval_allows_for_students_and_says_where_values_repeat(run: Run, tmp_path: Path) -> None:
    """Held against a regression of statsmodels on even clusters, but for the log-odds and their degrees of freedom."""
    rng = np.random.default_rng(3)
    student, scores = np.repeat(np.arange(20), 5), np.empty(100)
    scores[:] = np.clip(np.round(3.4 + rng.normal(0, 0.9, 20)[student] + rng.normal(0, 0.4, 100)), 1, 5)
    rows = [
        Case(f"c-{n}", cases()[0].inputs, {"student": f"st{student[n]}", "bot": "ab"[n % 2]}, n) for n in range(100)
    ]
    rows += [Case("alone", cases()[0].inputs, {}, 100)]
    given = [int(each) for each in np.where(scores == 3, 4, scores)]  # 3 is a special level
    with judged_run(tmp_path / "may.run", rows=rows[:100]) as made:
        add(made, "ann", said(*given, ids=[row.id for row in rows]), kind="human", rows=rows)
    plain = run("summary", "may.run", "--by", "bot")
    assert (
        "several cases share a value of student (20): if such cases depend on each other, give --cluster stu"
        in plain.words
    )
    alone, together = (
        json.loads(run("summary", "may.run", "--json", *more).out)[0] for more in ((), ("--cluster", "Student"))
    )
    assert (alone["cluster_by"], together["cluster_by"]) == (None, "student")
    fit = sm.OLS(given, np.ones(100)).fit(cov_type="cluster", cov_kwds={"groups": student}, use_t=True)
    low, high = (np.log((end - 1) / (5 - end)) for end in together["scores"]["score"]["interval"])
    mean = together["scores"]["score"]["mean"]
    error = fit.bse[0] * 4 / ((mean - 1) * (5 - mean))
    assert stats.t.ppf(0.975, 19) * error <= (high - low) / 2 <= 1.1 * stats.t.ppf(0.975, 19) * error
    low, high = alone["scores"]["score"]["interval"]
    assert high - low < 0.7 * np.subtract(*together["scores"]["score"]["interval"][::-1])
    assert "Intervals allow for cases with the same student" in run("summary", "may.run", "--cluster", "student").out
    run("report", "may.run", "--out", "may.html", "--cluster", "student")
    ends = "{:.2f} to {:.2f}".format(*together["scores"]["score"]["interval"])
    assert ends in Path("may.html").read_text(encoding="utf-8")


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
