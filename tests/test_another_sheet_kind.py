"""Another kind of file takes one module and one line of the register, and what it can't do is refused beforehand."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import pytest

from pathway_local.case import BadRow, Case
from pathway_local.errors import UsageError
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.kinds import KINDS, NewCells, Page, Sheet, SheetKind
from pathway_local.sheets.row import Row, column_names
from pathway_local.sheets.tables import add_columns, check_table, write_table
from pathway_local.verdict import Value

NEEDED = {"r": ("question", "answer")}
CASES = "id|question|answer\nk1|q|a\n\nk1|again|a\nk2|r|b\n"


class PipedSheet(Sheet):
    """Fields between pipes, without quotes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = path.read_text().splitlines()
        self.columns = column_names(path, self.lines[0].split("|"))

    def rows(self) -> Iterator[Row]:
        for line, text in enumerate(self.lines[1:], 2):
            cells = dict(zip(self.columns, text.split("|"), strict=True)) if text else {}
            yield Row(line, f"line {line}", cells, blank=not text)

    def copy(self, file: BinaryIO, columns: Sequence[str], rows: NewCells) -> int:
        file.write("|".join([*self.columns, *columns]).encode() + b"\n")
        for row, cells in rows:
            file.write("|".join(map(str, [*row.cells.values(), *(cells or ())])).encode() + b"\n")
        return 0


def write_piped(file: BinaryIO, pages: Iterator[Page]) -> int:
    page = next(pages)
    file.write("|".join(page.columns).encode() + b"\n")
    for row in page.rows:
        file.write("|".join(str(row.get(column, "")) for column in page.columns).encode() + b"\n")
    return 0


def register(monkeypatch: pytest.MonkeyPatch, kind: SheetKind) -> None:
    module = ModuleType("piped")
    module.PIPED = kind  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "piped", module)
    monkeypatch.setitem(KINDS, ".psv", "piped.PIPED")


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cases file of a kind that can be read, written and copied."""
    register(monkeypatch, SheetKind(PipedSheet, write_piped, PipedSheet.copy))
    return cases_in(tmp_path)


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cases file of a kind that can only be read."""
    register(monkeypatch, SheetKind(PipedSheet))
    return cases_in(tmp_path)


def cases_in(folder: Path) -> Path:
    path = folder / "cases.psv"
    path.write_text(CASES)
    return path


def cells(item: Case | BadRow) -> dict[str, Value]:
    return {"score": 3} if isinstance(item, Case) else {"note": item.reason}


def test_its_rows_become_cases(piped: Path) -> None:
    first, twice, last = CasesFile(piped, NEEDED)
    assert first == Case("k1", {"question": "q", "answer": "a"}, {}, 2)
    assert isinstance(twice, BadRow) and twice.where == "cases.psv line 4"
    assert last.id == "k2" and last.row == 5


def test_a_table_is_written_in_it(piped: Path) -> None:
    target = piped.with_name("out.psv")
    check_table(target, force=False)
    write_table(target, ["a", "b"], [{"a": 1, "b": "x"}, {"a": 2}])
    assert target.read_text() == "a|b\n1|x\n2|\n"


def test_a_sheet_of_it_is_copied(piped: Path) -> None:
    target = piped.with_name("out.psv")
    add_columns(CasesFile(piped, NEEDED), target, ["score", "note"], cells)
    assert target.read_text().splitlines() == [
        "id|question|answer|score|note",
        "k1|q|a|3|None",
        "",
        "k1|again|a|None|duplicate id k1: line 2 already has it",
        "k2|r|b|3|None",
    ]
    with pytest.raises(UsageError, match="another kind"):
        add_columns(CasesFile(piped, NEEDED), piped.with_name("out.csv"), ["score"], cells)


def test_a_kind_that_can_not_be_written_is_refused_beforehand(read_only: Path) -> None:
    target = read_only.with_name("out.psv")
    for write in (lambda: check_table(target, force=False), lambda: write_table(target, ["a"], [{"a": 1}])):
        with pytest.raises(UsageError, match=r"out\.psv is not a kind of table that can be written") as caught:
            write()
        assert ".csv" in caught.value.hint and ".psv" not in caught.value.hint
    assert [path.name for path in read_only.parent.iterdir()] == ["cases.psv"]


def test_a_kind_that_can_not_be_copied_is_refused_beforehand(read_only: Path) -> None:
    cases = CasesFile(read_only, NEEDED)
    with pytest.raises(UsageError, match=r"cases\.psv can't be copied: columns can't be added to \.psv files"):
        add_columns(cases, read_only.with_name("out.psv"), ["score"], cells)
    assert [path.name for path in read_only.parent.iterdir()] == ["cases.psv"]


def test_every_ending_but_that_of_a_list_can_be_read_and_written_and_most_copied(tmp_path: Path) -> None:
    for ending in {*KINDS} - {".json"}:
        source, target = tmp_path / f"cases{ending}", tmp_path / f"copy{ending.upper()}"
        write_table(source, ["question", "answer"], [{"question": "q", "answer": "a"}])
        assert [case.inputs for case in CasesFile(source, NEEDED) if isinstance(case, Case)] == [
            {"question": "q", "answer": "a"}
        ]
        if ending in (".csv", ".tsv", ".txt", ".xlsx"):
            add_columns(CasesFile(source, NEEDED), target, ["score"], cells)
            (case,) = CasesFile(target, NEEDED)
            assert isinstance(case, Case) and case.metadata == {"score": "3"}
