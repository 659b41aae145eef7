"""The parts of a split run are judged apart and merged: the run says what one run over the whole file says."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from preloaded import Forked, start_environment
from reply_script import JUDGE, SECONDS
from sample_run import by_hand
from typed import COMMAND, Desk
from typed_here import Run, typing_in

from pathway_local.case import part_of_case, rank
from pathway_local.errors import PathwayError, RaterChanged
from pathway_local.judging.dry_run import dry_run
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import run_job
from pathway_local.judging.plan import Plan
from pathway_local.judging.preparation import prepare
from pathway_local.judging.progress import Watcher
from pathway_local.results.summary import SummaryOptions, summary
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.audit import AuditTrail, check_content, content_hash
from pathway_local.runs.parts import merge_parts, split_run
from pathway_local.runs.purge import purge, remove_rater
from pathway_local.runs.run_cases import KEEP, Part
from pathway_local.runs.run_file import TEXTS, RunFile
from pathway_local.scores.scores import Scores
from pathway_local.verdict import Outcome, Verdict

N = 3
CASES = 30
PARTS = tuple(f"all.{k}-of-{N}.run" for k in range(1, N + 1))


@dataclass
class Shop:
    """A folder with cases, a rubric and a judge; one engine judges all of its runs."""

    work: Path
    loaded: EngineCache
    plan: Plan

    def judge(self, run: Path, **options: Any) -> None:
        """Judge into a run, which is made if it does not exist."""
        run_job(replace(self.plan, run=run, **options), Watcher(), ["pathway-local", "judge"], self.loaded)


def outcomes(run: Path) -> dict[str, Outcome]:
    with RunFile.read(run) as read:
        return {record.case_id: record.outcome for record in read.records()}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Iterator[Shop]:
    """Where `whole.run` holds all cases, and each part of `all.run`, which holds nothing yet, its share of them."""
    desk = Desk(tmp_path_factory.mktemp("split") / "d", tiny_judge)
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
        made.judge(desk.work / "whole.run")
        split_run(desk.work / "all.run", N, ["split"])
        for part in PARTS:
            made.judge(desk.work / part)
        yield made


@pytest.fixture
def here(shop: Shop, tmp_path: Path) -> Callable[..., Path]:
    """Copies runs and the cases file, so that a test may change them."""
    for path in (*(shop.work / name for name in ("whole.run", "all.run", *PARTS)), shop.plan.cases):
        assert isinstance(path, Path)
        shutil.copy(path, tmp_path / path.name)
    return lambda name: tmp_path / name


@pytest.fixture
def run(here: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return typing_in(here("."), monkeypatch, capsys)


def merged(here: Callable[..., Path], *parts: str) -> tuple[int, list[str]]:
    notes: list[str] = []
    return merge_parts(here("all.run"), [here(part) for part in parts], ["merge"], notes.append), notes


def held(run: Path) -> tuple[str, str]:
    with RunFile.read(run) as read:
        return content_hash(read.database), AuditTrail(read.database).head()


def refused(here: Callable[..., Path], *parts: str) -> str:
    before = held(here("all.run"))
    with pytest.raises(PathwayError) as error:
        merged(here, *parts)
    assert held(here("all.run")) == before
    return f"{error.value} {error.value.hint}"


def test_parts_divide_all_cases_evenly_and_apart_from_samples() -> None:
    ids = [f"case-{i}" for i in range(20_000)]
    parts = [part_of_case(each, 16) for each in ids]
    assert all(1100 < parts.count(part) < 1400 for part in range(16))
    drawn = sorted(ids, key=lambda each: rank(each, 0))[:4000]
    assert all(190 < [part_of_case(each, 16) for each in drawn].count(part) < 310 for part in range(16))
    assert all(Part.read(told) is None for told in ("0/4", "3", "1/0", "a/b", "1/2/3", "-1/4", "٣/٤", None, 3))


def test_every_case_is_judged_in_one_part(shop: Shop) -> None:
    ids = [case for part in PARTS for case in outcomes(shop.work / part)]
    assert sorted(ids) == sorted(f"case-{i}" for i in range(CASES))
    with RunFile.read(shop.work / PARTS[1]) as read:
        assert read.jobs.all()[0].facts["part"] == f"2/{N}"


def test_a_dry_run_knows_the_part_and_a_limit_draws_from_the_whole_file(shop: Shop, here: Callable[..., Path]) -> None:
    split_run(here("few.run"), N, ["split"])
    parts = [here(f"few.{k}-of-{N}.run") for k in range(1, N + 1)]
    plan, rows = replace(shop.plan, run=parts[1]), len(outcomes(shop.work / PARTS[1]))
    [rater] = [rater for judge in dry_run(plan, Watcher()) for rater in judge.raters]
    assert rater.to_judge + sum(rater.failures.values()) == rows
    with RunFile.read(parts[1]) as read:
        prepared = prepare(plan, read, shop.loaded, lambda note: None)
        assert (str(prepared.part), prepared.total) == (f"2/{N}", rows)
    for part in parts:
        shop.judge(part, limit=9)
    shop.judge(here("nine.run"), limit=9)
    assert {case for part in parts for case in outcomes(part)} == outcomes(here("nine.run")).keys()


def test_the_run_says_what_one_run_says(run: Run, here: Callable[..., Path]) -> None:
    assert f"merged: 3 parts; all.run has {CASES} outcomes" in run("runs", "merge", "all.run", *PARTS).err
    for options in ((), ("--by", "bot"), ("--json",), ("--json", "--by", "bot")):
        assert run("summary", "all.run", *options).out == run("summary", "whole.run", *options).out
    for name in ("all", "whole"):
        assert run("export", f"{name}.run", "--out", f"{name}.csv").code == 0
        assert run("export", f"{name}.run", "--onto", "cases.jsonl", "--out", f"{name}.jsonl").code == 0
    assert here("all.csv").read_bytes() == here("whole.csv").read_bytes()
    assert here("all.jsonl").read_bytes() == here("whole.jsonl").read_bytes(), "texts are recognised"
    told = run("runs", "audit", "all.run")
    assert told.code == 0 and "the outcomes match the trail" in told.err
    with RunFile.read(here("all.run")) as read, RunFile.read(here(PARTS[0])) as part:
        [facts] = [entry.facts for entry in AuditTrail(read.database).entries() if entry.event == "merge"]
        told_of = [each for each in facts["parts"] if each["file"] == PARTS[0]]  # type: ignore
        assert told_of[0]["head"] == AuditTrail(part.database).head()


def judged_parts(path: Path) -> list[object]:
    """The parts of cases files that the summary names."""
    with RunFile.read(path) as run:
        notes = [note for table in [*summary(Scores(run), SummaryOptions())] for note in table.notes]
    return [note.values["part"] for note in notes if note.key == "judged_part"]


def test_parts_are_merged_as_they_come_and_what_is_missing_is_judged_in_the_run(
    shop: Shop, here: Callable[..., Path]
) -> None:
    first, _ = merged(here, *PARTS[:2])
    assert merged(here, *PARTS[:2]) == (first, []), "a second merge changes nothing"
    assert judged_parts(here("all.run")) == ["2 of 3 parts of cases.jsonl (runs split)"]
    with RunFile.read(here("all.run")) as read:
        assert len(read.jobs.all()) == 2
    shop.judge(here("all.run"), rubric=[], judge=[])
    with RunFile.read(here("all.run")) as read:
        counts = read.jobs.all()[-1].counts
        check_content(read.database)
    verdicts = [each for each in outcomes(here(PARTS[2])).values() if isinstance(each, Verdict)]
    assert counts and counts["judged"] == len(verdicts), "the other texts are recognised"
    assert outcomes(here("all.run")) == outcomes(here("whole.run")) and not judged_parts(here("all.run"))
    assert "before the run was judged by itself" in refused(here, PARTS[2])


def test_a_run_that_was_begun_is_split_and_its_parts_judge_the_rest_without_options(
    shop: Shop, here: Callable[..., Path]
) -> None:
    shop.judge(here("begun.run"), limit=9)
    parts = split_run(here("begun.run"), N, ["split"])
    begun, judged = outcomes(here("begun.run")), 0
    for part in parts:
        shop.judge(part, rubric=[], judge=[])
        with RunFile.read(part) as read:
            check_content(read.database)
            judged += (read.jobs.all()[-1].counts or {})["judged"]
    assert judged == CASES - len(begun) - 1, "the rest without the row that is no case"
    merge_parts(here("begun.run"), parts, ["merge"], lambda note: None)
    assert outcomes(here("begun.run")) == outcomes(here("whole.run"))
    with RunFile.read(here("begun.run")) as read:
        assert len(read.jobs.all()) == 1 + N, "the job of the run is not there twice"


def test_new_texts_take_the_place_of_old_and_an_older_copy_is_refused(shop: Shop, here: Callable[..., Path]) -> None:
    merged(here, *PARTS)
    old = outcomes(here("all.run"))
    case = next(case for case, each in outcomes(here(PARTS[0])).items() if isinstance(each, Verdict))
    later = here("later")
    later.mkdir()
    cases = later / "cases.jsonl"
    cases.write_text(here("cases.jsonl").read_text().replace("What is", "Which is"))
    shop.judge(here(PARTS[0]), cases=cases)
    new = outcomes(here(PARTS[0]))[case]
    assert new != old[case]
    merged(here, PARTS[0])
    assert outcomes(here("all.run"))[case] == new
    with RunFile.read(here("all.run")) as read:
        assert read.database.rows("SELECT COUNT(*) FROM outcomes")[0][0] > len(old), "the old ones stay"
    shutil.copy(shop.work / PARTS[0], here(PARTS[0]))  # as it was before
    assert "is older than what was merged of this part" in refused(here, PARTS[0])


def test_what_is_no_part_of_the_run_is_refused_and_nothing_is_written(
    shop: Shop, run: Run, here: Callable[..., Path]
) -> None:
    for name, said in [
        ("all.run", "merged into itself"),
        ("none.run", "does not exist"),
        ("whole.run", "is no part of"),
    ]:
        assert said in refused(here, PARTS[0], name)
    split_run(here("other.run"), N, ["split"])
    assert "is no part of" in refused(here, PARTS[0], f"other.1-of-{N}.run")
    shutil.copy(here("all.run"), here("older.run"))
    parts = split_run(here("all.run"), 2, ["split"])
    shutil.copy(here("older.run"), here("all.run"))
    assert "split off a later state" in refused(here, parts[0].name)
    with RunFile.open(here(PARTS[1])):
        assert "another process writes to it" in refused(here, *PARTS)
    shutil.copy(here(PARTS[1]), here("broken.run"))
    by_hand(here("broken.run"), "UPDATE outcomes SET prompt_tokens = prompt_tokens + 1")
    assert "its content is not that of entry" in refused(here, PARTS[0], "broken.run")
    assert "is part 1/3 of another run" in run("runs", "merge", PARTS[0], PARTS[1]).words
    assert "is part 1/3 of another run" in run("runs", "split", PARTS[0], "--parts", "2").words
    assert "exists already" in run("runs", "split", "all.run", "--parts", str(N)).words
    assert not list(here(".").glob(".*"))


def test_other_raters_and_columns_are_named(shop: Shop, here: Callable[..., Path]) -> None:
    merged(here, PARTS[0])
    fresh = split_run(here("all.run"), 2, ["split"])
    with pytest.raises(RaterChanged):
        shop.judge(fresh[0], detail="score")
    split_run(here("two.run"), 2, ["split"])
    one, two = here("two.1-of-2.run"), here("two.2-of-2.run")
    shop.judge(one)
    shop.judge(two, detail="score")
    merge_parts(here("two.run"), [one], ["merge"], print)
    with pytest.raises(RaterChanged, match=r'detail was "full", now "score"'):
        merge_parts(here("two.run"), [two], ["merge"], print)
    split_run(here("three.run"), 2, ["split"])
    one, two = here("three.1-of-2.run"), here("three.2-of-2.run")
    shop.judge(one)
    shop.judge(two, id="question")
    with pytest.raises(PathwayError, match="another column of the ids"):
        merge_parts(here("three.run"), [one, two], ["merge"], print)
    assert outcomes(here("three.run")) == {}, "all parts or none"


def test_what_was_removed_from_the_run_does_not_return(shop: Shop, here: Callable[..., Path]) -> None:
    merged(here, *PARTS[:2])
    remove_rater(here("all.run"), "scripted", ["remove"], print)
    assert f"still holds ratings of scripted that were removed from {here('all.run')}" in refused(here, PARTS[2])
    remove_rater(here(PARTS[2]), "scripted", ["remove"], print)
    merged(here, PARTS[2])
    assert outcomes(here("all.run")) == {}
    for name in ("all.run", *PARTS):
        shutil.copy(shop.work / name, here(name))
    merged(here, PARTS[0])
    purge(here("all.run"), "text", ["purge"], print)
    assert "still holds texts" in refused(here, PARTS[1])
    purge(here(PARTS[1]), "text", ["purge"], print)
    merged(here, PARTS[1])
    [case, *_] = outcomes(here(PARTS[0]))
    purge(here("all.run"), [case], ["purge"], print)
    assert "still holds" in refused(here, PARTS[0])
    purge(here(PARTS[0]), "text", ["purge"], print)
    merged(here, PARTS[0])
    assert case in outcomes(here(PARTS[0])) and case not in outcomes(here("all.run"))
    purge(here("all.run"), "all", ["purge"], print)
    assert "everything was purged" in refused(here, PARTS[1])


def test_no_part_brings_back_a_case_that_was_purged_from_the_run(shop: Shop, here: Callable[..., Path]) -> None:
    merged(here, PARTS[0])
    [first, second, third, fourth, *_] = outcomes(here(PARTS[0]))
    for case in (first, second):
        purge(here("all.run"), [case], ["purge"], print)
    purge(here(PARTS[0]), [second, third], ["purge"], print)
    shop.judge(here(PARTS[0]))
    assert outcomes(here(PARTS[0])).keys() >= {first, second, third}
    merged(here, *PARTS)
    assert outcomes(here("all.run")).keys() == outcomes(here("whole.run")).keys() - {first, second}
    content = here("all.run").read_bytes()
    assert first.encode() not in content and fourth.encode() in content


@pytest.mark.parametrize("every", [False, True])
def test_a_case_that_was_purged_in_a_part_alone_does_not_stay_in_the_run_by_silence(
    shop: Shop, here: Callable[..., Path], every: bool
) -> None:
    merged(here, *PARTS)
    held = [*outcomes(here(PARTS[0]))]
    gone = held if every else held[:2]
    purge(here(PARTS[0]), gone, ["purge"], print)
    assert f"still holds {len(gone)} of the cases that were purged from {here(PARTS[0])}" in refused(here, PARTS[0])
    purge(here("all.run"), gone[1:], ["purge"], print)
    assert "still holds 1 of the cases" in refused(here, PARTS[0], PARTS[1])
    purge(here("all.run"), gone[:1], ["purge"], print)
    merged(here, *PARTS)
    assert outcomes(here("all.run")).keys() == outcomes(here("whole.run")).keys() - {*gone}


def test_parts_with_and_without_texts_are_not_mixed_and_all_kept_columns_stay(
    shop: Shop, here: Callable[..., Path]
) -> None:
    one, two = split_run(here("two.run"), 2, ["split"])
    shop.judge(one, without_text=True, keep=[])
    shop.judge(two)
    for parts in ([one, two], [two, one]):
        with pytest.raises(PathwayError, match="was judged without texts") as refusal:
            merge_parts(here("two.run"), parts, ["merge"], print)
        assert "--text`" in refusal.value.hint
    purge(two, "text", ["purge"], print)
    merge_parts(here("two.run"), [one, two], ["merge"], print)
    with RunFile.read(here("two.run")) as read:
        assert (read.get_setting(TEXTS), read.get_setting(KEEP)) == (False, ["bot"])


def test_a_row_that_was_mended_in_its_part_is_no_failure_of_the_run(shop: Shop, here: Callable[..., Path]) -> None:
    parts = split_run(here("two.run"), 2, ["split"])
    cases, lines = here("cases.jsonl"), here("cases.jsonl").read_text().splitlines(keepends=True)

    def bad(*rows: int) -> list[str]:
        cases.write_text("".join("{\n" if at in rows else line for at, line in enumerate(lines)))
        for part in parts:
            shop.judge(part, cases=cases)
        merge_parts(here("two.run"), parts, ["merge"], print)
        return [case for case, each in outcomes(here("two.run")).items() if " line " in case]

    assert len(bad(2, 5, 9, 11)) == 4
    assert len(bad(5)) == 1
    assert bad() == []


def test_a_job_that_a_copy_of_a_part_has_not_ended_is_there_once(here: Callable[..., Path]) -> None:
    with RunFile.open(here(PARTS[0])) as part:
        job = part.jobs.begin(["judge", "more"], {"raters": [], "part": f"1/{N}"})
    shutil.copy(here(PARTS[0]), here("copy.run"))
    with RunFile.open(here(PARTS[0])) as part:
        part.jobs.learn(job, {"engines": []})
        part.jobs.end(job, "done", {"judged": 0})
    for name in ("copy.run", PARTS[0]):
        merged(here, name)
    with RunFile.read(here("all.run")) as read:
        assert [(job.status, "engines" in job.facts) for job in read.jobs.all()] == [("done", True)] * 2


def test_ratings_of_people_in_a_part_are_told(run: Run, here: Callable[..., Path]) -> None:
    case = next(case for case, each in outcomes(here(PARTS[0])).items() if isinstance(each, Verdict))
    here("ratings.csv").write_text(f"id,score\n{case},5\n")
    assert run("import", PARTS[0], "ratings.csv", "--kind", "human", "--rater", "anna").code == 0
    assert "ratings of anna stay there; import them into all.run" in run("runs", "merge", "all.run", PARTS[0]).words
    with RunFile.read(here("all.run")) as read:
        assert [rater.name for _, rater in read.raters()] == ["scripted"]


def test_a_damaged_part_is_refused_and_ends_nothing_by_a_bug(here: Callable[..., Path]) -> None:
    whole, chance = here(PARTS[1]).read_bytes(), random.Random(5)
    run = here("all.run").read_bytes()
    for _ in range(40):
        content = bytearray(whole)
        for _ in range(chance.choice([1, 20])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        here(PARTS[1]).write_bytes(content)
        here("all.run").write_bytes(run)
        with suppress(PathwayError):
            merged(here, PARTS[0], PARTS[1])


KILLED = """
import os, signal, sys
from pathlib import Path
from pathway_local.runs import parts
from pathway_local.runs.database import Database

left = int(sys.argv[2])
def counted(original):
    def step(*args, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **options)
    return step
for name in ("execute", "execute_all", "rows", "_check_place"):
    setattr(Database, name, counted(getattr(Database, name)))
if sys.argv[1] == "split":
    parts.split_run(Path("new.run"), 3, ["split"])
else:
    parts.merge_parts(Path("all.run"), [Path(name) for name in sys.argv[3:]], ["merge"], print)
print(left)
"""


@pytest.mark.parametrize("what", ["merge", "split"])
def test_a_killed_command_leaves_the_run_as_it_was_and_no_file(
    what: str, here: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    script = tmp_path_factory.mktemp("script") / "killed.py"
    script.write_text(KILLED)

    def typed(at: int, folder: Path) -> tuple[int, str]:
        environment = start_environment() | {"HOME": str(script.parent)}
        with Forked([str(script), what, str(at), *PARTS], folder, environment) as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, out + err

    code, said = typed(10**9, Path(shutil.copytree(here("."), tmp_path_factory.mktemp("whole"), dirs_exist_ok=True)))
    assert code == 0, said
    steps, chance = 10**9 - int(said.splitlines()[-1]), random.Random(3)

    names = {path.name for path in here(".").iterdir()}
    new = {"new.run", *(f"new.{k}-of-{N}.run" for k in range(1, N + 1))} if what == "split" else set()
    for at in sorted(chance.sample(range(1, steps), 6)):
        code, said = typed(at, here("."))
        assert code == -signal.SIGKILL, said
        for name in ("all.run", *PARTS, *(new & {path.name for path in here(".").iterdir()})):
            with RunFile.read(here(name)) as read:
                check_content(read.database)
        assert len(outcomes(here("all.run"))) in ((0, CASES) if what == "merge" else (0,))
        assert {path.name for path in here(".").iterdir()} <= names | new, "no half-written file"
        for name in new:
            here(name).unlink(missing_ok=True)


SCRIPT = Path(__file__).parents[1] / "examples" / "slurm" / "judge-array.sh"


@pytest.mark.soak
def test_the_script_of_the_array_judges_resumes_and_leaves_parts_to_merge(shop: Shop, tmp_path: Path) -> None:
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
    cases = ["all.run", str(N), str(shop.plan.cases), "--keep", "bot", *map(str, options)]
    environment = os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}", "SLURM_TMPDIR": str(local)}
    parts = split_run(here / "all.run", N, ["split"])

    def task(number: int, seconds: str = "0") -> subprocess.Popen[bytes]:
        own = {"SLURM_ARRAY_TASK_ID": str(number), SECONDS: seconds}
        return subprocess.Popen([SCRIPT, *cases], cwd=here, env=environment | own, stderr=subprocess.DEVNULL)

    slow, *others = task(1, "0.5"), task(2), task(3)
    while slow.poll() is None and not _stored(local, PARTS[0]):
        time.sleep(0.05)
    slow.terminate()
    assert slow.wait(60) == 130, "interrupted"
    assert 0 < len(outcomes(parts[0])) < len(outcomes(shop.work / PARTS[0]))
    failing = [int("case-7" in outcomes(shop.work / part)) for part in (*PARTS[1:], PARTS[0])]
    assert [each.wait(90) for each in (*others, task(1))] == failing
    assert not list(local.iterdir())
    assert sorted(path.name for path in here.glob("*")) == sorted(["all.run", *PARTS])
    merge_parts(here / "all.run", parts, ["merge"], lambda note: None)
    with RunFile.read(here / "all.run") as merged, RunFile.read(shop.work / "whole.run") as whole:
        assert [*summary(Scores(merged), SummaryOptions())] == [*summary(Scores(whole), SummaryOptions())]


def _stored(folder: Path, name: str) -> int:
    for run in folder.glob(f"*/{name}"):
        with suppress(PathwayError):
            return len(outcomes(run))
    return 0
