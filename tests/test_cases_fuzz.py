"""Whatever a cases file holds, reading it gives cases and bad rows, or one of our own errors."""

import csv
import io
import json
import random
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzz import fuzz
from fuzz_bytes import (
    Damage,
    csv_file,
    damaged_archive,
    damaged_parquet,
    damaged_text,
    json_lines,
    parquet_file,
    workbook,
)
from hypothesis import given
from hypothesis import strategies as st

from pathway_local.case import BadRow, Case
from pathway_local.errors import PathwayError
from pathway_local.sheets.cases_file import CasesFile

NEEDED = {"r": ("question", "answer")}

awkward = st.text(st.sampled_from('"",;\t\n\r\0 aé😀\ufeff\u2028{}[]:\\1e=\'') | st.characters(), max_size=40)
headers = st.sampled_from(
    ["question,answer\n", "id;question;answer\r\n", "question\tanswer\r", '"question","answer"\n', ""]
)
codecs = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252"])
contents = st.one_of(
    st.binary(max_size=200),
    st.builds(lambda head, text, codec: (head + text).encode(codec, "replace"), headers, awkward, codecs),
    st.builds(lambda head, tail: head.encode() + tail, headers, st.binary(max_size=100)),
)


def read(path: Path) -> str | list[Case | BadRow]:
    """All rows, or the error's text; anything else that is raised fails the test."""
    try:
        rows = list(CasesFile(path, NEEDED))
    except PathwayError as error:
        assert str(error)
        return str(error)
    assert rows and all(isinstance(row, Case | BadRow) for row in rows)
    assert len({row.id for row in rows}) == len(rows)
    places = [row.row for row in rows]
    assert places == sorted(set(places))
    for row in rows:
        if isinstance(row, Case):
            json.dumps([row.inputs, row.metadata]).encode()
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@fuzz
@given(contents, st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"]))
def test_random_contents(folder: Path, data: bytes, suffix: str) -> None:
    path = folder / f"random{suffix}"
    path.write_bytes(data)
    read(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | awkward,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(awkward, inner, max_size=3),
    max_leaves=4,
)


@fuzz
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["question", "answer", "id", "x"]) | awkward, json_values, max_size=4),
        max_size=4,
    )
)
def test_random_json(folder: Path, rows: list[dict[str, object]]) -> None:
    path = folder / "random.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    found = read(path)
    assert isinstance(found, str) or len(found) == len(rows)


@fuzz
@given(st.lists(st.tuples(awkward, awkward), min_size=1, max_size=8), st.sampled_from([".csv", ".tsv"]))
def test_what_a_csv_writer_wrote_is_read_back(folder: Path, rows: list[tuple[str, str]], suffix: str) -> None:
    rows = [row for row in rows if any(row)] or [("q", "a")]
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if suffix == ".csv" else "\t")
    writer.writerows([("question", "answer"), *rows])
    path = folder / f"written{suffix}"
    path.write_bytes(text.getvalue().encode("utf-8", "replace"))
    found = read(path)
    for row, (question, answer) in zip(found, rows, strict=True):
        if isinstance(row, Case):
            assert tuple(row.inputs.values()) == tuple(
                t.encode("utf-8", "replace").decode() for t in (question, answer)
            )
        else:
            assert "\0" in question + answer


arrow_values = [
    pa.array([1, None], pa.int8()),
    pa.array([1.5, float("inf")]),
    pa.array([Decimal("1.50"), None]),
    pa.array([b"\xff", b"x"]),
    pa.array([b"12345678", None], pa.binary(8)),
    pa.array([date.max, date.min]),
    pa.array([2**62, -(2**62)], pa.timestamp("us")),
    pa.array([1, 2], pa.timestamp("ns", "No/Where")),
    pa.array([time(1, 2, 3, 4), None]),
    pa.array([1, 2**60], pa.duration("ns")),
    pa.array([{"a": [datetime(2025, 1, 1, tzinfo=timezone(timedelta(hours=1)))]}, None]),
    pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32())),
    pa.array(["a", "b"]).dictionary_encode(),
    pa.array(["a\0", "é"], pa.large_string()),
    pa.array([None, None], pa.null()),
    pa.array([1.0, 2.0], pa.float16()),
]


@pytest.mark.parametrize("array", arrow_values, ids=lambda array: str(array.type))
def test_odd_types_of_parquet(folder: Path, array: pa.Array) -> None:
    path = folder / "types.parquet"
    pq.write_table(pa.table({"question": array, "answer": ["a", "b"], "n": array}), path)
    assert len(read(path)) == 2


DAMAGES: list[tuple[str, Callable[[], bytes], Damage]] = [
    (".csv", lambda: csv_file(","), damaged_text),
    (".jsonl", json_lines, damaged_text),
    (".parquet", lambda: parquet_file("snappy", True), damaged_parquet),
    (".xlsx", workbook, damaged_archive),
]


@fuzz
@given(st.sampled_from(DAMAGES), st.integers(0, 2**32))
def test_damaged_files(folder: Path, kind: tuple[str, Callable[[], bytes], Damage], seed: int) -> None:
    suffix, make, damage = kind
    path = folder / f"damaged{suffix}"
    path.write_bytes(damage(make(), random.Random(seed)))
    read(path)
