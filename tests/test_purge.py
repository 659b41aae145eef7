"""What is purged is gone from the file and from beside it; what stays can still be read, and the trail tells of it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from sample_run import RATER, case, new_run
from typed import Desk

from pathway_local.case import Case, CaseRef, fingerprint
from pathway_local.errors import RunLocked
from pathway_local.ratings.samples import hand_out, samples, store_handouts
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.audit import AuditTrail, check_content, recorded, sha256_of
from pathway_local.runs.parts import split_run
from pathway_local.runs.purge import purge
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Score, Verdict

SECRET, ID, COLUMN = "ZEBRAQUAGGA", "STUDENTOKAPI", "COHORTGNU"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with texts on many pages, superseded ones among them, and handouts."""
    run, rater = new_run(tmp_path_factory.mktemp("made") / "may.run")
    with run:
        for number in range(300):
            item = CaseRef(f"{ID}{number}", number, metadata={"group": COLUMN})
            for words in (f"{SECRET} first {number} " * 20, f"{SECRET} second {number}"):
                verdict = Verdict({"score": Score(4, {4: 1.0})}, {"analysis": words})
                run.put(rater, replace(item, hash=f"{number}{len(words)}"), verdict, keep=None)
        rubric = load_rubric("groundedness")
        store_rubric(run, rubric)
        job = run.jobs.begin(["hosted"], {})
        given = Case(f"{ID}0", dict.fromkeys(rubric.inputs, "y"))
        store_handouts(run, job, [hand_out(run.key, rubric, given, "somebody")])
    return run.path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_texts_go_and_scores_stay(path: Path) -> None:
    before = path.stat().st_size
    assert SECRET.encode() in on_disk(path)
    assert purge(path, "text", ["purge"], print) == {"texts": 600}
    assert SECRET.encode() not in on_disk(path)
    assert path.stat().st_size < 0.8 * before
    assert list(path.parent.iterdir()) == [path]
    with RunFile.read(path) as run:
        records = list(run.records())
        assert len(records) == 300
        assert records[7].outcome == Verdict({"score": Score(4, {4: 1.0})})
        assert records[7].metadata == {"group": COLUMN}
        assert AuditTrail(run.database).check() == 0
        told = AuditTrail(run.database).entries()[-1].facts
        assert {"command": ["purge"], "removed": "text", "texts": 600}.items() <= told.items()


def test_everything_about_cases_goes_and_the_trail_stays(path: Path) -> None:
    with RunFile.read(path) as run:
        key = run.key
    assert purge(path, "all", ["purge"], print) == {"handouts": 1, "outcomes": 600, "cases": 300}
    rest = on_disk(path)
    assert not any(word.encode() in rest for word in (SECRET, ID, COLUMN))
    assert key not in rest
    with RunFile.open(path) as run:
        assert list(run.records()) == []
        assert [rater for _, rater in run.raters()] == [RATER]
        assert AuditTrail(run.database).check() == 0
        run.put(1, case("new", hash=fingerprint(run.key, {"answer": "x"})), Verdict({"score": Score(2)}))
        assert len(list(run.records())) == 1 and run.judged(1, [f"{ID}0"]) == {}


def test_values_from_cases_stay_out_of_what_is_kept_of_a_command() -> None:
    given = ["--where", f"student={SECRET}", f"--between=student={SECRET}", "--case", SECRET, "--between", "bot"]
    left_out = ["--where", "student=[left out]", "--between=student=[left out]", "--case", "[left out]"]
    assert recorded(given) == [*left_out, "--between", "bot"]


def test_a_name_in_a_command_is_not_kept(tmp_path: Path, tiny_judge: Path) -> None:
    desk = Desk(tmp_path / "d", tiny_judge)
    desk.cases(4, student=SECRET)
    exporting = ["hosted", "export", "may.run", "--cases", "cases.jsonl", "--rubric", "small.prompty", "--yes"]
    exporting += ["--service", "openai", "--model", "m/x"]
    desk.typed(*exporting, "--out", "a.jsonl")
    desk.typed(*exporting, "--out", "b.jsonl")
    path = desk.work / "may.run"
    assert "recorded in entry 2" in desk.typed("runs", "audit", "may.run", "--file", "a.jsonl").stderr
    assert SECRET.encode() not in path.read_bytes()
    with RunFile.open(path) as run:  # as an earlier release kept it
        job = run.jobs.begin(["judge"], {})
        with run.database.writing():
            run.database.execute("UPDATE jobs SET command = ?", (f'["--where", "student={SECRET}"]',))
        run.jobs.end(job, "done", {})
    told = desk.typed("runs", "purge", "may.run", "--all", "--yes").stderr
    assert "names of raters and of files" in told
    whole = path.read_bytes()
    assert all(sha256_of(file).encode() not in whole for file in desk.work.glob("*.jsonl"))
    assert "no entry records a.jsonl" in desk.typed("runs", "audit", "may.run", "--file", "a.jsonl", code=4).stderr
    assert "written from this run: a.jsonl, b.jsonl" in told
    assert SECRET.encode() not in path.read_bytes()
    with RunFile.read(path) as run:
        assert [job.command for job in run.jobs.all()] == [()] * 3
    desk.typed("runs", "audit", "may.run")


def test_nothing_is_removed_while_somebody_reads(path: Path) -> None:
    code = "import sys; from pathway_local.runs.run_file import RunFile; r = RunFile.read(sys.argv[1]); "
    code += "next(r.records()); print('reads', flush=True); sys.stdin.read()"
    reader = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout
    assert reader.stdout.readline() == "reads\n"
    with pytest.raises(RunLocked, match="such as a viewer, has it open") as refused:
        purge(path, "text", ["purge"], print)
    assert refused.value.hint == "End it first."
    reader.communicate("", timeout=60)
    with RunFile.read(path) as run:
        assert all(isinstance(each.outcome, Verdict) and each.outcome.fields for each in run.records())
        assert AuditTrail(run.database).check() == 0


def test_by_command_it_asks_and_tells_what_it_can_not_reach(tmp_path: Path, tiny_judge: Path) -> None:
    desk = Desk(tmp_path / "d", tiny_judge)
    desk.typed(*desk.judging(desk.cases(3)))
    desk.typed("export", "may.run", "--out", "verdicts.csv")
    assert "--text or --all" in desk.typed("runs", "purge", "may.run", code=2).stderr
    assert "--yes" in desk.typed("runs", "purge", "may.run", "--text", code=2).stderr
    said = desk.typed("runs", "purge", "may.run", "--text", "--yes").stderr
    assert "removed: 3 texts" in said
    assert "written from this run: verdicts.csv" in said
    assert "the cases file" in said
    assert "purge" in desk.typed("runs", "audit", "may.run").stdout


def test_fields_that_hold_scores_outlive_the_texts(tmp_path: Path) -> None:
    kept = {"choice_ab": 1, "consistent": True, "a_better": 0.1916}
    run, rater = new_run(tmp_path / "scores.run")
    with run:
        for number, fields in enumerate(({"analysis": SECRET, **kept}, kept, {})):
            item = CaseRef(f"c{number}", number)
            run.put(rater, replace(item, hash=str(number)), Verdict({"score": Score(4)}, dict(fields)), keep=None)
    assert purge(tmp_path / "scores.run", "text", ["purge"], print) == {"texts": 1}
    with RunFile.read(tmp_path / "scores.run") as read:
        found = [record.outcome.fields for record in read.records() if isinstance(record.outcome, Verdict)]
    assert found == [kept, kept, {}]
    assert found[0]["consistent"] is True


def test_one_person_leaves_with_every_trace_and_the_files_written_from_the_run_are_named(
    tmp_path: Path, tiny_judge: Path
) -> None:
    desk = Desk(tmp_path / "d", tiny_judge)
    rows = [
        {"id": f"{ID}{n}", "question": f"Q{n}", "answer": f"A{n}", "student": COLUMN if n < 2 else "other"}
        for n in range(6)
    ]
    rubric = str(desk.work / "small.prompty")
    desk.typed(*desk.judging(desk.sheet(rows), "--keep", "student"))
    desk.typed("export", "may.run", "--out", "verdicts.csv")
    path = desk.work / "may.run"
    parts = split_run(path, 50, ["split"])
    of_cases = ["--cases", "cases.jsonl", "--rubric", rubric]
    desk.typed("sample", "may.run", *of_cases, "--n", "6", "--seed", "0", "--rater", "Ann", "--out", "ann.html")
    desk.typed("sample", "may.run", *of_cases, "--n", "2", "--seed", "4", "--rater", "Bo", "--out", "bo.html")
    with RunFile.read(path) as run:
        handed = {case for (case,) in run.database.rows("SELECT case_id FROM handouts WHERE recipient LIKE '%Bo%'")}
    refused = desk.typed("runs", "purge", "may.run", "--where", "teacher=x", "--yes", code=2).stderr
    assert "does not keep the column 'teacher'" in refused
    for wrong in (["--case", f"{ID}99"], ["--where", "student=nobody"], ["--all", "--case", f"{ID}0"]):
        assert COLUMN not in desk.typed("runs", "purge", "may.run", *wrong, "--yes", code=2).stderr
    for second in ("student", "Student"):
        twice = ["--where", f"student={COLUMN}", "--where", f"{second}=other"]
        assert "student twice" in desk.typed("runs", "purge", "may.run", *twice, "--yes", code=2).stderr
    nobody = ["--where", "student=nobody", "--case", f"{ID}0"]
    assert "no case with these values" in desk.typed("runs", "purge", "may.run", *nobody, "--yes", code=2).stderr
    twice = ["--map", "question=question", "--map", "question=answer"]
    assert "--map gives question twice" in desk.typed(*desk.judging(desk.work / "cases.jsonl"), *twice, code=2).stderr
    assert "nothing was removed" in desk.typed("runs", "purge", "may.run", "--case", f"{ID}0", code=2).stderr
    told = desk.typed("runs", "purge", "may.run", "--where", f"Student={COLUMN}", "--case", f"{ID}5", "--yes").stderr
    gone = [f"{ID}{n}" for n in (0, 1, 5)]
    files = f"verdicts.csv, {parts[0].name} … {parts[-1].name}, ann.html, bo.html"
    assert f"written from this run: {files}\n" in told
    places = 3 + len(handed & set(gone))
    assert f"removed: {places} places on sheets and pages for raters" in told and ", 3 cases" in told
    left = path.read_bytes()
    assert not any(word.encode() in left for word in (*gone, COLUMN))
    with RunFile.read(path) as run:
        assert [each.case_id for each in run.records()] == [f"{ID}{n}" for n in (2, 3, 4)]
        assert [(each.cases, each.drawn) for each in samples(run, "small") if each.seed == 0] == [(3, 3)]
        check_content(run.database)
    assert desk.typed("runs", "audit", "may.run").returncode == 0
