"""A further column of an export is one entry of a list: its name is then reserved, and every record fills it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rated_run import IDS, TINY, cases, judged_run

from pathway_local.output import export_columns
from pathway_local.output.export import export, export_onto
from pathway_local.output.export_columns import Column, ScoreColumn
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile

REFERENCE = (Path(__file__).parents[1] / "docs" / "reference.md").read_text(encoding="utf-8")
PLACE = Column("place", "the row in the cases file", lambda record: record.row)
SPENT = Column("spent", "tokens of the prompt", lambda record: record.tokens.prompt)
DOUBLED = ScoreColumn("_doubled", "twice the score", lambda score, _: 2 * score.value)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    """A run with metadata called like two of the stand-ins, which are registered from outside."""
    with judged_run(tmp_path / "may.run", rows=cases(place="here", spent="much")):
        pass
    lists = (export_columns.CASE_COLUMNS, export_columns.END_COLUMNS, export_columns.SCORE_COLUMNS)
    for columns, added in zip(lists, (PLACE, SPENT, DOUBLED), strict=True):
        columns.append(added)
    yield tmp_path / "may.run"
    for columns in lists:
        columns.pop()


def test_a_stand_in_is_filled_and_its_name_reserved(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    records = RunFile.records
    monkeypatch.setattr(RunFile, "records", lambda self, *names: read.append(names) or records(self, *names))
    with RunFile.read(run) as opened:
        export(opened, tmp_path / "v.jsonl", force=False)
    assert len(read) == 1, "an export reads the records once"
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert [line["place"] for line in lines] == [1, 2, 3, 4]
    assert {(line["spent"], line["score_doubled"]) for line in lines} == {(0, 8)}
    assert {(line["case.place"], line["case.spent"]) for line in lines} == {("here", "much")}
    assert list(lines[0])[:4] == ["case", "rater", "rubric", "place"]


def test_a_stand_in_stands_beside_the_users_own_columns(run: Path, tmp_path: Path) -> None:
    rows = [{"id": name, "question": f"the question of {name}", "answer": f"the answer of {name}"} for name in IDS]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with RunFile.read(run) as opened:
        sheet, only = cases_of(tmp_path / "cases.jsonl", [TINY], opened), ["spent", "score_doubled"]
        export_onto(opened, sheet, tmp_path / "out.jsonl", force=False, only=only)
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert (first["tiny.spent"], first["tiny.score_doubled"]) == (0, 8)


def test_the_readme_names_every_column() -> None:
    for column in (*export_columns.CASE_COLUMNS, *export_columns.END_COLUMNS):
        assert f"`{column.name}`" in REFERENCE
    for beside in export_columns.SCORE_COLUMNS:
        assert f"`score{beside.suffix}`" in REFERENCE
