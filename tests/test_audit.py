"""The audit trail only grows, a change in it is found, and a kept head finds a trail that was rewritten."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sample_run import VERDICT, case, new_run
from typed import Desk

from pathway_local.cli.runs import what_of
from pathway_local.errors import TrailChanged, UsageError
from pathway_local.runs import audit
from pathway_local.runs.audit import BEFORE_ALL, KEYED, AuditTrail, TrailEntry, file_facts
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.seal import PARTS


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    run, _ = new_run(tmp_path / "may.run")
    with run:
        for number in range(3):
            job = run.jobs.begin(["pathway-local", "judge"], {"cases": {"file": "a.csv", "sha256": f"{number:064}"}})
            run.jobs.learn(job, {"engines": [{"seal": {"namespace": True}}]})
            run.jobs.end(job, "done", {"judged": number})
        yield run


def trail(run: RunFile) -> AuditTrail:
    return AuditTrail(run.database)


@contextmanager
def without_triggers(path: Path) -> Iterator[sqlite3.Connection]:
    """The file as a forger would open it: no trigger keeps anything, and afterwards all are there again."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        yield db
        for _, sql in triggers:
            db.execute(sql)


def rechained(db: sqlite3.Connection) -> None:
    """Every hash made right again, as a forger would."""
    before = BEFORE_ALL
    for number, text in db.execute("SELECT id, entry FROM audit ORDER BY id").fetchall():
        before = audit._hash(before, number, text)
        db.execute("UPDATE audit SET hash = ? WHERE id = ?", (before, number))


def test_jobs_leave_entries_that_say_who_when_and_what(run: RunFile) -> None:
    entries = trail(run).entries()
    assert [entry.event for entry in entries] == ["job begins", "job goes on", "job ends"] * 3
    assert [entry.number for entry in entries] == list(range(1, 10))
    assert entries[0].who["uid"] == os.getuid()
    assert entries[0].who["host"] == os.uname().nodename
    assert entries[0].facts["command"] == ["pathway-local", "judge"]
    assert entries[0].facts["cases"] == {"file": "a.csv", "sha256": "0" * 64}
    assert {"job": 3, "status": "done", "judged": 2}.items() <= entries[8].facts.items()
    assert trail(run).check() == 0
    assert run.jobs.all()[0].engines == [{"seal": {"namespace": True}}]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET entry = '{}' WHERE id = 2",
        "DELETE FROM audit WHERE id = 9",
        "INSERT INTO audit VALUES (5, '{}', 'x')",
        "INSERT OR REPLACE INTO audit VALUES (9, '{}', 'x')",
        "INSERT INTO audit VALUES (11, '{}', 'x')",
    ],
)
def test_the_file_itself_refuses_to_change_it(run: RunFile, statement: str) -> None:
    db = sqlite3.connect(run.path)
    with pytest.raises(sqlite3.IntegrityError, match="only grows"):
        db.execute(statement)
    db.close()
    assert trail(run).check() == 0


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE audit SET entry = replace(entry, 'a.csv', 'b.csv') WHERE id = 4", "entry 4"),
        ("UPDATE audit SET entry = entry || ' ' WHERE id = 9", "entry 9"),
        ("DELETE FROM audit WHERE id = 5", "entry 5"),
        ("DELETE FROM audit WHERE id = 1", "entry 1"),
        ("UPDATE audit SET id = 10 WHERE id = 9", "entry 9"),
        ("UPDATE audit SET hash = lower(hex(randomblob(32))) WHERE id = 6", "entry 6"),
    ],
)
def test_a_change_is_found_and_its_place_told(run: RunFile, statement: str, found: str) -> None:
    run.close()
    with without_triggers(run.path) as db:
        db.execute(statement)
    with RunFile.read(run.path) as read, pytest.raises(TrailChanged, match=found):
        trail(read).check()


def test_a_rewritten_trail_is_found_by_a_head_that_was_kept(run: RunFile) -> None:
    kept = trail(run).head()
    assert trail(run).check(kept) == 0
    run.jobs.end(run.jobs.begin(["import"], {}), "done", {})
    assert trail(run).check(kept) == 2
    run.close()
    with without_triggers(run.path) as db:
        db.execute("UPDATE audit SET entry = replace(entry, 'a.csv', 'b.csv') WHERE id = 4")
        rechained(db)

    def missed() -> None:
        with RunFile.read(run.path) as read:
            assert trail(read).check() == 0  # nothing inside the file can tell
            with pytest.raises(TrailChanged, match="no entry"):
                trail(read).check(kept)

    missed()
    with without_triggers(run.path) as db:
        db.execute("DELETE FROM audit WHERE id > 6")
    missed()


def test_a_head_is_a_whole_hash_of_an_entry(run: RunFile) -> None:
    for other in ("f" * 64, BEFORE_ALL):
        with pytest.raises(TrailChanged):
            trail(run).check(other)
    for cut in ("", "0" * 12, "abc", trail(run).head()[:12], trail(run).head().upper()):
        with pytest.raises(UsageError, match="a whole hash"):
            trail(run).check(cut)


def test_an_entry_of_another_process_goes_between_the_writers(run: RunFile, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("a,b\n")
    code = """
import sys
from pathlib import Path
from pathway_local.runs.audit import file_facts, file_facts, note
print(note(Path(sys.argv[1]), "export", file_facts(Path(sys.argv[2]), b"key")))
"""
    run.put(1, case("a"), VERDICT)
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(run.path), str(tmp_path / "out.csv")], stdout=subprocess.PIPE, text=True
    )
    for number in range(40):
        run.put(1, case(f"b{number}", number), VERDICT)
        if other.poll() is not None:
            break
    assert other.communicate(timeout=60)[0] == "True\n"
    run.jobs.end(run.jobs.begin(["judge"], {}), "done", {})
    assert [entry.event for entry in trail(run).entries()][-3:] == ["export", "job begins", "job ends"]
    assert trail(run).entries()[-3].facts == file_facts(tmp_path / "out.csv", b"key")
    assert trail(run).check() == 0
    assert len(list(run.records())) >= 2


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("desk") / "d", tiny_judge)
    desk.typed(*desk.judging(desk.cases(5)))
    desk.typed("export", "may.run", "--out", "verdicts.csv")
    return desk


def test_a_run_by_command_tells_all_of_it_and_its_head(judged: Desk) -> None:
    printed = judged.typed(*judged.judging(judged.work / "cases.jsonl")).stderr
    told = json.loads(judged.typed("runs", "audit", "may.run", "--json").stdout)
    assert told["head"] not in printed and told["head"] in judged.typed("runs", "audit", "may.run").stderr
    assert [each["event"] for each in told["entries"]][:4] == ["job begins", "job goes on", "job ends", "export"]
    begins, goes_on, _, export = (each["facts"] for each in told["entries"][:4])
    with RunFile.read(judged.work / "may.run") as run:
        key = run.key
    assert begins["cases"] == file_facts(judged.work / "cases.jsonl", key)
    assert begins["command"][1:3] == ["judge", "cases.jsonl"]
    assert {"pathway_local", "python", "packages", "machine"} <= begins.keys()
    [rater] = begins["raters"]
    assert (len(rater["sha256"]), len(rater["weights"]), rater["rubric"]) == (64, 64, "small")
    assert all(goes_on["engines"][0]["seal"][part] is True for part in PARTS)
    assert export["file"] == "verdicts.csv"
    assert export[KEYED] == file_facts(judged.work / "verdicts.csv", key)[KEYED]


def test_the_command_finds_a_change(judged: Desk) -> None:
    head = json.loads(judged.typed("runs", "audit", "may.run", "--json").stdout)["head"]
    assert "entries after it: 0" in judged.typed("runs", "audit", "may.run", "--head", head).stderr
    changed = judged.work / "changed.run"
    shutil.copy(judged.work / "may.run", changed)
    with without_triggers(changed) as db:
        db.execute("UPDATE audit SET entry = replace(entry, 'cases.jsonl', 'others.jsonl') WHERE id = 1")
    assert "entry 1 of its audit trail" in judged.typed("runs", "audit", changed.name, code=4).stderr
    with without_triggers(changed) as db:
        rechained(db)
    judged.typed("runs", "audit", changed.name)
    assert "no entry" in judged.typed("runs", "audit", changed.name, "--head", head, code=4).stderr


def test_the_command_finds_the_entries_about_a_file(judged: Desk) -> None:
    assert "recorded in entry 1" in judged.typed("runs", "audit", "may.run", "--file", "cases.jsonl").stderr
    assert (
        "verdicts.csv as it is now: recorded in entry 4"
        in judged.typed("runs", "audit", "may.run", "--file", "verdicts.csv").stderr
    )
    (judged.work / "other.csv").write_bytes((judged.work / "verdicts.csv").read_bytes() + b"\n")
    assert (
        "no entry records other.csv" in judged.typed("runs", "audit", "may.run", "--file", "other.csv", code=4).stderr
    )
    assert "can't be read" in judged.typed("runs", "audit", "may.run", "--file", "missing.csv", code=2).stderr


def test_facts_are_told_without_hashes_of_the_content() -> None:
    done = {"job": 1, "status": "done", "judged": 7, "skipped": 0, "content left": "0f"}
    entries = {
        '"status": "done", "judged": 7, "skipped": 0': done,
        "judge 'my cases.csv'": {"command": ["pathway-local", "judge", "my cases.csv"]},
        '"ann": 3, "bob": 4': {"command": ["pathway-local", "runs"], "removed": {"ann": 3, "bob": 4}},
        '"file": "rate.xlsx"': {"file": "rate.xlsx", KEYED: "0f"},
    }
    for said, facts in entries.items():
        assert what_of(TrailEntry(at="", event="job goes on", who={}, facts=facts)) == said
