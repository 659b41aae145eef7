"""Two people who may be one are named by every command that counts people."""

from pathlib import Path

import pytest
from rated_run import add, cases, judged_run
from typed_here import Run

from pathway_local.results.alike import alike, names_one_person
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.scores.matrix import ratings_matrices
from pathway_local.verdict import Score, Verdict

NAMES = tuple(f"s-{number}" for number in range(1, 25))
ALIKE = "committee/A b and a-B count as two people, but their names look like one person's"


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    """A judge, and people of whom two have names like one person's."""
    path = tmp_path / "may.run"
    rows = [case for place, each in enumerate(NAMES) for case in cases(ids=[each], bot="xy"[place % 2])]
    with judged_run(path, rows=rows) as run:
        said = {name: Verdict({"score": Score((1, 2, 4, 5)[at % 4])}) for at, name in enumerate(NAMES)}
        other = {name: Verdict({"score": Score((5, 4, 2)[at % 3])}) for at, name in enumerate(NAMES)}
        add(run, "mine", said, rows=rows)
        for name, verdicts in (("committee/A b", said), ("a-B", other), ("committee/Cy", other)):
            add(run, name, verdicts, kind="human", rows=rows)
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("agreement",),
        ("summary",),
        ("summary", "--json"),
        ("plan", "--between", "bot=x,y", "--labels", "--half-width", "0.2"),
        ("compare", "--between", "bot=x,y"),
        ("read", "--by", "disagreement"),
        ("compare", "--between", "bot=x,y", "--json"),
        ("read", "--by", "disagreement", "--json"),
    ],
)
def test_commands_that_count_people_name_two_who_may_be_one(run: Run, rated: Path, command: tuple[str, ...]) -> None:
    said = run(command[0], rated, *command[1:]).words
    assert ALIKE in said and "a-B and committee/Cy gave the same scores to all 24 cases of both" in said


def test_only_the_people_whose_labels_count_are_named(rated: Path) -> None:
    with RunFile.read(rated) as read:
        (matrix,) = ratings_matrices(read, rubrics_of(read)["tiny"])
        places = matrix.places(["committee/A b", "a-B"])
        assert [note.key for note in alike(matrix, places)] == ["alike_names"]


def test_a_panel_names_them(run: Run, rated: Path) -> None:
    found = run("runs", "panel", rated, "--name", "all", "--of", "committee/A b,a-B").words
    assert f"Warning: {ALIKE}" in found


def test_a_report_names_them(run: Run, rated: Path) -> None:
    assert run("report", rated, "--out", "report.html").code == 0
    page = (rated.parent / "report.html").read_text()
    assert "committee/A b and a-B count as two people" in page


def test_a_plan_names_only_the_people_whose_labels_it_plans(run: Run, rated: Path) -> None:
    goal = ("--half-width", "0.2", "--json")
    assert ALIKE not in run("plan", rated, "--against", "committee", *goal).words
    names = {"committee/A b": "committee/A", "a-B": "committee/a."}
    with RunFile.open(rated) as opened:
        for old, new in names.items():
            opened.database.rows("UPDATE raters SET name = ? WHERE name = ?", new, old)
    assert "committee/A and committee/a. count as two" in run("plan", rated, "--against", "committee", *goal).words


def test_a_point_and_the_case_of_letters_make_no_other_person() -> None:
    assert names_one_person("A.", "a") and names_one_person("committee/A. B.", "ab")
    assert not names_one_person("?", "!") and not names_one_person("A1", "A2")
