"""`pathway-local judge`: what is refused before any work, and what goes on with what."""

import json
from pathlib import Path

import pytest
from typed import RUBRIC, Desk

from pathway_local.runs.run_file import RunFile


def test_raters_of_one_judge_go_on_each_with_its_own_engine_settings(desk: Desk) -> None:
    few, more = desk.cases(2, "few.jsonl"), desk.cases(3, "more.jsonl")
    registry = desk.work / "models.yaml"
    desk.typed(*desk.judging(few, "--rater", "anna"))
    entries = json.loads(registry.read_text())
    entries["scripted"]["engine"]["delay"] = 0.002
    registry.write_text(json.dumps(entries))
    desk.typed(*desk.judging(few, "--rater", "ben"))
    said = desk.typed("judge", more.name, "--run", "may.run", "--models", "models.yaml").stderr
    assert said.count("sealed:") == 2, "an engine for each"
    job = json.loads(desk.typed("runs", "audit", "may.run", "--json").stdout)["entries"][-1]
    assert (job["facts"]["judged"], job["facts"]["skipped"]) == (2, 4)


def test_another_rubric_is_for_the_runs_own_judge(desk: Desk) -> None:
    cases = desk.cases(2)
    (desk.work / "other.prompty").write_text(RUBRIC.replace("name: small", "name: other").replace("answer", "reply"))
    desk.typed(*desk.judging(cases, "--map", "answer=answer"))
    another = ["judge", cases.name, "-r", "other.prompty", "--map", "reply=answer", "--run", "may.run"]
    another += ["--models", "models.yaml", "--engine", "scripted"]
    desk.typed(*another)
    with RunFile.read(desk.work / "may.run") as run:
        assert [(record.rater, record.rubric) for record in run.records()] == [
            ("scripted", "small"),
            ("scripted", "other"),
        ] * 2
    registry = desk.work / "models.yaml"
    entries = json.loads(registry.read_text())
    registry.write_text(json.dumps(entries | {"second": entries["scripted"]}))
    desk.typed(*another, "--rater", "ben", "--judge", "second")
    assert "this run has several judges: scripted, second" in desk.typed(*another, code=2).stderr
    desk.typed(*another, "--rater", "ben")


@pytest.mark.parametrize(("column", "what"), [("question", "an input of the rubric"), ("id", "the column of the ids")])
def test_only_metadata_is_kept(desk: Desk, column: str, what: str) -> None:
    said = desk.typed(*desk.judging(desk.cases(1), "--keep", column), code=2).stderr
    assert f"{column} is {what}" in said


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Desk:
    """Where a run of two cases is."""
    desk = Desk(tmp_path_factory.mktemp("judged") / "d", tiny_judge)
    desk.typed(*desk.judging(desk.cases(2)))
    return desk


@pytest.mark.parametrize(
    ("option", "value"),
    [("--detail", "score"), ("--judge", "tiny"), ("--temperature", "1"), ("--seed", "0"), ("--think", "9")],
)
def test_a_run_that_goes_on_takes_no_option_that_would_make_another_rater(
    judged: Desk, option: str, value: str
) -> None:
    going_on = ("judge", "cases.jsonl", "--run", "may.run", "--models", "models.yaml")
    said = judged.typed(*going_on, option, value, code=2).stderr
    assert f"{option} would define a new rater" in said


def test_two_raters_or_rubrics_of_one_name_are_refused(desk: Desk) -> None:
    cases = desk.cases(2)
    said = desk.typed(*desk.judging(cases, "-j", "scripted"), code=2).stderr
    assert "2 judges would be the rater 'scripted'" in said
    other = desk.work / "other.prompty"
    other.write_text(RUBRIC.replace("Judge this", "Judge well this"))
    assert "two rubrics are called 'small'" in desk.typed(*desk.judging(cases, "-r", other), code=2).stderr
    assert not (desk.work / "may.run").exists()
    said = desk.typed(*desk.judging(cases, "--rater", "committee/x"), code=2).stderr
    assert "'committee/x' can't be a judge's name" in said
    desk.typed(*desk.judging(cases, "-r", "small.prompty"))


def test_a_file_in_another_encoding_is_refused_with_its_line_before_anything_is_judged(desk: Desk) -> None:
    cases = desk.cases(300)
    cases.write_bytes(cases.read_bytes().replace(b"It is 299", "Für 299".encode("cp1252")))
    said = desk.typed(*desk.judging(cases), code=3).stderr
    assert "cases.jsonl is not UTF-8: line 300" in said and "--encoding cp1252" in said
    assert not (desk.work / "may.run").exists()


def test_names_with_brackets_are_told_as_they_are(desk: Desk) -> None:
    desk.typed(*desk.judging(desk.cases(2, "cases [final].jsonl")))
    out = "verdicts [bold] :smile:.csv"
    assert f"written: {out}" in desk.typed("export", "may.run", "--out", out).stderr


def test_rubrics_that_do_not_fit_are_named_together_before_anything_is_judged(desk: Desk) -> None:
    cases = desk.cases(2)
    registry = desk.work / "models.yaml"
    entries = json.loads(registry.read_text())
    short = entries["scripted"] | {"context": 300}
    registry.write_text(json.dumps(entries | {"short": short}))
    for name in ("long", "longer"):
        words = "Judge this answer. " * (200 if name == "long" else 300)
        text = RUBRIC.replace("name: small", f"name: {name}").replace("Judge this answer.", words)
        (desk.work / f"{name}.prompty").write_text(text)
    every = [word for name in ("small", "long", "longer") for word in ("-r", f"{name}.prompty")]
    both = ["judge", cases.name, *every, "--models", "models.yaml", "--engine", "scripted", "--run", "all.run"]
    said = desk.typed(*both, "-j", "scripted", "-j", "short", code=5).stderr
    assert "too short for the rubric long:" in said and "too short for the rubric longer:" in said
    assert "too short for the rubric small" not in said
    assert not (desk.work / "all.run").exists()
