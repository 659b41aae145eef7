"""`judge --limit` judges a random part of the cases, and later the rest; `--dry-run` only says what would be done."""

import json
import re

from typed import Desk

from pathway_local.runs.run_file import RunFile


def _judged(desk: Desk) -> set[str]:
    with RunFile.read(desk.work / "may.run") as run:
        return {record.case_id for record in run.records()}


def _counts(desk: Desk) -> tuple[int, int]:
    facts = json.loads(desk.typed("runs", "audit", "may.run", "--json").stdout)["entries"][-1]["facts"]
    return facts["judged"], facts["skipped"]


def test_a_limited_run_grows_to_the_whole_and_judges_no_case_twice(desk: Desk) -> None:
    cases = desk.cases(40)
    said = desk.typed(*desk.judging(cases, "--limit", 5, "--seed", 3))
    assert "judging a random 5 of the 40 cases of cases.jsonl (--limit, seed 3)" in said.stderr
    assert "judged a random 5 of the 40 cases of cases.jsonl" in said.stdout
    first = _judged(desk)
    desk.typed(*desk.judging(cases, "--limit", 5, "--seed", 3))
    assert (_judged(desk), _counts(desk)) == (first, (0, 5)), "the same draw"
    begun, *_ = json.loads(desk.typed("runs", "audit", "may.run", "--json").stdout)["entries"]
    assert begun["facts"]["limit"] == {"file": "cases.jsonl", "size": 5, "rows": 40, "seed": 3}
    going_on = ("judge", "cases.jsonl", "--run", "may.run", "--models", "models.yaml")
    desk.typed(*going_on, "--limit", 12)
    assert first < _judged(desk)
    assert _counts(desk) == (7, 5), "the seed of the run's own limit"
    assert "a random 12 of the 40 cases" in desk.typed("summary", "may.run").stdout
    desk.typed(*going_on)
    assert (len(_judged(desk)), _counts(desk)) == (40, (28, 12))
    assert "random" not in desk.typed("summary", "may.run").stdout


def test_another_seed_draws_other_cases_and_a_limit_above_all_rows_is_none(desk: Desk) -> None:
    cases = desk.cases(40)
    drawn = []
    for seed in (1, 2):
        desk.typed(*desk.judging(cases, "--limit", 8, "--seed", seed))
        drawn.append(_judged(desk))
        (desk.work / "may.run").unlink()
    assert drawn[0] != drawn[1]
    said = desk.typed(*desk.judging(cases, "--limit", 99)).stderr
    assert "--limit 99 takes all 40 cases" in said


def test_a_failure_on_a_row_outside_of_the_limit_stays(desk: Desk) -> None:
    rows = [{"id": f"c{i}", "question": "Why?", "answer": f"It is {i}."} for i in range(20)]
    for row in rows[:10]:
        row["answer"] = "\x00"
    desk.typed(*desk.judging(desk.sheet(rows)), code=1)
    again = desk.typed(*desk.judging(desk.work / "cases.jsonl", "--limit", 4), code=None)
    assert again.returncode in (0, 1) and "judging a random 4 of the 20 cases" in again.stderr
    assert len(_judged(desk)) == 20


def test_a_dry_run_tells_what_judging_then_does_and_stores_nothing(desk: Desk) -> None:
    rows = [{"id": f"c{i}", "question": "Why?", "answer": f"It is {i}."} for i in range(20)]
    cases = desk.sheet([*rows, {"id": "c3", "question": "Why?", "answer": "Twice"}])
    command = desk.judging(cases, "--map", "answer=answer")
    before = sorted(desk.work.iterdir())
    said = desk.typed(*command, "--dry-run").stdout
    assert "8,192 tokens, or fewer if the engine lacks the memory" in said
    assert "cases to judge: 20, 1 would fail (duplicate-id)" in said
    assert "cases.jsonl line 21: duplicate id" in said
    prompts, shared = (int(each.replace(",", "")) for each in re.findall(r"prompts: ([\d,]+) tokens, (\d+)%", said)[0])
    assert 0 < shared < 100
    assert sorted(desk.work.iterdir()) == before
    desk.typed(*command, code=1)
    with RunFile.read(desk.work / "may.run") as run:
        assert sum(record.tokens.prompt for record in run.records()) == prompts
    made = (desk.work / "may.run").read_bytes()
    cases = desk.sheet([*rows, {"id": "c20", "question": "Why?", "answer": "It is new."}])
    assert "cases to judge: 1, judged before: 20\n" in desk.typed(*command, "--dry-run").stdout
    assert (desk.work / "may.run").read_bytes() == made


def test_a_dry_run_refuses_what_judging_refuses_and_makes_no_key(desk: Desk) -> None:
    cases = desk.cases(3)
    desk.typed(*desk.judging(cases, "--pseudonyms", "key", "--dry-run"))
    assert not (desk.work / "key").exists()
    desk.typed(*desk.judging(cases))
    other = desk.judging(cases, "--detail", "score")
    refused = desk.typed(*other, code=4).stderr.splitlines()[-2:]
    assert desk.typed(*other, "--dry-run", code=4).stderr.splitlines()[-2:] == refused


def test_quiet_leaves_the_summary_and_errors_alone(desk: Desk) -> None:
    said = desk.typed(*desk.judging(desk.cases(3), "--quiet"))
    assert said.stderr == ""
    assert "small" in said.stdout
    assert "error:" in desk.typed(*desk.judging(desk.work / "none.jsonl", "-q"), code=3).stderr


def test_a_job_that_goes_on_keeps_the_columns_that_were_kept_before(desk: Desk) -> None:
    rows = [
        {"id": f"c{i}", "question": "Why?", "answer": f"It is {i}.", "Bot": "ab"[i % 2], "x": "y"} for i in range(6)
    ]
    desk.typed(*desk.judging(desk.sheet(rows[:3]), "--keep", "bot"))
    desk.typed("judge", desk.sheet(rows), "--run", "may.run", "--models", "models.yaml")
    with RunFile.read(desk.work / "may.run") as run:
        assert [record.metadata for record in run.records()] == [{"Bot": row["Bot"]} for row in rows]
