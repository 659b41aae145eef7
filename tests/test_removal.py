"""`runs undo` takes back the last import, `runs remove-rater` a rater; the trail says so and stays verifiable."""

import resource
import sqlite3
from pathlib import Path

import pytest
from rated_run import IDS, judged_run, scores_of
from typed_here import Run, typing_in

from pathway_local.case import CaseRef
from pathway_local.rater import Rater
from pathway_local.runs import database
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.content import check_content
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Score, Verdict

SECRET = "ZEBRAQUAGGA"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    with judged_run(tmp_path / "my.run") as made:
        made.set_setting("label:demo", "a demonstration judge")
    return typing_in(tmp_path, monkeypatch, capsys)


def sheet(path: Path, *scores: int) -> Path:
    path.write_text("id,score,notes\n" + "".join(f"s-{at},{score},{SECRET}\n" for at, score in enumerate(scores, 1)))
    return path


def intact(path: Path) -> dict[str, object]:
    """The facts of the last entry of a trail that is whole, and whose hashes match the run."""
    with RunFile.read(path) as run:
        trail = AuditTrail(run.database)
        assert trail.check() == 0
        check_content(run.database)
        return dict(trail.entries()[-1].facts)


def test_the_last_import_is_taken_back(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "my.run"
    for name, scores in (("ann", (1, 2, 4)), ("bob", (5, 5, 5, 5))):
        assert (
            run("import", path, sheet(tmp_path / f"{name}.csv", *scores), "--kind", "human", "--rater", name).code == 0
        )
    undone = run("runs", "undo", path)
    assert "undone: the import of bob.csv" in undone.err and "removed: 4 ratings of bob" in undone.err
    assert intact(path)["removed"] == {"bob": 4}
    assert run("report", path, "--out", "may.html").code == 0
    page = (tmp_path / "may.html").read_text(encoding="utf-8")
    assert "ann.csv" in page and "bob.csv" not in page
    with RunFile.read(path) as read:
        assert [rater.name for _, rater in read.raters()] == ["demo", "ann"]
        assert scores_of(read, "ann") == {"s-1": 1, "s-2": 2, "s-3": 4}
        assert len(scores_of(read, "demo")) == 4
    assert "removed: 3 ratings of ann" in run("runs", "undo", path).err
    assert SECRET.encode() not in path.read_bytes()
    refused = run("runs", "undo", path)
    assert refused.code == 2 and "no ratings of an import" in refused.err
    again = run("import", path, tmp_path / "bob.csv", "--kind", "human", "--rater", "eve")
    assert again.code == 0 and "imported before" not in again.err


def test_an_undone_import_brings_back_what_it_replaced(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "my.run"
    replies = "id,reply\n" + "".join(f'{id},"Reason: so.\nScore: {{}}"\n' for id in IDS)
    (tmp_path / "first.csv").write_text(replies.replace("{}", "none at all"))
    (tmp_path / "second.csv").write_text(replies.replace("{}", "4"))
    for code, name in ((1, "first.csv"), (0, "second.csv")):
        assert run("import", path, tmp_path / name, "--kind", "hosted", "--rater", "gpt").code == code
    with RunFile.read(path) as read:
        assert set(scores_of(read, "gpt").values()) == {4}
    assert "restored: 4 earlier ratings" in run("runs", "undo", path).err
    with RunFile.read(path) as read:
        assert [type(record.outcome) for record in read.records("gpt")] == [Failure] * 4
    assert intact(path)["restored"] == 4


def test_an_undo_that_can_not_shrink_the_file_is_done_and_takes_back_one_import(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my.run"
    for name in ("ann", "bob", "eve"):
        run("import", path, sheet(tmp_path / f"{name}.csv", 1, 2, 4), "--kind", "human", "--rater", name)
    with RunFile.open(path) as opened:
        opened.jobs.begin(["judge"], {"much": "x" * 500_000})  # a journal of all pages is longer than the file
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        undone = run("runs", "undo", path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert undone.code == 0 and "undone: the import of eve.csv" in undone.err
    assert "my.run keeps its size, since it could not be written anew" in undone.err

    connect = database.connect

    def interrupted(path: Path, mode: str) -> sqlite3.Connection:
        """As when a signal comes while SQLite writes the file anew: see `set_progress_handler` there."""
        found, shrinking = connect(path, mode), list[str]()
        found.set_trace_callback(lambda said: shrinking.append(said) if said == "VACUUM" else None)

        def hear() -> int:
            if shrinking:
                raise KeyboardInterrupt
            return 0

        found.set_progress_handler(hear, 1)
        return found

    monkeypatch.setattr(database, "connect", interrupted)
    undone = run("runs", "undo", path)
    assert undone.code == 0 and "undone: the import of bob.csv" in undone.err and "interrupted" in undone.err
    monkeypatch.undo()
    assert intact(path)["removed"] == {"bob": 3}
    with RunFile.read(path) as read:
        assert [rater.name for _, rater in read.raters()] == ["demo", "ann"]


def test_a_signal_right_after_the_commit_does_not_make_it_look_undone(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my.run"
    run("import", path, sheet(tmp_path / "ann.csv", 1, 2, 4), "--kind", "human", "--rater", "ann")

    def interrupted(_: database.Database) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(database.Database, "_check_place", interrupted)  # follows each commit
    undone = run("runs", "undo", path)
    assert undone.code == 0 and "undone: the import of ann.csv" in undone.err
    assert intact(path)["removed"] == {"ann": 3}


def test_a_rater_is_removed_with_every_word(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "my.run"
    for name in ("ann", "bob"):
        run("import", path, sheet(tmp_path / f"{name}.csv", 1, 2, 4, 5), "--kind", "human", "--rater", f"all/{name}")
    with RunFile.open(path) as opened:
        both = opened.add_rater(Rater("both", "combined", "tiny", {"of": ["demo", "all/ann"]}))
        opened.put(both, CaseRef("s-1", 1), Verdict({"score": Score(4)}))
    asked = run("runs", "remove-rater", path, "all")
    assert asked.code == 2 and "--yes" in asked.err
    removed = run("runs", "remove-rater", path, "all", "--yes")
    assert "4 ratings of all/ann, 4 ratings of all/bob, 1 rating of both" in removed.err
    with RunFile.read(path) as read:
        assert AuditTrail(read.database).entries()[-1].facts["removed"] == {"all/ann": 4, "all/bob": 4, "both": 1}
    assert "4 of all/ann, 4 of all/bob" in run("runs", "audit", path).out
    assert SECRET.encode() not in path.read_bytes()
    with RunFile.read(path) as read:
        assert [rater.name for _, rater in read.raters()] == ["demo"]
        assert read.get_setting("label:demo")
    assert run("runs", "remove-rater", path, "demo", "--yes").code == 0
    with RunFile.read(path) as read:
        assert read.get_setting("label:demo") is None
    unknown = run("runs", "remove-rater", path, "eve", "--yes")
    assert unknown.code == 2 and "no rater is called 'eve'" in unknown.err


def test_a_rater_keeps_what_other_imports_gave(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "my.run"
    run("import", path, sheet(tmp_path / "two.csv", 1, 2), "--kind", "human", "--rater", "ann")
    with RunFile.open(path) as opened, opened.database.writing():
        opened.database.execute("UPDATE outcomes SET job_id = NULL", ())  # as an earlier release stored them
    run("import", path, sheet(tmp_path / "ann.csv", 1, 2, 4, 5), "--kind", "human", "--rater", "ann")
    assert "removed: 2 ratings of ann" in run("runs", "undo", path).err
    with RunFile.read(path) as read:
        assert scores_of(read, "ann") == {"s-1": 1, "s-2": 2}


def test_an_import_that_stored_nothing_is_not_undone_in_place_of_an_older_one(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "my.run"
    ann, bob = (
        sheet(tmp_path / f"{name}.csv", *scores) for name, scores in (("ann", (1, 2, 4)), ("bob", (5, 5, 5, 5)))
    )
    for file in (ann, bob, ann):
        assert run("import", path, file, "--kind", "human", "--rater", file.stem).code == 0
    refused = run("runs", "undo", path)
    assert refused.code == 2 and "stored no ratings, as the run held them already" in refused.words
    with RunFile.read(path) as read:
        assert len(scores_of(read, "bob")) == 4


def test_combined_scores_go_with_the_ratings_that_they_were_made_of(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "my.run"
    for scores in ((1, 2), (1, 2, 4, 5)):
        run("import", path, sheet(tmp_path / f"{len(scores)}.csv", *scores), "--kind", "human", "--rater", "ann")
    with RunFile.open(path) as opened:
        both = opened.add_rater(Rater("both", "combined", "tiny", {"of": ["demo", "ann"]}))
        opened.put(both, CaseRef("s-1", 1), Verdict({"score": Score(4)}))
    undone = run("runs", "undo", path)
    assert "removed: 2 ratings of ann\n" in undone.err
    assert "the scores of both were combined from these ratings and went with them" in undone.err
    with RunFile.read(path) as read:
        assert [rater.name for _, rater in read.raters()] == ["demo", "ann"]
