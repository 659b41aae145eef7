"""Cells keep the types of their sheet: each kind of cases file in, each kind of export out."""

import csv
import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rated_run import TINY

from pathway_local.case import BadRow, Case, CaseRef, fingerprint
from pathway_local.errors import RunDamaged
from pathway_local.output.export import export, export_onto
from pathway_local.rater import Rater, RaterKind
from pathway_local.runs.merge import merge_parts
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.runs.split import split_run
from pathway_local.sheets.in_memory import sheet_or_path
from pathway_local.sheets.kinds import Sheet
from pathway_local.sheets.row import CellValue, cell_kind, plain_text, typed_value
from pathway_local.sheets.tables import write_table
from pathway_local.verdict import Score, Verdict

ROWS: list[dict[str, Any]] = [
    {
        "id": 17,
        "question": "q",
        "answer": "a",
        "cost": 0.0492,
        "count": 3,
        "paid": True,
        "day": date(2026, 1, 2),
        "at": datetime(2026, 1, 2, 10, 30),
        "room": "007",
        "code": "12",
        "formula": "=1+1",
    },
    {
        "id": 18,
        "question": "q",
        "answer": "b",
        "cost": None,
        "count": -4,
        "paid": False,
        "day": None,
        "at": datetime(2026, 1, 3),
        "room": "12",
        "code": "13",
        "formula": "-5 degrees",
    },
]
COLUMNS = [name for name in ROWS[0] if name not in ("question", "answer", "id")]
ENDINGS = ("csv", "jsonl", "json", "parquet", "xlsx")


def write_cases(path: Path, rows: Sequence[Mapping[str, Any]] = ROWS) -> Path:
    """Write the rows with the libraries that other programs use, each value as the kind of file can hold it."""
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        page = book.worksheets[0]
        page.append(list(rows[0]))
        for row in rows:
            page.append([float(value) if type(value) is int else value for value in row.values()])
        for line in page.iter_rows(min_row=2):
            for cell in line:
                if cell.data_type == "f":
                    cell.data_type = "s"
        book.save(path)
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([list(rows[0]), *([plain_text(cell) for cell in row.values()] for row in rows)])
    else:
        lines = [json.dumps(row, default=plain_text) for row in rows]
        path.write_text("\n".join(lines) if path.suffix == ".jsonl" else f"[{', '.join(lines)}]")
    return path


def judged(path: Path, source: Path | Sheet, kind: RaterKind = "human") -> RunFile:
    run = RunFile.open(path) if path.exists() else RunFile.create(path)
    store_rubric(run, TINY)
    rater = run.add_rater(Rater("ann", kind, "tiny", {}))
    for case in cases_of(source, [TINY], run):
        assert isinstance(case, Case)
        hash = fingerprint(run.key, TINY.texts_of(case))
        run.put(rater, case.ref(hash), Verdict({"score": Score(4)}), keep=None)
    return run


def read(path: Path) -> list[dict[str, Any]]:
    """Read a table with the libraries that other programs use."""
    if path.suffix == ".xlsx":
        head, *rows = openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True)
        return [dict(zip(map(str, head), row, strict=True)) for row in rows]
    if path.suffix == ".parquet":
        found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return found
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    text = path.read_text(encoding="utf-8")
    whole: list[dict[str, Any]] = json.loads(text) if path.suffix == ".json" else [*map(json.loads, text.splitlines())]
    return whole


def known(ending: str, name: str, value: Any) -> Any:
    """The value of a cell as a cases file of this kind can tell it."""
    if ending == "csv" and name in ("count", "code"):
        return int(value)  # a column of whole numbers
    if ending == "csv" or (ending != "parquet" and ending != "xlsx" and isinstance(value, date)):
        return plain_text(value)
    return value


def expected(source: str, target: str, name: str, value: Any) -> Any:
    """The cell that an export of this kind should have."""
    cell = known(source, name, value)
    if name == "formula" and target in ("csv", "xlsx"):
        return f"'{cell}"  # guarded: a spreadsheet would run it
    if target == "csv":
        return plain_text(cell)
    if target == "xlsx":
        # A workbook has no empty texts and no days without a time; ISO dates in texts become dates in it.
        if isinstance(cell, str) and name == "day" and cell:
            cell = date.fromisoformat(cell)
        if isinstance(cell, str) and name == "at" and len(cell) == len("2026-01-03"):
            cell = date.fromisoformat(cell)
        return datetime.combine(cell, time()) if type(cell) is date else cell or (None if cell == "" else cell)
    if target in ("json", "jsonl") and isinstance(cell, date):
        return plain_text(cell)
    if cell is None and source in ("json", "jsonl") and name == "day":
        return ""  # there a column of texts
    return cell


@pytest.mark.parametrize("source", ENDINGS)
@pytest.mark.parametrize("target", ENDINGS)
def test_each_kind_of_file_in_and_each_kind_out(tmp_path: Path, source: str, target: str) -> None:
    with judged(tmp_path / "may.run", write_cases(tmp_path / f"cases.{source}")) as run:
        export(run, tmp_path / f"out.{target}", force=False)
    found = read(tmp_path / f"out.{target}")
    for row, sheet in zip(found, ROWS, strict=True):
        for name in COLUMNS:
            wanted = expected(source, target, name, sheet[name])
            assert (row[name], type(row[name])) == (wanted, type(wanted)), name
        id = str(sheet["id"]) if "csv" in (source, target) else sheet["id"]
        assert (row["case"], type(row["case"])) == (id, type(id))


HEAD = "=Custo (€)"


@pytest.mark.parametrize("target", ENDINGS)
def test_a_header_that_would_run_is_a_text_and_its_numbers_stay_numbers(tmp_path: Path, target: str) -> None:
    rows = [{"id": 17, "question": "q", "answer": "a", HEAD: 0.0492}]
    with judged(tmp_path / "a.run", write_cases(tmp_path / "cases.jsonl", rows)) as run:
        export(run, tmp_path / f"out.{target}", force=False)
    [row] = read(tmp_path / f"out.{target}")
    assert row[f"'{HEAD}" if target in ("csv", "xlsx") else HEAD] == ("0.0492" if target == "csv" else 0.0492)
    if target == "xlsx":
        assert {cell.data_type for cell in openpyxl.load_workbook(tmp_path / "out.xlsx").worksheets[0][1]} == {"s"}


@pytest.mark.parametrize("ending", ["csv", "xlsx", "jsonl"])
def test_a_copy_of_the_sheet_keeps_its_own_cells(tmp_path: Path, ending: str) -> None:
    path = write_cases(tmp_path / f"cases.{ending}")
    with judged(tmp_path / "may.run", path) as run:
        export_onto(run, cases_of(path, [TINY], run), tmp_path / f"out.{ending}", force=False)
    before, after = read(path), read(tmp_path / f"out.{ending}")
    assert [{name: row[name] for name in before[0]} for row in after] == before
    assert {type(row["tiny.score"]) for row in after} == {str if ending == "csv" else int}


def test_a_mixed_column_keeps_the_type_of_each_cell_and_is_text_in_parquet(tmp_path: Path) -> None:
    rows = [{"id": n, "question": "q", "answer": "a", "cost": value} for n, value in enumerate((0.5, "n/a", True))]
    rows[2]["id"] = "C-3"
    with judged(tmp_path / "may.run", write_cases(tmp_path / "c.xlsx", rows)) as run:
        for ending in ("xlsx", "jsonl", "parquet"):
            export(run, tmp_path / f"out.{ending}", force=False)
    for ending in ("xlsx", "jsonl"):
        found = read(tmp_path / f"out.{ending}")
        assert [row["cost"] for row in found] == [0.5, "n/a", True]
        assert [row["case"] for row in found] == [0, 1, "C-3"]
    found = read(tmp_path / "out.parquet")
    assert [row["cost"] for row in found] == ["0.5", "n/a", "true"]
    assert [row["case"] for row in found] == ["0", "1", "C-3"]


def test_a_small_fraction_is_shown_with_its_digits(tmp_path: Path) -> None:
    write_table(tmp_path / "t.xlsx", ["n"], [{"n": 0.0492}, {"n": 3.5}, {"n": 0.123456789}])
    page = openpyxl.load_workbook(tmp_path / "t.xlsx").worksheets[0]
    assert [page.cell(line, 1).number_format for line in (2, 3, 4)] == ["0.0#####", "0.0#####", "0.00"]


def test_dates_that_a_workbook_lacks_become_texts(tmp_path: Path) -> None:
    early, zoned = date(1848, 3, 18), datetime.fromisoformat("2026-01-02T10:30:00+01:00")
    rows: list[dict[str, CellValue]] = [{"at": early}, {"at": zoned}, {"at": time(10, 30)}]
    for ending in ("xlsx", "parquet"):
        write_table(tmp_path / f"t.{ending}", ["at"], rows)
    texts = ["1848-03-18", "2026-01-02T10:30:00+01:00"]
    assert [row["at"] for row in read(tmp_path / "t.xlsx")] == [*texts, time(10, 30)]
    assert [row["at"] for row in read(tmp_path / "t.parquet")] == [*texts, "10:30:00"]
    write_table(tmp_path / "z.parquet", ["at"], [{"at": zoned}, {}])
    assert [row["at"] for row in read(tmp_path / "z.parquet")] == [zoned, None]


@pytest.mark.parametrize(
    "value",
    [
        *(0, 17, 2**70, 0.0492, 1e-7, 1e22, True, False, Decimal("0.05"), "", "12", "2026-01-02", "true"),
        *(date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 6), time(1, 2, 3), ["a", 1, None], {"a": [1.5]}),
    ],
)
def test_a_cell_comes_back_from_its_text_and_kind(value: Any) -> None:
    back = typed_value(plain_text(value), cell_kind(value))
    assert back == value or isinstance(value, Decimal)
    assert type(back) is (float if isinstance(value, Decimal) else type(value))


@pytest.mark.parametrize(
    "value", [None, float("nan"), float("inf"), Decimal("Infinity"), Decimal("0.1" + "0" * 30 + "1")]
)
def test_a_value_that_would_be_lost_stays_a_text(value: Any) -> None:
    assert not cell_kind(value)


def test_lists_of_hostile_depth_stay_texts() -> None:
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    assert not cell_kind(deep)


def test_rows_that_python_holds_keep_their_types(tmp_path: Path) -> None:
    rows = [
        {"id": 17, "question": "q", "answer": "a", "cost": Decimal("0.05"), "tags": ["x", "y"], "day": date(2026, 1, 2)}
    ]
    sheet = sheet_or_path(rows)
    assert isinstance(sheet, Sheet)
    with judged(tmp_path / "may.run", sheet) as run:
        export(run, tmp_path / "out.parquet", force=False)
    (found,) = read(tmp_path / "out.parquet")
    kept = {name: found[name] for name in ("case", "cost", "tags", "day")}
    assert kept == {"case": 17, "cost": 0.05, "tags": ["x", "y"], "day": date(2026, 1, 2)}


def test_a_pseudonym_and_an_invalid_row_are_texts(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "id": 17}, {**ROWS[0], "id": 17}]
    _, again = cases_of(write_cases(tmp_path / "c.xlsx", rows), [TINY], None)
    assert isinstance(again, BadRow) and again.kinds is not None
    assert "" not in again.kinds and again.kinds["cost"] == "json"


def test_a_later_sheet_and_a_rating_leave_types_in_order(tmp_path: Path) -> None:
    with judged(tmp_path / "may.run", write_cases(tmp_path / "c.jsonl")) as run:
        ann = run.add_rater(Rater("ann", "human", "tiny", {}))
        run.put(ann, CaseRef("17", 1, hash="h"), Verdict({"score": Score(2)}))  # as a rating comes, without a sheet
        first, _ = run.records()
        assert first.typed()["cost"] == 0.0492 and first.typed()[""] == 17
        run.keep_metadata([CaseRef("17", 1, {"cost": "0,05"}, "h")], None)  # as a CSV file has it
        first, _ = run.records()
        assert first.typed()["cost"] == "0,05" and first.typed()["count"] == 3


def test_a_merge_takes_the_types_along(tmp_path: Path) -> None:
    path = write_cases(tmp_path / "c.jsonl")
    [part, _] = split_run(tmp_path / "all.run", 2, ["split"])
    with RunFile.open(part) as begun:
        job = begun.jobs.begin(["judge"], {})
    with judged(part, path, "judge") as made:
        made.jobs.end(job, "done", {})
    merge_parts(tmp_path / "all.run", [part], ["merge"], print)
    with RunFile.read(tmp_path / "all.run") as run:
        first, second = run.records()
    assert first.typed()["cost"] == 0.0492 and first.typed()["count"] == 3 and second.typed()["count"] == -4


def test_types_that_do_not_fit_are_damage(tmp_path: Path) -> None:
    with judged(tmp_path / "may.run", write_cases(tmp_path / "c.jsonl")) as run:
        with run.database.writing():
            run.database.change("""UPDATE cases SET kinds = '{"room":"date"}'""")
        with pytest.raises(RunDamaged, match="can't be read"):
            export(run, tmp_path / "out.csv", force=False)
