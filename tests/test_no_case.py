"""Rows that are no cases: totals, footers and the header again are left out and named; errors of a spreadsheet fail."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import openpyxl
import pytest
from typed import Desk

from pathway_local.case import BadRow, Case
from pathway_local.errors import CasesError
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.tables import add_columns

NEEDED = {"r": ("question", "answer")}
HEAD = ("chatbot", "question", "answer", "cost")
CASES = [("v1", "When?", "Now.", "1"), ("v2", "When?", "", "2")]
Rows = Sequence[Sequence[str]]


@pytest.fixture(params=["a.csv", "a.xlsx"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def sheet(
    path: Path, *rows: Sequence[str], head: Sequence[str] = HEAD, needed: Mapping[str, Sequence[str]] = NEEDED
) -> CasesFile:
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([head, *rows])
    else:
        book = openpyxl.Workbook()
        for row in (head, *rows):
            book.worksheets[0].append([cell or None for cell in row])
        book.save(path)
    return CasesFile(path, needed)


LEFT_OUT = "no case, but a total, a footer, a line or the header again: left out"


def test_totals_and_footers_are_named_and_no_cases(path: Path) -> None:
    cases = sheet(path, *CASES, ("", "", "", ""), ("TOTAL", "", "", "3"), ("", "Source: our own data", "", ""))
    assert [case.metadata["chatbot"] for case in cases] == ["v1", "v2"]
    assert cases.remarks == (f"rows 5 and 6 are {LEFT_OUT.replace('case', 'cases')}",)
    assert [row.number for row, item in cases.rows() if item is not None] == [2, 3]
    target = path.with_stem("b")
    add_columns(cases, target, ["score"], lambda case: {"score": case.row})
    scores = [row.cells["score"] for row in CasesFile(target, NEEDED).sheet.rows() if not row.blank]
    assert scores == ["2", "3", "", ""]


def test_an_empty_answer_is_a_case_that_fails_and_never_vanishes(path: Path) -> None:
    assert [case.inputs for case in sheet(path, ("v2", "When?", "", ""))] == [{"question": "When?", "answer": ""}]
    [case] = sheet(path, ("When?", ""), head=("question", "answer"))
    assert isinstance(case, Case) and case.inputs["answer"] == ""
    assert [each.row for each in CasesFile(path, {"r": ("answer",)})] == [2]


@pytest.mark.parametrize("name", ["Summe", "TOTAL:", "Gesamt", "Soma"])
def test_a_total_is_no_case_for_a_rubric_of_one_input_either(path: Path, name: str) -> None:
    head = ("id", "chatbot", "answer", "cost")
    cases = sheet(path, ("1", "v1", "Now.", "1"), ("", name, "", "3,50 €"), head=head, needed={"r": ("answer",)})
    assert len(list(cases)) == 1 and cases.remarks == (f"row 3 is {LEFT_OUT}",)


@pytest.mark.parametrize(
    "row", [("7", "", "", "2"), ("", "v2", "", "2"), ("", "Total", "", "in all"), ("", "Sum", ".", "2")]
)
def test_a_chatbot_that_said_nothing_never_passes_for_a_total(path: Path, row: Sequence[str]) -> None:
    assert len(list(sheet(path, row, head=("id", "chatbot", "answer", "cost"), needed={"r": ("answer",)}))) == 1


def test_a_footer_without_separators_is_no_case_in_a_text_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,answer,cost\nq,a,1\nAll figures are provisional\nq,a\n")
    cases = CasesFile(tmp_path / "a.csv", NEEDED)
    _, short = cases
    assert isinstance(short, BadRow) and "2 fields where the header has 3" in short.reason
    assert cases.remarks == (f"row 3 is {LEFT_OUT}",)


def test_the_header_again_and_lines_are_told_and_left_out_and_many_rows_counted(path: Path) -> None:
    for row in ([" " + name.upper() for name in HEAD], ["---"] * 4):
        cases = sheet(path, CASES[0], row, CASES[1])
        assert len(list(cases)) == 2 and cases.remarks == (f"row 3 is {LEFT_OUT}",)
    assert len(list(sheet(path, ("?", "🙂"), ("-", "ok"), head=("question", "answer")))) == 2
    cases = sheet(path, CASES[0], *[("TOTAL", "", "", "3")] * 8)
    assert len(list(cases)) == 1
    assert cases.remarks[0].startswith("rows 3, 4, 5, 6, 7 and 3 more are no cases")


def test_judge_names_them_once_and_ends_at_all(tmp_path: Path, tiny_judge: Path) -> None:
    desk = Desk(tmp_path / "d", tiny_judge)
    sheet(desk.work / "a.csv", CASES[0], ("v2", "When?", "Then.", "2"), ("TOTAL", "", "", "3"))
    given = ["judge", "a.csv", "-r", "small.prompty", "-j", "scripted", "--engine", "scripted", "--keep", "chatbot"]
    given += ["--models", "models.yaml", "--run", "a.run"]
    said = " ".join(desk.typed(*given, "--dry-run").stderr.split())
    assert said.count(f"row 4 is {LEFT_OUT}") == 1
    said = " ".join(desk.typed(*given).stderr.split())
    assert said.count(f"row 4 is {LEFT_OUT}") == 1 and "2 of 2 done" in said
    drawn = desk.typed("sample", "a.run", "--cases", "a.csv", "--n", 1, "--seed", 1, "--out", "r.xlsx")
    assert "row 4 is no case" in " ".join(drawn.stderr.split())
    assert "TOTAL" not in desk.typed("summary", "a.run", "--by", "chatbot").stdout


def test_a_file_of_totals_alone_is_refused(path: Path) -> None:
    with pytest.raises(CasesError, match="has no case: row 2 is no case"):
        list(sheet(path, ("TOTAL", "", "", "3")))


def test_records_of_programs_are_always_cases(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "a", "question": "q", "answer": "a"}\n{"id": "b"}\n')
    _, bad = CasesFile(tmp_path / "a.jsonl", NEEDED)
    assert isinstance(bad, BadRow) and "the input question is missing" in bad.reason


@pytest.mark.parametrize("text", ["#N/A", "#REF!", "#DIV/0!", "#NV", "#¡VALOR!", "#¿NOMBRE?", "#NOM?", " #VALEUR! "])
def test_an_error_value_is_no_answer_and_no_group(path: Path, text: str) -> None:
    bad, good = sheet(path, ("v1", "When?", text, "1"), (text, "When?", "Now", text))
    assert isinstance(bad, BadRow) and "holds an error value of the spreadsheet" in bad.reason
    assert isinstance(good, Case) and good.metadata == {"chatbot": "", "cost": ""}


@pytest.mark.parametrize("text", ["#1", "#metoo!", "#hashtag", "C#?", "#N/A is what the cell shows"])
def test_a_text_with_a_hash_is_a_text(path: Path, text: str) -> None:
    [case] = sheet(path, ("v1", "When?", text, "1"))
    assert isinstance(case, Case) and case.inputs["answer"] == text


def test_empty_fields_at_the_end_of_rows_and_header_are_read(tmp_path: Path) -> None:
    path, target = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("id,question,answer,,\n1,q,a,,,\n2,r,b\n3,s,c,,,,x\n")
    first, second, bad = CasesFile(path, NEEDED)
    assert isinstance(first, Case) and isinstance(second, Case) and isinstance(bad, BadRow)
    assert CasesFile(path, NEEDED).columns == ("id", "question", "answer")
    add_columns(CasesFile(path, NEEDED), target, ["score"], lambda case: {"score": case.row})
    assert target.read_text() == "id,question,answer,,,,score\n1,q,a,,,,2\n2,r,b,,,,3\n3,s,c,,,,x\n"
