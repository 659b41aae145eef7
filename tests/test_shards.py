"""Shards are judged apart and merged: the merged run says what one run over the whole file would say."""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from reply_script import JUDGE, SECONDS
from typed import COMMAND, Desk
from typed_here import Run, typing_in

from pathway_local.case import CaseRef, rank, shard_of
from pathway_local.errors import CasesError, PathwayError, RaterChanged, RunFileError, UsageError
from pathway_local.judging.dry_run import dry_run
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import Watcher, run_job
from pathway_local.judging.plan import Plan, default_run
from pathway_local.judging.preparation import prepare
from pathway_local.prompty.rubric_file import load_rubric
from pathway_local.results.panel import make_panel
from pathway_local.results.summary import summary_of
from pathway_local.runs.content import check_content
from pathway_local.runs.merge import MergePlan, merge_runs
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.shard import Shard
from pathway_local.verdict import Failure, Outcome, Verdict

SHARDS = 3
CASES = 30


@dataclass
class Shop:
    """A folder with cases, a rubric and a judge; one engine judges all of its runs."""

    work: Path
    loaded: EngineCache
    plan: Plan

    def judge(self, run: str, shard: str = "", **options: Any) -> None:
        """Judge into a run, which is made if it does not exist."""
        part = Shard.parse(shard) if shard else None
        plan = replace(self.plan, run=self.work / run, shard=part, **options)
        run_job(plan, Watcher(), ["pathway-local", "judge"], self.loaded)

    def outcomes(self, run: str) -> dict[str, Outcome]:
        with RunFile.read(self.work / run) as read:
            return {record.case_id: record.outcome for record in read.records(rater="scripted")}

    def copied(self, run: str, name: str) -> None:
        shutil.copy(self.work / run, self.work / name)

    def merge(self, *runs: str, out: str = "all.run", prefer: str = "") -> None:
        plan = MergePlan([self.work / run for run in runs], self.work / out, self.plan.cases)
        merge_runs(replace(plan, prefer=self.work / prefer if prefer else None), ["merge"], lambda note: None)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Iterator[Shop]:
    """Where `whole.run` holds all cases and `part-K.run` each shard of them."""
    desk = Desk(tmp_path_factory.mktemp("shards") / "d", tiny_judge)
    rows = [
        {"id": f"case-{i}", "question": f"What is {i}?", "answer": f"It is {i}.", "bot": f"v{i % 2}"}
        for i in range(CASES)
    ]
    rows[7]["answer"] = "\x00"
    cases, rubric = desk.sheet(rows), load_rubric(str(desk.work / "small.prompty"))
    with pytest.MonkeyPatch.context() as patched, EngineCache() as loaded:
        for name in ("PYTHONPATH", JUDGE):
            patched.setenv(name, desk.environment[name])
        registry = desk.work / "models.yaml"
        plan = Plan(cases, cases, rubric=[rubric], judge=["scripted"], models=registry, engine="scripted", keep=["bot"])
        made = Shop(desk.work, loaded, plan)
        made.judge("whole.run")
        for k in range(1, SHARDS + 1):
            made.judge(f"part-{k}.run", f"{k}/{SHARDS}")
        yield made


@pytest.fixture
def here(shop: Shop, tmp_path: Path) -> Callable[..., Path]:
    """Copies runs and the cases file, so that a test may change them."""
    for path in (*(shop.work / name for name in ("whole.run", *PARTS)), shop.plan.cases):
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


def test_every_case_is_judged_in_one_shard(shop: Shop) -> None:
    ids = [case for part in PARTS for case in shop.outcomes(part)]
    assert sorted(ids) == sorted(f"case-{i}" for i in range(CASES))
    with RunFile.read(shop.work / PARTS[1]) as read:
        assert read.jobs.all()[0].facts["shard"] == f"2/{SHARDS}"


def test_a_run_keeps_its_shard(shop: Shop, run: Run, here: Callable[..., Path]) -> None:
    shop.copied(PARTS[1], "kept.run")
    shop.judge("kept.run", rubric=[], judge=[])
    assert counts(shop.work / "kept.run")["judged"] == 0
    before = here(PARTS[1]).read_bytes()
    going_on = ("judge", "cases.jsonl", "--models", shop.plan.models, "--run")
    said = run(*going_on, PARTS[1], "--shard", "1/3")
    assert said.code == 2 and "part-2.run holds shard 2/3, not shard 1/3" in said.words
    said = run(*going_on, "whole.run", "--shard", "1/3")
    assert said.code == 2 and "whole.run holds cases of other shards, not shard 1/3" in said.words
    assert "'17/16' is not K/N" in run(*going_on, PARTS[1], "--shard", "17/16").words
    assert here(PARTS[1]).read_bytes() == before
    assert "judged shard 2 of 3 of cases.jsonl (--shard)" in run("summary", PARTS[1]).out
    assert default_run(Path("a.csv"), None, "2/3") == Path("a.2-of-3.run")


def test_a_limit_draws_from_the_whole_file_and_a_dry_run_knows_the_shard(shop: Shop) -> None:
    limited: set[str] = set()
    for k in range(1, SHARDS + 1):
        shop.judge(f"few-{k}.run", f"{k}/{SHARDS}", limit=9)
        limited |= shop.outcomes(f"few-{k}.run").keys()
    shop.judge("few.run", limit=9)
    assert limited == shop.outcomes("few.run").keys()
    found = dry_run(replace(shop.plan, run=shop.work / "new.run", shard=Shard(2, 3)), Watcher())
    assert (found.shard, found.rows) == (Shard(2, 3), len(shop.outcomes(PARTS[1])))
    prepared = prepare(replace(shop.plan, run=shop.work / "new.run", shard=Shard(2, 3)), None, lambda note: None)
    assert prepared.count() == found.rows
    assert not (shop.work / "new.run").exists()


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


def parts(run: RunFile) -> list[object]:
    """The parts of cases files that the summary names."""
    return [note.values["part"] for table in summary_of(run) for note in table.notes if note.key == "judged_part"]


def test_a_merged_run_goes_on_without_a_shard(shop: Shop) -> None:
    shop.merge(*PARTS[:2], out="two.run")
    with RunFile.read(shop.work / "two.run") as read:
        assert parts(read) == ["shards 1, 2 of 3 of cases.jsonl (--shard)"]
    shop.judge("two.run", rubric=[], judge=[])
    verdicts = [each for each in shop.outcomes(PARTS[2]).values() if isinstance(each, Verdict)]
    assert counts(shop.work / "two.run")["judged"] == len(verdicts), "the other texts are recognised"
    assert shop.outcomes("two.run") == shop.outcomes("whole.run")
    with RunFile.read(shop.work / "two.run") as read:
        assert not parts(read)
        check_content(read.database)


def test_every_trail_can_still_be_checked(run: Run, here: Callable[..., Path]) -> None:
    heads = [json.loads(run("runs", "audit", part, "--json").out)["head"] for part in PARTS]
    run("runs", "merge", *PARTS[:2], "--cases", "cases.jsonl", "--out", "two.run")
    run("runs", "merge", "two.run", PARTS[2], "--cases", "cases.jsonl", "--out", "all.run")
    told = run("runs", "audit", "all.run")
    assert told.code == 0 and "the outcomes match the trail" in told.err
    for part, head in zip(PARTS, heads, strict=True):
        assert f"merged: {part}, 3 entries, each as it was recorded; audit hash {head}" in told.err
        assert "0 entries came after it" in run("runs", "audit", "all.run", "--head", head).err
    whole = json.loads(run("runs", "audit", "all.run", "--json").out)
    assert {part["file"] for part in whole["parts"]} == {"two.run", *PARTS}
    assert "recorded in entry 1" in run("runs", "audit", "all.run", "--file", "cases.jsonl").err
    for statement, found in [
        ("UPDATE merged_audit SET entry = replace(entry, 'job', 'jab') WHERE id = 2", "was changed"),
        ("DELETE FROM merged_audit WHERE id = 2", "is missing"),
        ("DELETE FROM merged_audit WHERE id IN (2, 3)", "lacks"),
        ("UPDATE outcomes SET superseded = 1 WHERE id = 2", "not that of entry"),
    ]:
        shutil.copy(here("all.run"), here("changed.run"))
        with sqlite3.connect(here("changed.run"), isolation_level=None) as db:
            db.execute(statement)
        db.close()
        refused = run("runs", "audit", "changed.run")
        assert refused.code == 4 and found in refused.words, statement


def rating(run: Run, here: Callable[..., Path], target: str, case: str, score: int) -> None:
    here("ratings.csv").write_text(f"id,score\n{case},{score}\n")
    said = run("import", target, "ratings.csv", "--kind", "human", "--rater", "anna")
    assert said.code == 0, said


def test_people_come_along_and_imports_can_be_undone(run: Run, here: Callable[..., Path]) -> None:
    with RunFile.read(here(PARTS[0])) as read:
        first = next(record.case_id for record in read.records() if hasattr(record.outcome, "scores"))
    with RunFile.read(here(PARTS[1])) as read:
        second = next(record.case_id for record in read.records() if hasattr(record.outcome, "scores"))
    rating(run, here, PARTS[1], second, 2)
    with RunFile.open(here(PARTS[1])) as opened:
        make_panel(opened, "both", ["scripted", "anna"], "mean", [])
    rating(run, here, PARTS[0], first, 5)
    run("runs", "undo", PARTS[0])
    again = "pathway-local runs panel all.run --name both --of scripted,anna --rule mean"
    assert f"the panel both was made before the merge; make it again: {again}" in run(*MERGE).words
    with RunFile.read(here("all.run")) as read:
        assert [record.case_id for record in read.records(rater="anna")] == [second]
    assert "1 rating of anna" in run("runs", "undo", "all.run").err
    assert run("runs", "audit", "all.run").code == 0


def test_a_case_that_two_runs_judged_alike_counts_once(run: Run, here: Callable[..., Path]) -> None:
    assert "30 cases, 30 outcomes" in run("runs", "merge", "whole.run", *PARTS, *MERGE[-4:]).err
    assert run("summary", "all.run", "--json").out == run("summary", "whole.run", "--json").out


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
    assert refused.code == 4 and "one case has another verdict in part-1.run" in refused.words
    assert record.case_id in refused.words and not here("all.run").exists()
    assert isinstance(record.outcome, Verdict)
    for preferred, marks in (("whole.run", record.outcome.marks), (PARTS[0], ("odd",))):
        assert run(*both, "--prefer", preferred).code == 0
        with RunFile.read(here("all.run")) as read:
            [found] = read.records(cases=[record.case_id])
            assert isinstance(found.outcome, Verdict) and found.outcome.marks == marks
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
        db.execute("UPDATE outcomes SET superseded = 1 WHERE id = 2")
    db.close()
    assert "its content is not that of entry 3" in refused(PARTS[0], "broken.run", *out, code=4)
    run("runs", "purge", PARTS[2], "--all", "--yes")
    assert "it was purged at" in refused(*PARTS, *out)


def test_other_raters_and_rubrics_are_named(shop: Shop) -> None:
    shop.judge("score.run", "2/3", detail="score")
    with pytest.raises(RaterChanged, match=r'another rater than .* detail was "full", now "score"'):
        shop.merge(PARTS[0], "score.run")
    shop.judge("ben.run", "2/3", rater="ben")
    with pytest.raises(RaterChanged, match="lacks the judge 'scripted' under 'small'"):
        shop.merge(PARTS[0], "ben.run")
    well = shop.work / "well.prompty"
    well.write_text((shop.work / "small.prompty").read_text().replace("Judge this", "Judge well this"))
    shop.judge("well.run", "2/3", rubric=[load_rubric(str(well))])
    with pytest.raises(RaterChanged, match="different texts of the rubric 'small'"):
        shop.merge(PARTS[0], "well.run")
    shop.judge("renamed.run", "2/3", id="question")
    with pytest.raises(RunFileError, match="different columns of the ids"):
        shop.merge(PARTS[0], "renamed.run")
    assert not (shop.work / "all.run").exists()


def test_different_versions_are_told(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathway_local.judging.job.__version__", "0.0.9")
    shop.judge("old.run", "2/3")
    notes: list[str] = []
    plan = MergePlan([shop.work / PARTS[0], shop.work / "old.run"], shop.work / "mixed.run", shop.plan.cases)
    merge_runs(plan, ["merge"], notes.append)
    [told] = [note for note in notes if "versions" in note]
    assert re.search(r"pathway-local [0-9.]+, 0\.0\.9$", told)


def test_a_damaged_part_is_refused_and_ends_nothing_by_a_bug(shop: Shop) -> None:
    damaged, out = shop.work / "damaged.run", shop.work / "none.run"
    whole, chance = (shop.work / PARTS[1]).read_bytes(), random.Random(5)
    for _ in range(40):
        content = bytearray(whole)
        for _ in range(chance.choice([1, 20])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        damaged.write_bytes(content)
        with suppress(PathwayError):
            merge_runs(MergePlan([shop.work / PARTS[0], damaged], out, shop.plan.cases), ["merge"], lambda note: None)
        out.unlink(missing_ok=True)
    assert not list(shop.work.glob(".*"))


def test_a_run_without_texts_gains_those_of_another_and_keeps_no_more(shop: Shop) -> None:
    shop.judge("bare.run", "1/3", without_text=True)
    shop.merge("bare.run", *PARTS, out="full.run")
    assert shop.outcomes("full.run") == shop.outcomes("whole.run")
    with RunFile.read(shop.work / "full.run") as full:
        assert full.get_setting("texts") is False


def test_a_verdict_counts_more_than_a_failure_and_present_texts_more_than_others(shop: Shop) -> None:
    shop.copied(PARTS[0], "failed.run")
    shop.copied(PARTS[0], "changed.run")
    changed = shop.plan.cases.with_name("later")
    changed.mkdir()
    cases = changed / "cases.jsonl"
    cases.write_text(shop.plan.cases.read_text().replace("What is", "Which is"))
    case, verdict = next((case, each) for case, each in shop.outcomes(PARTS[0]).items() if isinstance(each, Verdict))
    with RunFile.open(shop.work / "failed.run") as failed:
        job = failed.jobs.begin(["judge"], {})
        failed.put(1, CaseRef(case, 1, hash="f" * 32), Failure("engine-error", "It failed."))
        failed.jobs.end(job, "done", {})
    for order in ((PARTS[0], "failed.run"), ("failed.run", PARTS[0])):
        shop.merge(*order)
        assert shop.outcomes("all.run")[case] == verdict
        (shop.work / "all.run").unlink()
    shop.judge("changed.run", cases=cases)
    new = shop.outcomes("changed.run")[case]
    assert new != verdict
    for order in ((PARTS[0], "changed.run"), ("changed.run", PARTS[0])):
        for file, counted in ((cases, new), (shop.plan.cases, verdict)):
            plan = MergePlan([shop.work / each for each in (*order, PARTS[1])], shop.work / "all.run", file)
            notes: list[str] = []
            try:
                merge_runs(plan, ["merge"], notes.append)
            except CasesError as refused:
                assert "has other texts than" in str(refused)  # all of a run's texts are gone
                continue
            assert shop.outcomes("all.run")[case] == counted
            (shop.work / "all.run").unlink()


def test_copies_of_one_run_need_no_cases(here: Callable[..., Path]) -> None:
    shutil.copy(here("whole.run"), here("copy.run"))
    with RunFile.open(here("copy.run")) as copy:
        copy.jobs.end(copy.jobs.begin(["keep"], {}), "done", {})
    plan = MergePlan([here("whole.run"), here("copy.run")], here("all.run"))
    merged = merge_runs(plan, ["pathway-local"], lambda note: None)
    with RunFile.read(here("all.run")) as read, RunFile.read(here("whole.run")) as whole:
        assert [job.command for job in read.jobs.all()] == [whole.jobs.all()[0].command, ("keep",)]
        assert merged.outcomes == len(list(whole.records())) == len(list(read.records()))
        assert read.key == whole.key


SCRIPT = Path(__file__).parents[1] / "examples" / "slurm" / "judge-array.sh"


@pytest.mark.soak
def test_the_script_of_the_array_judges_resumes_and_leaves_runs_to_merge(shop: Shop, tmp_path: Path) -> None:
    """Three tasks side by side; the first is stopped as Slurm would stop it, and submitted again."""
    command = tmp_path / "bin" / "pathway-local"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    command.chmod(0o700)
    here, local = tmp_path / "submitted", tmp_path / "local"
    here.mkdir()
    local.mkdir()
    rubric = shop.work / "small.prompty"
    options = ["-r", rubric, "-j", "scripted", "--models", shop.plan.models, "--engine", "scripted"]
    cases = [str(SHARDS), str(shop.plan.cases), "--keep", "bot", *map(str, options)]
    environment = os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}", "SLURM_TMPDIR": str(local)}

    def task(number: int, seconds: str = "0") -> subprocess.Popen[bytes]:
        own = {"SLURM_ARRAY_TASK_ID": str(number), SECONDS: seconds}
        return subprocess.Popen([SCRIPT, *cases], cwd=here, env=environment | own, stderr=subprocess.DEVNULL)

    slow, *others = task(1, "0.5"), task(2), task(3)
    while slow.poll() is None and not _stored(local, "part-1.run"):
        time.sleep(0.05)
    slow.terminate()
    assert slow.wait(60) == 130, "interrupted"
    with RunFile.read(here / "part-1.run") as read:
        before = len(list(read.records()))
    assert 0 < before < len(shop.outcomes(PARTS[0]))
    failing = [int("case-7" in shop.outcomes(part)) for part in (*PARTS[1:], PARTS[0])]
    assert [each.wait(90) for each in (*others, task(1))] == failing
    assert not list(local.iterdir())
    runs = sorted(here.glob("*"))
    assert [path.name for path in runs] == list(PARTS)
    merge_runs(MergePlan(runs, here / "all.run", shop.plan.cases), ["merge"], lambda note: None)
    with RunFile.read(here / "all.run") as merged, RunFile.read(shop.work / "whole.run") as whole:
        assert summary_of(merged) == summary_of(whole)


def _stored(folder: Path, name: str) -> int:
    for run in folder.glob(f"*/{name}"):
        with suppress(RunFileError), RunFile.read(run) as read:
            return len(list(read.records()))
    return 0
