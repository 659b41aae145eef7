"""`pathway-local summary` tells what it leaves out."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from compared_run import compared_cases, compared_run
from msgspec.structs import replace
from rated_run import TWO, add, cases, judged_run, said
from scipy import stats
from typed_here import Run, notes, rows

from pathway_local.case import Case
from pathway_local.statistics.effect import scale_mean
from pathway_local.statistics.figure import Interval
from pathway_local.verdict import Failure, Score, Verdict


def test_a_value_with_few_cases_of_one_rater_is_told_though_another_has_many(run: Run, tmp_path: Path) -> None:
    guests = cases(audience="guest")
    with judged_run(tmp_path / "may.run", rows=guests) as made:
        add(made, "ann", said(1, 4), kind="human", rows=guests)
    found = run("summary", "may.run", "--by", "audience", "--min-group", 3, "--json")
    assert [group["rater"] for group in rows(found.out, "groups")] == ["demo"]
    hidden = "one value of audience has under 3 scored cases of a rater and is left out (--min-group)"
    assert notes(found.out, "hidden_groups") == [hidden]
    every = run("summary", "may.run", "--by", "audience", "--min-group", 1)
    assert (every.code, every.err) == (0, "")


def test_a_score_that_a_rater_never_gave_has_no_row(run: Run, tmp_path: Path) -> None:
    with judged_run(tmp_path / "may.run", TWO) as made:
        add(made, "ann", said(1, 4, score="clear"), TWO, "human")
    found = rows(run("summary", "may.run", "--json").out, "scores")
    assert [(row["rater"], row["score"]) for row in found] == [("ann", "clear"), ("demo", "clear"), ("demo", "right")]


def test_small_groups_are_left_out(run: Run, tmp_path: Path) -> None:
    every = [*cases(audience="guest"), *cases(ids=[f"t-{n}" for n in range(12)], audience="staff")]
    with judged_run(tmp_path / "may.run", rows=every) as made:
        add(made, "ann", said(1, 4, 2, 5), kind="human", rows=every[:4])
    found = run("summary", "may.run", "--by", "audience")
    assert "guest" not in found.out and "staff" in found.out and "demo 12 4.00" in found.words
    shown = rows(run("summary", "may.run", "--by", "audience", "--min-group", 1, "--json").out, "groups")
    assert {(row["group"], row["rater"], row["n"]) for row in shown} == {
        ("guest", "ann", 4), ("guest", "demo", 4), ("staff", "demo", 12)
    }  # fmt: skip
    assert "guest" not in run("agreement", "may.run", "--by", "audience", "--json").out
    left_out = run("summary", "may.run", "--by", "audience", "--min-group", 20)
    assert "2 values of audience have under 20 scored cases of a rater and are left out" in left_out.words


def test_failures_never_disappear_from_a_table(run: Run, tmp_path: Path) -> None:
    """A chatbot of which every answer failed, and a failed row that has no chatbot."""
    every = [
        *cases(ids=[f"t-{n}" for n in range(12)], bot="Lucía"),
        *cases(ids=[f"m-{n}" for n in range(9)], bot="Mudo"),
    ]
    lost = Case("lost", {}, row=30)
    failed = {row.id: Failure("missing-input", "it has no answer") for row in (*every[12:], lost)}
    with judged_run(tmp_path / "may.run", rows=every[:12]) as made:
        add(made, "demo", failed, rows=[*every[12:], lost])
    for least in ((), ("--min-group", 100)):
        found = run("summary", "may.run", "--by", "bot", "--json", *least)
        groups = {row["group"]: row for row in rows(found.out, "groups")}
        assert {name: (row["n"], row["failed"]) for name, row in groups.items() if name != "Lucía"} == {
            "Mudo": (0, 9), "": (0, 1)
        }  # fmt: skip
        counts = {row["group"]: row["count"] for row in rows(found.out, "failures")}
        assert counts == {"Mudo": 9, "": 1}
    shown = run("summary", "may.run", "--by", "bot")
    assert "Mudo 0" in shown.words and "(empty) 0" in shown.words
    assert "Mudo" in run("summary", "may.run", "--by", "bot", "--out", "g.csv").out
    assert "Mudo" in (tmp_path / "g.csv").read_text(encoding="utf-8")


def test_an_interval_allows_for_students(run: Run, tmp_path: Path) -> None:
    """Held against a regression of statsmodels on even clusters, but for the log-odds and their degrees of freedom."""
    rng = np.random.default_rng(3)
    student, scores = np.repeat(np.arange(20), 5), np.empty(100)
    scores[:] = np.clip(np.round(3.4 + rng.normal(0, 0.9, 20)[student] + rng.normal(0, 0.4, 100)), 1, 5)
    every = [
        Case(f"c-{n}", cases()[0].inputs, {"student": f"st{student[n]}", "bot": "ab"[n % 2]}, n) for n in range(100)
    ]
    every += [Case("alone", cases()[0].inputs, {}, 100)]
    given = [int(each) for each in np.where(scores == 3, 4, scores)]  # 3 is a special level
    with judged_run(tmp_path / "may.run", rows=every[:100]) as made:
        add(made, "ann", said(*given, ids=[row.id for row in every]), kind="human", rows=every)
    plain = run("summary", "may.run", "--by", "bot")
    assert "name its column with --cluster" in plain.words
    alone, together = (
        json.loads(run("summary", "may.run", "--json", *more).out)[1] for more in ((), ("--cluster", "Student"))
    )
    assert "cluster" not in alone and together["cluster"] == "student"
    plain_mean, mean = (each["rows"][0]["mean"] for each in (alone, together))
    fit = sm.OLS(given, np.ones(100)).fit(cov_type="cluster", cov_kwds={"groups": student}, use_t=True)
    low, high = (np.log((end - 1) / (5 - end)) for end in (mean["low"], mean["high"]))
    error = fit.bse[0] * 4 / ((mean["value"] - 1) * (5 - mean["value"]))
    assert stats.t.ppf(0.975, 19) * error <= (high - low) / 2 <= 1.1 * stats.t.ppf(0.975, 19) * error
    assert plain_mean["high"] - plain_mean["low"] < 0.7 * (mean["high"] - mean["low"])
    assert (
        "The intervals allow for cases with the same student being alike"
        in run("summary", "may.run", "--cluster", "student").out
    )
    run("report", "may.run", "--out", "may.html", "--cluster", "student")
    ends = f"{mean['low']:.2f} to {mean['high']:.2f}"
    assert ends in Path("may.html").read_text(encoding="utf-8")


def test_failed_cases_are_named_once_and_the_rest_is_found(run: Run, tmp_path: Path) -> None:
    failed = {
        f"f-{n}": Failure("bad-row", f"x.csv line {n}: it has no {n}", "x.csv", n, f"it has no {n}")
        for n in range(1, 13)
    }
    every = [*cases(), *(Case(name, {}, row=n) for n, name in enumerate(failed, 1))]
    with judged_run(tmp_path / "may.run", rows=every[:4]) as made:
        add(made, "demo", failed, rows=every[4:])
    found = run("summary", "may.run")
    assert found.words.count("it has no") == 10 and "x.csv line 3 it has no 3" in found.words
    assert "all of them: `pathway-local export may.run --out verdicts.xlsx`" in found.words
    first, *_ = rows(run("summary", "may.run", "--json").out, "failed")
    assert first == {"row": 1, "kind": "bad-row", "place": "x.csv line 1", "reason": "it has no 1"}


def test_a_confidence_of_some_verdicts_says_of_how_many(run: Run, tmp_path: Path) -> None:
    for name, some in (("some", 2), ("all", 4)):
        given = {
            row.id: Verdict({"score": Score(4, {4: 0.75, 5: 0.25} if place < some else {})})
            for place, row in enumerate(cases())
        }
        with judged_run(tmp_path / f"{name}.run", rows=[]) as made:
            add(made, "gpt", given, kind="hosted")
        told = "conf.: the mean of 2 of 4 verdicts by gpt under tiny"
        assert (told in run("summary", f"{name}.run").words) is (name == "some")


def test_a_judge_that_would_rather_have_written_something_else_is_told_of(run: Run, tmp_path: Path) -> None:
    """Its scores have probabilities, but these are shares of the little that it gave to all legal values."""
    every = cases(ids=[f"c-{n}" for n in range(40)])
    for name, low in (("few", 2), ("many", 3)):
        masses = [0.4] * low + [0.9] * (40 - low)
        given = {
            row.id: Verdict({"score": Score(4, {4: 0.75, 5: 0.25}, mass)})
            for row, mass in zip(every, masses, strict=True)
        }
        with judged_run(tmp_path / f"{name}.run", rows=[]) as made:
            add(made, "judge", given, rows=every)
        found = run("summary", f"{name}.run")
        told = "tiny by judge, score: in 3 of 40 verdicts the judge would rather have written something else"
        assert (told in found.words) is (name == "many")
        (row,) = rows(run("summary", f"{name}.run", "--json").out, "scores")
        assert row["mass"] == 0.9
        run("export", f"{name}.run", "--out", f"{name}.csv")
        with (tmp_path / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        assert [float(row["score_mass"]) for row in table].count(0.4) == low
        assert {row["score_confidence"] for row in table} == {"0.75"}


@pytest.mark.parametrize(("cut", "warned"), [(1, False), (3, True)])
def test_a_budget_that_often_cuts_a_field_is_told(run: Run, tmp_path: Path, cut: int, warned: bool) -> None:
    ids = [f"c-{number}" for number in range(40)]
    told = {name: Verdict({"score": Score(4)}, {}, ("cut:reason",) if at < cut else ()) for at, name in enumerate(ids)}
    with judged_run(tmp_path / "may.run", rows=cases(ids=ids)) as made:
        add(made, "demo", told, rows=cases(ids=ids))
    found = run("summary", "may.run").words
    assert ("marked cut:reason: that is 8% of the verdicts. Raise the field's limit" in found) == warned


def test_verdicts_on_earlier_texts_are_left_out_and_told(run: Run, tmp_path: Path) -> None:
    with judged_run(tmp_path / "may.run") as made:
        old = [Case(case.id, {**case.inputs, "answer": "old"}, {}, case.row) for case in cases()]
        add(made, "ann", said(1, 1, 1, 1), kind="human", rows=old)
    out = run("summary", "may.run", "--json").out
    assert [row["rater"] for row in rows(out, "scores")] == ["demo"]
    assert len(notes(out, "other_texts")) == 1


def test_cases_count_by_a_column(run: Run, tmp_path: Path) -> None:
    """As often as if each stood there so many times, in one cluster with its copies; nothing else is weighed."""
    rng = np.random.default_rng(8)
    heavy, scores = rng.integers(0, 4, 60), rng.integers(1, 6, 60)
    every = [Case(f"q{n}", {"answer": f"a {n}", "fq_id": "f"}, {"peso": f"{heavy[n]},0"}, n) for n in range(60)]
    verdicts = {f"q{n}": Verdict({"clear": Score(int(scores[n])), "right": Score(1)}) for n in range(60)}
    with judged_run(tmp_path / "may.run", TWO, every) as made:
        add(made, "demo", verdicts, TWO, rows=every)
    found = run("summary", "may.run", "--weight", "peso", "--json").out
    [mean] = [row["mean"] for row in rows(found, "scores") if row["score"] == "clear"]
    copies = scale_mean(np.repeat(scores, heavy).astype(float), range(1, 6), np.repeat(np.arange(60), heavy))
    assert mean["value"] == pytest.approx(np.average(scores, weights=heavy))
    assert isinstance(copies.interval, Interval)
    assert (mean["low"], mean["high"]) == pytest.approx((copies.interval.low, copies.interval.high))
    assert json.loads(found)[-1]["weight"] == "peso" and notes(found, "weighted")
    plain = rows(run("summary", "may.run", "--json").out, "scores")
    same = ("n", "distribution", "confidence")
    assert [[row[key] for key in same] for row in plain] == [
        [row[key] for key in same] for row in rows(found, "scores")
    ]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (["1", "", "2", "1"], "1 of 4 cases with a score have no weight in the column peso"),
        (["1", "1,000", "x", "1"], "2 of 4 cases with a score have a weight that is no number"),
        (["1", "inf", "1", "1"], "1 of 4 cases with a score have a weight that is no number"),
        (["1", "-1", "1", "1"], "1 of 4 cases with a score have a negative weight"),
        (["0", "0", "0", "0.0"], "4 of 4 cases with a score have the weight 0, and none has another"),
    ],
)
def test_what_can_weigh_no_case_is_refused(run: Run, tmp_path: Path, weights: list[str], said: str) -> None:
    every = [replace(case, metadata={"peso": own}) for case, own in zip(cases(), weights, strict=True)]
    judged_run(tmp_path / "may.run", rows=every).close()
    found = run("summary", "may.run", "--weight", "peso")
    assert (found.code, found.out) == (2, "") and said in found.words
    assert ("runs keep" in found.words) is ("" in weights), "it fills in what is missing, and corrects nothing"


def test_choices_count_by_a_column(run: Run, tmp_path: Path) -> None:
    heavy = [3, *[1] * 4, *[2] * 7]
    weighed = [replace(case, metadata={"peso": str(own)}) for case, own in zip(compared_cases(), heavy, strict=True)]
    with compared_run(tmp_path / "may.run") as made:
        made.keep_metadata([case.ref("") for case in weighed], None)
    [row] = rows(run("summary", "may.run", "--weight", "peso", "--json").out, "choices")
    assert (row["wins"], row["ties"], row["losses"]) == (5, 4, 3)
    assert row["win_rate"]["value"] == pytest.approx((7 + 4 * 2 / 2) / sum(heavy))
