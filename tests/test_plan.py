"""`plan` says how many labels or questions a figure needs; `compare` and `calibrate` follow it, look by look."""

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from agreement_run import HELPFUL, answered, answers_run
from rated_run import add, cases, judged_run, said
from typed_here import Run, Said, typing_in

from pathway_local.errors import ContentChanged
from pathway_local.results.study import take_look
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.content import check_content
from pathway_local.runs.purge import purge
from pathway_local.runs.removal import remove_rater
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.study_plans import Look, StudyPlan, _scores_hash, study_plans
from pathway_local.statistics.figure import percent

BOTS = ("--between", "chatbot=v1,v2", "--pair-by", "question_id")
MEAN = ("--against", "committee", "--half-width", "0.1")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answers") / "answers.run"
    answers_run(path).close()
    return path


@pytest.fixture
def run(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    shutil.copy(whole, tmp_path / "a.run")
    return typing_in(tmp_path, monkeypatch, capsys)


def ok(said: Said) -> Any:
    assert said.code == 0, said
    return json.loads(said.out) if said.out.startswith(("[", "{")) else said.words


def plans_of(path: Path) -> list[StudyPlan]:
    with RunFile.read(path) as read:
        check_content(read.database)
        assert AuditTrail(read.database).check() == 0
        return study_plans(read)


def difference(run: Run, *more: str, figure: str = "mean_difference") -> dict[str, Any]:
    [found] = ok(run("compare", "a.run", *BOTS, "--rater", "demo", "--json", *more))
    return next(each for each in (found, *found["corrected"]) if each["figure"] == figure)


def test_calibrate_follows_a_plan_of_labels_and_records_each_look_once(run: Run, tmp_path: Path) -> None:
    def corrected() -> dict[str, Any]:
        [found] = ok(run("calibrate", "a.run", "--against", "committee", "--json"))
        return next(each for each in found["figures"] if each["figure"] == "corrected")

    plain = corrected()
    assert "Go on until there are" in ok(run("plan", "a.run", *MEAN, "--looks", "3"))
    [plan] = plans_of(tmp_path / "a.run")
    assert (plan.began, plan.counted, plan.target["against"]) == (120, "labels", "committee") and plan.planned > 120
    first, again = corrected(), corrected()
    assert first == again and first["look"] == 1 and 0.95 < first["level"] < 1
    assert first["low"] < plain["low"] and first["high"] > plain["high"] and first["value"] == plain["value"]
    [after] = plans_of(tmp_path / "a.run")
    assert [look.count for look in after.taken] == [120]
    assert "Look 1 of the plan, at 120 of the" in ok(run("calibrate", "a.run", "--against", "committee"))


def test_an_interval_is_called_by_its_own_level(run: Run, tmp_path: Path) -> None:
    aim = ("--against", "committee", "--half-width", "0.055")
    ok(run("plan", "a.run", *aim, "--rater", "demo", "--looks", "3"))
    [found] = ok(run("calibrate", "a.run", "--against", "committee", "--judge", "demo", "--json"))
    level = percent(next(each["level"] for each in found["figures"] if "look" in each)).removesuffix("%")
    assert level.startswith("99.9")
    shown = ok(run("calibrate", "a.run", "--against", "committee", "--judge", "demo"))
    assert f"{level}% intervals: " in shown and f"({level}%)" in shown and "95% interval" not in shown
    ok(run("report", "a.run", "--lang", "de", "--out", "a.html"))
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"({level.replace('.', ',')}-%-Intervall " in page and f"{level.replace('.', ',')}-%-Intervall</th>" in page


def test_an_interval_of_one_of_several_planned_figures_says_why_it_is_wider(run: Run) -> None:
    told = ok(run("plan", "a.run", *BOTS, "--half-width", "0.5", "--json"))
    assert len([each for each in told if each["planned"]]) == 2
    [found] = ok(run("compare", "a.run", *BOTS, "--rater", "demo", "--json"))
    assert found["level"] == pytest.approx(0.975)
    assert "(97.5% interval, wider because 2 figures share the error of a plan, of v1 minus v2" in found["sentence"]


def test_compare_follows_a_plan_of_students_and_one_of_labels(run: Run, tmp_path: Path) -> None:
    clusters = ("--cluster", "student")
    plain = difference(run, *clusters)
    [found] = ok(run("plan", "a.run", *BOTS, *clusters, "--rater", "demo", "--detect", "0.1", "--looks", "2", "--json"))
    assert found["now"] == 48 and found["planned"] > 48 and found["counted"] == "questions"
    ok(run("plan", "a.run", *BOTS, *clusters, "--rater", "demo", "--labels", "--margin", "0.5"))
    looked, by_labels = difference(run, *clusters), difference(run, *clusters, figure="corrected_difference")
    assert looked["planned"] == found["planned"] and looked["count"] == 48
    assert looked["low"] < plain["low"] < plain["high"] < looked["high"]
    assert by_labels["counted"] == "labels" and by_labels["margin"] == 0.5
    assert {plan.counted: len(plan.taken) for plan in plans_of(tmp_path / "a.run")} == {"questions": 1, "labels": 1}
    refused = run("compare", "a.run", *BOTS, "--rater", "demo")
    assert refused.code == 2 and "Give --cluster student" in refused.err
    refused = run("compare", "a.run", *BOTS, *clusters, "--rater", "demo", "--margin", "0.1")
    assert refused.code == 2 and "Leave --margin out" in refused.err


def test_a_planned_difference_is_tested_alone_and_either_way_round(run: Run) -> None:
    ok(run("plan", "a.run", *BOTS, "--rater", "demo", "--half-width", "0.5"))
    turned = ("--between", "chatbot=v2,v1", "--pair-by", "question_id")
    found = {each["rater"]: each for each in ok(run("compare", "a.run", *turned, "--json"))}
    assert found["demo"]["planned"] == 20 and found["demo"]["family"] == 1
    assert found["gpt"]["family"] == 4, "demo is in no family, the others are"


def test_a_report_is_a_look(run: Run, tmp_path: Path) -> None:
    answers_run(tmp_path / "judges.run", people=False).close()
    ok(run("plan", "judges.run", *BOTS, "--rater", "demo", "--detect", "0.1"))
    ok(run("report", "judges.run", *BOTS, "--out", "a.html"))
    assert [len(plan.taken) for plan in plans_of(tmp_path / "judges.run")] == [1]
    assert "Look 1 of the plan" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_a_plan_is_made_anew_until_somebody_has_looked(run: Run, tmp_path: Path) -> None:
    ok(run("plan", "a.run", *MEAN))
    ok(run("plan", "a.run", "--against", "committee", "--half-width", "0.09"))
    [plan] = plans_of(tmp_path / "a.run")
    assert plan.points == 0.09
    ok(run("calibrate", "a.run", "--against", "committee"))
    for half_width in ("0.1", "0.5"):
        refused = run("plan", "a.run", "--against", "committee", "--half-width", half_width)
        assert refused.code == 2 and "a look was taken at 120" in refused.err, "also with as many labels as then"
    [looked] = plans_of(tmp_path / "a.run")
    assert looked.planned == plan.planned


def test_groups_and_shares_are_not_widened_by_the_plan_of_a_mean(run: Run) -> None:
    def figures() -> dict[str, dict[str, Any]]:
        [found] = ok(run("calibrate", "a.run", "--against", "committee", "--by", "chatbot", "--json"))
        return {each.get("group", ""): each for each in found["figures"] if each["figure"] == "corrected"}

    plain = figures()
    ok(run("plan", "a.run", *MEAN, "--looks", "3"))
    planned = figures()
    assert planned[""]["look"] == 1 and planned[""]["low"] < plain[""]["low"]
    assert len(planned) == 3 and all(planned[name] == plain[name] for name in planned if name)


def test_a_look_at_a_run_in_use_is_refused_and_says_why(run: Run, tmp_path: Path) -> None:
    ok(run("plan", "a.run", *MEAN))
    with RunFile.open(tmp_path / "a.run"):
        ok(run("calibrate", "a.run", "--against", "committee", "--target", "population"))
        refused = run("calibrate", "a.run", "--against", "committee")
    assert refused.code == 4 and "this look must be recorded" in refused.err and "meanwhile" not in refused.err


def planned(*taken: int, began: int = 0, planned: int = 100) -> StudyPlan:
    looks = tuple(Look("", count, 0.99) for count in taken)
    return StudyPlan("r", "s", "demo", {}, "labels", "detect", 0.2, 0.05, planned, 2, began, "", looks)


def test_a_look_of_an_earlier_release_is_one_with_its_copy_alone() -> None:
    earlier = Look("2026-05-04T10:00:00+00:00", 50, 0.99)
    assert earlier.same_as(Look(earlier.at, 50, 0.99))
    assert not earlier.same_as(Look("2026-05-05T10:00:00+00:00", 50, 0.99))


def test_looks_outside_a_plan_are_told_and_not_recorded() -> None:
    assert take_look(planned(), 100).level == pytest.approx(0.95)
    fewer, after = take_look(planned(50), 40), take_look(planned(50, 100), 130)
    assert fewer.outside and after.outside and not fewer.new and not after.new
    assert (fewer.level, after.level) == (take_look(planned(), 50).level, take_look(planned(50), 100).level)
    began = take_look(planned(began=60), 60)
    assert began.new and began.number == 1 and take_look(planned(60, began=60), 80).number == 2


def test_without_labels_the_judge_s_spread_serves(run: Run, tmp_path: Path) -> None:
    [found] = ok(run("plan", "a.run", "--against", "nobody yet", "--half-width", "0.2", "--json"))
    [known] = ok(run("plan", "a.run", "--against", "committee", "--half-width", "0.2", "--json"))
    assert found["spread_from"] == "judge's scores" and known["spread_from"] == "labels"
    assert found["now"] == 0 and known["planned"] < found["planned"] < 2.5 * known["planned"]
    words = ok(run("plan", "a.run", "--against", "nobody yet", "--half-width", "0.2"))
    good, none = map(int, re.search(r"With 0.8 the number would be (\d+), with 0 (\d+)", words).groups())  # type: ignore[union-attr]
    assert good < found["planned"] < none
    words = ok(run("plan", "a.run", *BOTS, "--half-width", "0.01", "--labels"))
    assert "even labels of all" in words and "an interval of at most 0.01 points" in words
    assert "can't be reached. Name more points, or judge more cases." in words
    assert len(plans_of(tmp_path / "a.run")) == 2, "what can't be reached is not planned"


@pytest.mark.parametrize("labels", [(), ("--labels",)])
def test_without_enough_cases_plan_asks_for_more(labels: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    rows = [*cases(bot="v1"), *cases(ids=[f"t-{n}" for n in range(4)], bot="v2")]
    judged_run(tmp_path / "few.run", rows=rows).close()
    words = ok(run("plan", "few.run", "--between", "bot=v1,v2", "--detect", "0.5", *labels))
    why = "Nothing is planned, because under 10 cases of one side got a score. Judge more cases, or name another"
    assert why in words and "can't be reached" not in words and "--min-group" not in words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (MEAN[:2], "plan needs one aim"),
        ((*MEAN, "--detect", "1"), "plan needs one aim"),
        (("--half-width", "0.2"), "either --against or --between"),
        ((*BOTS, *MEAN), "either --against or --between"),
        ((*BOTS[2:], *MEAN), "--pair-by needs --between"),
        ((*BOTS, "--detect", "0"), "is not above 0"),
        ((*BOTS, "--detect", "nan"), "nan"),
        (("--against", "committee", "--detect", "1"), "a mean is planned by --half-width"),
        ((*MEAN, "--labels"), "--against plans labels anyway"),
    ],
)
def test_what_makes_no_plan_is_refused(run: Run, arguments: tuple[str, ...], said: str) -> None:
    refused = run("plan", "a.run", *arguments)
    assert refused.code == 2 and said in refused.err, refused


def test_the_plans_of_a_run_are_shown(run: Run) -> None:
    assert "the run holds no plan" in ok(run("plan", "a.run"))
    ok(run("plan", "a.run", *MEAN))
    ok(run("plan", "a.run", *BOTS, "--rater", "demo", "--detect", "0.3"))
    shown = ok(run("plan", "a.run"))
    assert "mean corrected by committee" in shown and "v1 against v2" in shown


def test_an_undone_import_does_not_undo_a_look(run: Run, tmp_path: Path) -> None:
    (tmp_path / "zoe.csv").write_text("id,score\n" + "".join(f"a-{at:03},{at % 5 + 1}\n" for at in range(60)))
    ok(run("import", "a.run", "zoe.csv", "--kind", "human", "--rater", "zoe"))
    ok(run("plan", "a.run", "--against", "zoe", "--half-width", "0.2"))
    ok(run("calibrate", "a.run", "--against", "zoe", "--assume-random"))
    ok(run("runs", "undo", "a.run"))
    [plan] = plans_of(tmp_path / "a.run")
    assert plan.target["against"] == "zoe" and [look.count for look in plan.taken] == [60]


def test_looks_of_two_copies_at_equal_counts_are_one_only_at_the_same_scores(run: Run, tmp_path: Path) -> None:
    def rated(target: str, first: int, score: int) -> None:
        rows = "".join(f"a-{at:03},{score}\n" for at in range(first, first + 20))
        (tmp_path / "more.csv").write_text(f"id,score\n{rows}")
        ok(run("import", target, "more.csv", "--kind", "human", "--rater", "zoe"))

    look = ("--against", "zoe", "--assume-random")
    rated("a.run", 0, 3)
    ok(run("plan", "a.run", "--against", "zoe", "--half-width", "0.2"))
    for copy in ("same.run", "other.run"):
        shutil.copy(tmp_path / "a.run", tmp_path / copy)
    for name, first in (("a.run", 20), ("same.run", 20), ("other.run", 40)):
        rated(name, first, 4)
        ok(run("calibrate", name, *look))
    ok(run("runs", "merge", "a.run", "same.run", "--out", "both.run"))
    [plan] = plans_of(tmp_path / "both.run")
    assert [each.count for each in plan.taken] == [40]
    for parts in (("a.run", "other.run"), ("other.run", "a.run")):
        refused = run("runs", "merge", *parts, "--out", "no.run")
        assert refused.code == 4 and "with 40 labels in " in refused.err and not (tmp_path / "no.run").exists()


def test_a_look_at_labels_is_known_by_the_labels_that_it_showed(run: Run, tmp_path: Path) -> None:
    ok(run("plan", "a.run", *BOTS, "--rater", "demo", "--labels", "--margin", "0.5"))
    [plan] = plans_of(tmp_path / "a.run")
    assert plan.counted == "labels"
    with RunFile.open(tmp_path / "a.run") as opened:
        rows = answered()[0][:1]
        shown = _scores_hash(opened, plan)
        add(opened, "another judge", said(5, ids=[rows[0].id]), HELPFUL, rows=rows)
        assert _scores_hash(opened, plan) == shown
        add(opened, "zoe", said(5, ids=[rows[0].id]), HELPFUL, "human", rows)
        assert _scores_hash(opened, plan) != shown


def test_plans_are_covered_merged_and_removed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    ok(run("plan", "a.run", *MEAN))
    shutil.copy(path, tmp_path / "b.run")
    ok(run("calibrate", "b.run", "--against", "committee"))
    ok(run("runs", "merge", "a.run", "b.run", "--out", "both.run"))
    [plan] = plans_of(tmp_path / "both.run")
    assert [look.count for look in plan.taken] == [120]
    shutil.copy(path, tmp_path / "c.run")
    ok(run("plan", "c.run", "--against", "committee", "--half-width", "0.09"))
    for parts, points in ((("a.run", "c.run"), 0.09), (("c.run", "b.run"), 0.1)):
        ok(run("runs", "merge", *parts, "--out", f"merged-{points}.run"))
        [kept] = plans_of(tmp_path / f"merged-{points}.run")
        assert kept.points == points, "the later plan counts, but one with looks counts more"
    ok(run("calibrate", "c.run", "--against", "committee"))
    assert "somebody looked at both" in run("runs", "merge", "b.run", "c.run", "--out", "no.run").err
    remove_rater(tmp_path / "c.run", "committee", ["remove"])
    assert not plans_of(tmp_path / "c.run")
    purge(tmp_path / "both.run", "all", ["purge"])
    assert not plans_of(tmp_path / "both.run")
    db = sqlite3.connect(path)
    db.execute("UPDATE plans SET looks = '[]', facts = replace(facts, '120', '12')")
    db.commit()
    db.close()
    with pytest.raises(ContentChanged):
        plans_of(path)
