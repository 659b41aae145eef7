"""Exports: every field of every rater comes out, and a reader of the pipe may leave when it has seen enough."""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rated_run import IDS, TINY, add, cases, judged_run, said

from pathway_local.results.export import export, export_onto
from pathway_local.results.panel import make_panel
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Score, Verdict

COMMAND = Path(sys.executable).with_name("pathway-local")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    """A judge, a person with notes, a hosted judge that says more than was asked, and a panel of means."""
    rows = cases(notes="a column of the cases file")
    with judged_run(tmp_path / "may.run", rows=rows) as run:
        noted = {"s-1": Verdict({"score": Score(1)}, {"notes": "too short"}), "s-2": Verdict({}, {"notes": "what?"})}
        add(run, "ann", noted, kind="human", rows=rows)
        hosted = Verdict({"score": Score(2)}, {"reason": "short", "rest": "Sure, here it is."}, ("format:rest",))
        add(run, "hosted", {"s-1": hosted, "s-2": Failure("refused", "it refused")}, kind="hosted", rows=rows)
        make_panel(run, "both", ["demo", "ann"], "mean", [])
        yield run


def test_no_field_is_dropped(run: RunFile, tmp_path: Path) -> None:
    assert export(run, tmp_path / "v.csv", force=False) == []
    with (tmp_path / "v.csv").open(newline="", encoding="utf-8") as file:
        rows = {(row["case"], row["rater"]): row for row in csv.DictReader(file)}
    assert rows["s-1", "ann"]["notes"] == "too short"
    assert rows["s-1", "ann"]["case.notes"] == "a column of the cases file"
    assert rows["s-2", "ann"]["notes"] == "what?"
    assert rows["s-1", "hosted"]["rest"] == "Sure, here it is."
    assert rows["s-2", "hosted"]["failure"] == "refused"
    assert (rows["s-1", "both"]["score_mean"], rows["s-1", "both"]["score_spread"]) == ("2.5", "3")
    assert rows["s-1", "both"]["score"] == ""
    export(run, tmp_path / "v.jsonl", force=False)
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    kept = {(line["case"], line["rater"]): line for line in lines}
    for record in run.records():
        if isinstance(record.outcome, Verdict):
            row = kept[record.case_id, record.rater]
            assert {name: row[name] for name in record.outcome.fields} == record.outcome.fields


def test_no_field_is_dropped_beside_the_users_own_columns(run: RunFile, tmp_path: Path) -> None:
    with (tmp_path / "cases.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "answer", "notes"])
        writer.writerows([name, f"the question of {name}", f"the answer of {name}", "mine"] for name in IDS)
    sheet = cases_of(tmp_path / "cases.csv", [TINY], run)
    assert export_onto(run, sheet, tmp_path / "out.csv", force=False) == []
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert first["notes"] == "mine"
    assert first["ann.tiny.notes"] == "too short"
    assert first["hosted.tiny.rest"] == "Sure, here it is."
    assert (first["both.tiny.score_mean"], first["both.tiny.score_spread"]) == ("2.5", "3")
    assert "demo.tiny.notes" not in first


def test_a_reader_of_the_pipe_may_leave(tmp_path: Path) -> None:
    many = [f"s-{number}" for number in range(4000)]
    rows = cases(ids=many)
    with judged_run(tmp_path / "may.run", rows=rows) as made:
        add(made, "ann", said(*[4] * len(many), ids=many), kind="human", rows=rows)
    command = [str(COMMAND), "export", "may.run", "--out", "-"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        assert writer.stdout and writer.stderr
        assert writer.stdout.readline().startswith("case,rater")
        writer.stdout.close()
        told = writer.stderr.read()
    assert told == ""
    assert writer.returncode == 0


def test_records_may_be_left_before_their_end(run: RunFile, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    with RunFile.read(run.path) as other:
        records = other.records()
        assert next(records).case_id == "s-1"
    del records
    with RunFile.read(run.path) as other:
        left = other.records()
        next(left)
    left.close()  # type: ignore[attr-defined]
    assert not told
