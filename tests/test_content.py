"""What a run holds is held against its audit trail: changes are told as such, a killed job is told as that."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sample_run import RATER, VERDICT, by_hand, case, new_run
from typed import Desk

from pathway_local.errors import ContentChanged, RaterChanged, RunDamaged
from pathway_local.rater import Rater
from pathway_local.runs import audit
from pathway_local.runs.audit import AuditTrail, check_content, content_hash
from pathway_local.runs.database import Database
from pathway_local.runs.purge import purge
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.schema import TABLES
from pathway_local.verdict import Failure

COUNT = 300  # more than are hashed at a time


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with verdicts, failures and a superseded verdict, whose job has ended."""
    run, rater = new_run(tmp_path_factory.mktemp("made") / "may.run")
    with run:
        job = run.jobs.begin(["judge"], {})
        for number in range(COUNT):
            outcome = Failure("engine-error", "it died") if number % 7 == 0 else VERDICT
            run.put(rater, case(f"c{number}", number), outcome)
        run.put(rater, case("c1", 1, hash="changed"), VERDICT)
        run.jobs.end(job, "done", {})
    return run.path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


@pytest.fixture
def run(path: Path) -> Iterator[RunFile]:
    with RunFile.open(path) as run:
        yield run


def told(path: Path) -> None:
    with RunFile.read(path) as run:
        AuditTrail(run.database).check()
        check_content(run.database)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE outcomes SET scores = replace(scores, ':4,', ':5,') WHERE case_key = 9",
        "UPDATE outcomes SET failure_message = NULL, marks = failure_message WHERE case_key = 8",
        "DELETE FROM outcomes WHERE case_key = 300",
        "DELETE FROM outcomes",
        "UPDATE cases SET case_id = 'another' WHERE key = 5",
        'UPDATE cases SET metadata = \'{"group":"b"}\' WHERE key = 5',
        "UPDATE rubrics SET text = 'Be kind.', sha256 = 'x'",
        "UPDATE run SET key = randomblob(32)",
        "UPDATE outcomes SET sheet_job = 1 WHERE case_key = 9",
    ],
)
def test_a_change_by_hand_is_told_until_the_end_of_the_trail(path: Path, statement: str) -> None:
    told(path)
    by_hand(path, statement)
    with pytest.raises(ContentChanged, match="not that of entry 2"):
        told(path)
    # A later job finds what it finds, and does not make it right.
    with RunFile.open(path) as run:
        run.jobs.end(run.jobs.begin(["judge"], {}), "done", {})
    with pytest.raises(ContentChanged, match="between entries 2 and 3"):
        told(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE outcomes SET case_key = 999 WHERE case_hash = 'changed'",
        "UPDATE outcomes SET rater_id = 2 WHERE case_key = 299",
        "INSERT INTO outcomes SELECT 999, 1, 1, 'h', scores, fields, marks, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, "
        "NULL FROM outcomes WHERE case_key = 9",
    ],
)
def test_an_outcome_of_nothing_in_the_run_is_damage(path: Path, statement: str) -> None:
    by_hand(path, statement)
    with pytest.raises(RunDamaged):
        told(path)


def test_where_rows_lie_does_not_matter(path: Path) -> None:
    by_hand(path, "CREATE TABLE kept AS SELECT * FROM jobs ORDER BY id DESC", "DELETE FROM jobs")
    by_hand(path, "INSERT INTO jobs SELECT * FROM kept ORDER BY random()", "DROP TABLE kept", "VACUUM")
    told(path)


def test_a_text_can_not_move_from_one_column_to_the_next(path: Path, run: RunFile) -> None:
    before = content_hash(run.database)
    run.close()
    by_hand(path, "UPDATE outcomes SET marks = '[]' || marks, fields = substr(fields, 1, length(fields) - 2)")
    with RunFile.read(path) as read:
        assert content_hash(read.database) != before


def test_a_job_that_was_killed_is_told_as_that(path: Path, run: RunFile) -> None:
    run.jobs.begin(["judge"], {})
    run.put(1, case("late", 999), VERDICT)
    run.close()
    told(path)
    with RunFile.open(path) as again:
        again.jobs.end(again.jobs.begin(["judge"], {}), "done", {})
    told(path)


def test_a_forged_entry_without_a_hash_is_told_for_good(path: Path, run: RunFile) -> None:
    head = AuditTrail(run.database).head()
    run.close()
    by_hand(path, "UPDATE outcomes SET scores = replace(scores, ':4,', ':5,') WHERE case_key = 9")
    db = sqlite3.connect(path, isolation_level=None)
    text = json.dumps({"at": "2026-01-01", "event": "job begins", "who": {}, "facts": {"job": 2}})
    db.execute("INSERT INTO audit VALUES (3, ?, ?)", (text, audit._hash(head, 3, text)))
    db.close()
    with pytest.raises(ContentChanged, match="between entries 2 and 3"):
        told(path)
    with RunFile.open(path) as again:
        again.jobs.end(again.jobs.begin(["judge"], {}), "done", {})
    with pytest.raises(ContentChanged, match="between entries 2 and 3"):
        told(path)


_KEYS = {
    **dict.fromkeys(("jobs", "rubrics", "raters", "samples"), "id"),
    **{"settings": "name", "cases": "key", "outcomes": "case_key", "handouts": "custom_id", "inclusions": "case_id"},
}


def test_no_column_of_the_content_can_be_changed_unseen(path: Path, run: RunFile) -> None:
    job = run.jobs.begin(["sample"], {})
    with run.database.writing():
        for statement in (
            "INSERT INTO settings VALUES ('texts', 'true')",
            "INSERT INTO samples VALUES (1, 1, 1, 7, 'group')",
            "INSERT INTO inclusions VALUES (1, 'c1', 'h', 1, '0', 0.5, 1)",
            "INSERT INTO handouts VALUES ('f00', 1, 1, 'x', 'c1', 1, 'h', 'ann')",
        ):
            run.database.execute(statement, ())
    run.jobs.end(job, "done", {})
    left = content_hash(run.database)
    run.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        seen = 0
        for table in TABLES:
            for _, column, *_ in db.execute(f"PRAGMA table_info({table})").fetchall():
                one = f"SELECT {_KEYS[table]}, {column} FROM {table} ORDER BY {_KEYS[table]} DESC LIMIT 1"
                for key, value in db.execute(one).fetchall():
                    db.execute("BEGIN")
                    other = 7777 if value != 7777 else 7778
                    db.execute(f"UPDATE {table} SET {column} = ? WHERE {_KEYS[table]} = ?", (other, key))
                    assert content_hash(Database(path, db, None)) != left, (table, column)
                    db.execute("ROLLBACK")
                    seen += 1
    assert seen == 60


def test_what_comes_before_a_job_begins_is_no_change(path: Path, run: RunFile) -> None:
    run.add_rubric("gold", "Compare.", "{}")
    run.add_rater(Rater("anna", "human", "grounded", {}))
    run.close()
    told(path)
    with RunFile.open(path) as again:
        again.add_rubric("gold", "Compare them.", "{}")
        with pytest.raises(RaterChanged):
            again.add_rater(Rater(RATER.name, "judge", "grounded", {"other": 1}))
        again.jobs.end(again.jobs.begin(["judge"], {}), "done", {})
    told(path)


@pytest.mark.parametrize("what", ["text", "all"])
def test_a_purge_leaves_a_run_that_is_as_recorded(path: Path, what: str) -> None:
    purge(path, "all" if what == "all" else "text", ["purge"], print)
    told(path)
    by_hand(
        path, "UPDATE outcomes SET failure_kind = 'x' WHERE case_key = 8", "INSERT INTO cases VALUES (999, 'z', 1, '')"
    )
    with pytest.raises(ContentChanged):
        told(path)


def test_a_change_before_a_purge_is_told_after_it(path: Path) -> None:
    by_hand(path, "UPDATE outcomes SET scores = replace(scores, ':4,', ':5,') WHERE case_key = 9")
    purge(path, "text", ["purge"], print)
    with pytest.raises(ContentChanged, match="between entries 2 and 3"):
        told(path)


def test_the_command_tells_a_change_in_the_scores(tmp_path: Path, tiny_judge: Path) -> None:
    desk = Desk(tmp_path / "d", tiny_judge)
    desk.typed(*desk.judging(desk.cases(5)))
    said = desk.typed("runs", "audit", "may.run").stderr
    assert "the outcomes match the trail" in said
    shutil.copy(desk.work / "may.run", desk.work / "killed.run")
    by_hand(desk.work / "may.run", "DELETE FROM outcomes WHERE case_key = 2")
    head = said.split("audit hash ")[1].split()[0]
    changed = desk.typed("runs", "audit", "may.run", "--head", head, code=4).stderr
    assert "its content is not that of entry 3 of its audit trail" in changed
    assert "not that of entry 3" in desk.typed("doctor", "may.run", "--models", "models.yaml", code=5).stdout
    with RunFile.open(desk.work / "killed.run") as run:
        run.jobs.begin(["judge"], {})
        run.put(1, case("late", 999), VERDICT)
    assert "the outcomes match the trail" in desk.typed("runs", "audit", "killed.run").stderr
