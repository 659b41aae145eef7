"""`runs remove-rater` removes a rater with every word; the trail says so and stays verifiable."""

import resource
import sqlite3
from pathlib import Path

import pytest
from rated_run import judged_run
from typed_here import Run, typing_in

from pathway_local.case import CaseRef
from pathway_local.rater import Rater
from pathway_local.runs import database
from pathway_local.runs.audit import AuditTrail, check_content
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Score, Verdict

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


def test_a_removal_that_can_not_shrink_the_file_is_done(
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
        done = run("runs", "remove-rater", path, "eve", "--yes")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert done.code == 0 and "removed: 3 ratings of eve" in done.err
    assert "my.run keeps its size, since it could not be written anew" in done.err

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
    done = run("runs", "remove-rater", path, "bob", "--yes")
    assert done.code == 0 and "removed: 3 ratings of bob" in done.err and "interrupted" in done.err
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
    done = run("runs", "remove-rater", path, "ann", "--yes")
    assert done.code == 0 and "removed: 3 ratings of ann" in done.err
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
    assert '"all/ann": 4, "all/bob": 4' in run("runs", "audit", path).out
    assert SECRET.encode() not in path.read_bytes()
    with RunFile.read(path) as read:
        assert [rater.name for _, rater in read.raters()] == ["demo"]
        assert read.get_setting("label:demo")
    assert run("runs", "remove-rater", path, "demo", "--yes").code == 0
    with RunFile.read(path) as read:
        assert read.get_setting("label:demo") is None
    unknown = run("runs", "remove-rater", path, "eve", "--yes")
    assert unknown.code == 2 and "no rater is called 'eve'" in unknown.err
