"""Exports: every field of every rater comes out, and a reader of the pipe may leave when it has seen enough."""

import csv
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest
from rated_run import IDS, TINY, TWO, add, cases, judged_run, know_by_row, write_lines

from pathway_local.case import Case, fingerprint
from pathway_local.errors import CasesError, UnknownName
from pathway_local.output.export import export, export_onto
from pathway_local.rater import Rater
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.sheets.kinds import open_sheet
from pathway_local.sheets.workbook import WIDTH
from pathway_local.verdict import Failure, Score, Verdict


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    """A judge, a person with notes and a hosted judge that says more than was asked."""
    rows = cases(notes="a column of the cases file")
    with judged_run(tmp_path / "may.run", rows=rows) as run:
        noted = {"s-1": Verdict({"score": Score(1)}, {"notes": "too short"}), "s-2": Verdict({}, {"notes": "what?"})}
        add(run, "ann", noted, kind="human", rows=rows)
        hosted = Verdict({"score": Score(2)}, {"reason": "short", "rest": "Sure, here it is."}, ("format:rest",))
        add(run, "hosted", {"s-1": hosted, "s-2": Failure("refused", "it refused")}, kind="hosted", rows=rows)
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
    export(run, tmp_path / "v.jsonl", force=False)
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    kept = {(line["case"], line["rater"]): line for line in lines}
    for record in run.records():
        if isinstance(record.outcome, Verdict):
            row = kept[record.case_id, record.rater]
            assert {name: row[name] for name in record.outcome.fields} == record.outcome.fields


@pytest.mark.parametrize(
    ("cell", "rows"), [("=cmd|'/C calc'!A1", 1), ("x;=1+1;y", 1), ("x; @SUM(1)", 1), ("fine; 5", 0), ("-5", 0)]
)
@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_copied_cells_that_a_spreadsheet_may_run_are_counted(
    cell: str, rows: int, ending: str, run: RunFile, tmp_path: Path
) -> None:
    source, copy = tmp_path / f"cases{ending}", tmp_path / f"out{ending}"
    texts = [["id", "question", "answer", f"={cell}"], [IDS[0], cell, "no", "1"], [IDS[1], "why?", "so", "2"]]
    with source.open("w", newline="") as file:
        csv.writer(file).writerows(texts)
    said = export_onto(run, cases_of(source, [TINY], run), copy, force=False)
    told = f"rows with cells that a spreadsheet may run as formulas, copied as they are: {rows}"
    assert (told in said) == (rows > 0)
    assert "the header has names that a spreadsheet may run as formulas, copied as they are" in said
    with copy.open(newline="", encoding="utf-8") as file:
        assert [row[:4] for row in csv.reader(file)] == texts


def test_a_copy_counts_rows_without_a_verdict_and_verdicts_without_a_row(run: RunFile, tmp_path: Path) -> None:
    rows = [f"{name},the question of {name},the answer of {name}" for name in IDS[1:]]
    (tmp_path / "cases.csv").write_text("\n".join(["id,question,answer", *rows, "new,q,a"]))
    sheet = cases_of(tmp_path / "cases.csv", [TINY], run)
    remarks = export_onto(run, sheet, tmp_path / "out.csv", force=False)
    assert remarks == ["rows of cases.csv without a verdict: 1", "verdicts without a row in cases.csv: 3"]


def test_a_copy_of_a_sheet_without_ids_whose_rows_moved_is_refused(tmp_path: Path) -> None:
    rows, target = cases(by_row=True), tmp_path / "out.csv"
    with judged_run(tmp_path / "may.run", rows=rows) as made:
        know_by_row(made)
        texts = (",".join(each.inputs[name] for name in ("question", "answer")) for each in reversed(rows))
        (tmp_path / "cases.csv").write_text("\n".join(["question,answer", *texts]))
        with pytest.raises(CasesError, match="row 2 of the sheet has other texts than the row of that number"):
            export_onto(made, cases_of(tmp_path / "cases.csv", [TINY], made), target, force=False)
    assert not target.exists()


def test_a_copy_has_scores_labels_reasons_and_confidence_unless_others_are_named(run: RunFile, tmp_path: Path) -> None:
    lines = [json.dumps({"id": name, "question": f"the question of {name}"}) for name in IDS]
    texts = [line[:-1] + f', "answer": "the answer of {name}"}}' for line, name in zip(lines, IDS, strict=True)]
    (tmp_path / "cases.jsonl").write_text("\n".join(texts))
    sheet = cases_of(tmp_path / "cases.jsonl", [TINY], run)
    export_onto(run, sheet, tmp_path / "short.jsonl", force=False)
    export_onto(run, sheet, tmp_path / "named.jsonl", force=False, only=["rest", "marks"])
    short, named = (
        list(json.loads((tmp_path / name).read_text().splitlines()[0])) for name in ("short.jsonl", "named.jsonl")
    )
    assert [name.removeprefix("hosted.tiny.") for name in short if name.startswith("hosted.")] == [
        "score", "score_label", "reason", "failure", "failure_message",
    ]  # fmt: skip
    assert [name for name in short if name.startswith("ann.tiny.")][-1] == "ann.tiny.notes"
    assert named == ["id", "question", "answer", "hosted.tiny.rest", "hosted.tiny.marks"]


AWKWARD = parse_rubric(
    """---
name: awkward
inputs: {question: {type: string}, answer: {type: string}}
outputs:
  layout: json
  fields:
    case: {type: text, tokens: 20}
    failure: {type: text, tokens: 20}
    score_label: {type: text, tokens: 20}
    field.failure: {type: text, tokens: 20}
    thinking: {type: text, tokens: 20}
    score: {type: score, levels: {1: Bad, 2: Good}}
    score_p1: {type: score, min: 1, max: 2}
    marks: {type: score, min: 1, max: 2}
---
user:
{{ question }} {{ answer }}
""",
    "awkward",
)
SAID = {name: f"the {name}" for name in ("case", "failure", "score_label", "field.failure", "thinking")}


@pytest.fixture
def awkward(tmp_path: Path) -> Iterator[RunFile]:
    """Fields and scores that are called like the export's own columns, and metadata like them."""
    scores = {"score": Score(1, {1: 0.75, 2: 0.25}), "score_p1": Score(2), "marks": Score(1)}
    verdict = Verdict(scores, SAID | {"judge.thinking": "hm"}, ("cut:case",))
    metadata = {"marks": "mine", "case.marks": "mine as well", "field.failure": "mine, too"}
    row = Case("s-1", {"question": "q", "answer": "a"}, metadata, 1)
    with RunFile.create(tmp_path / "awkward.run") as run:
        store_rubric(run, AWKWARD)
        rater = run.add_rater(Rater("demo", "judge", AWKWARD.name, {"think": 100}))
        run.put(rater, row.ref(fingerprint(run.key, AWKWARD.texts_of(row))), verdict, keep=None)
        yield run


GRADES = """---
name: grades
inputs: {question: {type: string}, answer: {type: string}}
outputs:
  layout: |-
    {score_p2}
    {grade}
  fields:
    score_p2: {type: text}
    grade: {type: score, min: 1, max: 2}
---
user:
{{ question }} {{ answer }}
"""

FILLED = {
    "field.case": "the case",
    "field.field.failure": "the failure",
    "field.failure": "the field.failure",
    "field.score_label": "the score_label",
    "thinking": "the thinking",
    "judge.thinking": "hm",
    "score": 1,
    "score_label": "Bad",
    "score_p1": 0.75,
    "field.score_p1": 2,
    "field.marks": 1,
    "marks": "cut:case",
}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".xlsx", ".parquet"])
def test_no_column_takes_the_place_of_another(awkward: RunFile, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"v{suffix}"
    export(awkward, target, force=False)
    sheet = open_sheet(target)
    (row,) = sheet.rows()
    assert len(set(sheet.columns)) == len(sheet.columns)
    own = {"case": "s-1", "rater": "demo", "rubric": "awkward"}
    kept = {"case.marks": "mine as well", "case.case.marks": "mine", "case.field.failure": "mine, too"}
    assert {name: row.cells[name] for name in own | kept} == own | kept
    assert {name: row.cells[name] for name in FILLED} == {name: str(value) for name, value in FILLED.items()}
    (tmp_path / "cases.jsonl").write_text('{"id": "s-1", "question": "q", "answer": "a"}\n')
    beside, onto = cases_of(tmp_path / "cases.jsonl", [AWKWARD], awkward), tmp_path / "out.jsonl"
    export_onto(awkward, beside, onto, force=False, only=[*FILLED])
    added = json.loads(onto.read_text())
    assert {name: added[f"awkward.{name}"] for name in FILLED} == FILLED


def test_no_column_of_a_rubric_takes_the_place_of_another_rubrics(awkward: RunFile, tmp_path: Path) -> None:
    other = parse_rubric(GRADES, "grades.prompty")
    store_rubric(awkward, other)
    rater = awkward.add_rater(Rater("demo", "judge", other.name, {}))
    row = Case("s-1", {"question": "q", "answer": "a"}, {}, 1)
    said = Verdict({"grade": Score(2)}, {"score_p2": "a text"})
    awkward.put(rater, row.ref(fingerprint(awkward.key, other.texts_of(row))), said)
    export(awkward, tmp_path / "v.jsonl", force=False)
    first, second = map(json.loads, (tmp_path / "v.jsonl").read_text().splitlines())
    assert (first["score_p2"], second["score_p2"], second["field.score_p2"]) == (0.25, None, "a text")


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


def test_columns_that_nobody_fills_are_left_out(run: RunFile, tmp_path: Path) -> None:
    export(run, tmp_path / "v.csv", force=False)
    with (tmp_path / "v.csv").open(newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    assert {"marks", "failure", "failure_row", "score", "reason"} <= set(header)
    assert not {"caution", "score_expected", "score_p1"} & set(header)
    texts = [{"id": n, "question": f"the question of {n}", "answer": f"the answer of {n}"} for n in IDS]
    write_lines(tmp_path / "c.jsonl", texts)
    export_onto(run, cases_of(tmp_path / "c.jsonl", [TINY], run), tmp_path / "out.jsonl", force=False)
    own = [name for name in json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0]) if name.startswith("ann.")]
    assert own == ["ann.tiny.score", "ann.tiny.score_label", "ann.tiny.notes"]
    with judged_run(tmp_path / "two.run", TWO) as nameless:
        export(nameless, tmp_path / "two.csv", force=False)
    head = (tmp_path / "two.csv").read_text(encoding="utf-8-sig").splitlines()[0]
    assert "clear" in head and "label" not in head


def test_columns_can_be_chosen(run: RunFile, tmp_path: Path) -> None:
    export(run, tmp_path / "v.csv", force=False, only=["case", "Rater", "score", "label", "reason"])
    with (tmp_path / "v.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["case", "rater", "score", "score_label", "reason", "notes"]
    with pytest.raises(UnknownName, match="no column is called 'mood'"):
        export(run, tmp_path / "w.csv", force=False, only=["mood"])


def test_a_workbook_is_ready_to_read(tmp_path: Path) -> None:
    rows = cases(day="2026-03-02", odd="2026-02-30")
    label = "a demonstration judge; its scores mean nothing"
    with judged_run(tmp_path / "may.run", rows=rows) as run:
        run.set_setting("label:demo", label)
        verdict = Verdict({"score": Score(4, {4: 0.6684, 5: 0.3316})}, {"reason": "well " * 40})
        add(run, "demo", {"s-1": verdict, "s-2": Failure("refused", "it refused")}, rows=rows)
        export(run, tmp_path / "v.xlsx", force=False)
        export(run, tmp_path / "v.csv", force=False)
    book = openpyxl.load_workbook(tmp_path / "v.xlsx")
    assert book.sheetnames == ["verdicts", "failures"]
    page = book["verdicts"]
    head = [cell.value for cell in page[1]]
    cells = dict(zip(head, page[2], strict=True))
    assert page.freeze_panes == "A2" and page.auto_filter.ref.startswith("A1:") and cells["case"].value == "s-1"
    assert all(cell.font.bold for cell in page[1]) and not cells["case"].font.bold
    assert cells["score_confidence"].value == 0.67  # to two places, whatever the probability
    assert cells["score_expected"].number_format == "0.0#####" and cells["score"].number_format == "General"
    assert cells["day"].is_date and cells["day"].value == datetime(2026, 3, 2) and cells["odd"].value == "2026-02-30"
    assert cells["reason"].alignment.wrap_text and page.sheet_format.defaultColWidth == WIDTH
    (failed,) = [[cell.value for cell in row] for row in book["failures"]][1:]
    assert {"s-2", "refused", "it refused", 2} <= set(failed)
    assert (tmp_path / "v.csv").read_text().count(label) == 4


def test_whole_numbers_of_kept_columns_stay_numbers(tmp_path: Path) -> None:
    kept = [
        {"term": "3", "room": "007", "points": "1.50", "mixed": "4"},
        {"term": "", "room": "12", "points": "2", "mixed": "none"},
        {"term": "-12", "room": "", "points": "", "mixed": ""},
    ]
    with judged_run(tmp_path / "tiny.run") as run:
        rater = run.add_rater(Rater("ann", "human", "tiny", {}))
        for number, metadata in enumerate(kept):
            case = Case(str(number), {}, metadata, number + 1).ref("0")
            run.put(rater, case, Verdict({"score": Score(4)}), keep=None)
        for ending in ("jsonl", "xlsx"):
            export(run, tmp_path / f"all.{ending}", force=True)
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    of_ann = [row for row in rows if row["rater"] == "ann"]
    assert [row["term"] for row in of_ann] == [3, None, -12]
    for name in ("room", "points", "mixed"):
        assert [row[name] for row in of_ann] == [each[name] for each in kept]
    assert [row["case"] for row in of_ann] == ["0", "1", "2"], "ids stay texts"
    heads, *cells = openpyxl.load_workbook(tmp_path / "all.xlsx")["verdicts"].iter_rows(values_only=True)
    terms = [row[heads.index("term")] for row in cells if row[heads.index("rater")] == "ann"]
    assert terms == [3, None, -12]
    assert all(value is None or isinstance(value, int) for value in terms)
