"""Inputs may be keys inside cells that hold a JSON object: score_rubric.criteria."""

import csv
import json
import re
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pathway_local.case import BadRow, Case
from pathway_local.errors import ColumnsError, UnknownName
from pathway_local.sheets.cases_file import CasesFile

NEEDED = {"r": ("question", "criteria", "low")}
ROWS: list[dict[str, object]] = [
    {"id": "a", "question": "Q1", "rubric": {"criteria": "C1", "levels": {"low": "L1"}}},
    {"id": "b", "question": "Q2", "rubric": {"criteria": "C2", "levels": {"low": "1"}, "more": [1]}},
]


def lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def sheet(folder: Path, kind: str, rows: list[dict[str, object]]) -> Path:
    path = folder / f"cases.{kind}"
    if kind == "jsonl":
        return lines(path, rows)
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path
    cells = [[cell if isinstance(cell, str) else json.dumps(cell) for cell in row.values()] for row in rows]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(rows[0]), *cells])
    return path


def said(found: Iterable[Case | BadRow]) -> list[object]:
    """The inputs of each case, the reason of each bad row."""
    return [dict(each.inputs) if isinstance(each, Case) else each.reason for each in found]


MAPPING = {"criteria": "rubric.criteria", "low": "rubric.levels.low"}


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_key_that_is_named_is_an_input_and_none_is_guessed(tmp_path: Path, kind: str) -> None:
    path = sheet(tmp_path, kind, ROWS[:1])
    file = CasesFile(path, NEEDED, MAPPING)
    assert said(file)[0] == {"question": "Q1", "criteria": "C1", "low": "L1"} and file.metadata == ()
    with pytest.raises(ColumnsError, match="no column for criteria; no column for low"):
        CasesFile(path, NEEDED)


def test_a_column_comes_before_a_key(tmp_path: Path) -> None:
    row = {"question": "Q", "criteria": "C", "x": {"criteria": "A", "low": "L"}, "x.low": "dotted"}
    file = CasesFile(lines(tmp_path / "c.jsonl", [row]), NEEDED, {"low": "x.low"})
    assert said(file) == [{"question": "Q", "criteria": "C", "low": "dotted"}] and file.aliases_used == {}


def test_a_key_that_is_nowhere_is_refused_and_no_other_told(tmp_path: Path) -> None:
    private = {f"Words of student {at}": "x" for at in range(200)}
    path = lines(tmp_path / "c.jsonl", [{"question": "Q", "x": {"criteria": "A", "low": "L", **private}}])
    with pytest.raises(UnknownName, match=r"no column is called 'x\.critera'") as refused:
        CasesFile(path, NEEDED, {"criteria": "x.critera"})
    assert "student" not in refused.value.hint


BROKEN = [
    ({"rubric": {"criteria": "C"}}, r"the input low is missing: it has no rubric\.levels\.low"),
    ({"rubric": {"criteria": "C", "levels": "none"}}, "low is missing"),
    ({"rubric": '{"criteria": "C", "lev'}, "criteria is missing"),
    ({"rubric": "[" * 3000}, "criteria is missing"),
    ({"rubric": '{"a": ' * 3000 + "1" + "}" * 3000}, "criteria is missing"),
    ({"rubric": None}, "criteria is missing"),
    ({}, "criteria is missing"),
    ({"rubric": '{"criteria": "\\ud800", "levels": {"low": "L"}}'}, "half of a surrogate pair"),
    ({"rubric": '{"criteria": "a\\u0000", "levels": {"low": "L"}}'}, "a NUL character"),
]


@pytest.mark.parametrize(("cell", "reason"), BROKEN, ids=range(len(BROKEN)))
def test_a_row_without_its_keys_is_told_and_the_others_are_cases(
    tmp_path: Path, cell: dict[str, object], reason: str
) -> None:
    path = lines(tmp_path / "c.jsonl", [ROWS[0], {"id": "x", "question": "Q", **cell}, ROWS[1]])
    first, bad, last = CasesFile(path, NEEDED, MAPPING)
    assert isinstance(first, Case) and isinstance(last, Case) and last.inputs["low"] == "1"
    assert isinstance(bad, BadRow) and bad.where == "c.jsonl line 2"
    assert re.search(reason, bad.reason), bad.reason


def test_a_row_may_lack_what_is_optional(tmp_path: Path) -> None:
    path = lines(tmp_path / "c.jsonl", [{"a": "A", "b": "B"}, {"a": "A"}, {"b": "B"}])
    first, second, bad = said(CasesFile(path, {"r": ("a", "b")}, optional={"b"}))
    assert (first, second) == ({"a": "A", "b": "B"}, {"a": "A"}) and isinstance(bad, str)


def test_places_in_lists_are_read_if_they_are_named(tmp_path: Path) -> None:
    body = {"choices": [{"message": {"content": "A"}}, {"message": {"content": "B"}}]}
    path = lines(tmp_path / "c.jsonl", [{"response": {"body": body}}, {"response": {"body": {"choices": []}}}])
    needed = {"r": ("answer",)}
    good, bad = CasesFile(path, needed, {"answer": "response.body.choices.1.message.content"})
    assert isinstance(good, Case) and good.inputs == {"answer": "B"}
    assert isinstance(bad, BadRow) and "it has no response.body.choices.1.message.content" in bad.reason
    for wrong in ("2.message.content", "-1.message.content", "x", "1.message.content.0", "9" * 5000):
        with pytest.raises(UnknownName, match="no column is called"):
            CasesFile(path, needed, {"answer": f"response.body.choices.{wrong}"})


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("context", ["one", "two"], "one\n\ntwo"),
        ("ideal answer", ["one", "two"], "one\n\ntwo"),
        ("essay", ["one"], "one"),
        ("essay", [["one"]], "one"),
        ("essay", '["not", "a list"]', '["not", "a list"]'),
        ("essay", [], ""),
        ("context", [[]], ""),
        ("essay", [{"role": "user"}], "its essay is a list of objects: write it as one text"),
        ("essay", [["one", "two"]], "its essay lists 2 texts: name one, such as --map essay=essay.0.0"),
        ("context", [["one", "two"], ["three"]], "its context is a list with more than texts: write it as one text"),
        ("context", ["one", None], "its context is a list with more than texts: write it as one text"),
        ("context", ["one", 2], "its context is a list with more than texts: write it as one text"),
    ],
)
def test_only_passages_and_ideal_answers_are_joined(tmp_path: Path, name: str, value: object, read: str) -> None:
    file = CasesFile(lines(tmp_path / "c.jsonl", [{name: "plain"}, {name: value}]), {"r": (name,)})
    assert said(file) == [{name: "plain"}, read if read.startswith("its ") else {name: read}]


SAID: list[tuple[object, str]] = [
    ([{"type": "text", "text": "hello"}], "answer.0.text"),
    ({"role": "assistant", "content": "hello"}, "answer.content"),
    ({"role": "assistant", "content": [{"type": "text", "text": "hello"}]}, "answer.content.0.text"),
    ([{"from": "human", "value": "q"}, {"from": "gpt", "value": "hello"}], "answer.1.value"),
    ({"messages": [{"role": "user", "content": "q"}, {"role": "a", "content": "hello"}]}, "answer.messages.1.content"),
    ({"choices": [{"message": {"role": "assistant", "content": "hello"}}]}, "answer.choices.0.message.content"),
    ({"text": "hello"}, "answer.text"),
    ([{"text": "one"}, {"text": "two"}], ""),
    ({"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}, ""),
    ({"a student's words": "hello"}, ""),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv"])
@pytest.mark.parametrize(("value", "path"), SAID, ids=range(len(SAID)))
def test_an_object_is_no_text_and_the_path_to_its_text_is_told(
    tmp_path: Path, kind: str, value: object, path: str
) -> None:
    rows: list[dict[str, object]] = [{"id": "a", "question": "q", "answer": value}]
    target, needed = sheet(tmp_path, kind, rows), {"r": ("question", "answer")}
    [bad] = CasesFile(target, needed)
    assert isinstance(bad, BadRow) and "student" not in bad.reason
    assert bad.reason.endswith(f"such as --map answer={path}" if path else "write it as one text"), bad.reason
    if path:
        [case] = CasesFile(target, needed, {"answer": path})
        assert isinstance(case, Case) and case.inputs["answer"] == "hello"


@pytest.mark.parametrize("value", [5, 2.5, True])
def test_a_number_is_no_text_in_a_file_with_types(tmp_path: Path, value: object) -> None:
    path = lines(tmp_path / "c.jsonl", [{"answer": value}, {"answer": str(value)}])
    bad, good = said(CasesFile(path, {"r": ("answer",)}))
    assert (bad, good) == ("its answer is a number or a boolean: write it as a text", {"answer": str(value)})


@pytest.mark.parametrize("text", ['{"a": "an answer in JSON"}', '[{"a": 1}]', "[1] as said above", "{x}"])
def test_a_text_in_a_file_with_types_may_look_like_json(tmp_path: Path, text: str) -> None:
    assert said(CasesFile(lines(tmp_path / "c.jsonl", [{"answer": text}]), {"r": ("answer",)})) == [{"answer": text}]
