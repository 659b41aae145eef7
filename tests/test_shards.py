"""Shards are judged apart and merged: the merged run says what one run over the whole file would say."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from typed import Desk
from typed_here import Run, typing_in

from pathway_local.case import rank, shard_of
from pathway_local.errors import UsageError
from pathway_local.runs.merge import MergePlan, merge_runs
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.shard import Shard

SHARDS = 3
CASES = 30


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Desk:
    """Where `whole.run` holds all cases and `part-K.run` each shard of them."""
    desk = Desk(tmp_path_factory.mktemp("shards") / "d", tiny_judge)
    rows = [
        {"id": f"case-{i}", "question": f"What is {i}?", "answer": f"It is {i}.", "bot": f"v{i % 2}"}
        for i in range(CASES)
    ]
    rows[7]["answer"] = "\x00"
    command = desk.judging(desk.sheet(rows), "--keep", "bot")
    for name, more in [("whole", ()), *((f"part-{k}", ("--shard", f"{k}/{SHARDS}")) for k in range(1, SHARDS + 1))]:
        desk.typed(*command[:-3], f"{name}.run", *command[-2:], *more, code=None)
    return desk


@pytest.fixture
def here(judged: Desk, tmp_path: Path) -> Callable[..., Path]:
    """Copies runs and the cases file, so that a test may change them."""
    for path in (*judged.work.glob("*.run"), judged.work / "cases.jsonl"):
        shutil.copy(path, tmp_path / path.name)
    return lambda name: tmp_path / name


@pytest.fixture
def run(here: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return typing_in(here("."), monkeypatch, capsys)


PARTS = tuple(f"part-{k}.run" for k in range(1, SHARDS + 1))
MERGE = ("runs", "merge", *PARTS, "--cases", "cases.jsonl", "--out", "all.run")


def counts(path: Path) -> dict[str, int]:
    with RunFile.read(path) as read:
        job = read.jobs.all()[-1]
    assert job.counts is not None
    return dict(job.counts)


def test_shards_divide_all_cases_evenly_and_apart_from_samples() -> None:
    ids = [f"case-{i}" for i in range(20_000)]
    parts = [shard_of(each, 16) for each in ids]
    assert all(1100 < parts.count(part) < 1400 for part in range(16))
    drawn = sorted(ids, key=lambda each: rank(each, 0))[:4000]
    assert all(190 < [shard_of(each, 16) for each in drawn].count(part) < 310 for part in range(16))
    assert "anything" in Shard(1, 1)


@pytest.mark.parametrize("given", ["17/16", "0/4", "3", "1/0", "a/b", "1/2/3", "-1/4", "1/1000000", "٣/٤"])
def test_what_is_no_shard_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="not K/N"):
        Shard.parse(given)


def test_every_case_is_judged_in_one_shard(judged: Desk) -> None:
    ids = []
    for part in PARTS:
        with RunFile.read(judged.work / part) as read:
            ids += [record.case_id for record in read.records()]
            assert read.jobs.all()[0].facts["shard"] == f"{part[5]}/{SHARDS}"
    assert sorted(ids) == sorted(f"case-{i}" for i in range(CASES))


def test_a_run_keeps_its_shard(judged: Desk) -> None:
    shutil.copy(judged.work / "part-2.run", judged.work / "kept.run")
    going_on = ("judge", "cases.jsonl", "--run", "kept.run", "--models", "models.yaml")
    assert "judging shard 2/3 of cases.jsonl" in judged.typed(*going_on, code=None).stderr
    assert counts(judged.work / "kept.run")["judged"] == 0
    before = (judged.work / "kept.run").read_bytes()
    said = judged.typed(*going_on, "--shard", "1/3", code=2).stderr
    assert "kept.run holds shard 2/3, not shard 1/3" in said
    said = judged.typed("judge", "cases.jsonl", "--run", "whole.run", "--shard", "1/3", code=2).stderr
    assert "was judged without --shard" in said
    assert (judged.work / "kept.run").read_bytes() == before
    assert "judged: shard 2 of 3 of cases.jsonl (--shard)" in judged.typed("summary", "kept.run").stdout


def test_a_limit_draws_from_the_whole_file_and_a_dry_run_knows_the_shard(judged: Desk) -> None:
    command = judged.judging(judged.work / "cases.jsonl")[:-2]
    limited = set()
    for k in range(1, SHARDS + 1):
        judged.typed(*command, "--run", f"few-{k}.run", "--shard", f"{k}/{SHARDS}", "--limit", 9, code=None)
        with RunFile.read(judged.work / f"few-{k}.run") as read:
            limited |= {record.case_id for record in read.records()}
    judged.typed(*command, "--run", "few.run", "--limit", 9, code=None)
    with RunFile.read(judged.work / "few.run") as read:
        assert limited == {record.case_id for record in read.records()}
    found = json.loads(judged.typed(*command, "--run", "new.run", "--shard", "2/3", "--dry-run", "--json").stdout)
    with RunFile.read(judged.work / "part-2.run") as read:
        assert (found["shard"], found["rows"]) == ("2/3", len(list(read.records())))
    assert not (judged.work / "new.run").exists()


def test_the_merged_run_says_what_one_run_says(run: Run, here: Callable[..., Path]) -> None:
    assert "3 runs, 30 cases, 30 outcomes" in run(*MERGE).err
    for options in ((), ("--by", "bot"), ("--json",), ("--json", "--by", "bot")):
        assert run("summary", "all.run", *options).out == run("summary", "whole.run", *options).out
    for name in ("all", "whole"):
        assert run("export", f"{name}.run", "--out", f"{name}.csv").code == 0
        assert run("export", f"{name}.run", "--onto", "cases.jsonl", "--out", f"{name}.jsonl").code == 0
    assert here("all.csv").read_bytes() == here("whole.csv").read_bytes()
    assert here("all.jsonl").read_bytes() == here("whole.jsonl").read_bytes(), "texts are recognised"
    assert here("all.run").stat().st_mode & 0o777 == 0o600
    assert not [path for path in here(".").iterdir() if ".part" in path.name]


def test_a_merged_run_goes_on_without_a_shard(judged: Desk) -> None:
    judged.typed("runs", "merge", *PARTS[:2], "--cases", "cases.jsonl", "--out", "two.run")
    assert "judged: shards 1, 2 of 3 of cases.jsonl" in judged.typed("summary", "two.run").stdout
    judged.typed("judge", "cases.jsonl", "--run", "two.run", "--models", "models.yaml", code=None)
    with RunFile.read(judged.work / "part-3.run") as read:
        verdicts = sum(hasattr(record.outcome, "scores") for record in read.records())
    assert counts(judged.work / "two.run")["judged"] == verdicts
    told = json.loads(judged.typed("summary", "two.run", "--json").stdout)
    assert told == json.loads(judged.typed("summary", "whole.run", "--json").stdout)
    assert "the outcomes match the trail" in judged.typed("audit", "two.run").stderr


def test_every_trail_can_still_be_checked(run: Run, here: Callable[..., Path]) -> None:
    heads = [json.loads(run("audit", part, "--json").out)["head"] for part in PARTS]
    run("runs", "merge", *PARTS[:2], "--cases", "cases.jsonl", "--out", "two.run")
    run("runs", "merge", "two.run", PARTS[2], "--cases", "cases.jsonl", "--out", "all.run")
    told = run("audit", "all.run")
    assert told.code == 0 and "the outcomes match the trail" in told.err
    for part, head in zip(PARTS, heads, strict=True):
        assert f"merged: {part}, 3 entries, each as it was recorded; audit hash {head}" in told.err
        assert "0 entries came after it" in run("audit", "all.run", "--head", head).err
    whole = json.loads(run("audit", "all.run", "--json").out)
    assert {part["file"] for part in whole["parts"]} == {"two.run", *PARTS}
    assert "recorded in entry 1" in run("audit", "all.run", "--file", "cases.jsonl").err
    for statement, found in [
        ("UPDATE merged_audit SET entry = replace(entry, 'cases', 'other') WHERE id = 2", "was changed"),
        ("DELETE FROM merged_audit WHERE id = 2", "is missing"),
        ("DELETE FROM merged_audit WHERE id = 3", "lacks entries"),
        ("UPDATE outcomes SET scores = replace(scores, 'value', 'Value') WHERE id = 1", "not that of entry"),
    ]:
        shutil.copy(here("all.run"), here("changed.run"))
        with sqlite3.connect(here("changed.run"), isolation_level=None) as db:
            db.execute(statement)
        db.close()
        refused = run("audit", "changed.run")
        assert refused.code == 4 and found in refused.words


def rating(run: Run, here: Callable[..., Path], target: str, case: str, score: int, *more: str) -> None:
    here("ratings.csv").write_text(f"id,score\n{case},{score}\n")
    said = run("import", target, "ratings.csv", "--rater", "anna", *more)
    assert said.code == 0, said


def test_people_come_along_and_imports_can_be_undone(run: Run, here: Callable[..., Path]) -> None:
    with RunFile.read(here(PARTS[0])) as read:
        first = next(record.case_id for record in read.records() if hasattr(record.outcome, "scores"))
    with RunFile.read(here(PARTS[1])) as read:
        second = next(record.case_id for record in read.records() if hasattr(record.outcome, "scores"))
    rating(run, here, PARTS[1], second, 2)
    rating(run, here, PARTS[0], first, 5)
    run("runs", "undo", PARTS[0])
    assert run(*MERGE).code == 0
    with RunFile.read(here("all.run")) as read:
        assert [record.case_id for record in read.records(rater="anna")] == [second]
    assert "1 rating of anna" in run("runs", "undo", "all.run").err
    assert run("audit", "all.run").code == 0


def test_a_case_that_two_runs_judged_alike_counts_once(run: Run, here: Callable[..., Path]) -> None:
    assert "30 cases, 30 outcomes" in run("runs", "merge", "whole.run", *PARTS, *MERGE[-4:]).err
    assert run("summary", "all.run", "--json").out == run("summary", "whole.run", "--json").out


def changed(path: Path) -> str:
    """Turn a score of a judge into another one, with everything that keeps watch brought up to date."""
    with RunFile.open(path) as opened:
        job = opened.jobs.begin(["pathway-local", "judge"], {})
        record = next(each for each in opened.records() if hasattr(each.outcome, "scores"))
        with opened.database.writing():
            query = "UPDATE outcomes SET scores = replace(scores, '\"value\":', '\"value\":1') WHERE id = ?"
            opened.database.execute(query, (1,))
        opened.jobs.end(job, "done", {})
    return record.case_id


def test_different_verdicts_are_refused_or_one_run_is_preferred(run: Run, here: Callable[..., Path]) -> None:
    with RunFile.open(here(PARTS[0])) as opened:
        rater, _ = opened.raters()[0]
        record = next(each for each in opened.records() if hasattr(each.outcome, "scores"))
        job = opened.jobs.begin(["judge"], {})
        [(key,)] = opened.database.rows("SELECT key FROM cases WHERE case_id = ?", record.case_id)
        with opened.database.writing():
            opened.database.execute(
                "UPDATE outcomes SET marks = '[\"odd\"]' WHERE case_key = ? AND rater_id = ?", (key, rater)
            )
        opened.jobs.end(job, "done", {})
    both = ("runs", "merge", "whole.run", PARTS[0], *MERGE[-4:])
    refused = run(*both)
    assert refused.code == 4 and "1 cases have another verdict in part-1.run" in refused.words
    assert record.case_id in refused.words and not here("all.run").exists()
    for preferred, marks in (("whole.run", ()), (PARTS[0], ("odd",))):
        assert run(*both, "--prefer", preferred).code == 0
        with RunFile.read(here("all.run")) as read:
            [found] = read.records(cases=[record.case_id])
            assert found.outcome.marks == marks  # type: ignore[union-attr]
            assert read.database.rows("SELECT COUNT(*) FROM outcomes WHERE superseded = 1") == [(1,)]
        here("all.run").unlink()


def test_runs_that_do_not_fit_are_refused_and_nothing_is_written(run: Run, here: Callable[..., Path]) -> None:
    def refused(*arguments: str, code: int = 2) -> str:
        before = {path.name: path.read_bytes() for path in here(".").glob("*.run")}
        said = run("runs", "merge", *arguments)
        assert said.code == code, said
        errors = [line for line in said.err.splitlines() if line.startswith("error:")]
        assert len(errors) == 1
        assert {path.name: path.read_bytes() for path in here(".").glob("*.run")} == before
        assert not list(here(".").glob(".*"))
        return said.words

    out = ("--cases", "cases.jsonl", "--out", "all.run")
    assert "one run alone" in refused(PARTS[0], *out)
    assert "merged into itself" in refused(PARTS[0], PARTS[0], *out)
    here("link.run").symlink_to(here(PARTS[0]))
    assert "merged into itself" in refused(PARTS[0], "link.run", *out)
    assert "all.run" not in refused(*PARTS, "--cases", "cases.jsonl", "--out", PARTS[0])
    assert "exists already" in refused(*PARTS, "--cases", "cases.jsonl", "--out", PARTS[0])
    assert "not among the runs" in refused(*PARTS, *out, "--prefer", "whole.run")
    assert "does not exist" in refused(*PARTS, "none.run", *out, code=4)
    assert "Add --cases cases.jsonl" in refused(*PARTS, "--out", "all.run")
    other = here("other.jsonl")
    other.write_text(here("cases.jsonl").read_text().replace("It is", "That is"))
    assert "other texts than part-1.run was judged on" in refused(*PARTS, "--cases", "other.jsonl", *out[2:], code=3)
    with RunFile.open(here(PARTS[1])):
        assert "another process writes to it" in refused(*PARTS, *out, code=4)
    here("broken.run").write_bytes(here(PARTS[1]).read_bytes())
    with sqlite3.connect(here("broken.run"), isolation_level=None) as db:
        db.execute("UPDATE outcomes SET scores = replace(scores, 'value', 'Value') WHERE id = 1")
    db.close()
    assert "its content is not that of entry 3" in refused(PARTS[0], "broken.run", *out, code=4)
    run("purge", PARTS[2], "--all", "--yes")
    assert "it was purged at" in refused(*PARTS, *out)


def test_other_raters_and_rubrics_are_named(judged: Desk) -> None:
    command = judged.judging(judged.work / "cases.jsonl")[:-2]
    judged.typed(*command, "--run", "score.run", "--shard", "2/3", "--detail", "score", code=None)
    out = ("--cases", "cases.jsonl", "--out", "all.run")
    said = judged.typed("runs", "merge", PARTS[0], "score.run", *out, code=4).stderr
    assert "another rater" in said and 'detail was "full", now "score"' in said
    judged.typed(*command, "--run", "more.run", "--shard", "2/3", "--rater", "ben", code=None)
    said = judged.typed("runs", "merge", PARTS[0], "more.run", *out, code=4).stderr
    assert "lacks the judge 'scripted' under 'small'" in said
    rubric = judged.work / "small.prompty"
    text = rubric.read_text()
    rubric.write_text(text.replace("Judge this", "Judge well this"))
    judged.typed(*command, "--run", "well.run", "--shard", "2/3", code=None)
    rubric.write_text(text)
    assert "different texts of the rubric 'small'" in judged.typed(
        "runs", "merge", PARTS[0], "well.run", *out, code=4
    ).stderr


def test_a_run_without_texts_gains_those_of_another_and_keeps_no_more(judged: Desk) -> None:
    command = judged.judging(judged.work / "cases.jsonl")[:-2]
    judged.typed(*command, "--run", "bare.run", "--shard", "1/3", "--without-text", code=None)
    judged.typed("runs", "merge", "bare.run", *PARTS, "--cases", "cases.jsonl", "--out", "full.run")
    with RunFile.read(judged.work / "full.run") as full, RunFile.read(judged.work / "whole.run") as whole:
        assert [each.outcome for each in full.records()] == [each.outcome for each in whole.records()]
        assert full.get_setting("texts") is False


def test_copies_of_one_run_need_no_cases(here: Callable[..., Path]) -> None:
    shutil.copy(here("whole.run"), here("copy.run"))
    with RunFile.open(here("copy.run")) as copy:
        copy.jobs.end(copy.jobs.begin(["keep"], {}), "done", {})
    notes: list[str] = []
    plan = MergePlan([here("whole.run"), here("copy.run")], here("all.run"))
    merged = merge_runs(plan, ["pathway-local"], notes.append)
    with RunFile.read(here("all.run")) as read, RunFile.read(here("whole.run")) as whole:
        assert [job.command for job in read.jobs.all()] == [whole.jobs.all()[0].command, ("keep",)]
        assert merged.outcomes == len(list(whole.records())) == len(list(read.records()))
        assert read.key == whole.key
