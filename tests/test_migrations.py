"""Files of older and of newer programs."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sample_run import RATER, VERDICT, new_run, stored

from pathway_local.errors import RunDamaged, RunFileError
from pathway_local.ratings.samples import inclusions
from pathway_local.runs import database, migrations
from pathway_local.runs.migrations import APPLICATION_ID, MIGRATIONS
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "may.run"


@pytest.fixture
def run(path: Path) -> Iterator[RunFile]:
    run, _ = new_run(path)
    with run:
        yield run


def test_a_run_of_a_newer_program(path: Path, run: RunFile) -> None:
    run.close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    for opened in (RunFile.open, RunFile.read):
        with pytest.raises(RunFileError, match="newer") as refused:
            opened(path)
        assert "Update" in refused.value.hint


def first_schema(path: Path) -> None:
    """A run as the first release wrote it, made from the first step alone."""
    db = sqlite3.connect(path, isolation_level=None)
    for statement in MIGRATIONS[0]:
        db.execute(statement)
    db.executescript("""
        PRAGMA user_version = 1;
        INSERT INTO rubrics VALUES (1, 'grounded', '9b5bf4d5a3c80d9a6d3e6a8f9c0c4a3b', 'Judge it.');
        INSERT INTO cases VALUES (1, 'a', 1, 0, '{"chatbot":"v1"}');
        INSERT INTO outcomes VALUES (1, 1, 1, 'h', 0, '{"score":{"value":4,"probabilities":{"3":0.25,"4":0.75}}}',
            '{"analysis":"Sound."}', '["cut:analysis"]', NULL, NULL, 800, 768, 90);
        INSERT INTO settings VALUES ('cases', '"cases.csv"');
        INSERT INTO jobs VALUES (1, '["judge"]', '{}', '2026-01-01T00:00:00+00:00', NULL, NULL, NULL);
    """)
    db.execute("INSERT INTO run VALUES (?, '2026-01-01T00:00:00+00:00')", (bytes(range(32)),))
    db.execute("INSERT INTO raters VALUES (1, 'demo', 'judge', 1, ?, ?)", (RATER.fingerprint, RATER.spec_json))
    db.close()


@pytest.mark.parametrize("opened", [RunFile.open, RunFile.read])
def test_a_file_of_the_first_schema_opens(path: Path, opened: object) -> None:
    first_schema(path)
    assert callable(opened)
    with opened(path) as run:
        (record,) = run.records()
        assert (record.outcome, record.metadata, record.tokens.prompt) == (VERDICT, {"chatbot": "v1"}, 800)
        assert run.get_setting("cases") == "cases.csv"
        assert run.jobs.all()[0].command == ("judge",)
        assert run.key == bytes(range(32))
    assert stored(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]
    assert stored(path, "PRAGMA application_id") == [(APPLICATION_ID,)]


@pytest.mark.parametrize("opened", [RunFile.open, RunFile.read])
def test_a_later_step_is_applied_once_by_writer_and_reader(
    path: Path, opened: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_schema(path)
    steps = (*MIGRATIONS, ("ALTER TABLE cases ADD COLUMN weight REAL", "UPDATE cases SET weight = 0.5"))
    for module in (migrations, database):
        monkeypatch.setattr(module, "MIGRATIONS", steps)
    assert callable(opened)
    for _ in range(2):
        with opened(path) as run:
            assert len(list(run.records())) == 1
    assert stored(path, "SELECT weight FROM cases") == [(0.5,)]
    assert stored(path, "PRAGMA user_version") == [(len(steps),)]


def at_schema(path: Path, version: int) -> sqlite3.Connection:
    """A run of the first release that has seen the steps up to this one."""
    first_schema(path)
    db = sqlite3.connect(path, isolation_level=None)
    for number, step in enumerate(MIGRATIONS[1:version], start=2):
        for statement in step:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {number}")
    return db


def test_source_row_and_reason_of_older_bad_rows_become_columns(path: Path) -> None:
    db = at_schema(path, 4)
    messages = {
        "b": "may 7.csv line 9: its answer holds a NUL character",
        "c": "my line 3 row 7.xlsx row 12: the input answer is missing: it has no answer",
        "d": "something else",
        "e": "",
    }
    for key, (name, message) in enumerate(messages.items(), start=2):
        db.execute("INSERT INTO cases VALUES (?, ?, ?, 0, '{}')", (key, name, key + 5))
        row = "INSERT INTO outcomes VALUES (?, ?, 1, '', 0, NULL, NULL, NULL, 'bad-row', ?, 0, 0, 0)"
        db.execute(row, (key, key, message))
    db.execute("INSERT INTO cases VALUES (9, 'f', 1, 0, '{}')")
    said = "x.csv line 2: it ended"
    db.execute("INSERT INTO outcomes VALUES (9, 9, 1, 'h', 0, NULL, NULL, NULL, 'engine', ?, 0, 0, 0)", (said,))
    db.close()
    with RunFile.open(path) as run:
        found = {record.case_id: record.outcome for record in run.records()}
        assert found == {
            "a": VERDICT,
            "b": Failure("bad-row", messages["b"], "may 7.csv", 7, "its answer holds a NUL character"),
            "c": Failure(
                "bad-row", messages["c"], "my line 3 row 7.xlsx", 8, "the input answer is missing: it has no answer"
            ),
            "d": Failure("bad-row", "something else"),
            "e": Failure("bad-row", ""),
            "f": Failure("engine", said),
        }
        for source in ("may 7.csv", "my line 3 row 7.xlsx", "x.csv", ""):
            run.forget_bad_rows(1, source, [])
        assert [record.case_id for record in run.records()] == ["a", "f", "d", "e"]


def test_the_words_of_strata_go_when_an_older_run_is_opened(path: Path) -> None:
    db = at_schema(path, 3)
    db.execute("INSERT INTO samples VALUES (1, 1, 1, 7, 'query', 3, 3)")
    for case_id, row, stratum in (("a", 1, "QUAGGA a?"), ("b", 2, "OKAPI " * 9000), ("c", 3, "QUAGGA a?")):
        db.execute("INSERT INTO inclusions VALUES (1, ?, 'h', ?, 0, ?, 0.5, 1)", (case_id, row, stratum))
    db.close()
    assert b"QUAGGA" in path.read_bytes()
    with RunFile.read(path) as run:
        assert [(each.case_id, each.stratum) for each in inclusions(run, 1)] == [("a", 1), ("b", 0), ("c", 1)]
    assert not any(word in path.read_bytes() for word in (b"QUAGGA", b"OKAPI"))


def test_a_step_that_fails_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first_schema(path)
    steps = (*MIGRATIONS, ("ALTER TABLE cases ADD COLUMN weight REAL", "UPDATE nowhere SET weight = 0.5"))
    for module in (migrations, database):
        monkeypatch.setattr(module, "MIGRATIONS", steps)
    with pytest.raises(RunDamaged):
        RunFile.open(path)
    monkeypatch.undo()
    assert "weight" not in str(stored(path, "SELECT sql FROM sqlite_master"))
    with RunFile.open(path) as run:
        assert len(list(run.records())) == 1
