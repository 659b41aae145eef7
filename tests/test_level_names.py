"""Level names of every kind of rubric file on docs/rubrics.md reach every place that shows a score."""

import csv
import re
from pathlib import Path

import openpyxl
import pytest
from html_page import PageParser
from rated_run import add, cases, write_lines
from typed_here import Run, typing_in
from viewed import viewing

from pathway_local.cli import rubrics
from pathway_local.cli.terminal import Screen
from pathway_local.ratings.score_text import read_score
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Score, Verdict

PAGE = (Path(__file__).parents[1] / "docs" / "rubrics.md").read_text()
FILES = dict(re.findall(r"^```text (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
NAMED = {
    "skeleton.txt": ("Muddled", "Clear"),
    "own.prompty": ("misses it", "touches it", "fits"),
}
"""The names that each file gives its levels, lowest first."""

NAMELESS = {"halves.txt"}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setattr(rubrics, "data", Screen(markup=False, emoji=False, highlight=False, width=300))
    return typing_in(tmp_path, monkeypatch, capsys)


def test_every_file_of_the_page_is_known() -> None:
    assert FILES.keys() == NAMED.keys() | NAMELESS and not NAMED.keys() & NAMELESS


@pytest.mark.parametrize("name", NAMED)
def test_names_reach_every_place(name: str, run: Run, tmp_path: Path) -> None:
    path, names = tmp_path / name, NAMED[name]
    path.write_text(FILES[name])
    if path.suffix == ".txt":
        said = run("rubrics", "adopt", name, "-o", "adopted.prompty", "--yes")
        path = tmp_path / "adopted.prompty"
        assert said.code == 0, said
        assert load_rubric(str(path)).name == "adopted"  # as its file is called, not the prompt's
    rubric = load_rubric(str(path))
    [(score, field)] = rubric.format.scores.items()
    assert len(field.values) == len(names)

    shown = run("rubrics", "show", path).out
    assert all(
        re.search(rf"{value} +{re.escape(each)}", shown) for value, each in zip(field.values, names, strict=True)
    )

    rows = cases(rubric, [f"c{value}" for value in field.values])
    given = {
        row.id: Verdict({score: Score(value, {value: 0.9})}) for row, value in zip(rows, field.values, strict=True)
    }
    with RunFile.create(tmp_path / "a.run") as made:
        add(made, "demo", given, rubric, rows=rows)
    write_lines(tmp_path / "cases.jsonl", [{"id": row.id, **row.inputs} for row in rows]).chmod(0o600)

    assert run("export", "a.run", "--out", "a.csv").code == 0
    with Path("a.csv").open(newline="", encoding="utf-8") as file:
        assert [row[f"{score}_label"] for row in csv.DictReader(file)] == list(names)

    assert run("read", "a.run", "--cases", "cases.jsonl", "--by", "confidence", "--out", "read.html").code == 0
    page = PageParser(Path("read.html").read_text()).said
    assert all(each in page for each in names)

    draw = ("sample", "a.run", "--rater", "ann", "--cases", "cases.jsonl", "--n", 2, "--seed", 1, "--out")
    assert run(*draw, "rate.xlsx").code == 0
    column = [cell.value for cell in openpyxl.load_workbook("rate.xlsx")["scale"]["A"]]
    assert (column[0], column[-1]) == (score, "can't say")
    assert [str(said).partition(" – ")[2] for said in column[-2:0:-1]] == list(names)
    assert [read_score(str(said), field) for said in column[-2:0:-1]] == list(field.values)

    assert run(*draw, "rate.html").code == 0
    levels = [text for text in PageParser(Path("rate.html").read_text()).texts if text.endswith(names)]
    assert all(any(text.endswith(each) for text in levels) for each in names)

    with viewing(tmp_path / "a.run", tmp_path / "cases.jsonl") as desk:
        answer = desk.get("/table/0")
        links = [each["href"] for each in answer.page.of("a") if "/case/" in each["href"]]
        for each, row, link in zip(names, answer.table, links, strict=True):
            assert each in row
            assert each in desk.ask("GET", link).said
