"""At a terminal, judge asks for the columns that no name tells; elsewhere it refuses, as before."""

from pathlib import Path
from typing import Any

import pytest

from pathway_local.cli import case_files as column_question
from pathway_local.cli.case_files import ask_columns
from pathway_local.cli.judge import JobProgress, watched
from pathway_local.errors import ColumnsError, UnknownName
from pathway_local.judging.plan import Plan
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.kinds import open_sheet

NEEDED = {"r": ("question", "answer")}


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text("bot,Text des Bots,frage\nv1,Ja\x1b[31m,Wann?\nv2,Nein,Wo?\n")
    return path


def asked(sheet: Path) -> ColumnsError:
    with pytest.raises(ColumnsError) as caught:
        CasesFile(sheet, NEEDED)
    return caught.value


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(column_question.talk, "_force_terminal", True)


@pytest.mark.usefixtures("at_terminal")
def test_the_person_chooses_by_example(
    sheet: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(("", "3", "bot", "2"))
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(typed))
    error = asked(sheet)
    mapping = ask_columns(open_sheet(sheet), error)
    assert mapping == {"answer": "Text des Bots"}
    assert [case.inputs for case in CasesFile(sheet, NEEDED, mapping)][1] == {"question": "Wo?", "answer": "Nein"}  # type: ignore[union-attr]
    said = capsys.readouterr().err
    assert "Which column is answer?" in said and "Nein" in said and "--map 'answer=Text des Bots'" in said
    assert "\x1b[31m" not in said


@pytest.mark.usefixtures("at_terminal")
def test_each_column_takes_one_line_of_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "long.csv"
    path.write_text("\n".join([",".join([f"{letter} " * 50 for letter in "abc"])] * 3))
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "1")
    with pytest.raises(ColumnsError) as caught:
        CasesFile(open_sheet(path, header_row=1), NEEDED)
    ask_columns(open_sheet(path, header_row=1), caught.value)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  ")]
    assert [line[:7] for line in lines] == ["  1  a ", "  2  b ", "  3  c ", "  1  b ", "  2  c "]
    assert max(map(len, lines)) <= 80


@pytest.mark.usefixtures("at_terminal")
def test_a_misspelled_judge_is_told_before_anybody_is_asked(sheet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(plan: Plan, progress: JobProgress) -> None:
        raise asked(sheet)

    monkeypatch.setattr("typer.prompt", lambda *_, **__: pytest.fail("somebody was asked"))
    with pytest.raises(UnknownName, match="no judge is called 'nobody'"):
        watched(Plan(sheet, sheet.with_suffix(".run"), judge=("nobody",)), work)


def test_nobody_is_asked_without_a_terminal(sheet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> str:
        raise AssertionError

    monkeypatch.setattr("typer.prompt", never)
    error = asked(sheet)
    with pytest.raises(ColumnsError) as caught:
        ask_columns(open_sheet(sheet), error)
    assert caught.value is error
