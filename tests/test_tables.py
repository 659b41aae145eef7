import csv
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pathway_local.errors import CasesError, UsageError
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.row import without_guard
from pathway_local.sheets.tables import write_table
from pathway_local.verdict import Value

COLUMNS = ["id", "score", "share", "ok", "note", "items"]
ROWS: list[dict[str, Value]] = [
    {"id": "k1", "score": 4, "share": 0.25, "ok": True, "note": "two\nlines, é", "items": ["a", "b"]},
    {"id": "k2", "score": None, "share": 1, "ok": False, "note": ""},
]
SUFFIXES = [".csv", ".tsv", ".jsonl", ".xlsx", ".parquet"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def workbook_rows(path: Path) -> list[list[object]]:
    return [[cell.value for cell in row] for row in openpyxl.load_workbook(path).active.iter_rows()]


def test_each_kind_keeps_what_it_can_hold(tmp_path: Path) -> None:
    for name in ("t.csv", "t.jsonl", "t.xlsx"):
        write_table(tmp_path / name, COLUMNS, ROWS)
    assert list(csv.reader(io.StringIO((tmp_path / "t.csv").read_bytes().decode(), newline=""))) == [
        COLUMNS,
        ["k1", "4", "0.25", "true", "two\nlines, é", '["a", "b"]'],
        ["k2", "", "1", "false", "", ""],
    ]
    found = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert found == [ROWS[0], {**ROWS[1], "items": None}]
    assert workbook_rows(tmp_path / "t.xlsx") == [
        COLUMNS,
        ["k1", 4, 0.25, True, "two\nlines, é", '["a", "b"]'],
        ["k2", None, 1, False, None, None],
    ]


def test_parquet_has_sensible_types(tmp_path: Path) -> None:
    columns = [*COLUMNS, "mixed", "none", "huge", "rounded"]
    rows = [
        ROWS[0] | {"mixed": {"a": [1]}, "huge": 2**70, "rounded": 0.5},
        ROWS[1] | {"mixed": "text", "rounded": 2**62},
    ]
    write_table(tmp_path / "t.parquet", columns, rows)
    table = pq.read_table(tmp_path / "t.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        **{"id": "string", "score": "int64", "share": "double", "ok": "bool", "note": "string"},
        **{"items": "list<element: string>", "mixed": "string", "none": "string", "huge": "string"},
        "rounded": "string",
    }
    assert table.to_pylist()[0] == ROWS[0] | {
        "mixed": '{"a": [1]}', "none": None, "huge": str(2**70), "rounded": "0.5",
    }  # fmt: skip


@pytest.mark.parametrize("start", [*"=+-@\t\r\n＝＋－＠﹦", "\n=", "\v=", "\u200b=", "\ufeff="])
def test_no_text_runs_as_a_formula(tmp_path: Path, start: str) -> None:
    text = f"{start}cmd|' /C calc'!A0"
    for suffix in (".csv", ".tsv", ".xlsx"):
        write_table(tmp_path / f"t{suffix}", [text, "n"], [{text: text, "n": -5}])
    for suffix in (".csv", ".tsv"):
        reader = csv.reader((tmp_path / f"t{suffix}").open(newline=""), delimiter="\t" if suffix == ".tsv" else ",")
        assert list(reader) == [[f"'{text}", "n"], [f"'{text}", "-5"]]
    page = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert page["A2"].value.startswith("'") and page["A2"].data_type == "s" and page["B2"].value == -5


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
@pytest.mark.parametrize("text", ["v;=1+1;", 'v; "+cmd', "v;;@x", "a;-5x;b", "v;\u200b=1"])
def test_no_part_behind_a_semicolon_runs_as_a_formula(tmp_path: Path, name: str, text: str) -> None:
    """Where the comma is the decimal mark, Excel splits at semicolons, whatever quotes stand around them."""
    write_table(tmp_path / name, ["id", text], [{"id": text, text: text}])
    whole = (tmp_path / name).read_text()
    parts = [part.lstrip(' "') for line in whole.splitlines() for part in line.split(";")]
    assert not any(part[:1] in ("=", "+", "-", "@", "\u200b") for part in parts), whole
    [row] = CasesFile(tmp_path / name, {}).sheet.rows()
    assert without_guard(row.cells["id"]) == text


@pytest.mark.parametrize("text", ["a;b", "a;-5;b", "1;+2.5", "a; b"])
def test_other_texts_with_semicolons_stay_as_they_are(tmp_path: Path, text: str) -> None:
    write_table(tmp_path / "t.csv", ["id"], [{"id": text}])
    assert (tmp_path / "t.csv").read_text() == f"id\n{text}\n"


def test_stdout_gets_csv_and_a_terminal_is_shown_control_characters_instead_of_obeying_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(Path("-"), ["a"], [{"a": "=é"}])
    assert capsys.readouterr().out == "a\r\n'=é\r\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    write_table(Path("-"), ["a", "b"], [{"a": "\x1b[2Jred", "b": "two\nlines"}])
    assert capsys.readouterr().out == 'a,b\n\'\\x1b[2Jred,"two\nlines"\n'


def test_workbook_texts_are_never_errors_or_illegal_and_whole_numbers_stay_whole(tmp_path: Path) -> None:
    texts: list[Value] = ["#REF!", "bell\x07", "half \ud800", "last \uffff", 12345678901234567890]
    write_table(tmp_path / "t.xlsx", ["t"], [{"t": text} for text in texts])
    cells = [row[0] for row in openpyxl.load_workbook(tmp_path / "t.xlsx").active.iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == ["#REF!", "bell\ufffd", "half \ufffd", "last \ufffd", f"{texts[4]}"]
    assert cells[0].data_type == "s"


def test_long_workbook_texts_are_cut_with_a_mark_and_counted(tmp_path: Path) -> None:
    rows = [{"t": "x" * 32_767}, {"t": "x" * 32_768}, {"t": "😀" * 20_000}]
    assert write_table(tmp_path / "t.xlsx", ["t"], rows) == 2
    texts = [row[0] for row in workbook_rows(tmp_path / "t.xlsx")[1:]]
    assert texts[0] == "x" * 32_767
    for text in texts[1:]:
        assert text.endswith("[cut]") and len(text.encode("utf-16-le")) // 2 <= 32_767
    assert write_table(tmp_path / "t.csv", ["t"], rows) == 0


def test_more_rows_than_a_workbook_holds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathway_local.sheets.workbook.LAST_ROW", 3)
    write_table(tmp_path / "t.xlsx", ["n"], [{"n": 1}] * 2)
    with pytest.raises(UsageError, match="no more than 2 rows"):
        write_table(tmp_path / "u.xlsx", ["n"], [{"n": 1}] * 3)
    assert names(tmp_path) == ["t.xlsx"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_files_are_their_owners_alone(tmp_path: Path, suffix: str, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_table(tmp_path / f"t{suffix}", COLUMNS, ROWS)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / f"t{suffix}").stat().st_mode) == 0o600


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failure_leaves_nothing_and_changes_nothing(tmp_path: Path, suffix: str) -> None:
    def rows() -> Iterator[dict[str, Value]]:
        yield ROWS[0]
        assert len(names(tmp_path)) > 1
        raise CasesError("no more")

    path = tmp_path / f"t{suffix}"
    path.write_text("before")
    for _ in range(2):
        with pytest.raises(CasesError, match="no more"):
            write_table(path, COLUMNS, rows(), force=True)
    assert names(tmp_path) == [path.name] and path.read_text() == "before"


def test_no_cell_is_written_to_the_common_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = tmp_path / "common"
    common.mkdir(mode=0o500)
    monkeypatch.setattr(tempfile, "tempdir", str(common))
    seen = []

    def rows() -> Iterator[dict[str, Value]]:
        yield ROWS[0]
        seen.extend(names(common))
        yield ROWS[1]

    write_table(tmp_path / "t.xlsx", COLUMNS, rows())
    assert seen == [] and tempfile.tempdir == str(common)


def test_paths_that_no_table_can_have(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    for name, message in [
        ("t.doc", "not a kind of table"),
        ("none/t.csv", "there is no folder"),
        ("folder.csv", "is not a file"),
        ("pipe.csv", "is not a file"),
        ("n" * 300 + ".csv", "can't be written"),
    ]:
        with pytest.raises(UsageError, match=message):
            write_table(tmp_path / name, ["a"], [{"a": 1}], force=True)


@pytest.mark.parametrize(
    "work",
    [
        "write_table(Path('b.xlsx'), ['a'], ({'a': 'x' * 999} for _ in range(99)))",
        "add_columns(cases, Path('b.xlsx'), ['s'], lambda case: {'s': 1})",
    ],
)
def test_what_the_disk_can_not_hold_is_told_once(tmp_path: Path, work: str) -> None:
    """Half-open sheets said more when they were collected."""
    write_table(tmp_path / "a.xlsx", ["question"], [{"question": "x" * 9_999}] * 99)
    program = (
        "import resource\nfrom pathlib import Path\nfrom pathway_local.cli.terminal import "
        "keep_texts_out_of_tracebacks\nfrom pathway_local.errors import UsageError\n"
        "from pathway_local.sheets.cases_file import CasesFile\n"
        "from pathway_local.sheets.tables import add_columns, write_table\n"
        "keep_texts_out_of_tracebacks()\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "cases = CasesFile(Path('a.xlsx'), {'r': ('question',)})\n"
        f"try:\n    {work}\nexcept UsageError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "b.xlsx can't be written: File too large" in done.stdout and done.stderr == ""
    assert names(tmp_path) == ["a.xlsx"]


texts = st.text(st.sampled_from("=+-@\t\r\n\"',; aé😀\ud800\x07") | st.characters(), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.fixed_dictionaries({"id": texts, "v": values}), min_size=1, max_size=5), st.sampled_from(SUFFIXES))
def test_any_values_can_be_written_and_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Value]], suffix: str
) -> None:
    path = tmp_path_factory.mktemp("t") / f"t{suffix}"
    write_table(path, ["mark", "id", "v"], ({"mark": "m", **row} for row in rows))
    found = list(CasesFile(path, {}))
    assert len(found) == len(rows)
    if suffix in (".csv", ".xlsx"):
        for case in found:
            assert not getattr(case, "metadata", {}).get("v", "").startswith(("=", "@", "\t", "\r"))
