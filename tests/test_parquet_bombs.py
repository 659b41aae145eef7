"""Parquet files that are damaged, or large: a clear answer, and a file of any size takes little memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pathway_local.errors import CasesError
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.parquet import ParquetSheet

NEEDED = {"r": ("question", "answer")}
MOST_MB = 500
READ = """
import itertools, pathlib, resource, sys
from pathway_local.errors import CasesError
from pathway_local.sheets.cases_file import CasesFile
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
print("reading", flush=True)
rows = 0
try:
    for row in itertools.islice(CasesFile(pathlib.Path(sys.argv[1]), {"r": ("question", "answer")}), int(sys.argv[2])):
        rows += 1
except CasesError as error:
    print(error)
print(rows)
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak) // 1024)
"""


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
    reading = subprocess.run([sys.executable, "-c", READ, str(path), "9"], capture_output=True, text=True)
    assert reading.returncode == 0, reading.stderr
    assert "damaged.parquet is not a Parquet file, or is damaged" in reading.stdout


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
    reading = subprocess.run([sys.executable, "-c", READ, str(path), str(rows)], capture_output=True, text=True)
    assert reading.returncode == 0, reading.stderr
    *_, last, peak = reading.stdout.split()
    assert int(last) == rows
    assert int(peak) < MOST_MB
