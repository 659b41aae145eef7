"""Only ratings that come back on a sheet or page of a sample are its labels; those of other files are named."""

import csv
from collections.abc import Iterable
from pathlib import Path

import openpyxl
import pytest
from agreement_run import HELPFUL, QUESTIONS, answered, answers_run, scores_of, write_cases
from typed_here import Run, rows

from pathway_local.ratings.samples import inclusions, samples
from pathway_local.results.label_design import LabelDesign, label_designs
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.matrix import ratings_matrices

OLD = range(0, 2 * QUESTIONS, 13)
"""The 25 cases that Ann rated of her own choice."""

IMPORT = ("import", "answers.run", "old.csv", "--kind", "human", "--rater", "Ann")
SHEET = ("import", "answers.run", "rate.xlsx", "--kind", "human")
SAMPLE = ("sample", "answers.run", "--cases", "answers.csv", "--out", "rate.xlsx", "--n", 60, "--seed", 0)


def given() -> list[int]:
    return [int(score) for score in scores_of("Ann", answered()[1])]


def write_old(path: Path, places: Iterable[int] = OLD) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "score"])
        writer.writerows([f"a-{place:03}", given()[place]] for place in places)


def fill_sheet(path: Path, limit: int = 1_000) -> int:
    book = openpyxl.load_workbook(path)
    page = book.worksheets[0]
    header = [cell.value for cell in page[1]]
    rows = list(page.iter_rows(min_row=2))[:limit]
    for row in rows:
        place = int(str(row[header.index("answer")].value).removeprefix("answer "))
        row[header.index("score")].value = given()[place]
    book.save(path)
    return len(rows)


def labels(path: Path, rater: str = "Ann", seed: int = 0) -> LabelDesign:
    with RunFile.read(path / "answers.run") as run:
        [matrix] = ratings_matrices(run, HELPFUL)
        found = label_designs(matrix, matrix.columns(rater))
    return next(each for each in found if each.design.sample.seed == seed)


def in_both(path: Path) -> int:
    with RunFile.read(path / "answers.run") as run:
        drawn = {each.case_id for each in inclusions(run, samples(run, "helpful")[0].id) if each.drawn}
    return sum(f"a-{place:03}" in drawn for place in OLD)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    answers_run(tmp_path / "answers.run", people=False)
    write_cases(tmp_path / "answers.csv")
    write_old(tmp_path / "old.csv")
    return tmp_path


def test_an_old_file_imported_again_after_the_draw_labels_no_sample(run: Run, folder: Path) -> None:
    assert run(*IMPORT).code == 0
    assert run(*SAMPLE, "--rater", "Bob").code == 0
    assert run("runs", "remove-rater", "answers.run", "Ann", "--yes").code == 0
    again = run(*IMPORT)
    assert again.code == 0 and in_both(folder)
    shown = run("agreement", "answers.run", "--against", "Ann").words
    assert "No rating by Ann came from a sheet or page of the sample with seed 0" in shown and "would give" not in shown
    assert "Less than half of any sample came back from Ann" in shown
    run("report", "answers.run", "--out", "report.html")
    assert "would give these" not in (folder / "report.html").read_text()


def test_every_output_says_how_many_of_a_persons_ratings_count(run: Run, folder: Path) -> None:
    run(*SAMPLE, "--rater", "Ann")
    assert fill_sheet(folder / "rate.xlsx") == 60
    assert run(*SHEET).code == 0 and run(*IMPORT).code == 0
    rated = 60 + 25 - in_both(folder)
    assert int(labels(folder).random.sum()) == 60
    agreed = run("agreement", "answers.run")
    assert f"and 60 of Ann's {rated} labels (sample with seed 0)" in agreed.words
    (row, *_) = rows(run("agreement", "answers.run", "--json").out, "corrected")
    assert row["labelled"] == 60
    assert f"60 of Ann's {rated} ratings count" in agreed.words and f"60 {rated} " in agreed.words
    planned = run("plan", "answers.run", "--against", "Ann", "--rater", "gpt", "--half-width", 0.5)
    assert f": 60 of Ann's {rated} rated cases count" in planned.words
    compared = run("compare", "answers.run", "--between", "chatbot=v1,v2", "--rater", "gpt")
    assert f"corrected by 60 of people's {rated} labels" in compared.words
    for lang, first in (("en", f"60 of Ann's {rated} labels"), ("de", f"60 von {rated} Urteilen von Ann")):
        run("report", "answers.run", "--out", f"{lang}.html", "--lang", lang)
        assert first in (folder / f"{lang}.html").read_text().replace("&#39;", "'")


def test_the_same_rating_on_a_sheet_becomes_a_label(run: Run, folder: Path) -> None:
    """Of drawn cases that Ann rated before, her sheet's ratings count, too: else they would seem to be missing."""
    run(*IMPORT)
    run(*SAMPLE, "--rater", "Ann")
    assert not labels(folder).random.any()
    fill_sheet(folder / "rate.xlsx")
    assert run(*SHEET).code == 0
    assert int(labels(folder).random.sum()) == 60


def test_a_sheet_labels_its_own_sample_alone_whoever_filled_it_in(run: Run, folder: Path) -> None:
    run(*SAMPLE, "--rater", "Bob")
    run("sample", "answers.run", "--cases", "answers.csv", "--out", "other.xlsx", "--n", 200, "--seed", 1)
    fill_sheet(folder / "rate.xlsx")
    assert run(*SHEET, "--rater", "Ann").code == 0
    assert int(labels(folder, "Ann").random.sum()) == 60
    assert not labels(folder, "Ann", seed=1).random.any()


def test_a_larger_draw_has_the_labels_of_the_smaller_one(run: Run, folder: Path) -> None:
    run(*SAMPLE, "--rater", "Ann")
    fill_sheet(folder / "rate.xlsx")
    run(*SHEET)
    larger = [80 if each == 60 else each for each in SAMPLE]
    assert run(*larger, "--rater", "Ann", "--force").code == 0
    assert fill_sheet(folder / "rate.xlsx") == 20 and run(*SHEET).code == 0
    assert int(labels(folder).random.sum()) == 80
