"""The schema of a run file: another release's form is refused, and so is whatever another program put into it."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from sample_run import VERDICT, by_hand, case, new_run, stored

from pathway_local.errors import RunDamaged, RunFileError
from pathway_local.runs.audit import note
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.schema import FORM

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS i FROM n"
OPENERS = (RunFile.open, RunFile.read)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    run, rater = new_run(tmp_path / "may.run")
    with run:
        run.put(rater, case("a"), VERDICT)
    return run.path


@pytest.mark.parametrize("form", [FORM - 1, FORM + 1])
@pytest.mark.parametrize("opened", OPENERS)
def test_a_run_of_another_release_is_refused(path: Path, form: int, opened: object) -> None:
    by_hand(path, f"PRAGMA user_version = {form}")
    assert callable(opened)
    with pytest.raises(RunFileError, match=f"another release .*form {form}, this one reads {FORM}") as refused:
        opened(path)
    assert refused.value.hint == "Open it with that release."


REWRITES = "UPDATE outcomes SET scores = replace(scores, '4', '5')"


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        ([f"CREATE TRIGGER helper AFTER INSERT ON audit BEGIN {REWRITES}; END"], 'trigger "helper"'),
        ([f"CREATE TRIGGER helper AFTER INSERT ON jobs BEGIN SELECT * FROM ({ENDLESS}); END"], 'trigger "helper"'),
        (
            ["DROP TABLE settings", f"CREATE VIEW settings AS SELECT i AS name, i AS value FROM ({ENDLESS})"],
            'view "settings"',
        ),
        (["CREATE VIEW more AS SELECT * FROM outcomes"], 'view "more"'),
        (["CREATE TABLE more (x)"], 'table "more"'),
        (["CREATE INDEX more ON outcomes (reason)"], 'index "more"'),
        (["DROP TRIGGER audit_keeps"], 'trigger "audit_keeps"'),
        (["DROP VIEW current"], 'view "current"'),
        (["ALTER TABLE outcomes ADD COLUMN more TEXT"], 'table "outcomes"'),
        (["CREATE VIRTUAL TABLE more USING fts5(x)"], 'table "more"'),
    ],
)
def test_a_schema_from_outside_is_refused_by_its_name(path: Path, statements: list[str], named: str) -> None:
    by_hand(path, *statements)
    before = path.read_bytes()
    for opened in OPENERS:
        with pytest.raises(RunFileError, match=f"another program changed its schema: .*{named}"):
            opened(path)
    assert not note(path, "export", {})
    assert path.read_bytes() == before


def test_the_schema_needs_no_newer_sqlite_than_systems_of_our_pages_have(path: Path) -> None:
    for (made,) in stored(path, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"):
        assert not re.search(r"\bSTRICT$", str(made)), "known from SQLite 3.37 on; Debian 11 has 3.34"


@pytest.mark.parametrize("spoil", ["prompt_tokens = x'00'", "prompt_tokens = 'many'", "reason = x'00'"])
def test_a_value_that_is_none_of_its_column_is_refused(path: Path, spoil: str) -> None:
    by_hand(path, f"UPDATE outcomes SET {spoil}")
    for opened in OPENERS:
        with pytest.raises(RunDamaged, match="the run file is damaged"):
            opened(path)


@pytest.fixture
def other_owner() -> int:
    if os.geteuid() != 0:
        pytest.skip("only root may give a file to another user")
    return 12345


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_file_beside_it_that_somebody_else_made_is_refused(path: Path, ending: str, other_owner: int) -> None:
    beside = Path(f"{path}{ending}")
    beside.touch(0o600)
    os.chown(beside, other_owner, other_owner)
    refused(path, beside, "somebody other than the run's owner made it")


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_link_beside_it_is_refused(path: Path, ending: str) -> None:
    beside = Path(f"{path}{ending}")
    beside.symlink_to(path.with_name("elsewhere"))
    refused(path, beside, "somebody other")
    beside.unlink()
    RunFile.open(path).close()


def refused(path: Path, beside: Path, why: str) -> None:
    for opened in OPENERS:
        with pytest.raises(RunFileError, match=why) as error:
            opened(path)
        assert str(beside) in str(error.value) and f"rm {beside}" in error.value.hint
    assert not note(path, "export", {})


@pytest.fixture
def interrupted() -> Iterator[None]:
    """Sends this process a signal after a moment, as Ctrl-C would."""

    def heard(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, heard)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.timeout(60)
@pytest.mark.usefixtures("interrupted")
def test_a_signal_ends_a_statement_that_runs_for_ever(path: Path) -> None:
    with RunFile.read(path) as run, pytest.raises(KeyboardInterrupt):
        run.database.rows(ENDLESS)
