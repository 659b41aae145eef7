"""Each promise of the documents stands in the table of docs/reliability.md, beside tests that are there."""

import ast
import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
DOCUMENTS = ("privacy", "reliability", "offline", "pages", "python")
ROW = re.compile(r"^\| (.+?) \| (?:\[(\w+)\]\(\w+\.md\)|this page) \| (.+) \|$", re.MULTILINE)


def table() -> list[tuple[str, str, list[str]]]:
    """The promises, each with its document and its tests."""
    text = (DOCS / "reliability.md").read_text()
    section = text.partition("## What is promised")[2].partition("\n## ")[0]
    return [(key, name or "reliability", re.findall(r"`(.+?)`", tests)) for key, name, tests in ROW.findall(section)]


@cache
def functions_of(file: str) -> set[str]:
    tree = ast.parse((HERE / file).read_text())
    return {each.name for each in tree.body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")}


def test_each_promise_of_each_document_is_in_the_table() -> None:
    marked = [
        (key, name)
        for name in DOCUMENTS
        for key in re.findall(r"<!-- promise: (.+?) -->", (DOCS / f"{name}.md").read_text())
        if key != "…"
    ]
    assert sorted(marked) == sorted((key, name) for key, name, _ in table())
    assert len({key for key, _ in marked}) == len(marked), "a promise has a name of its own"
    assert {name for _, name in marked} == set(DOCUMENTS)


def test_each_test_of_the_table_is_there() -> None:
    for key, _, tests in table():
        assert tests, key
        for named in tests:
            file, _, function = named.partition("::")
            assert function in functions_of(file), f"{key}: there is no {named}"


def test_the_part_attacks_of_the_soak_runs_them() -> None:
    [line] = [line for line in (HERE.parent / "scripts" / "soak").read_text().splitlines() if "promised()" in line]
    assert "grep -o 'test_[a-z_]*\\.py::test_[a-z0-9_]*' docs/reliability.md" in line
    found = re.findall(r"test_[a-z_]*\.py::test_[a-z0-9_]*", (DOCS / "reliability.md").read_text())
    assert set(found) == {named for _, _, tests in table() for named in tests}
