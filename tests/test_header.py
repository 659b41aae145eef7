"""The header of a sheet: its first row, unless that looks like a title; the user may name another."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from rated_run import TINY

from pathway_local.case import Case
from pathway_local.errors import CasesError, ColumnsError, UnclearHeader, UnknownName, UsageError
from pathway_local.runs.run_cases import cases_of, remember
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.kinds import open_sheet
from pathway_local.sheets.tables import add_columns

NEEDED = {"r": ("question", "answer")}


def book(path: Path, rows: Sequence[Sequence[Any]], *merged: str, **further: Sequence[Sequence[Any]]) -> Path:
    made = openpyxl.Workbook()
    made.worksheets[0].title = "First"
    for title, own in {"First": rows, **further}.items():
        page: Any = made.worksheets[0] if title == "First" else made.create_sheet(title)
        for row in own:
            page.append(row)
    for area in merged:
        made.worksheets[0].merge_cells(area)
    made.save(path)
    return path


def inputs(cases: CasesFile) -> list[dict[str, str]]:
    found = list(cases)
    assert all(isinstance(case, Case) for case in found)
    return [dict(case.inputs) for case in found if isinstance(case, Case)]


TITLES: list[list[list[Any]]] = [
    [["Avaliação de chatbots 2026/27"]],
    [["Results"], [], ["Confidential. Do not pass on; ask Ana (ext. 221)."]],
    [[], ["Projekt KI-Campus, zweite Erhebung"]],
]
ROWS = [["Nr.", "Frage", "Antwort", "Bot"], *([n, f"Wo ist {n}?", f"Hier, {n}.", "v1"] for n in range(1, 9))]


@pytest.mark.parametrize("name", ["a.xlsx", "a.csv"])
@pytest.mark.parametrize("titles", TITLES, ids=range(len(TITLES)))
def test_a_title_is_refused_and_the_row_that_seems_to_name_the_columns_is_told(
    tmp_path: Path, name: str, titles: list[list[Any]]
) -> None:
    path = (book if name == "a.xlsx" else as_text)(tmp_path / name, [*titles, *ROWS])
    with pytest.raises(UnclearHeader, match="fills 1 of about 4 columns, as a title does") as caught:
        open_sheet(path)
    row = len(titles) + 1
    assert (caught.value.row, f"--header-row {row}" in caught.value.hint) == (row, True)
    sheet = open_sheet(path, header_row=row)
    assert (sheet.columns, sheet.header_row) == (("Nr.", "Frage", "Antwort", "Bot"), row)
    assert len(list(sheet.rows())) == 8


def test_notes_that_fill_several_columns_end_in_columns_that_are_not_there(tmp_path: Path) -> None:
    notes = [["Projeto", "EduBot", "Piloto"], ["Estado", "final", "x"]]
    with pytest.raises(ColumnsError, match="no column for question") as caught:
        CasesFile(book(tmp_path / "a.xlsx", [*notes, *ROWS]), NEEDED)
    assert "--header-row N" in caught.value.hint


def test_a_cell_merged_over_rows_belongs_to_each_of_them_and_a_note_says_so(tmp_path: Path) -> None:
    rows = [["Pergunta", "Resposta"], ["Onde?", "Aqui."], [None, "Ali."], ["Quando?", "Já."]]
    cases = CasesFile(book(tmp_path / "a.xlsx", rows, "A2:A3"), NEEDED)
    assert [case["question"] for case in inputs(cases)] == ["Onde?", "Onde?", "Quando?"]
    assert any("merged over several rows" in note for note in cases.notes)
    header = [["Pergunta", "Nota", None, "Resposta"], [None, "Ana", "Eva"], ["Onde?", 4, 5, "Aqui."]]
    cases = CasesFile(book(tmp_path / "b.xlsx", header, "A1:A2", "B1:C1", "D1:D2"), NEEDED)
    assert cases.columns == ("Pergunta", "Ana", "Eva", "Resposta") and inputs(cases)[0]["answer"] == "Aqui."
    assert not any("merged" in note for note in cases.notes)
    tall = [["Pergunta", "Nota", None, "Resposta"], [None, "Ana"], [None, "clareza", "rigor"], ["Onde?", 4, 5, "Aqui."]]
    path = book(tmp_path / "c.xlsx", tall, "A1:A3", "B1:C1", "B2:C2", "D1:D3")
    for sheet in (open_sheet(path), open_sheet(path, header_row=3)):
        assert sheet.columns == ("Pergunta", "clareza", "rigor", "Resposta")
    titled = [["Results"], ["Pergunta", "Nota", None, "Resposta"], [None, "Ana", "Eva"], ["Onde?", 4, 5, "Aqui."]]
    path = book(tmp_path / "e.xlsx", titled, "A2:A3", "B2:C2", "D2:D3")
    assert open_sheet(path, header_row=2).columns == ("Pergunta", "Ana", "Eva", "Resposta")
    down = [["No.", "Question", "Answer"], [None, None, None], [1, "Where?", "Here."]]
    cases = CasesFile(book(tmp_path / "d.xlsx", down, "A1:A2"), NEEDED)
    assert cases.columns == ("No.", "Question", "Answer") and inputs(cases) == [
        {"question": "Where?", "answer": "Here."}
    ]


@pytest.mark.parametrize("name", ["a.xlsx", "a.csv"])
def test_a_user_names_the_row(tmp_path: Path, name: str) -> None:
    rows = [["Stand", "März"], ["eins", "zwei"], ["question", "answer"], ["Wann?", "Jetzt."]]
    path = (book if name == "a.xlsx" else as_text)(tmp_path / name, rows)
    assert open_sheet(path, header_row=2).columns == ("eins", "zwei")
    (case,) = inputs(CasesFile(open_sheet(path, header_row=3), NEEDED))
    assert case == {"question": "Wann?", "answer": "Jetzt."}
    with pytest.raises(CasesError, match="row 9 holds nothing") as caught:
        open_sheet(path, header_row=9)
    assert "--header-row" in caught.value.hint


def as_text(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    path.write_text("".join(";".join(map(str, row)) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", ["a.xlsx", "a.csv"])
def test_scores_stand_beside_their_rows_below_titles(tmp_path: Path, name: str) -> None:
    rows = [["Avaliação de bots"], ["Pergunta", "Resposta"], ["Onde?", "Aqui."], ["Quando?", "Já."]]
    path = (book if name == "a.xlsx" else as_text)(tmp_path / name, rows)
    target = tmp_path / f"b{path.suffix}"
    add_columns(CasesFile(open_sheet(path, header_row=2), NEEDED), target, ["score"], lambda case: {"score": case.row})
    copied = open_sheet(target, header_row=2)
    assert copied.columns == ("Pergunta", "Resposta", "score")
    assert [row.cells["score"] for row in copied.rows()] == ["3", "4"]


TABLE: list[list[object]] = [["id", "question", "answer"], *([n, f"Where is {n}?", f"Here {n}."] for n in range(1, 8))]


def test_the_first_visible_sheet_is_read_and_another_by_its_name(tmp_path: Path) -> None:
    cover: list[list[object]] = [["Evaluation of chatbots"], [], ["March 2026"], ["By:", "A. Person"]]
    path = book(tmp_path / "a.xlsx", cover, Data=TABLE)
    assert open_sheet(path).columns == ("Evaluation of chatbots",)
    with pytest.raises(ColumnsError) as missing:
        CasesFile(path, NEEDED)
    assert "Other sheets: Data (--sheet NAME)" in missing.value.hint
    sheet = open_sheet(path, title="Data")
    assert (sheet.columns, sheet.others) == (("id", "question", "answer"), ("First",))
    assert len(list(sheet.rows())) == 7 and sheet.notes == ("the sheet 'Data' is read, one of 2",)
    made = openpyxl.load_workbook(path)
    made["First"].sheet_state = "hidden"
    made.save(tmp_path / "hidden.xlsx")
    assert open_sheet(tmp_path / "hidden.xlsx").notes == ("the sheet 'Data' is read, one of 2 (hidden: 'First')",)
    with pytest.raises(UnknownName, match="no sheet is called 'Daten'") as refused:
        open_sheet(path, title="Daten")
    assert "Data, First" in refused.value.hint


def test_columns_that_a_workbook_hides_are_known(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", [["id", "question", "answer", "name", "mail"], [1, "q", "a", "n", "m"]])
    made = openpyxl.load_workbook(path)
    for letter in "DE":
        made["First"].column_dimensions[letter].hidden = True
    made.save(path)
    assert open_sheet(path).hidden == {"name", "mail"}


def test_a_named_sheet_is_remembered_for_the_file_of_that_name(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", TABLE, Second=TABLE[:3])
    with RunFile.create(tmp_path / "a.run") as run:
        remember(run, cases_of(path, [TINY], run, title="Second"), {})
        assert len(list(cases_of(path, [TINY], run))) == 2
    with pytest.raises(UsageError, match="--sheet is not for"):
        open_sheet(as_text(tmp_path / "a.csv", [["question", "answer"]]), title="Second")
