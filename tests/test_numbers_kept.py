"""A kept column of numbers is one of numbers in every export, from every kind of cases file; any other is of texts."""

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

from pathway_local.case import Case, fingerprint
from pathway_local.output.export import export, export_onto
from pathway_local.rater import Rater
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.sheets.in_memory import sheet_or_path
from pathway_local.sheets.kinds import Sheet
from pathway_local.sheets.row import plain_text
from pathway_local.sheets.tables import write_table
from pathway_local.verdict import Score, Verdict

TEXTS = {"question": "q", "answer": "a"}
ROWS: list[dict[str, Any]] = [
    {"id": 17, **TEXTS, "cost": 0.0492, "count": 3, "paid": True, "day": date(2026, 1, 2), "room": "007", "n": "=1+1"},
    {"id": 18, **TEXTS, "cost": None, "count": -4, "paid": False, "day": None, "room": "12", "n": "-5 degrees"},
]
KEPT: list[dict[str, Any]] = [
    {"case": "17", "cost": 0.0492, "count": 3, "paid": "true", "day": "2026-01-02", "room": "007", "n": "=1+1"},
    {"case": "18", "cost": None, "count": -4, "paid": "false", "day": "", "room": "12", "n": "-5 degrees"},
]
ENDINGS = ("csv", "jsonl", "parquet", "xlsx")


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
                cell.data_type = "s" if cell.data_type == "f" else cell.data_type
        book.save(path)
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([list(rows[0]), *([plain_text(cell) for cell in row.values()] for row in rows)])
    else:
        path.write_text("\n".join(json.dumps(row, default=plain_text) for row in rows))
    return path


def judged(path: Path, source: Path | Sheet) -> RunFile:
    run = RunFile.create(path)
    store_rubric(run, TINY)
    rater = run.add_rater(Rater("ann", "human", "tiny", {}))
    for case in cases_of(source, [TINY], run):
        assert isinstance(case, Case)
        run.put(rater, case.ref(fingerprint(run.key, TINY.texts_of(case))), Verdict({"score": Score(4)}), keep=None)
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
    return [*map(json.loads, text.splitlines())]


def expected(target: str, name: str, value: Any) -> Any:
    """The cell that an export of this kind should have."""
    if name == "n" and target in ("csv", "xlsx"):
        value = f"'{value}"  # guarded: a spreadsheet would run it
    if target == "csv":
        return plain_text(value)
    if target == "xlsx" and name == "day" and value:
        return datetime.combine(date.fromisoformat(value), time())  # it has no days without a time
    return None if target == "xlsx" and value == "" else value


@pytest.mark.parametrize("source", ENDINGS)
def test_each_kind_of_file_in_and_each_kind_out(tmp_path: Path, source: str) -> None:
    with judged(tmp_path / "may.run", write_cases(tmp_path / f"cases.{source}")) as run:
        for target in ENDINGS:
            export(run, tmp_path / f"out.{target}", force=False)
    for target in ENDINGS:
        for row, kept in zip(read(tmp_path / f"out.{target}"), KEPT, strict=True):
            for name, value in kept.items():
                wanted = expected(target, name, value)
                assert (row[name], type(row[name])) == (wanted, type(wanted)), (target, name)


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


def test_a_mixed_column_is_of_texts(tmp_path: Path) -> None:
    rows = [{"id": n, **TEXTS, "cost": value} for n, value in enumerate((0.5, "n/a", True))]
    rows[2]["id"] = "C-3"
    with judged(tmp_path / "may.run", write_cases(tmp_path / "c.xlsx", rows)) as run:
        for ending in ("xlsx", "jsonl", "parquet"):
            export(run, tmp_path / f"out.{ending}", force=False)
    for ending in ("xlsx", "jsonl", "parquet"):
        found = read(tmp_path / f"out.{ending}")
        assert [row["cost"] for row in found] == ["0.5", "n/a", "true"]
        assert [row["case"] for row in found] == ["0", "1", "C-3"]


def test_a_small_fraction_is_shown_with_its_digits(tmp_path: Path) -> None:
    write_table(tmp_path / "t.xlsx", ["n"], [{"n": 0.0492}, {"n": 3.5}, {"n": 0.123456789}])
    page = openpyxl.load_workbook(tmp_path / "t.xlsx").worksheets[0]
    assert [page.cell(line, 1).number_format for line in (2, 3, 4)] == ["0.0#####", "0.0#####", "0.00"]


def test_rows_that_python_holds_are_kept_alike(tmp_path: Path) -> None:
    rows = [{"id": 17, **TEXTS, "cost": Decimal("0.05"), "tags": ["x", "y"], "at": datetime(2026, 1, 2, 3, 4)}]
    sheet = sheet_or_path(rows)
    assert isinstance(sheet, Sheet)
    with judged(tmp_path / "may.run", sheet) as run:
        export(run, tmp_path / "out.parquet", force=False)
    (found,) = read(tmp_path / "out.parquet")
    kept = {name: found[name] for name in ("case", "cost", "tags", "at")}
    assert kept == {"case": "17", "cost": 0.05, "tags": '["x","y"]', "at": "2026-01-02T03:04:00"}
