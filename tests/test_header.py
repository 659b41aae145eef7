"""The header of a sheet is found below titles, notes and merged cells, in files of every layout that people make."""

import csv
import io
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from rated_run import TINY

from pathway_local.case import Case
from pathway_local.errors import CasesError, ColumnsError, UnknownName, UsageError
from pathway_local.runs.run_cases import cases_of, remember
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.kinds import open_sheet
from pathway_local.sheets.tables import add_columns

NEEDED = {"r": ("question", "answer")}
HEADERS = (
    ("Nr.", "Frage", "Antwort", "Quelle", "Chatbot", "Bewertung"),
    ("Nº", "Pergunta do aluno", "Resposta", "Documento", "Bot", "Nota (0-10)"),
    ("id", "question", "answer", "context", "model", "latency (s)"),
    ("Pregunta", "Respuesta", "Fuente", "Fecha", "Centro"),
    ("Question posée", "Réponse", "Bot"),
    ("Código", "Questão", "Texto da resposta", "Justificação", "Data de recolha", "Curso", "Ano"),
    ("question", "answer"),
)
TITLES = (
    "Avaliação de chatbots 2026/27", "Projekt KI-Campus, zweite Erhebung", "Results", "Resultados do inquérito: 3 bots",
    "Confidential. Do not pass on; ask Ana (ext. 221).", "Tabelle 4", "Évaluation des réponses", "Piloto",
)  # fmt: skip
NOTES = (
    ("Projeto:", "EduBot"), ("Data:", "2026-03-01"), ("Version", "1.2"), ("Estado: final",),
    ("Escala: 1 = má, 5 = excelente. Meias notas são permitidas.",), ("Autor", "Maria Silva"),
)  # fmt: skip
WORDS = ("prazo", "inscrição", "exame", "tutor", "Semester", "Klausur", "library", "opening", "fee", "why", "propinas")
FOOTER = "Fonte: dados próprios"
BOTS = ("EduBot", "Lotse", "Campus GPT")


def text(dice: random.Random, end: str) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(4, 30))).capitalize() + end


def data_row(dice: random.Random, header: Sequence[str], number: int) -> list[Any]:
    """A row with whatever belongs under these names, and some empty cells in columns that are no inputs."""
    row: list[Any] = []
    for name in header:
        low = name.lower()
        if low.startswith(("nr", "nº", "id", "có")):
            row.append(f"C{number:03}" if low.startswith("có") else number)
        elif low.startswith(("fra", "per", "que", "pre")):
            row.append(text(dice, "?"))
        elif low.startswith(("ant", "res", "rép", "ans", "tex")):
            row.append(dice.choice((text(dice, "."), "Sim.", "Não sei.")))
        elif low.startswith(("bot", "chat", "mod")):
            row.append(dice.choice(BOTS))
        else:
            row.append(dice.choice((None, dice.randint(1, 10), text(dice, "."), "2026-05-04")))
    return row


def layout(dice: random.Random) -> tuple[list[list[Any]], int]:
    """The rows of a sheet, and the place of its header among them."""
    header = list(dice.choice(HEADERS))
    above: list[list[Any]] = []
    for _ in range(dice.randint(0, 2)):
        above.append([dice.choice(TITLES)])
    for _ in range(dice.randint(0, 4) if len(header) > 3 else 0):
        above.append(list(dice.choice(NOTES)))
    for _ in range(dice.randint(0, 2)):
        above.insert(dice.randint(0, len(above)), [])
    if len(header) > 4 and dice.random() < 0.3:
        above.append([None, "Entrada", None, dice.choice(("Avaliação", "Daten"))])
    rows = [data_row(dice, header, number) for number in range(1, dice.randint(2, 50))]
    if dice.random() < 0.3 and "Nr." in header:
        header[0] = ""
    if dice.random() < 0.2:
        rows += [[], [FOOTER]]
    return [*above, header, *rows], len(above)


def as_workbook(path: Path, rows: Sequence[Sequence[Any]], header: int, dice: random.Random) -> Path:
    book = openpyxl.Workbook()
    page: Any = book.active
    for place, row in enumerate(rows, 1):
        for column, value in enumerate(row, 1):
            page.cell(place, column, value or None)
    if header and len(rows[0]) == 1 and dice.random() < 0.7:
        page.merge_cells(start_row=1, end_row=1, start_column=1, end_column=len(rows[header]))
    book.save(path)
    return path


def as_csv(path: Path, rows: Sequence[Sequence[Any]], header: int, dice: random.Random) -> Path:
    mark, width = dice.choice(",;\t"), len(rows[header])
    padded = [[*row, *[None] * (width - len(row))] for row in rows] if dice.random() < 0.6 else rows
    said = io.StringIO()
    csv.writer(said, delimiter=mark).writerows(padded)
    path.write_text(said.getvalue(), encoding="utf-8")
    return path


@pytest.mark.parametrize("seeds", [range(100), pytest.param(range(100, 1000), marks=pytest.mark.soak)], ids=str)
def test_the_header_is_found_in_hundreds_of_layouts(tmp_path: Path, seeds: range) -> None:
    for seed in seeds:
        dice = random.Random(seed)
        rows, place = layout(dice)
        write, name = (as_workbook, "a.xlsx") if seed % 2 else (as_csv, "a.csv")
        sheet = open_sheet(write(tmp_path / name, rows, place, dice))
        names = [name or f"column {at}" for at, name in enumerate(rows[place], 1)]
        assert names == list(sheet.columns), (seed, rows[: place + 2])
        assert sheet.header_row == place + 1, seed
        assert any("--header-row" in note for note in sheet.notes) == any(any(row) for row in rows[:place]), seed
        questions = [name for name in sheet.columns if name.lower().startswith(("fra", "per", "que", "pre"))]
        read = [row.cells.get(questions[0]) for row in sheet.rows()]
        asked = rows[place].index(questions[0])
        assert [text for text in read if text not in ("", FOOTER, None)] == [
            row[asked] for row in rows[place + 1 :] if len(row) == len(rows[place])
        ], seed


def book(path: Path, rows: Sequence[Sequence[Any]], *merged: str) -> Path:
    made = openpyxl.Workbook()
    page: Any = made.active
    for row in rows:
        page.append(row)
    for area in merged:
        page.merge_cells(area)
    made.save(path)
    return path


def inputs(cases: CasesFile) -> list[dict[str, str]]:
    found = list(cases)
    assert all(isinstance(case, Case) for case in found)
    return [dict(case.inputs) for case in found if isinstance(case, Case)]


def test_a_header_of_two_rows_with_merged_cells(tmp_path: Path) -> None:
    rows = [
        ["Inquérito"], [],
        ["Pergunta", "Resposta", "Avaliação", None],
        [None, None, "Nota", "Comentário"],
        ["Quando abre a biblioteca?", "Às oito.", 4, "bom"],
        ["Onde pago as propinas?", "No balcão.", 5, None],
    ]  # fmt: skip
    path = book(tmp_path / "a.xlsx", rows, "A1:D1", "A3:A4", "B3:B4", "C3:D3")
    cases = CasesFile(path, NEEDED)
    assert cases.columns == ("Pergunta", "Resposta", "Nota", "Comentário")
    assert inputs(cases)[0] == {"question": "Quando abre a biblioteca?", "answer": "Às oito."}


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
    assert CasesFile(path, NEEDED, header_row=3).columns == ("Pergunta", "clareza", "rigor", "Resposta")
    down = [["Results"], [], ["No.", "Question", "Answer"], [None, None, None], [1, "Where?", "Here."]]
    cases = CasesFile(book(tmp_path / "d.xlsx", down, "A3:A4"), NEEDED)
    assert cases.columns == ("No.", "Question", "Answer") and inputs(cases) == [
        {"question": "Where?", "answer": "Here."}
    ]


@pytest.mark.parametrize(("name", "make"), [("a.xlsx", book), ("a.csv", lambda path, rows: as_text(path, rows))])
def test_a_user_names_the_row(tmp_path: Path, name: str, make: Callable[..., Path]) -> None:
    rows = [["Stand", "März"], ["eins", "zwei"], ["question", "answer"], ["Wann?", "Jetzt."]]
    path = make(tmp_path / name, rows)
    assert open_sheet(path, header_row=2).columns == ("eins", "zwei")
    (case,) = inputs(CasesFile(path, NEEDED, header_row=3))
    assert case == {"question": "Wann?", "answer": "Jetzt."}
    with pytest.raises(CasesError, match="row 9 holds nothing") as caught:
        open_sheet(path, header_row=9)
    assert "--header-row" in caught.value.hint


def as_text(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    path.write_text("".join(";".join(row) + "\n" for row in rows))
    return path


def test_files_without_a_row_of_names_refuse_one(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"question": "q", "answer": "a"}\n')
    with pytest.raises(UsageError, match="names its columns in no row"):
        open_sheet(tmp_path / "a.jsonl", header_row=2)


@pytest.mark.parametrize("name", ["a.xlsx", "a.csv"])
def test_scores_stand_beside_their_rows_below_titles(tmp_path: Path, name: str) -> None:
    rows = [["Avaliação de bots"], ["Pergunta", "Resposta"], ["Onde?", "Aqui."], ["Quando?", "Já."]]
    path = (book if name == "a.xlsx" else as_text)(tmp_path / name, rows)
    target = tmp_path / f"b{path.suffix}"
    add_columns(CasesFile(path, NEEDED), target, ["score"], lambda case: {"score": case.row})
    copied = open_sheet(target)
    assert copied.columns == ("Pergunta", "Resposta", "score")
    assert [row.cells["score"] for row in copied.rows()] == ["3", "4"]


@pytest.mark.parametrize(
    "lines",
    [
        ["foo,bar", "one,two", "three,four"],  # no name is known: the first row, as ever
        ["text", "a, b", "c, d"],
        ["question,answer", "answer,question", "x,y"],
        ["question,answer,stray", "Nein,Frage", "a,b", "c,d"],
        ["Ana,Bruno,Clara,Diogo", "sim,não,sim,talvez", "não,sim,sim,sim"],
        # Labels and words of a list that are also names of columns, the last of their kind in the sheet:
        ["text,type", "Where,question", "Nice,praise", "When do we meet,question", "Thanks,praise", "Loud,praise"],
        ["de,en", "Haus,house", "Frage,question", "Baum,tree"],
        ["utterance,kind,turn", "Hello,greeting,one", "When is it,question,two", "Bye,greeting,three"],
        ["text,type", "The type,type", "Two,question", "Three,praise"],
        ["text,,", "Haus,one,praise", "Baum,two,question", "Hund,drei,praise"],
        ["question,answer,grade", ",,note", "a,b,c", "d,e,f"],
        ["Text,Ja,", "Haus,Frage,Note", "a,b,c", "d,e,f"],
    ],
)
def test_a_row_of_data_is_not_taken_for_the_header(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert open_sheet(tmp_path / "a.csv").header_row == 1


def workbook(path: Path, **sheets: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        page = book.create_sheet(title)
        for row in rows:
            page.append(row)
    book.save(path)
    return path


TABLE: list[list[object]] = [["id", "question", "answer"], *([n, f"Where is {n}?", f"Here {n}."] for n in range(1, 8))]


def test_the_table_behind_a_cover_page_is_read_and_told(tmp_path: Path) -> None:
    cover: list[list[object]] = [["Evaluation of chatbots"], [], ["March 2026"], ["By:", "A. Person"]]
    sheet = open_sheet(workbook(tmp_path / "a.xlsx", Cover=cover, Data=TABLE))
    assert (sheet.title, sheet.columns) == ("Data", ("id", "question", "answer"))
    assert any("'Cover' has two columns at most" in note for note in sheet.notes)
    assert len(list(sheet.rows())) == 7
    named = open_sheet(tmp_path / "a.xlsx", header_row=1)
    assert (named.title, named.columns) == ("Data", ("id", "question", "answer"))
    assert open_sheet(tmp_path / "a.xlsx", title="Cover").columns == ("Evaluation of chatbots",)
    with pytest.raises(UnknownName, match="no sheet is called 'Daten'") as refused:
        open_sheet(tmp_path / "a.xlsx", title="Daten")
    assert "Data, Cover" in refused.value.hint
    with pytest.raises(ColumnsError) as missing:
        CasesFile(tmp_path / "a.xlsx", {"r": ("summary",)})
    assert "Other sheets: Cover (--sheet NAME)" in missing.value.hint
    # A first sheet with several columns, or with more rows, is the one that is meant.
    pairs: list[list[object]] = [["id", "text"], *([n, f"Text {n}"] for n in range(4))]
    assert open_sheet(workbook(tmp_path / "b.xlsx", First=pairs, Data=TABLE)).title == "First"
    long: list[list[object]] = [["answer"], *([f"An answer {n}"] for n in range(30))]
    assert open_sheet(workbook(tmp_path / "c.xlsx", First=long, Data=TABLE)).title == "First"


def test_columns_that_a_workbook_hides_are_known(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", Data=[["id", "question", "answer", "name", "mail"], [1, "q", "a", "n", "m"]])
    made = openpyxl.load_workbook(path)
    for letter in "DE":
        made["Data"].column_dimensions[letter].hidden = True
    made.save(path)
    assert open_sheet(path).hidden == {"name", "mail"}


def test_a_named_sheet_is_remembered_for_the_file_of_that_name(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", First=TABLE, Second=TABLE[:3])
    with RunFile.create(tmp_path / "a.run") as run:
        remember(run, cases_of(path, [TINY], run, sheet="Second"), {})
        assert len(list(cases_of(path, [TINY], run))) == 2
    with pytest.raises(UsageError, match="has no sheets to choose from"):
        open_sheet(as_text(tmp_path / "a.csv", [["question", "answer"]]), title="Second")
