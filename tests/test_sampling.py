"""Rating sheets show people the texts and nothing else, and their ratings return to the right cases."""

import csv
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from rated_run import TINY, cases, judged_run, scores_of

from pathway_local.errors import OutputExists, RunFileError, UnknownName, UsageError
from pathway_local.ratings.cases_given import Given
from pathway_local.ratings.import_ratings import import_ratings
from pathway_local.ratings.rating_rows import RatingsFile
from pathway_local.ratings.rating_sheet import RatingRow, write_rating_sheet
from pathway_local.ratings.samples import inclusions, samples
from pathway_local.ratings.sampling import Drawn, SamplePlan, sample
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric
from pathway_local.runs.audit import AuditTrail, file_facts
from pathway_local.runs.purge import exported
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.kinds import open_sheet

NAMES = tuple(f"s-{number}" for number in range(1, 31))


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    """A cases file with 30 cases, a third of them of staff."""
    path = tmp_path / "cases.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "answer", "audience"])
        for place, case in enumerate(cases(ids=NAMES)):
            writer.writerow([case.id, *case.inputs.values(), "staff" if place % 3 == 0 else "student"])
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "may.run"
    judged_run(path, rows=cases(ids=NAMES)).close()
    return path


def drawn(run: Path, sheet: Path, size: int = 9, out: str = "rate.xlsx", **options: Any) -> Drawn:
    given = Given(run, sheet, load_rubric, options.pop("rubric", None))
    return sample(SamplePlan(given, size, 1, sheet.parent / out, **options), ["sample"])


def pages(path: Path) -> dict[str, list[list[Any]]]:
    book = openpyxl.load_workbook(path)
    return {page.title: [[cell.value for cell in row] for row in page.iter_rows()] for page in book}


def fill(path: Path, choose: Callable[[dict[str, Any], str], Any]) -> None:
    """Rate every row of every sheet as `choose` says, from the row's cells and the sheet's title."""
    book = openpyxl.load_workbook(path)
    for page in book.worksheets[:1]:
        header = [cell.value for cell in page[1]]
        for row in page.iter_rows(min_row=2):
            cells = dict(zip(header, (cell.value for cell in row), strict=True))
            row[header.index("score")].value = choose(cells, path.stem)
    book.save(path)


def test_the_sheet_shows_texts_and_levels_and_nothing_else(run: Path, sheet: Path, tmp_path: Path) -> None:
    found = drawn(run, sheet, raters=["Ann", "Bob"])
    assert (found.cases, found.drawn, found.in_sheets, found.cut) == (30, 9, {"Ann": 9, "Bob": 9}, 0)
    paths = [tmp_path / f"rate-{name}.xlsx" for name in ("Ann", "Bob")]
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o600] * 2
    assert not (tmp_path / "rate.xlsx").exists()
    shown, other = map(pages, paths)
    assert list(shown) == ["ratings", "instructions", "scale"]
    assert shown["ratings"][0] == ["rating_id", "question", "answer", "score", "notes"]
    levels = ["5 – Best", "4 – Good", "3 – Not asked", "2 – Poor", "1 – Bad"]
    assert shown["scale"] == [["score"], *([level] for level in [*levels, "can't say"])]
    ann, bob = ([row[2] for row in each["ratings"][1:]] for each in (shown, other))
    assert ann == bob != sorted(bob), "as drawn"
    ids = [row[0] for each in (shown, other) for row in each["ratings"][1:]]
    assert len(set(ids)) == 18
    assert all(row[3:] == [None, None] for each in (shown, other) for row in each["ratings"][1:])
    assert "staff" not in str(shown) and "Bob" not in str(shown)
    assert not any(name == row[0] for name in NAMES for row in shown["ratings"])
    (chosen,) = openpyxl.load_workbook(paths[1])["ratings"].data_validations.dataValidation
    assert (chosen.type, chosen.formula1, str(chosen.sqref)) == ("list", "'scale'!$A$2:$A$7", "D2:D10")


@pytest.mark.parametrize("text", ["=1+1", "'=1+1", "-1 is negative", "@all", "fine"])
def test_a_text_stands_in_its_cell_as_it_is_and_is_no_formula(tmp_path: Path, text: str) -> None:
    with (tmp_path / "rate.xlsx").open("wb") as file:
        write_rating_sheet(file, TINY, "Ann", [RatingRow("1" * 24, {"question": text, "answer": text})])
    cell = openpyxl.load_workbook(tmp_path / "rate.xlsx")["ratings"]["B2"]
    assert (cell.value, cell.data_type) == (text, "s")


def test_the_workbook_says_how_to_rate_and_locks_the_texts(run: Path, sheet: Path, tmp_path: Path) -> None:
    drawn(run, sheet, raters=["Ann", "Bob"])
    book = openpyxl.load_workbook(tmp_path / "rate-Ann.xlsx")
    assert all(page.protection.sheet and not page.protection.password for page in book.worksheets)
    locked = {cell.column_letter: cell.protection.locked for cell in book["ratings"][2]}
    assert locked == {"A": True, "B": True, "C": True, "D": False, "E": False}
    told = {row[0]: row[1] for row in pages(tmp_path / "rate-Ann.xlsx")["instructions"] if row[0]}
    assert told["evaluator"] == "Ann"
    assert told["score"] == "5 – Best"
    assert "what to look for" not in told and "Judge the answer." not in str(told)


def test_the_sheet_of_a_rating_workbook_that_is_read_is_told(run: Path, sheet: Path, tmp_path: Path) -> None:
    """Somebody may have put several evaluators into one workbook, whose other ratings would go unnoticed."""
    drawn(run, sheet, raters=["Ann", "Bob"])
    path = tmp_path / "rate-Ann.xlsx"
    fill(path, lambda cells, title: 4)
    book = openpyxl.load_workbook(path)
    book.copy_worksheet(book["ratings"]).title = "Bob"
    book.save(path)
    with RunFile.open(run) as opened:
        found = import_ratings(opened, RatingsFile(path, "human"), ["import"])
        assert len(scores_of(opened, "Ann")) == 9
    assert "the sheet 'ratings' is read, one of 4" in found.notices


def test_what_is_filled_in_comes_back(run: Path, sheet: Path, tmp_path: Path) -> None:
    drawn(run, sheet, raters=["Ann", "Bob"])
    paths = [tmp_path / f"rate-{name}.xlsx" for name in ("Ann", "Bob")]

    def choose(cells: dict[str, Any], name: str) -> Any:
        number = int(cells["answer"].removeprefix("the answer of s-"))
        if name == "rate-Ann":
            return ["5 – Best", "4 – Good", 2][number % 3]
        return None if number % 2 else 1

    for path in paths:
        fill(path, choose)
    with RunFile.open(run) as opened:
        chosen = {each.case_id for each in inclusions(opened, samples(opened, "tiny")[0].id) if each.drawn}
        _, found = (import_ratings(opened, RatingsFile(path, "human"), ["import"]) for path in paths)
        wanted = {name: [5, 4, 2][int(name[2:]) % 3] for name in chosen}
        assert scores_of(opened, "Ann") == wanted
        assert scores_of(opened, "Bob") == {name: 1 for name in chosen if int(name[2:]) % 2 == 0}
        assert found.blanks == sum(int(name[2:]) % 2 for name in chosen)
        assert found.notices == ()


def test_copies_of_one_sheet_go_to_several_people(run: Path, sheet: Path, tmp_path: Path) -> None:
    drawn(run, sheet)
    path = tmp_path / "rate.xlsx"
    assert list(pages(path)) == ["ratings", "instructions", "scale"]
    with RunFile.open(run) as opened:
        for rater, score in (("Ann", 4), ("Bob", 5)):
            fill(path, lambda cells, title, score=score: score)  # type: ignore[misc]
            import_ratings(opened, RatingsFile(path, "human", rater), ["import"])
        assert set(scores_of(opened, "Ann").values()) == {4}
        assert set(scores_of(opened, "Bob").values()) == {5}


def test_probabilities_by_stratum(run: Path, sheet: Path) -> None:
    found = drawn(run, sheet, strata="audience")
    assert found.strata == 2 and b"student" not in run.read_bytes(), "the run keeps no words of the strata"
    with RunFile.read(run) as opened:
        every = inclusions(opened, samples(opened, "tiny")[0].id)
        assert {(each.stratum, each.probability) for each in every} == {(0, 0.3), (1, 0.3)}
        staff = [each for each in every if each.stratum == 0]
        assert [each.case_id for each in staff] == list(NAMES[::3])
        assert sum(each.drawn for each in staff) == 3
        assert [each.case_id for each in every] == list(NAMES)
        [learned] = [entry.facts for entry in AuditTrail(opened.database).entries() if entry.event == "job goes on"]
        assert learned["written"] == [file_facts(sheet.parent / "rate.xlsx", opened.key)]
        assert exported(opened) == ["rate.xlsx"]
        assert opened.jobs.all()[-1].facts["sample"] == {"size": 9, "seed": 1, "strata": "audience", "raters": []}


def test_a_larger_sample_adds_to_the_smaller(run: Path, sheet: Path, tmp_path: Path) -> None:
    drawn(run, sheet)
    more = drawn(run, sheet, 15, "more.xlsx")
    assert (more.drawn, more.in_sheets) == (15, {"": 6})
    first, second = ({row[2] for row in pages(tmp_path / name)["ratings"][1:]} for name in ("rate.xlsx", "more.xlsx"))
    assert not first & second
    with RunFile.read(run) as opened:
        (kept,) = samples(opened, "tiny")
        assert sum(each.drawn for each in inclusions(opened, kept.id)) == 15
    with pytest.raises(UsageError, match="15 cases were already drawn"):
        drawn(run, sheet, 10, "less.xlsx")
    assert drawn(run, sheet, 15, "lost.xlsx").in_sheets == {"": 15}
    # An evaluator who joins later has none of the cases yet.
    assert drawn(run, sheet, 15, "bob.xlsx", raters=["Bob"]).in_sheets == {"Bob": 15}
    assert drawn(run, sheet, 20, "all.xlsx", raters=["Bob", "Cy"]).in_sheets == {"Bob": 5, "Cy": 20}


def test_a_new_run_is_made_only_for_a_draw_that_holds(sheet: Path, tmp_path: Path) -> None:
    rubric = tmp_path / "tiny.prompty"
    rubric.write_text(TINY.text)
    new = tmp_path / "new.run"
    with pytest.raises(UsageError, match="there are 30"):
        drawn(new, sheet, 31, rubric=str(rubric))
    assert not new.exists()
    drawn(new, sheet, 5, rubric=str(rubric))
    fill(tmp_path / "rate.xlsx", lambda cells, title: "Best")
    with RunFile.open(new) as opened:
        import_ratings(opened, RatingsFile(tmp_path / "rate.xlsx", "human", "Ann"), ["import"])
        assert list(scores_of(opened, "Ann").values()) == [5] * 5


def test_what_can_not_be_drawn_changes_nothing(run: Path, sheet: Path, tmp_path: Path) -> None:
    before = run.read_bytes()
    with pytest.raises(UnknownName):
        drawn(run, sheet, strata="faculty")
    for column, said in (("id", "column of the ids"), ("answer", "answer is an input of the rubric")):
        with pytest.raises(UsageError, match=said):
            drawn(run, sheet, strata=column)
    for name in ("", " Ann", "A" * 101, "A\u202en"):
        with pytest.raises(UsageError, match="an evaluator's name"):
            drawn(run, sheet, raters=["Bob", name])
    for raters in (["Ann", "Ann"], ["A/n", "A:n"]):
        with pytest.raises(UsageError, match="same name"):
            drawn(run, sheet, raters=raters)
    (tmp_path / "rate.xlsx").write_text("mine")
    with pytest.raises(OutputExists):
        drawn(run, sheet)
    assert run.read_bytes() == before


def test_a_sheet_that_can_not_be_written_leaves_no_sample(run: Path, sheet: Path, tmp_path: Path) -> None:
    def failing(*_: object) -> int:
        raise RunFileError("no space is left")

    with pytest.raises(RunFileError):
        sample(SamplePlan(Given(run, sheet, load_rubric), 9, 1, tmp_path / "rate.xlsx"), ["sample"], failing)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".xlsx"] == []
    with RunFile.read(run) as opened:
        assert samples(opened, "tiny") == []
        assert opened.database.rows("SELECT 1 FROM handouts") == []


def test_cases_that_lack_an_input_are_left_out(run: Path, sheet: Path) -> None:
    with sheet.open("a", encoding="utf-8") as file:
        file.write("s-31,what?,,student\ns-32,too,many,cells,here\n")
    found = drawn(run, sheet, 30)
    assert (found.cases, found.left_out) == (30, 2)


def test_levels_without_names_are_numbers(tmp_path: Path) -> None:
    """A spreadsheet in German would take the text 1.5 for a date."""
    named = "levels: {1: Bad, 2: Poor, 3: Not asked, 4: Good, 5: Best}, special: [3]"
    halves = TINY.text.replace(named, "min: 1, max: 3, step: 0.5")
    path = tmp_path / "rate.xlsx"
    with path.open("wb") as file:
        rows = [RatingRow("a", {"question": "q", "answer": "- a"})]
        write_rating_sheet(file, parse_rubric(halves, "halves"), "Rui", rows, "pt")
    assert pages(path)["escala"] == [["score"], [3], [2.5], [2], [1.5], [1], ["Não sei dizer"]]
    assert ["avaliado por", "Rui"] in pages(path)["instruções"]
    book = openpyxl.load_workbook(path)
    book["notas"]["D2"].value = 1.5
    book.save(path)
    assert [row.cells["score"] for row in open_sheet(path).rows()] == ["1.5"]
