import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.styles import Font, PatternFill

from pathway_local.case import BadRow, Case
from pathway_local.errors import CasesError, OutputExists, UsageError
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.tables import add_columns
from pathway_local.sheets.workbook import WIDTH
from pathway_local.verdict import Value

NEEDED = {"r": ("question", "answer")}
NEW = ["score", "note"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def cells(item: Case | BadRow) -> dict[str, Value]:
    return {"score": item.row, "note": f"={item.id}"} if isinstance(item, Case) else {"note": item.reason}


def copied(path: Path, target: Path | None = None, *, force: bool = False) -> Path:
    target = target or path.with_name(f"scored{path.suffix}")
    add_columns(CasesFile(path, NEEDED), target, NEW, cells, force=force)
    return target


def test_a_csv_keeps_every_byte_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(
        b"\n"
        + b'id;question;"answer"\r\n'
        + b'k1;"=1+1;\n""hi""";0005\n'
        + b";;\n"
        + b"k2;too;many;fields\n"
        + b"k3;few\r\n"
        + b"k4;\xc3\xa9;0,5\r\n"
        + b'k5;"open;x\n'
        + b"k6;last;one"
    )
    assert copied(path).read_bytes() == (
        b'\nid;question;"answer";score;note\r\n'
        + b'k1;"=1+1;\n""hi""";0005;3;\'=k1\n'
        + b";;\n"
        + b"k2;too;many;fields\n"
        + b"k3;few;;;it has 2 fields where the header has 3\r\n"
        + b"k4;\xc3\xa9;0,5;7;'=k4\r\n"
        + b'k5;"open;x\n'
        + b"k6;last;one;9;'=k6"
    )


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_a_copy_keeps_its_encoding(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes("question\tanswer\né\t😀\n".encode(codec))
    assert copied(path).read_bytes() == "question\tanswer\tscore\tnote\né\t😀\t2\t'=2\n".encode(codec)


def test_jsonl_keeps_every_byte_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"question": "q", "answer": "a", "n": 1.00}  \n\n{"question"\n{}\n{"answer": "\\u00e9", "question":null}'
    )
    lines = copied(path).read_text().split("\n")
    assert lines[:3] == ['{"question": "q", "answer": "a", "n": 1.00, "score": 1, "note": "=1"}  ', "", '{"question"']
    assert json.loads(lines[3])["note"].startswith("the input question is missing")
    assert lines[4] == '{"answer": "\\u00e9", "question":null, "score": 5, "note": "=5"}'


def test_jsonl_that_has_a_new_key_far_down_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "q", "answer": "a"}\n' * 1200 + '{"question": "q", "answer": "a", "score": 3}\n')
    with pytest.raises(UsageError, match="already has a column score"):
        copied(path)
    assert names(tmp_path) == ["a.jsonl"]


def make_workbook(path: Path) -> None:
    book = openpyxl.Workbook()
    page = book.active
    page.title = "Answers"
    for row in ([], ["question", "answer"], ["=1+1", "@a"], [], ["q", "a", None, "stray"], ["q", "b"]):
        page.append(row)
    page["A2"].font = Font(bold=True)
    page.column_dimensions["A"].width = 55
    page.merge_cells("A8:F8")
    book.create_sheet("Notes")["C3"] = "kept"
    book.save(path)


def test_a_workbook_keeps_its_sheets_formats_and_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    make_workbook(path)
    book = openpyxl.load_workbook(copied(path))
    page = book["Answers"]
    assert book.sheetnames == ["Answers", "Notes"] and book["Notes"]["C3"].value == "kept"
    assert page["A2"].font.bold and page.column_dimensions["A"].width == 55
    assert (page["A3"].value, page["A3"].data_type, page["B3"].value) == ("=1+1", "f", "@a")
    assert page["D5"].value == "stray"
    new = [[page.cell(line, column).value for column in (7, 8)] for line in range(2, 7)]
    assert new[0] == NEW and new[2] == [None, None]
    assert new[1][1].startswith("its question holds a formula without its result")
    assert new[3] == [None, "it has cells to the right of the last column"]
    assert new[4] == [6, "'=6"]
    assert page["H6"].data_type == "s"


def test_new_columns_of_a_workbook_look_like_their_neighbours_and_join_their_filter(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = openpyxl.Workbook()
    page: Any = book.active
    for row in (["id", "question", "answer"], ["1", "q", "a"]):
        page.append(row)
    page["C1"].font, page["C1"].fill = Font(bold=True, color="FFFFFFFF"), PatternFill("solid", fgColor="FF336699")
    page.auto_filter.ref = "A1:C2"
    book.save(path)
    page = openpyxl.load_workbook(copied(path)).active
    assert page["E1"].value == "note" and page["E1"].font.bold and page["E1"].fill.fgColor.rgb == "FF336699"
    assert page.auto_filter.ref == "A1:E2" and not page["E2"].font.bold


def test_new_columns_of_a_workbook_can_be_read_and_have_one_width_each(tmp_path: Path) -> None:
    path, target = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    make_workbook(path)
    add_columns(CasesFile(path, NEEDED), target, ["why"], lambda item: {"why": "x" * 90})
    page = openpyxl.load_workbook(target)["Answers"]
    assert page.column_dimensions["G"].width == WIDTH and page["G6"].alignment.wrap_text
    book = openpyxl.load_workbook(path)
    every = book["Answers"].column_dimensions["C"]
    every.min, every.max, every.width = 3, 16384, 12
    book.save(path)
    assert add_columns(CasesFile(path, NEEDED), target, ["why"], lambda item: {"why": "x" * 40_000}, force=True) == 3
    assert "G" not in openpyxl.load_workbook(target)["Answers"].column_dimensions


def test_rows_of_the_copy_and_ids_belong_together(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,question,answer\nb,q,a\n,q,a\na,q,a\nb,q,a\n")
    verdicts = {"a": 1, "b": 2, "a.csv line 3": 3, "a.csv line 5": 4}
    add_columns(CasesFile(path, NEEDED), tmp_path / "b.csv", ["s"], lambda item: {"s": verdicts[item.id]})
    assert (tmp_path / "b.csv").read_text().split() == [
        "id,question,answer,s",
        "b,q,a,2",
        ",q,a,3",
        "a,q,a,1",
        "b,q,a,4",
    ]


def test_copies_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("question,answer,note\nq,a,n\n")
    with pytest.raises(UsageError, match="already has a column note"):
        copied(path)
    path.write_text("question,answer\nq,a\n")
    with pytest.raises(UsageError, match="another kind"):
        copied(path, tmp_path / "b.xlsx")
    with pytest.raises(UsageError, match="is the sheet to be copied"):
        copied(path, path, force=True)
    (tmp_path / "b.csv").write_text("mine")
    with pytest.raises(OutputExists):
        copied(path, tmp_path / "b.csv")
    copied(path, tmp_path / "b.csv", force=True)
    assert (tmp_path / "b.csv").read_text() == "question,answer,score,note\nq,a,2,'=2\n"


def test_a_row_too_long_to_keep_stops_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathway_local.sheets.lines.ROW_LIMIT", 100)
    path = tmp_path / "a.csv"
    path.write_text(f"question,answer\nq,a\n{'x' * 200},b\n")
    with pytest.raises(CasesError, match="line 3 is too long to be copied"):
        copied(path)
    assert names(tmp_path) == ["a.csv"]


def test_a_workbook_too_large_to_change_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xlsx"
    make_workbook(path)
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    cases = CasesFile(path, NEEDED)
    monkeypatch.setattr("pathway_local.sheets.workbook_outline.KEPT_LIMIT", size - 1)
    with pytest.raises(CasesError, match="too large to be copied"):
        add_columns(cases, tmp_path / "b.xlsx", NEW, cells)
