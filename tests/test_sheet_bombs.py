"""Files that are damaged, or say millions of rows, cells or styles: little memory, and a clear answer."""

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pathway_local.errors import CasesError
from pathway_local.judging.plan import Plan
from pathway_local.judging.preparation import Prepared
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.parquet import ParquetSheet

NEEDED = {"r": ("question", "answer")}
MOST_MB, MOST_MB_OF_PARQUET = 45, 400
"""By which reading may grow the process."""
READ = """
import pathlib, resource, sys
from pathway_local.errors import CasesError
from pathway_local.sheets.cases_file import CasesFile
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
def peak():
    [line] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024
before = peak()
try:
    print(sum(1 for row in CasesFile(pathlib.Path(sys.argv[1]), {"r": ("question", "answer")})))
except CasesError as error:
    print(error)
print(peak() - before)
"""


def read(path: Path) -> tuple[str, int]:
    """What a process that reads the file says: how many rows or an error, and by how many MB it grew."""
    reading = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True)
    assert reading.returncode == 0, reading.stderr
    told, growth = reading.stdout.splitlines()
    return told, int(growth)


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
    told, growth = read(make(tmp_path / file))
    assert told == said and growth < MOST_MB


def test_what_no_library_parses_may_be_long(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", HEADER + LAST % (2, 2, 2))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("customXml/item1.xml", b"<a>" + b"QUJD" * 2**20 + b"</a>")
    assert len(list(CasesFile(path, NEEDED))) == 1


def test_blank_rows_ask_whether_to_stop(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,answer\nq,a\n" + "\n" * 50)
    cases = CasesFile(tmp_path / "a.csv", NEEDED)
    prepared = Prepared(Plan(tmp_path / "a.csv", tmp_path / "a.run"), cases, ())
    asked = []
    assert len(list(prepared.rows(lambda: len(asked) > 9 or bool(asked.append(1))))) == 1
    assert len(asked) == 10


def _repeated(text: str, times: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, "i4")), pa.array([text]))


def _written(path: Path, question: pa.Array, **more: pa.Array) -> Path:
    table = pa.table({"question": question, "answer": _repeated("a", len(question)), **more})
    # Without the schema that Arrow adds, a reader can't see that the columns were dictionaries.
    pq.write_table(table, path, compression="zstd", store_schema=False, dictionary_pagesize_limit=2**30)
    return path


def test_impossible_statistics_do_not_end_the_process(tmp_path: Path) -> None:
    """Arrow throws where Python asks for such a column's size, and nothing there catches it."""
    path = _written(tmp_path / "damaged.parquet", pa.array(["q", None]))
    optional, required = (b"%c\x18\x08question" % kind for kind in (2, 0))
    whole = path.read_bytes()
    assert whole.count(optional) == 1
    path.write_bytes(whole.replace(optional, required))
    assert read(path)[0].startswith("damaged.parquet is not a Parquet file, or is damaged")


def test_a_file_that_unpacks_to_too_much_says_so(tmp_path: Path) -> None:
    column = _repeated("x" * 15_000_000, 3_000)
    path = _written(tmp_path / "bomb.parquet", column, **{f"c{n}": column for n in range(40)})
    with pytest.raises(CasesError, match="would unpack to far too much data"):
        list(CasesFile(path, NEEDED))


def test_a_row_with_too_long_a_cell_says_the_limit(tmp_path: Path) -> None:
    texts = pa.array(["short", "y" * 2_000_000], pa.string()).dictionary_encode()
    cells = pa.array([["short"], ["y" * 2_000_000] * 40], pa.list_(pa.string()))
    path = tmp_path / "cells.parquet"
    pq.write_table(pa.table({"question": cells, "answer": texts}), path)
    good, bad = ParquetSheet(path).rows()
    assert good.cells == {"question": '["short"]', "answer": "short"}
    assert bad.bad_cells == {"question": "a value of type list<element: string> that is no text"}
    assert len(bad.cells["answer"]) == 2_000_000


@pytest.mark.soak
def test_a_large_file_of_different_texts_is_read(tmp_path: Path) -> None:
    """Over 300 MB in one row group, as pyarrow writes it by default."""
    path, rows, random = tmp_path / "large.parquet", 40_000, np.random.default_rng(1)
    texts = pa.array(random.bytes(2_000).hex() for _ in range(rows))
    pq.write_table(pa.table({"question": texts, "answer": texts}), path, compression="zstd")
    told, growth = read(path)
    assert told == str(rows) and growth < MOST_MB_OF_PARQUET
