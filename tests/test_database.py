"""A run on the disk: private, one writer, and nothing lost to a kill, a full disk or damage without a clear word."""

import os
import random
import resource
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sample_run import VERDICT, by_hand, case, full_run, new_run, stored

from pathway_local.errors import RunDamaged, RunFileError, RunLocked
from pathway_local.runs import database
from pathway_local.runs.audit import check_content
from pathway_local.runs.run_file import PAGE_BYTES, RunFile
from pathway_local.verdict import Score, Verdict


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "may.run"


@pytest.fixture
def run(path: Path) -> Iterator[RunFile]:
    run, _ = new_run(path)
    with run:
        yield run


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
def test_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        run, rater = new_run(tmp_path / "runs" / "deep" / "may.run")
        run.put(rater, case("a"), VERDICT)
        with RunFile.read(run.path) as reader:
            assert len(list(reader.records())) == 1
        modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in run.path.parent.iterdir()}
        run.close()
    finally:
        os.umask(before)
    assert modes == {"may.run": 0o600, "may.run-wal": 0o600, "may.run-shm": 0o600}
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (run.path.parent, run.path.parents[1])] == [0o700, 0o700]
    assert [entry.name for entry in run.path.parent.iterdir()] == ["may.run"]


def test_a_file_that_was_moved_or_deleted_is_told_at_once_and_a_moved_one_holds_all(path: Path) -> None:
    moved = path.with_name("moved.run")
    run, rater = new_run(path)
    run.put(rater, case("a"), VERDICT)
    path.rename(moved)
    for _ in range(2):
        with pytest.raises(RunFileError, match="moved, replaced or deleted"):
            run.put(rater, case("a"), VERDICT)
    run.close()
    run = RunFile.open(moved)
    assert [record.case_id for record in run.records()] == ["a"]
    moved.unlink()
    with pytest.raises(RunFileError, match="moved, replaced or deleted"):
        run.put(rater, case("b"), VERDICT)
    with suppress(RunFileError):
        run.close()


def test_an_existing_file_is_never_replaced(path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(RunFileError, match="exists already"):
        RunFile.create(path)
    assert path.read_text() == "precious"
    assert list(path.parent.iterdir()) == [path]


def in_another_process(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    program = f"import sys\nfrom pathway_local.runs.run_file import RunFile\n{code}"
    return subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60)


def test_a_second_writer_is_refused_and_takes_no_lock_away(path: Path, run: RunFile) -> None:
    with pytest.raises(RunLocked) as refused:
        RunFile.open(path)
    assert "Wait" in refused.value.hint
    run.put(1, case("a"), VERDICT)
    # A reader that ends as the last one removes the -wal, and with it what this process goes on to write there.
    looked = in_another_process("with RunFile.read(sys.argv[1]) as r: print(len(list(r.records())))", path)
    assert (looked.stdout, looked.stderr) == ("1\n", "")
    assert Path(f"{path}-wal").exists()
    assert "RunLocked" in in_another_process("RunFile.open(sys.argv[1])", path).stderr
    run.put(1, case("b", 2), VERDICT)
    run.close()
    with RunFile.open(path) as again:
        assert [record.case_id for record in again.records()] == ["a", "b"]


def test_a_reader_sees_what_is_committed_while_more_is_written(path: Path, run: RunFile) -> None:
    for number in range(50):
        run.put(1, case(f"c{number}", number), VERDICT)
    with RunFile.read(path) as reader:
        records = reader.records()
        first = next(records)
        run.put(1, case("late", 0), VERDICT)
        assert [first.row, *(record.row for record in records)] == list(range(50))
        with reader.database.snapshot():
            assert len(list(reader.records())) == 51
            run.put(1, case("later", 99), VERDICT)
            assert len(list(reader.records())) == 51
        assert len(list(reader.records())) == 52
        with pytest.raises(RunFileError):
            reader.set_setting("x", 1)


def test_what_is_put_is_on_the_disk_at_once(path: Path, run: RunFile) -> None:
    assert run._db.rows("PRAGMA synchronous") == [(2,)]  # FULL: a power cut takes nothing that was committed
    for number in range(5):
        run.put(1, case(f"c{number}", number), VERDICT)
        assert len(stored(path, "SELECT 1 FROM outcomes")) == number + 1


def test_paths_that_hold_no_run(tmp_path: Path) -> None:
    for opened in (RunFile.open, RunFile.read):
        with pytest.raises(RunFileError, match="it does not exist"):
            opened(tmp_path / "none.run")
        with pytest.raises(RunFileError, match="is not a file"):
            opened(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunFileError, match="Not a directory"):
        RunFile.create(tmp_path / "file" / "may.run")


def _of_another_program() -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE notes (text)")
        return db.serialize()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"case,score\na,5\n" * 300, "it is not a run file"),
        (b"SQLite format 3\0", "it is not a run file"),
        (b"\0" * 8192, "it is not a run file"),
        (_of_another_program(), "an SQLite file, but not a run"),
    ],
)
def test_a_file_of_another_kind(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    for opened in (RunFile.open, RunFile.read):
        with pytest.raises(RunDamaged, match=message) as refused:
            opened(path)
        assert refused.value.hint
    assert path.read_bytes() == content


def read_all(path: Path) -> int:
    with RunFile.read(path) as reader:
        reader.rubrics()
        reader.jobs.all()
        reader.judged(1, ["c1", "c2"])
        return len(list(reader.records()))


@pytest.mark.parametrize("checked", [0, database.CHECKED_BYTES])
def test_a_truncated_run_is_recognised(path: Path, checked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "CHECKED_BYTES", checked)
    whole = full_run(path)
    for length in (1, 99, 100, 4096, len(whole) // 2, len(whole) - PAGE_BYTES):
        path.write_bytes(whole[:length])
        with pytest.raises(RunDamaged):
            read_all(path)


@pytest.mark.parametrize("checked", [0, database.CHECKED_BYTES])
def test_flipped_bytes_give_an_answer_or_a_clear_error(
    path: Path, checked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "CHECKED_BYTES", checked)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    whole = full_run(path)
    rng = random.Random(7)
    refused = 0
    for _ in range(40):
        broken = bytearray(whole)
        for _ in range(rng.choice([1, 4, 64])):
            broken[rng.randrange(len(broken)) if rng.random() < 0.7 else rng.randrange(200)] = rng.randrange(256)
        path.write_bytes(broken)
        for leftover in ("-wal", "-shm", "-journal"):
            Path(f"{path}{leftover}").unlink(missing_ok=True)
        try:
            read_all(path)
        except RunFileError as error:
            assert error.hint
            refused += 1
    assert refused > 8


def test_an_error_never_quotes_what_is_stored(path: Path, run: RunFile) -> None:
    run.put(1, case("a"), Verdict({"score": Score(1)}, {"analysis": "SECRET"}))
    run.close()
    by_hand(path, "UPDATE outcomes SET fields = CAST(CAST(fields AS BLOB) || x'FF' AS TEXT)")
    with RunFile.read(path) as reader, pytest.raises(RunDamaged) as refused:
        list(reader.records())
    assert "SECRET" not in f"{refused.value} {refused.value.hint} {refused.value.__cause__}"


@pytest.mark.parametrize(
    ("change", "look"),
    [
        ("UPDATE outcomes SET scores = '{\"score\": 4}'", lambda run: list(run.records())),
        ('UPDATE outcomes SET scores = \'{"score":{"value":1e300}}\'', lambda run: list(run.records())),
        (
            'UPDATE outcomes SET scores = \'{"score":{"value":4,"probabilities":{"4":1.5}}}\'',
            lambda run: list(run.records()),
        ),
        ("UPDATE cases SET metadata = '{'", lambda run: list(run.records())),
        ("UPDATE rubrics SET text = 'Judge them.'", RunFile.rubrics),
        ("UPDATE raters SET spec = '{}'", RunFile.raters),
        ("UPDATE raters SET kind = 'nobody'", RunFile.raters),
        ("UPDATE jobs SET facts = 'x'", lambda run: run.jobs.all()),
        ("UPDATE run SET key = x'00'", RunFile.close),
    ],
)
def test_stored_values_that_were_changed_are_recognised(path: Path, run: RunFile, change: str, look: object) -> None:
    run.jobs.begin(["judge"], {})
    run.put(1, case("a"), VERDICT)
    run.close()
    by_hand(path, change)
    with pytest.raises(RunDamaged), RunFile.read(path) as reader:
        assert callable(look)
        look(reader)


def test_a_full_disk_loses_nothing_that_was_committed(path: Path, run: RunFile) -> None:
    run.put(1, case("kept", 0), VERDICT)
    pages = run._db.rows("PRAGMA page_count")[0][0]
    run._db.rows(f"PRAGMA max_page_count = {pages + 2}")
    long = Verdict({"score": Score(1)}, {"analysis": "x" * 3000})
    with pytest.raises(RunFileError, match="no space") as refused:
        for number in range(1, 100):
            run.put(1, case(f"c{number}", number), long)
    assert "Free some space" in refused.value.hint
    with suppress(RunFileError):
        run.close()
    with RunFile.open(path) as again:
        assert [record.case_id for record in again.records()] == ["kept", *(f"c{n}" for n in range(1, number))]
        assert number > 2
        again.put(1, case("after", 200), VERDICT)


def test_a_disk_that_fails_reaches_the_caller_and_loses_nothing_else(path: Path, run: RunFile) -> None:
    run.put(1, case("kept", 0), VERDICT)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        with pytest.raises(RunFileError, match="failed to read or write"):
            run.put(1, case("lost", 1), Verdict({"score": Score(1)}, {"analysis": "x" * 100_000}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    run.put(1, case("next", 2), VERDICT)
    run.close()
    with RunFile.open(path) as again:
        assert [record.case_id for record in again.records()] == ["kept", "next"]


@pytest.mark.parametrize("checked", [0, database.CHECKED_BYTES])
@pytest.mark.parametrize("where", ["WHERE case_id <> 'c7'", "WHERE case_id NOT IN ('c7', 'c8')"])
def test_an_index_that_lacks_rows_hides_none_and_is_found(
    path: Path, checked: int, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entries of an index are those that its declaration names, so another declaration for a moment loses some."""
    monkeypatch.setattr(database, "CHECKED_BYTES", checked)
    full_run(path)
    with sqlite3.connect(path) as db:
        [(root,)] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_cases_1'")
        db.execute(f"CREATE INDEX fewer ON cases (case_id) {where}")
        [(other,)] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'fewer'")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'sqlite_autoindex_cases_1'", [other])
        db.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'fewer'", [root])
    db.close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_master WHERE name = 'fewer'")
    db.close()
    with pytest.raises(RunDamaged):
        RunFile.open(path)
    if checked:
        with pytest.raises(RunDamaged):
            RunFile.read(path)
    else:
        with RunFile.read(path) as read:
            assert [record.case_id for record in read.records(cases=["c7"])] == ["c7"]
            assert len(list(read.records())) == 200
            with pytest.raises(RunDamaged):
                check_content(read.database)


def test_cases_alone_have_an_index_beside_their_table(run: RunFile) -> None:
    """A writer checks that one, however large the file is; a reader does not use it. A further one needs the same."""
    own = "(SELECT name FROM sqlite_master WHERE sql LIKE '%WITHOUT ROWID')"
    query = f"SELECT tbl_name FROM sqlite_master WHERE type = 'index' AND tbl_name NOT IN {own}"
    assert run.database.rows(query) == [("cases",)]


def test_a_journal_that_names_another_file_is_refused_and_that_file_stays(path: Path) -> None:
    full_run(path)
    precious = path.with_name("precious.txt")
    precious.write_text("mine")
    name = str(precious).encode()
    size, pages = path.stat().st_size, path.stat().st_size // PAGE_BYTES
    head = database.SUPER_JOURNAL + struct.pack(">IIIII", 0, 7, pages, 512, PAGE_BYTES)
    trailer = struct.pack(">I", 1) + name + struct.pack(">II", len(name), sum(name)) + database.SUPER_JOURNAL
    journal = Path(f"{path}-journal")
    journal.write_bytes(head.ljust(512, b"\0") + trailer)
    journal.chmod(0o600)
    for opened in (RunFile.open, RunFile.read):
        with pytest.raises(RunFileError, match="it names another file"):
            opened(path)
    assert precious.read_text() == "mine" and path.stat().st_size == size


@pytest.mark.parametrize("ending", database.BESIDE)
def test_what_is_left_of_another_run_never_becomes_part_of_a_new_one(path: Path, ending: str) -> None:
    left = Path(f"{path}{ending}")
    left.write_bytes(b"left")
    with pytest.raises(RunFileError, match="it is left of another run") as refused:
        RunFile.create(path)
    assert str(left) in str(refused.value) and f"rm {left}" in refused.value.hint
    assert left.read_bytes() == b"left" and not path.exists()


def test_a_link_to_itself_is_no_name_for_a_run(path: Path) -> None:
    path.symlink_to(path.name)
    with pytest.raises(RunFileError, match="a file of that name exists already"):
        RunFile.create(path)


def test_a_run_with_two_names_is_refused(path: Path) -> None:
    full_run(path)
    path.with_name("other.run").hardlink_to(path)
    for opened in (RunFile.open, RunFile.read):
        with pytest.raises(RunFileError, match="has a second name"):
            opened(path)


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder with a run in it that this process may read but not write to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        full_run(folder / "may.run")
        user = 65534
        with RunFile.open(folder / "may.run") as writer:
            writer.put(1, case("in the log", 999), VERDICT)
            for ending in ("", "-wal"):
                shutil.copy(folder / f"may.run{ending}", folder / f"cut.run{ending}")
        if os.geteuid() == 0:
            for file in folder.iterdir():
                os.chown(file, user, -1)
        folder.chmod(0o555)
        if os.geteuid() == 0:
            os.seteuid(user)
        yield folder
        if os.getuid() == 0:
            os.seteuid(0)
        folder.chmod(0o700)


def test_a_read_only_folder(read_only_folder: Path) -> None:
    assert read_all(read_only_folder / "may.run") == 201
    with pytest.raises(RunFileError):  # its -wal can't be read here, and without that the last verdict would be missing
        read_all(read_only_folder / "cut.run")
    for opened, name in ((RunFile.create, "new.run"), (RunFile.open, "may.run")):
        with pytest.raises(RunFileError, match="can't be opened for writing") as refused:
            opened(read_only_folder / name)
        assert "may write" in refused.value.hint
    assert sorted(entry.name for entry in read_only_folder.iterdir()) == ["cut.run", "cut.run-wal", "may.run"]
