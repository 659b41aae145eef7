import hashlib
import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pathway_local.case import BadRow, Case
from pathway_local.errors import CasesError, UnknownName, UsageError
from pathway_local.sheets import row as limits
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.kinds import open_sheet

Needed = Mapping[str, Sequence[str]]
Make = Callable[..., CasesFile]

NEEDED: Needed = {"r": ("question", "answer")}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write text or bytes to a file and read it as cases."""

    def make(name: str, contents: str | bytes, needed: Needed = NEEDED, **options: Any) -> CasesFile:
        path = tmp_path / name
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        read = {name: options.pop(name) for name in ("encoding", "header_row") if name in options}
        return CasesFile(open_sheet(path, **read), needed, **options)

    return make


@pytest.fixture
def make_workbook(tmp_path: Path) -> Make:
    def make(
        rows: Sequence[Sequence[object]], edit: Callable[[openpyxl.Workbook], object] = bool, **options: Any
    ) -> CasesFile:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        edit(book)
        path = tmp_path / "cases.xlsx"
        book.save(path)
        return CasesFile(path, NEEDED, **options)

    return make


def make_parquet(tmp_path: Path, columns: Mapping[str, object]) -> CasesFile:
    path = tmp_path / "cases.parquet"
    pq.write_table(pa.table(columns), path)
    return CasesFile(path, NEEDED)


def blank_rows(cases: CasesFile) -> int:
    return sum(item is None for _, item in cases.rows())


def inputs(cases: CasesFile) -> list[object]:
    return [tuple(item.inputs.values()) if isinstance(item, Case) else item.reason for item in cases]


def test_csv_rows_become_cases(make: Make) -> None:
    text = ',id,question,answer,bot\n0,k1,"Why,\nthen?",Because,A\n,k2,What?,,B\n'
    cases = make("a.csv", text)
    first, second = cases
    assert first == Case("k1", {"question": "Why,\nthen?", "answer": "Because"}, {"column 1": "0", "bot": "A"}, 2)
    assert second.inputs["answer"] == "" and second.row == 3
    assert cases.id_column == "id"
    assert list(cases) == [first, second], "it is read anew"
    assert cases.sheet.sha256() == hashlib.sha256(text.encode()).hexdigest()


def test_only_id_and_case_id_are_taken_for_ids_and_rows_without_them_are_numbered(make: Make) -> None:
    cases = make("a.csv", "question,answer\nq,a\nr,b\n")
    assert ([case.id for case in cases], cases.id_column) == (["2", "3"], None)
    assert make("a.csv", "ID,question,answer\n9,q,a\n").id_column == "ID"
    assert make("a.csv", "case_id,question,answer\n9,q,a\n").id_column == "case_id"
    assert make("a.csv", "id,answer\nq,a\n", mapping={"question": "id"}).id_column is None
    assert make("a.csv", "nr,question,answer\n9,q,a\n", id_column="nr").id_column == "nr"
    (case,) = make("a.csv", "question,answer\nq1,a\n", id_column="question")
    assert case.id == case.inputs["question"] == "q1"
    with pytest.raises(UnknownName, match="no column is called 'no'"):
        make("a.csv", "nr,question,answer\n9,q,a\n", id_column="no")


def test_a_column_of_metadata_is_none_of_ids_or_inputs(make: Make) -> None:
    cases = make("a.csv", "id,question,answer,bot\nk1,q,a,A\n")
    assert cases.metadata_column("Bot") == "bot"
    for name, what in (("ID", "id is the column of the ids"), ("question", "question is an input of the rubric")):
        with pytest.raises(UsageError, match=what):
            cases.metadata_column(name)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_csv_may_have_other_separators(make: Make, mark: str) -> None:
    rows = [["question", "answer"], ["a, b; c\td", "x"]]
    text = "".join(mark.join(f'"{cell}"' for cell in row) + "\r\n" for row in rows)
    assert inputs(make("a.CSV", text)) == [("a, b; c\td", "x")]


@pytest.mark.parametrize("header", ["question, verbatim; whole\tanswer, verbatim", "Eingabe, ganz, wörtlich\tAntwort"])
def test_names_in_a_tsv_may_hold_commas(make: Make, header: str) -> None:
    question, answer = header.split("\t")
    mapping = {"question": question, "answer": answer}
    assert inputs(make("a.tsv", f"{header}\na, b; c\tx\n", mapping=mapping, header_row=1)) == [("a, b; c", "x")]
    alone: Needed = {"r": ("answer",)}
    assert inputs(make("a.tsv", "answer\nYes, at eight; come.\n", alone)) == [("Yes, at eight; come.",)]


def test_a_case_s_text_is_no_name_of_a_column(make: Make, make_workbook: Make) -> None:
    """Without a header the first case stands in its place, and what an option names is stored."""
    rows = [["When does my sister's visa end?", "I can't say."], ["Where is it?", "Here."]]
    mapping = dict(zip(NEEDED["r"], rows[0], strict=True))
    text = "\n".join(";".join(row) for row in rows)
    for given in ({}, mapping):
        for made in (
            lambda given: make("a.csv", text, mapping=given),
            lambda given: make_workbook(rows, mapping=given),
        ):
            with pytest.raises(CasesError, match="seems to have no header") as refused:
                made(given)
            assert "--header-row" in refused.value.hint and "visa" not in str(refused.value) + refused.value.hint
    named = make("a.csv", text, mapping=mapping, header_row=1)
    assert inputs(named) == [("Where is it?", "Here.")]


UMLAUTS = "question,answer\nWoher?,“Süd” – für 5 €\nWas heißt „Crème“?,Größe\n"


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.jsonl"])
@pytest.mark.parametrize("codec", ["cp1252", "mac_roman", "utf-16-le", "utf-16-be"])
def test_an_encoding_that_is_not_utf8_and_has_no_mark_must_be_named(make: Make, name: str, codec: str) -> None:
    table = [dict(zip(("question", "answer"), line.split(","), strict=True)) for line in UMLAUTS.splitlines()[1:]]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in table) if name == "a.jsonl" else UMLAUTS
    with pytest.raises(CasesError, match=r"not UTF-8: line|not text|no JSON object") as refused:
        list(make(name, text.encode(codec)))
    assert "UTF-8" in refused.value.hint or name == "a.jsonl"
    named = make(name, text.encode(codec), encoding=codec)
    assert inputs(named) == [tuple(row.values()) for row in table]
    assert bool(named.notes) == (not codec.startswith("utf")), "copies are in another encoding"


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (b"question,answer\na,b\n\xfc,\xe9\n", "not UTF-8: line 3"),
        (b"question,answer\n" + b"\xc3\xa9,a\n" * 9_000 + b"\xff,b\nz,c\n", "not UTF-8: line 9002"),
        (UMLAUTS.encode("utf-16") + b"x", "not UTF-16-LE: line 4"),
        (b"\xff\xfe" + "question,answer\nx,a\n".encode("utf-16-le") + b"\x00\xd8,\0b\0", "not UTF-16-LE: line 3"),
    ],
)
def test_bytes_that_are_no_text_refuse_the_file_and_name_the_line(make: Make, contents: bytes, said: str) -> None:
    with pytest.raises(CasesError, match=said) as refused:
        list(make("a.csv", contents))
    assert "--encoding" in refused.value.hint


def test_an_encoding_that_the_user_names_is_taken(make: Make) -> None:
    text = "question,answer\nГде?,да\n"
    assert inputs(make("a.csv", text.encode("cp1251"), encoding="windows-1251")) == [("Где?", "да")]
    assert inputs(make("a.csv", text.encode("utf-16"), encoding="utf-16")) == [("Где?", "да")]
    with pytest.raises(CasesError, match="is not UTF-8: line 2"):
        list(make("a.csv", "question,answer\nWo?,hüh\n".encode("cp1252"), encoding="utf-8"))
    for encoding in ("klingon", "hex", "rot13"):
        with pytest.raises(UsageError, match="no encoding is called"):
            make("a.csv", text, encoding=encoding)
    with pytest.raises(UsageError, match=r"--encoding is not for \.parquet"):
        make("a.parquet", "x", encoding="cp1252")


def test_the_beginning_of_a_file_is_read_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    opened = Path.open

    def counted(path: Path, *args: Any, **options: Any) -> Any:
        file = opened(path, *args, **options)
        for name, taken in (("read", file.read), ("readline", file.readline)):
            monkeypatch.setattr(file, name, lambda size, taken=taken: read.append(len(found := taken(size))) or found)
        return file

    monkeypatch.setattr(Path, "open", counted)
    make("a.csv", "question;answer\n" + "q;a\n" * 5_000)
    assert sum(read) <= 3 + len("question;answer\n") + 4 * 100


def test_bad_rows_have_their_line_and_never_stop_the_rest(make: Make) -> None:
    text = 'id,question,answer\nk1,"two\nlines",a\nk2,too,many,fields\n\nk1,again,a\n ,no id,a\nk3,nul\0,a\nk4,ok,a\n'
    found = list(make("a.csv", text))
    assert [(item.where, item.id) for item in found[1:5]] == [
        ("a.csv row 3 (line 4)", "a.csv row 3 (line 4)"),
        ("a.csv row 5 (line 6)", "a.csv row 5 (line 6)"),
        ("a.csv row 6 (line 7)", "a.csv row 6 (line 7)"),
        ("a.csv row 7 (line 8)", "k3"),
    ]
    reasons = [item.reason for item in found[1:5]]
    assert reasons[0] == "it has 4 fields where the header has 3"
    assert reasons[1:3] == ["duplicate id k1: line 2 already has it", "it has no id"]
    assert reasons[3] == "its question holds a NUL character"
    assert found[5] == Case("k4", {"question": "ok", "answer": "a"}, {}, 8)


def test_ids_of_bad_rows_are_nobody_elses(make: Make) -> None:
    found = list(make("a.csv", "id,question,answer\na.csv line 3,q,a\n,q,a\na.csv line 3',q,a\n"))
    assert [item.id for item in found] == ["a.csv line 3", "a.csv line 3'", "a.csv line 4"]
    (elsewhere,) = make("b.csv", "id,question,answer\n\n,q,a\n")
    assert elsewhere.id == "b.csv line 3"


def test_a_stray_quote_costs_only_its_own_row(make: Make) -> None:
    text = 'question\tanswer\n"Hello there\ta\nx\tb\n"y" z\tc\nw\td\n"open\te\nlast\tf'
    found = list(make("a.tsv", text))
    assert [(item.row, item.where) for item in found if isinstance(item, BadRow)] == [
        (2, "a.tsv line 2"),
        (4, "a.tsv line 4"),
        (6, "a.tsv line 6"),
    ]
    assert [item.inputs["answer"] for item in found if isinstance(item, Case)] == ["b", "d", "f"]


def test_rows_and_cells_beyond_their_limits(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("lines", "delimited", "json_lines"):
        monkeypatch.setattr(f"pathway_local.sheets.{module}.ROW_LIMIT", 200)
    monkeypatch.setattr(limits, "CELL_LIMIT", 100)
    wide, long, many = "w" * 150, "v" * 500, "u,u\n" * 60
    found = list(make("a.csv", f'question,answer\nq,{wide}\n{long},a\n"open\n{many}"\nz,a\n'))
    assert found[0].reason == "its answer holds more than 100 characters"
    assert found[1].reason.startswith("it has more than") and found[1].where == "a.csv line 3"
    assert found[2].reason.startswith("it has more than") and found[2].where == "a.csv line 4"
    assert found[-1].inputs == {"question": "z", "answer": "a"}
    lines = ['{"question": "%s", "answer": ""}' % ("u" * 400), '{"question": "z", "answer": "a"}']
    found = list(make("a.jsonl", "\n".join(lines)))
    assert found[0].where == "a.jsonl line 1" and found[1].row == 2


def test_a_quote_that_never_closes_takes_in_only_so_many_lines(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathway_local.sheets.lines.LINE_LIMIT", 50)
    found = list(make("a.csv", 'question,answer\n"open,x\n' + "q,a\n" * 60))
    assert isinstance(found[0], BadRow) and "lines, perhaps from a quote that never closes" in found[0].reason
    assert len(found) == 61 and all(isinstance(item, Case) for item in found[1:])


def test_jsonl_values_become_text(make: Make) -> None:
    row = {"question": "hé", "answer": None, "n": 5, "ok": True, "x": 2.5}
    cases = make("a.jsonl", json.dumps(row) + "\n\n")
    (case,) = cases
    assert case.inputs == {"question": "hé", "answer": ""}
    assert case.metadata == {"n": "5", "ok": "true", "x": "2.5"}
    assert blank_rows(cases) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"question": "q"}', "the input answer is missing: it has no answer"),
        ('{"question": "q", "answer": ', "broken JSON at character 28: Expecting value"),
        ('["q"]', "it is not a JSON object"),
        ('{"question": "secret", "question": "q", "answer": "a"}', "a JSON object in it has the same key twice"),
        ('{"question": NaN, "answer": "a"}', "broken JSON: NaN and Infinity are not JSON numbers"),
        ('{"question": "\\ud800", "answer": "a"}', "its question holds half of a surrogate pair"),
        ('{"question": "\\u0000", "answer": "a"}', "its question holds a NUL character"),
        ('{"question": %s, "answer": "a"}' % ("[" * 100_000), "its JSON is nested too deeply"),
        ('{"question": %s, "answer": "a"}' % ("1" * 5000), "it has a number too large to keep"),
        ('{"question": 1e999, "answer": "a"}', "it has a number too large to keep"),
        ('{"\\udfff": 1, "question": "q", "answer": "a"}', "it has a key that can't be a column's name"),
    ],
)
def test_bad_lines_of_jsonl(make: Make, line: str, reason: str) -> None:
    good = '{"question": "q", "answer": "a"}'
    first, bad, last = make("a.ndjson", f"{good}\n{line}\n{good}\n")
    assert bad == BadRow("2", 2, "a.ndjson", "line 2", reason)
    assert last.row == 3 and first.inputs == last.inputs


def test_a_column_that_a_row_lacks_is_empty(make: Make) -> None:
    lines = ({"question": "q", "answer": "a"}, {"question": "q", "answer": "a", "bot": "v1"})
    cases = make("a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    assert [case.metadata for case in cases] == [{"bot": ""}, {"bot": "v1"}], "columns are the first lines' keys"


def test_parquet_values_become_text(tmp_path: Path) -> None:
    nanos = pa.array([1_700_000_000_000_000_001], pa.timestamp("ns"))
    columns = {
        "question": [["a"]],
        "answer": pa.array([None], pa.string()),
        "n": [5.0],
        "gap": [float("nan")],
        "day": [date(2025, 5, 1)],
        "at": nanos,
        "raw": [b"bytes"],
        "s": [{"k": datetime(2025, 5, 1, 12)}],
    }
    cases = make_parquet(tmp_path, columns)
    (case,) = cases
    assert case.inputs == {"question": "a", "answer": ""}
    assert case.metadata.pop("at").startswith("2023-11-14")
    assert case.metadata == {"n": "5", "gap": "", "day": "2025-05-01", "raw": "", "s": '{"k":"2025-05-01T12:00:00"}'}


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(1)])
def test_bytes_are_no_text_in_an_input_or_in_a_kept_column(tmp_path: Path, kind: pa.DataType) -> None:
    raw = pa.array([b"q"], kind)
    cases = make_parquet(tmp_path, {"question": raw, "answer": ["a"], "bot": raw})
    (bad,) = cases
    assert bad.where == "cases.parquet row 1" and "that is no text" in bad.reason
    with pytest.raises(UsageError, match="bot holds bytes"):
        cases.metadata_column("bot")


def test_a_text_that_a_parquet_file_repeats_is_not_unpacked_at_once(tmp_path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"question": texts, "answer": texts}), tmp_path / "a.parquet", store_schema=False)
    before = pa.total_allocated_bytes()
    for place, case in enumerate(CasesFile(tmp_path / "a.parquet", NEEDED)):
        assert len(case.inputs["answer"]) == 1_000_000
        assert pa.total_allocated_bytes() - before < 50_000_000
        if place == 20:
            break


def test_workbook_values_become_text(make_workbook: Make) -> None:
    cases = make_workbook(
        [
            [],
            ["question", "answer", "n", "day", "at", "flag", None],
            ["q", None, 5.0, datetime(2025, 5, 1), datetime(2025, 5, 1, 9, 30), True],
            [None, None],
            ["r", "b", 0.5],
        ]
    )
    first, last = cases
    assert first.inputs == {"question": "q", "answer": ""}
    assert first.metadata == {"n": "5", "day": "2025-05-01", "at": "2025-05-01T09:30:00", "flag": "true"}
    assert (first.row, last.row) == (3, 5) and last.metadata["n"] == "0.5" and blank_rows(cases) == 1


def test_workbook_rows_that_are_no_cases(make_workbook: Make) -> None:
    def edit(book: openpyxl.Workbook) -> None:
        book.active["B3"].data_type = "e"

    rows = [["question", "answer"], ["=1+1", "a"], ["q", "#N/A"], ["q", "a", "stray"], ["q", "a"]]
    found = list(make_workbook(rows, edit))
    assert "formula without its result" in found[0].reason and found[0].where == "cases.xlsx row 2"
    assert found[1].reason == "its answer holds an error value of the spreadsheet"
    assert found[2].reason == "it has cells to the right of the last column"
    assert found[3].inputs == {"question": "q", "answer": "a"}


def edit_part(path: Path, part: str, change: Callable[[bytes], bytes]) -> None:
    """Rewrite a part of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts[part])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents in parts.items():
            archive.writestr(name, contents)


def test_formulas_count_as_their_stored_results(make_workbook: Make) -> None:
    cases = make_workbook([["question", "answer"], ["=A9", "a"], ["=A9", "a"]])

    def store(xml: bytes) -> bytes:
        xml = xml.replace(b'<c r="A2"><f>A9</f><v /></c>', b'<c r="A2" t="str"><f>A9</f><v>found</v></c>')
        return xml.replace(b'<c r="A3"><f>A9</f><v /></c>', b'<c r="A3" t="str"><f>A9</f><v></v></c>')

    edit_part(cases.path, "xl/worksheets/sheet1.xml", store)
    assert inputs(CasesFile(cases.path, NEEDED)) == [("found", "a"), ("", "a")]


def test_a_stated_size_that_is_too_small_hides_no_rows(make_workbook: Make) -> None:
    cases = make_workbook([["question", "answer"], ["q", "a"], ["r", "b"]])
    edit_part(cases.path, "xl/worksheets/sheet1.xml", lambda xml: xml.replace(b'ref="A1:B3"', b'ref="A1:A2"'))
    assert inputs(CasesFile(cases.path, NEEDED)) == [("q", "a"), ("r", "b")]


def test_workbook_bombs_are_refused_unpacked(make_workbook: Make) -> None:
    cases = make_workbook([["question", "answer"], ["q", "a"]])
    with zipfile.ZipFile(cases.path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/media/x", "w") as part:
        for _ in range(40):
            part.write(bytes(2**20))
    with pytest.raises(CasesError, match="would unpack to far too much data"):
        CasesFile(cases.path, NEEDED)


def test_entity_bombs_are_refused(make_workbook: Make) -> None:
    cases = make_workbook([["question", "answer"], ["q", "a"]])
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE x [<!ENTITY e0 "ha">{entities}]>'.encode()

    def plant(xml: bytes) -> bytes:
        return bomb + xml[xml.index(b"<worksheet") :].replace(b"<t>q</t>", b"<t>&e9;</t>")

    edit_part(cases.path, "xl/worksheets/sheet1.xml", plant)
    with pytest.raises(CasesError, match="damaged"):
        list(CasesFile(cases.path, NEEDED))


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n , \n", "has no header"),
        ("a.csv", b"question,answer\n", "has no rows below its header"),
        ("a.csv", b"question,answer,answer\nq,a,b\n", "several columns called answer"),
        ("a.csv", b'"question,answer\nq,a\n', "line 1: the header can't be read"),
        ("a.csv", ",".join(f"c{n}" for n in range(2001)).encode(), "2,001 columns"),
        ("a.csv", b"question,ans\xffwer\nq,a\n", "not UTF-8: line 1"),
        ("a.csv", b"PK\x03\x04\0\0\0", "a header that is not text"),
        ("a.xlsx", b"question,answer\nq,a\n", "not an XLSX workbook"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0 more", "old .xls, or has a password"),
        ("a.parquet", b"question,answer\nq,a\n", "not a Parquet file"),
        ("~$a.xlsx", b"", "Excel's mark that it has a.xlsx open Name a.xlsx"),
        ("a.doc", b"question,answer\nq,a\n", "not a kind of file that can be read .* .csv, .tsv, .*, .xlsx"),
        ("answers.ods", b"PK", "not a kind of file .* save or export it as answers.xlsx"),
        ("a.jsonl", b'[\n  {"question":\n "q"}\n]', "no JSON object in its first lines .* on each line"),
    ],
)
def test_files_that_are_no_cases(make: Make, name: str, contents: bytes, message: str) -> None:
    with pytest.raises(CasesError) as refused:
        list(make(name, contents))
    assert re.search(message, f"{refused.value} {refused.value.hint}")


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("missing.csv", "folder.csv", "pipe.csv", "n" * 300 + ".csv"):
        with pytest.raises(CasesError):
            CasesFile(tmp_path / name, NEEDED)


def test_no_text_of_a_case_is_in_a_reason(make: Make) -> None:
    secret = "swordfish"
    lines = [f'{{"question": "{secret}"', f'"{secret}"', f'{{"{secret}": "{secret}"}}', f'{{"question": "{secret}"}}']
    found = list(make("a.jsonl", "\n".join([*lines, '{"question": "q", "answer": "a"}'])))
    assert sum(isinstance(item, BadRow) for item in found) == 4
    assert secret not in "".join(item.reason + item.where + item.id for item in found if isinstance(item, BadRow))


def test_a_bad_row_keeps_its_metadata(make: Make) -> None:
    text = "id,question,answer,bot,note\nk,q,a,x,n\nk,r,b,y,n\n,s,c,z,\0\nl,t\n"
    bad = [row for row in make("a.csv", text) if isinstance(row, BadRow)]
    assert [row.metadata for row in bad] == [{"bot": "y", "note": "n"}, {"bot": "z"}, {}]
    assert bad[0].ref.metadata == {"bot": "y", "note": "n"}


def test_a_json_list_is_rows(make: Make) -> None:
    first = '{"question": "q, ]", "answer": "a"}'
    listed = f'\ufeff[\n {first},\n {{"question": "2",\n  "answer": null}}, 5, {{"question": "x"}}\n]\n'
    found = inputs(make("a.json", listed))
    assert found[:2] == [("q, ]", "a"), ("2", "")] and "not a JSON object" in found[2] and "missing" in found[3]
    for damaged, said in (
        ('{"data": []}', "not a list"),
        ('[{"question": 1} {"a": 2}]', "broken JSON"),
        ("[1,\n", "broken JSON"),
        ('[{"question": "q", "answer": "a"}]\n[{"question": "r", "answer": "b"}]', "broken JSON"),
    ):
        with pytest.raises(CasesError, match=said):
            list(make("a.json", damaged))
