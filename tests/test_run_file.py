"""The run file: what is put comes back, whatever happens to the process, the disk or the file."""

import os
import random
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathway_local import database, migrations
from pathway_local.case import Case, fingerprint
from pathway_local.errors import RaterChanged, RunDamaged, RunFileError, RunLocked, UnknownName
from pathway_local.migrations import APPLICATION_ID, MIGRATIONS
from pathway_local.rater import Rater
from pathway_local.run_file import IDS_PER_QUERY, PAGE_BYTES, RunFile
from pathway_local.verdict import Failure, Score, Value, Verdict

RATER = Rater("demo", "judge", "grounded", {"rubric": "ab" * 32, "weights": {"a.safetensors": "cd" * 32}, "samples": 1})
VERDICT = Verdict({"score": Score(4, {3: 0.25, 4: 0.75})}, {"analysis": "Sound."}, ("cut:analysis",))


def case(name: str, row: int = 1, **metadata: str) -> Case:
    return Case(name, {"answer": f"the text of {name}"}, metadata, row)


def new_run(path: Path) -> tuple[RunFile, int]:
    run = RunFile.create(path)
    run.add_rubric("grounded", "Judge it.")
    return run, run.add_rater(RATER)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "may.run"


@pytest.fixture
def run(path: Path) -> Iterator[RunFile]:
    run, _ = new_run(path)
    with run:
        yield run


def stored(path: Path, query: str) -> list[tuple[object, ...]]:
    """What another program sees in the file."""
    db = sqlite3.connect(path)
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


# What is put comes back


def test_outcomes_come_back_in_the_order_of_the_cases_file(path: Path, run: RunFile) -> None:
    run.add_rubric("gold", "Compare.")
    gold = run.add_rater(Rater("demo", "judge", "gold", {}))
    anna = run.add_rater(Rater("anna", "human", "grounded", {}))
    run.put(1, case("b", 2), "h2", Failure("prompt-too-long", "9000 tokens, 8192 fit"), prompt_tokens=9000)
    run.put(gold, case("a", 1), "h1", Verdict({"completeness": Score(2), "correctness": Score(5)}))
    run.put(1, case("a", 1), "h1", VERDICT, prompt_tokens=800, cached_tokens=768, generated_tokens=90)
    run.put(anna, case("a", 1), "h1", Verdict({"score": Score(3)}))
    run.close()
    with RunFile.read(path) as reader:
        found = list(reader.records())
        assert [(r.case_id, r.rater, r.rubric) for r in found] == [
            ("a", "demo", "grounded"),
            ("a", "demo", "gold"),
            ("a", "anna", "grounded"),
            ("b", "demo", "grounded"),
        ]
        assert found[0].outcome == VERDICT
        assert (found[0].prompt_tokens, found[0].cached_tokens, found[0].generated_tokens) == (800, 768, 90)
        assert (found[0].row, found[0].numbered, found[0].case_hash) == (1, False, "h1")
        assert found[1].outcome == Verdict({"completeness": Score(2), "correctness": Score(5)})
        assert found[3].outcome == Failure("prompt-too-long", "9000 tokens, 8192 fit")
        assert [r.rater for r in reader.records(rater="anna")] == ["anna"]
        assert [r.case_id for r in reader.records(rater="demo", rubric="grounded")] == ["a", "b"]
        with pytest.raises(UnknownName, match="no rater is called 'ana'"):
            reader.records(rater="ana")
        with pytest.raises(UnknownName, match="no rubric is called 'silver'"):
            reader.records(rubric="silver")


def test_probabilities_keep_seven_digits(run: RunFile) -> None:
    shares = {1: 1.23456789e-12, 2: 1 / 3, 5: 2 / 3}
    run.put(1, case("a"), "h", Verdict({"score": Score(5, shares)}))
    (record,) = run.records()
    assert isinstance(record.outcome, Verdict)
    assert record.outcome.scores["score"].probabilities == pytest.approx(shares, rel=1e-6, abs=0)
    assert "0.6666667}" in str(stored(run.path, "SELECT 1")) + str(run._db.rows("SELECT scores FROM outcomes"))


def test_a_shell_can_query_the_scores(path: Path, run: RunFile) -> None:
    run.put(1, case("a"), "h", VERDICT)
    run.close()
    query = "SELECT case_id, json_extract(scores, '$.score.value') FROM outcomes JOIN cases ON case_key = key"
    assert stored(path, query) == [("a", 4)]


def test_awkward_texts_are_stored(run: RunFile) -> None:
    odd = 'nul \0 quote " newline \n astral \U0001f600 line \u2028 lone '
    item = Case(odd + "\ud83d", {}, {odd + "\udfff": "\ud800" + odd}, 1)
    run.put(
        1, item, "h", Verdict({odd: Score(1)}, {"text": odd + "\ud800", "list": [odd, {odd: None}]}, (odd,)), keep=None
    )
    run.put(1, case("b", 2), "h", Failure("unreadable-reply", odd + "\ud800"))
    run.commit()
    with RunFile.read(run.path) as reader:
        first, second = reader.records()
    assert first.case_id == odd + "\ufffd"
    assert first.metadata == {odd + "\ufffd": "\ufffd" + odd}
    assert first.outcome == Verdict({odd: Score(1)}, {"text": odd + "\ufffd", "list": [odd, {odd: None}]}, (odd,))
    assert second.outcome == Failure("unreadable-reply", odd + "\ufffd")
    assert run.judged(1, [item.id, "b"]) == {item.id: "h"}


def test_a_number_that_is_not_finite_is_refused_and_leaves_no_trace(run: RunFile) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        run.put(1, case("a"), "h", Verdict({"score": Score(4, {4: float("nan")})}))
    assert list(run.records()) == []
    assert run.numbered is None


def test_no_case_text_and_only_the_metadata_that_was_named_reaches_the_disk(path: Path, run: RunFile) -> None:
    run.put(1, case("a", chatbot="v1", student="SECRET-1"), "h", VERDICT, keep=["chatbot"])
    run.put(1, case("b", 2, chatbot="v2", student="SECRET-2"), "h", VERDICT)
    run.commit()
    on_disk = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"the text of" not in on_disk
    assert b"SECRET" not in on_disk
    assert [record.metadata for record in run.records()] == [{"chatbot": "v1"}, {}]


def test_metadata_and_rows_are_filled_in_without_judging_again(run: RunFile) -> None:
    run.put(1, case("a", 1, chatbot="v1", language="en"), "h", VERDICT, keep=["chatbot"])
    run.keep_metadata(
        [case("a", 7, chatbot="v1", language="de"), case("new", 8, language="fr")], ["language", "absent"]
    )
    (record,) = run.records()
    assert (record.row, record.metadata, record.outcome) == (7, {"chatbot": "v1", "language": "de"}, VERDICT)


# What is judged already


def test_judged_gives_the_hashes_of_verdicts_only(run: RunFile) -> None:
    other = run.add_rater(Rater("anna", "human", "grounded", {}))
    count = IDS_PER_QUERY + 10
    for number in range(count):
        run.put(1, case(f"c{number}", number), f"h{number}", VERDICT)
    run.put(1, case("failed"), "hf", Failure("engine", "it ended"))
    run.put(other, case("hers"), "hh", VERDICT)
    asked = [f"c{number}" for number in range(count)] + ["failed", "hers", "unknown"]
    assert run.judged(1, asked) == {f"c{number}": f"h{number}" for number in range(count)}
    assert run.judged(other, asked) == {"hers": "hh"}
    assert run.judged(1, []) == {}


def current_and_superseded(run: RunFile) -> list[tuple[object, ...]]:
    return run._db.rows("SELECT case_hash, failure_kind, superseded FROM outcomes ORDER BY id")


def test_one_outcome_is_current_and_a_verdict_on_other_texts_is_kept(run: RunFile) -> None:
    run.put(1, case("a"), "h1", Failure("engine", "it ended"))
    run.put(1, case("a"), "h1", VERDICT)
    assert current_and_superseded(run) == [("h1", None, 0)]
    changed = Verdict({"score": Score(1)})
    run.put(1, case("a"), "h2", changed)
    assert current_and_superseded(run) == [("h1", None, 1), ("h2", None, 0)]
    assert [record.outcome for record in run.records()] == [changed]
    assert run.judged(1, ["a"]) == {"a": "h2"}
    run.put(1, case("a"), "h2", VERDICT)
    assert [record.outcome for record in run.records()] == [VERDICT]
    assert len(current_and_superseded(run)) == 2


def test_a_failure_never_wipes_a_verdict_out(run: RunFile) -> None:
    run.put(1, case("a"), "h", VERDICT)
    run.put(1, case("a"), "h", Failure("engine", "it ended"))
    assert current_and_superseded(run) == [("h", None, 1), ("h", "engine", 0)]
    assert run.judged(1, ["a"]) == {}


@pytest.mark.parametrize("first", [True, False])
def test_row_numbers_and_explicit_ids_do_not_mix(path: Path, first: bool) -> None:
    run, rater = new_run(path)
    run.put(rater, Case("1", {}, {}, 1, numbered=first), "h", VERDICT)
    run.close()
    with RunFile.open(path) as again:
        assert again.numbered is first
        with pytest.raises(RunFileError, match="row numbers as ids") as refused:
            again.put(rater, Case("s-1", {}, {}, 2, numbered=not first), "h", VERDICT)
        assert "id column" in refused.value.hint
        again.put(rater, Case("3", {}, {}, 3, numbered=first), "h", VERDICT)
        assert [record.numbered for record in again.records()] == [first, first]


# Raters and rubrics


def test_the_same_rater_keeps_its_id_and_another_is_refused_with_what_differs(run: RunFile) -> None:
    run.put(1, case("a"), "h", VERDICT)
    spec: dict[str, Value] = {"samples": 1, "rubric": "ab" * 32, "weights": {"a.safetensors": "cd" * 32}}
    assert run.add_rater(Rater("demo", "judge", "grounded", spec)) == 1
    other: dict[str, Value] = {
        "samples": 3,
        "rubric": "ab" * 32,
        "weights": {"a.safetensors": "ef" * 32},
        "precision": "bf16",
    }
    with pytest.raises(RaterChanged) as refused:
        run.add_rater(Rater("demo", "judge", "grounded", other))
    message = str(refused.value)
    assert 'precision was absent, now "bf16"' in message
    assert "samples was 1, now 3" in message
    assert 'weights.a.safetensors was "cdcdcd' in message
    assert 'now "efefef' in message
    assert "rubric was" not in message
    assert "\n" not in message
    assert refused.value.hint
    with pytest.raises(RaterChanged, match='kind of rater was "judge", now "human"'):
        run.add_rater(Rater("demo", "human", "grounded", spec))
    assert [(id, rater) for id, rater in run.raters()] == [(1, RATER)]


def test_many_differences_stay_one_short_line() -> None:
    before, after = (Rater("j", "judge", "r", {f"shard-{n:02}": hash * 64 for n in range(60)}) for hash in "ab")
    assert before.differences(after).endswith("and 54 more")
    assert len(before.differences(after)) < 700


def test_a_rater_without_outcomes_may_change(run: RunFile) -> None:
    changed = Rater("demo", "judge", "grounded", {"samples": 5})
    id = run.add_rater(changed)
    assert run.raters() == [(id, changed)]


def test_a_rubric_is_kept_whole_and_may_not_change_under_verdicts(path: Path, run: RunFile) -> None:
    text = "Judge ü.\r\n\n  Indented \0 end"
    run.add_rubric("grounded", text)
    rater = run.add_rater(RATER)
    run.put(rater, case("a"), "h", VERDICT)
    sha256 = run.add_rubric("grounded", text)
    with pytest.raises(RaterChanged, match=f"rubric 'grounded'.*{sha256[:12]}"):
        run.add_rubric("grounded", text + ".")
    run.close()
    with RunFile.read(path) as reader:
        assert reader.rubrics() == {"grounded": text}


def test_a_rater_needs_its_rubric(run: RunFile) -> None:
    with pytest.raises(UnknownName, match="no rubric is called 'gold'"):
        run.add_rater(Rater("demo", "judge", "gold", {}))


# The manifest


def test_jobs_and_settings_survive(path: Path, run: RunFile) -> None:
    first = run.begin_job(["judge", "cases.csv"], {"versions": {"vllm": "0.32.0"}, "inputs": [{"sha256": "ab"}]})
    run.end_job(first, "finished", {"judged": 2, "failed": 1})
    run.begin_job(["judge", "again"], {})
    run.set_setting("resume", {"cases": "cases.csv", "keep": ["chatbot"]})
    run.set_setting("resume", {"cases": "cases.csv", "keep": None})
    key = run.key
    run.close()
    with RunFile.read(path) as reader:
        done, cut = reader.jobs()
        assert (done.id, done.command, done.status, done.counts) == (
            first,
            ("judge", "cases.csv"),
            "finished",
            {"judged": 2, "failed": 1},
        )
        assert done.facts == {"versions": {"vllm": "0.32.0"}, "inputs": [{"sha256": "ab"}]}
        assert done.ended is not None
        assert done.started.endswith("+00:00")
        assert done.started <= done.ended
        assert (cut.ended, cut.status, cut.counts) == (None, None, None)
        assert reader.get_setting("resume") == {"cases": "cases.csv", "keep": None}
        assert reader.get_setting("unset") is None
        assert reader.key == key


def test_each_run_has_a_key_of_its_own(tmp_path: Path) -> None:
    with RunFile.create(tmp_path / "a.run") as a, RunFile.create(tmp_path / "b.run") as b:
        assert len(a.key) == 32
        assert fingerprint(a.key, {"answer": "x"}) != fingerprint(b.key, {"answer": "x"})


# The file: private, one writer, many readers


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
def test_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        run, rater = new_run(tmp_path / "runs" / "deep" / "may.run")
        run.put(rater, case("a"), "h", VERDICT)
        run.commit()
        with RunFile.read(run.path) as reader:
            assert len(list(reader.records())) == 1
        modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in run.path.parent.iterdir()}
        run.close()
    finally:
        os.umask(before)
    assert modes == {"may.run": 0o600, "may.run-wal": 0o600, "may.run-shm": 0o600}
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (run.path.parent, run.path.parents[1])] == [0o700, 0o700]
    assert [entry.name for entry in run.path.parent.iterdir()] == ["may.run"]


def test_an_existing_file_is_never_replaced(path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(RunFileError, match="exists already"):
        RunFile.create(path)
    assert path.read_text() == "precious"
    assert list(path.parent.iterdir()) == [path]


def in_another_process(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    program = f"import sys\nfrom pathway_local.run_file import RunFile\n{code}"
    return subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60)


def test_a_second_writer_is_refused_and_takes_no_lock_away(path: Path, run: RunFile) -> None:
    with pytest.raises(RunLocked) as refused:
        RunFile.open(path)
    assert "Wait" in refused.value.hint
    run.put(1, case("a"), "h", VERDICT)
    run.commit()
    # A reader that ends as the last one removes the -wal, and with it what this process goes on to write there.
    looked = in_another_process("with RunFile.read(sys.argv[1]) as r: print(len(list(r.records())))", path)
    assert (looked.stdout, looked.stderr) == ("1\n", "")
    assert Path(f"{path}-wal").exists()
    assert "RunLocked" in in_another_process("RunFile.open(sys.argv[1])", path).stderr
    run.put(1, case("b", 2), "h", VERDICT)
    run.close()
    with RunFile.open(path) as again:
        assert [record.case_id for record in again.records()] == ["a", "b"]


def test_a_reader_sees_what_is_committed_while_more_is_written(path: Path, run: RunFile) -> None:
    for number in range(50):
        run.put(1, case(f"c{number}", number), "h", VERDICT)
    run.commit()
    with RunFile.read(path) as reader:
        records = reader.records()
        first = next(records)
        run.put(1, case("late", 0), "h", VERDICT)
        run.commit()
        assert [first.row, *(record.row for record in records)] == list(range(50))
        assert len(list(reader.records())) == 51
        with pytest.raises(RunFileError):
            reader.set_setting("x", 1)


def test_what_is_put_is_committed_soon_though_nothing_follows(path: Path, run: RunFile) -> None:
    for number in range(5):
        run.put(1, case(f"c{number}", number), "h", VERDICT)
    with RunFile.read(path) as reader:
        deadline = time.monotonic() + 1.0
        while len(seen := list(reader.records())) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
    assert len(seen) == 5


def test_a_commit_waits_for_the_disk(run: RunFile) -> None:
    assert run._db.rows("PRAGMA synchronous") == [(2,)]  # FULL: a power cut takes nothing that was committed


def test_closing_twice_and_after_an_error_keeps_what_was_put(path: Path) -> None:
    run, rater = new_run(path)
    with pytest.raises(KeyboardInterrupt), run:
        run.put(rater, case("a"), "h", VERDICT)
        raise KeyboardInterrupt
    run.close()
    with RunFile.read(path) as reader:
        assert len(list(reader.records())) == 1


# Files that are no whole runs


def test_paths_that_hold_no_run(tmp_path: Path) -> None:
    for opened in (RunFile.open, RunFile.read):
        with pytest.raises(RunFileError, match="no such file"):
            opened(tmp_path / "none.run")
        with pytest.raises(RunFileError, match="is no file"):
            opened(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunFileError, match="Not a directory"):
        RunFile.create(tmp_path / "file" / "may.run")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"case,score\na,5\n" * 300, "it is no run file"),
        (b"SQLite format 3\0", "it is no run file"),
        (b"\0" * 8192, "it is no run file"),
    ],
)
def test_a_file_of_another_kind(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    for opened in (RunFile.open, RunFile.read):
        with pytest.raises(RunDamaged, match=message) as refused:
            opened(path)
        assert refused.value.hint
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_left_as_it_is(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE notes (text)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(RunDamaged, match="no run file"):
        RunFile.open(path)
    assert path.read_bytes() == before


def test_a_run_of_a_newer_program(path: Path, run: RunFile) -> None:
    run.close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    for opened in (RunFile.open, RunFile.read):
        with pytest.raises(RunFileError, match="newer") as refused:
            opened(path)
        assert "Update" in refused.value.hint


def full_run(path: Path) -> bytes:
    run, rater = new_run(path)
    with run:
        for number in range(200):
            run.put(rater, case(f"c{number}", number, bot="v1"), f"{number:032}", VERDICT, keep=None)
    return path.read_bytes()


def read_all(path: Path) -> int:
    with RunFile.read(path) as reader:
        reader.rubrics()
        reader.jobs()
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


def test_damage_in_a_small_run_is_found_when_it_is_opened(path: Path) -> None:
    whole = full_run(path)
    path.write_bytes(whole[:-PAGE_BYTES] + b"\xff" * PAGE_BYTES)
    for opened in (RunFile.open, RunFile.read):
        with pytest.raises(RunDamaged):
            opened(path)


@pytest.mark.parametrize("checked", [0, database.CHECKED_BYTES])
def test_flipped_bytes_give_an_answer_or_a_clear_error(
    path: Path, checked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "CHECKED_BYTES", checked)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    whole = full_run(path)
    rng = random.Random(7)
    refused = 0
    for _ in range(150):
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
    assert refused > 30


def test_an_error_never_quotes_what_is_stored(path: Path, run: RunFile) -> None:
    run.put(1, case("a"), "h", Verdict({"score": Score(1)}, {"analysis": "SECRET"}))
    run.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE outcomes SET fields = CAST(CAST(fields AS BLOB) || x'FF' AS TEXT)")
    db.commit()
    db.close()
    with RunFile.read(path) as reader, pytest.raises(RunDamaged) as refused:
        list(reader.records())
    assert "SECRET" not in f"{refused.value} {refused.value.hint} {refused.value.__cause__}"


@pytest.mark.parametrize(
    ("change", "look"),
    [
        ("UPDATE outcomes SET scores = '{\"score\": 4}'", lambda run: list(run.records())),
        ("UPDATE cases SET metadata = '{'", lambda run: list(run.records())),
        ("UPDATE rubrics SET text = 'Judge them.'", RunFile.rubrics),
        ("UPDATE raters SET spec = '{}'", RunFile.raters),
        ("UPDATE jobs SET facts = 'x'", RunFile.jobs),
        ("UPDATE run SET key = x'00'", RunFile.close),
        ("DROP TABLE cases", RunFile.close),
    ],
)
def test_stored_values_that_were_changed_are_recognised(path: Path, run: RunFile, change: str, look: object) -> None:
    run.begin_job(["judge"], {})
    run.put(1, case("a"), "h", VERDICT)
    run.close()
    db = sqlite3.connect(path)
    db.execute(change)
    db.commit()
    db.close()
    with pytest.raises(RunDamaged), RunFile.read(path) as reader:
        assert callable(look)
        look(reader)


# Disks and permissions


def test_a_full_disk_loses_nothing_that_was_committed(path: Path, run: RunFile) -> None:
    run.put(1, case("kept", 0), "h", VERDICT)
    run.commit()
    pages = run._db.rows("PRAGMA page_count")[0][0]
    run._db.rows(f"PRAGMA max_page_count = {pages + 2}")
    long = Verdict({"score": Score(1)}, {"analysis": "x" * 3000})
    with pytest.raises(RunFileError, match="no space") as refused:
        for number in range(1, 100):
            run.put(1, case(f"c{number}", number), "h", long)
    assert "Free some space" in refused.value.hint
    # Puts that seemed to work were undone, so the writer must not go on as if nothing had happened.
    run._db.rows("PRAGMA max_page_count = 100000")
    with pytest.raises(RunFileError, match="no space"):
        run.put(1, case("after", 200), "h", VERDICT)
    with pytest.raises(RunFileError, match="no space"):
        run.close()
    with RunFile.open(path) as again:
        assert next(again.records()).case_id == "kept"
        again.put(1, case("after", 200), "h", VERDICT)


def test_a_timed_commit_that_fails_reaches_the_caller(path: Path, run: RunFile) -> None:
    run.put(1, case("kept", 0), "h", VERDICT)
    run.commit()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        run.put(1, case("lost", 1), "h", Verdict({"score": Score(1)}, {"analysis": "x" * 100_000}))
        time.sleep(2 * database.COMMIT_SECONDS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with pytest.raises(RunFileError, match="failed to read or write"):
        run.put(1, case("next", 2), "h", VERDICT)
    with pytest.raises(RunFileError, match="failed to read or write"):
        run.close()
    with RunFile.open(path) as again:
        assert [record.case_id for record in again.records()] == ["kept"]


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder with a run in it that this process may read but not write to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        full_run(folder / "may.run")
        user = 65534
        with RunFile.open(folder / "may.run") as writer:
            writer.put(1, case("in the log", 999), "h", VERDICT)
            writer.commit()
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
    with pytest.raises(RunFileError, match="may not be written") as refused:
        RunFile.create(read_only_folder / "new.run")
    assert "may write" in refused.value.hint
    with pytest.raises(RunFileError, match="can't be opened for writing") as refused:
        RunFile.open(read_only_folder / "may.run")
    assert "may write" in refused.value.hint
    assert sorted(entry.name for entry in read_only_folder.iterdir()) == ["cut.run", "cut.run-wal", "may.run"]


# Killed at any moment

WRITER = """
import random, sys, time
from pathway_local.case import Case, fingerprint
from pathway_local.errors import RunFileError
from pathway_local.rater import Rater
from pathway_local.run_file import RunFile
from pathway_local.verdict import Failure, Score, Verdict

path, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
try:
    run = RunFile.create(path)
except RunFileError:
    run = RunFile.open(path)
with run:
    run.add_rubric("grounded", "Judge it.")
    rater = run.add_rater(Rater("demo", "judge", "grounded", {"samples": 1}))
    cases = [Case(f"c{n}", {"answer": f"text {n}"}, {}, n) for n in range(count)]
    hashes = {case.id: fingerprint(run.key, case.inputs) for case in cases}
    done = run.judged(rater, list(hashes))
    print(len(done), flush=True)
    shown = len(done)
    for case in cases:
        if done.get(case.id) == hashes[case.id]:
            continue
        if rng.random() < 0.1:
            run.put(rater, case, hashes[case.id], Failure("engine", "it ended"))
        run.put(rater, case, hashes[case.id], Verdict({"score": Score(1 + case.row % 5)}, {"n": case.row}))
        shown += 1
        if rng.random() < 0.2:
            run.commit()
            print(shown, flush=True)
        time.sleep(0.0005)
"""


def test_killed_at_any_moment_every_case_ends_with_one_outcome(path: Path) -> None:
    count, rng, shown = 2000, random.Random(3), 0
    for attempt in range(20):
        arguments = [sys.executable, "-c", WRITER, str(path), str(count), str(attempt)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            if attempt % 4:  # else while it starts, or makes the file
                writer.stdout.readline()
            time.sleep(rng.random() * 0.1)
            writer.send_signal(signal.SIGKILL)
            lines = writer.stdout.read().splitlines()
            shown = max([shown, *map(int, lines)])
        if path.exists():
            with RunFile.read(path) as reader:
                verdicts = [r for r in reader.records() if isinstance(r.outcome, Verdict)] if reader.raters() else []
            assert len(verdicts) >= shown
    assert 0 < shown < count, "the kills came too early or too late to test anything"
    subprocess.run([sys.executable, "-c", WRITER, str(path), str(count), "99"], check=True, capture_output=True)
    with RunFile.read(path) as reader:
        found = [(record.case_id, record.outcome) for record in reader.records()]
    assert found == [(f"c{n}", Verdict({"score": Score(1 + n % 5)}, {"n": n})) for n in range(count)]
    assert stored(path, "SELECT count(*), sum(superseded) FROM outcomes") == [(count, 0)]


# Files of older programs


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
        assert (record.outcome, record.metadata, record.prompt_tokens) == (VERDICT, {"chatbot": "v1"}, 800)
        assert run.get_setting("cases") == "cases.csv"
        assert run.jobs()[0].command == ("judge",)
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
