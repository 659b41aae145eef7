"""A row has the number that stands at its left in a spreadsheet, whatever is blank above it."""

from pathlib import Path

import openpyxl
import pytest
from agreement_run import HELPFUL
from typed_here import Run

from pathway_local.case import BadRow, Case
from pathway_local.ratings.cases_given import Given
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cases_file import CasesFile

NEEDED = {"helpful": ("question", "answer")}

ROWS = {
    3: ("id", "question", "answer"),
    4: ("a", "one", "its row is 4"),
    7: ("b", "two", "its row is 7"),
    8: ("a", "three", "its id is that of row 4"),
    9: ("", "four", "no id"),
    12: ("c", "five", "its row is 12"),
}
"""What stands in which row of the spreadsheet; the other rows are blank."""

AS_CSV = (
    "\n\n"
    "id,question,answer\n"
    'a,one,"its row\nis 4"\n'  # lines 4 and 5 are row 4
    "\n,,\n"
    "b,two,its row is 7\n"  # line 8
    'a,three,"its id is that\n\n\nof row 4"\n'
    ",four,no id\n"
    "\n\n"
    "c,five,its row is 12\n"
)


@pytest.fixture(params=["cases.xlsx", "cases.csv"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    if path.suffix == ".csv":
        path.write_text(AS_CSV)
        return path
    book = openpyxl.Workbook()
    for row, cells in ROWS.items():
        for column, text in enumerate(cells, 1):
            book.worksheets[0].cell(row, column).value = text or None
    book.save(path)
    return path


def test_cases_and_bad_rows_have_the_spreadsheets_numbers(path: Path) -> None:
    found = list(CasesFile(path, NEEDED))
    assert [each.row for each in found] == [4, 7, 8, 9, 12]
    assert [each.id for each in found if isinstance(each, Case)] == ["a", "b", "c"]
    twice, nameless = (each for each in found if isinstance(each, BadRow))
    first = "row 4" if path.suffix == ".xlsx" else "line 4"
    assert twice.reason == f"duplicate id a: {first} already has it"
    assert twice.place.startswith("row 8") and nameless.place.startswith("row 9")
    if path.suffix == ".csv":
        assert [twice.place, nameless.place] == ["row 8 (line 9)", "row 9 (line 13)"]


def test_rows_without_ids_are_named_by_their_rows(path: Path) -> None:
    numbered = CasesFile(path, {"r": ("id", "question", "answer")})
    assert [each.id for each in numbered] == ["4", "7", "8", "9", "12"]


def test_the_run_and_its_messages_name_the_spreadsheets_rows(run: Run, path: Path) -> None:
    ratings = openpyxl.Workbook()
    page = ratings.worksheets[0]
    for row, cells in {2: ("id", "score"), 5: ("a", 4), 8: ("c", 5), 11: ("nobody", 3)}.items():
        for column, value in enumerate(cells, 1):
            page.cell(row, column).value = value
    ratings.save("ratings.xlsx")
    Path("helpful.prompty").write_text(HELPFUL.text)
    given = Given(Path("new.run"), path, load_rubric, "helpful.prompty")
    command = ("import", given.run, "ratings.xlsx", "--kind", "human", "--rater", "Ann", "--cases", path.name)
    assert "row 11: its id matches no case of the run" in run(*command, "--rubric", given.rubric or "").words
    page.delete_rows(11)
    ratings.save("ratings.xlsx")
    assert run(*command, "--rubric", given.rubric or "").code == 0
    with RunFile.read(given.run) as read:
        assert {record.case_id: record.row for record in read.records()} == {"a": 4, "c": 12}
    dry = run("judge", path.name, "--rubric", given.rubric, "--judge", "demo", "--dry-run")
    assert "row 8" in dry.words and "row 9" in dry.words


def test_a_rating_of_a_bad_row_of_the_cases_file_is_named(run: Run) -> None:
    Path("helpful.prompty").write_text(HELPFUL.text)
    Path("cases.csv").write_text("id,question,answer\na,q1,a1\nb,q2,\nc,q3,a3\n")
    command = ("import", "new.run", "ratings.csv", "--kind", "human", "--rater", "Ann", "--cases", "cases.csv")
    Path("ratings.csv").write_text("id,score\na,3\nb,4\nc,5\n,5\n")
    refused = run(*command, "--rubric", "helpful.prompty")
    assert refused.code == 3 and "line 5: it has no id" in refused.words
    assert "line 3: its id matches no case" in refused.words and not Path("new.run").exists()
    Path("ratings.csv").write_text("id,score\na,3\nc,5\n")
    assert run(*command, "--rubric", "helpful.prompty").code == 0
    with RunFile.read(Path("new.run")) as read:
        assert len(list(read.records("Ann"))) == 2
