"""Small workbooks and text files that say millions of rows, cells or styles: little memory, and a clear answer."""

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from pathway_local.judging.plan import Plan
from pathway_local.judging.preparation import Prepared
from pathway_local.sheets.cases_file import CasesFile

MOST_MB = 45
"""By which reading may grow the process."""
READ = """
import pathlib, sys
from pathway_local.errors import CasesError
from pathway_local.sheets.cases_file import CasesFile
def peak():
    [line] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024
before = peak()
try:
    print(len(list(CasesFile(pathlib.Path(sys.argv[1]), {"r": ("question", "answer")}))))
except CasesError as error:
    print(error)
print(peak() - before)
"""
HEADER = b'<row r="1"><c r="A1" t="str"><v>question</v></c><c r="B1" t="str"><v>answer</v></c></row>'
LAST = b'<row r="%d"><c r="A%d" t="str"><v>q</v></c><c r="B%d" t="str"><v>a</v></c></row>'


def workbook(path: Path, rows: bytes, styles: bytes = b"", before: bytes = b"") -> Path:
    openpyxl.Workbook().save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    own = "xl/worksheets/sheet1.xml"
    start = parts[own].index(b"<sheetData")
    parts[own] = parts[own][:start] + before + b"<sheetData>" + rows + b"</sheetData></worksheet>"
    parts["xl/styles.xml"] = parts["xl/styles.xml"].replace(b"</cellXfs>", styles + b"</cellXfs>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents in parts.items():
            archive.writestr(name, contents)
    return path


def blank_rows(path: Path) -> Path:
    return workbook(path, HEADER + b"".join(b'<row r="%d"/>' % n for n in range(2, 20_000)) + LAST % ((400_000,) * 3))


def wide_rows(path: Path) -> Path:
    wide = b"".join(b'<row r="%d"><c r="XFD%d"/></row>' % (n, n) for n in range(1, 500))
    return workbook(path, wide + LAST.replace(b">q<", b">question<").replace(b">a<", b">answer<") % ((4_000,) * 3))


def many_styles(path: Path) -> Path:
    return workbook(path, HEADER + LAST % (2, 2, 2), b'<xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>' * 250_000)


def many_cells(path: Path) -> Path:
    return workbook(path, HEADER + b"<row>" + b"<c/>" * 2_000_000 + b"</row>")


def many_attributes(path: Path) -> Path:
    return workbook(path, HEADER + b"<row " + b"".join(b'a%d="" ' % n for n in range(2_000_000)) + b"/>")


def line_ends(path: Path) -> Path:
    path.write_bytes(b"question,answer\n" + b"\n" * 800_000 + b"q,a\n")
    return path


def line_ends_first(path: Path) -> Path:
    path.write_bytes(b"\n" * 2_000_000 + b"question,answer\nq,a\n")
    return path


BOMBS: dict[str, tuple[str, Callable[[Path], Path], str]] = {
    "blank rows": ("a.xlsx", blank_rows, "1"),
    "wide rows": ("a.xlsx", wide_rows, "a.xlsx has no header"),
    "styles": ("a.xlsx", many_styles, "a.xlsx would unpack to far too much data"),
    "cells": ("a.xlsx", many_cells, "a.xlsx has more rows, columns or merged cells than can be read"),
    "attributes": ("a.xlsx", many_attributes, "a.xlsx would unpack to far too much data"),
    "line ends": ("a.csv", line_ends, "1"),
    "line ends first": ("a.csv", line_ends_first, "a.csv has no header"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_holds_nothing_takes_no_memory(name: str, tmp_path: Path) -> None:
    file, make, said = BOMBS[name]
    path = make(tmp_path / file)
    reading = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True)
    assert reading.returncode == 0, reading.stderr
    told, growth = reading.stdout.splitlines()
    assert told == said and int(growth) < MOST_MB


def test_what_no_library_parses_may_be_long(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", HEADER + LAST % (2, 2, 2))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("customXml/item1.xml", b"<a>" + b"QUJD" * 2**20 + b"</a>")
    assert len(list(CasesFile(path, {"r": ("question", "answer")}))) == 1


def test_blank_rows_ask_whether_to_stop(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,answer\nq,a\n" + "\n" * 50)
    cases = CasesFile(tmp_path / "a.csv", {"r": ("question", "answer")})
    prepared = Prepared(Plan(tmp_path / "a.csv", tmp_path / "a.run"), cases, ())
    asked = []
    assert len(list(prepared.rows(lambda: len(asked) > 9 or bool(asked.append(1))))) == 1
    assert len(asked) == 10
