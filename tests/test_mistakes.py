"""What looks like a mistake in ratings is named by every command that counts people."""

from pathlib import Path

import pytest
from rated_run import add, cases, judged_run, scored
from typed_here import Run, notes

from pathway_local.case import Case
from pathway_local.results.mistakes import mistakes, names_one_person
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.matrix import ratings_matrices
from pathway_local.verdict import Score, Verdict

WIDE = scored("wide", "min: 0, max: 10")
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


@pytest.mark.parametrize("command", [("agreement",), ("summary", "--json"), ("compare", "--between", "bot=x,y")])
def test_commands_that_count_people_name_two_who_may_be_one(run: Run, rated: Path, command: tuple[str, ...]) -> None:
    said = run(command[0], rated, *command[1:]).words
    assert ALIKE in said and "a-B and committee/Cy gave the same scores to all 24 cases of both" in said


def test_only_the_people_whose_labels_count_are_named(rated: Path) -> None:
    with RunFile.read(rated) as read:
        (matrix,) = ratings_matrices(read, read.rubrics()["tiny"])
        places = matrix.places(["committee/A b", "a-B"])
        assert [note.key for note in mistakes(matrix, places)] == ["alike_names"]


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


def _habits(run: Run, tmp_path: Path, raters: dict[str, tuple[str, list[int]]], rubric: Rubric = WIDE) -> str:
    """What agreement and summary warn of these raters of 60 cases; 0 is no score."""
    every = cases(rubric, ids=[f"c-{n}" for n in range(60)])
    with judged_run(tmp_path / "may.run", rubric, rows=[]) as made:
        for name, (kind, given) in raters.items():
            own = {row.id: Verdict({"score": Score(value)}) for row, value in zip(every, given, strict=True) if value}
            add(made, name, own, rubric, kind, rows=every)
    found = [run(command, "may.run").words for command in ("agreement", "summary")]
    keys = [{note for note in WARNINGS if note in words} for words in found]
    assert keys[0] == keys[1]
    return " ".join(sorted(keys[0]))


WARNINGS = "if ann saw the scores of demo", "ann never went above", "have the texts of another"


def test_a_person_who_saw_the_judge_is_asked_about(run: Run, tmp_path: Path) -> None:
    judge = [1 + n % 5 for n in range(60)]
    copied = [*judge[:58], 5, 1]
    assert _habits(run, tmp_path, {"demo": ("judge", judge), "ann": ("human", copied)}) == WARNINGS[0]


def test_equal_scores_say_nothing_where_nearly_all_are_the_same(run: Run, tmp_path: Path) -> None:
    judge = [5] * 55 + [1] * 5
    assert _habits(run, tmp_path, {"demo": ("judge", judge), "ann": ("human", judge)}) == ""


def test_a_rater_who_used_a_shorter_scale_is_asked_about(run: Run, tmp_path: Path) -> None:
    judge = [1 + n % 9 for n in range(60)]
    assert (
        _habits(run, tmp_path, {"demo": ("judge", judge), "ann": ("human", [1 + n % 5 for n in range(60)])})
        == (WARNINGS[1])
    )


def test_one_reversed_rater_of_three_is_named_once(run: Run, tmp_path: Path) -> None:
    scores = [1 + n % 9 for n in range(60)]
    given = {
        "demo": scores,
        "ann": [each + n % 2 for n, each in enumerate(scores)],
        "bob": [10 - each for each in scores],
    }
    _habits(run, tmp_path, {name: ("judge" if name == "demo" else "human", own) for name, own in given.items()})
    for command in ("agreement", "summary"):
        (told,) = notes(run(command, "may.run", "--json").out, "reversed")
        assert told == "bob orders the cases oppositely to demo and ann: is 0 the best level for bob?"


def test_two_reversed_raters_of_five_are_both_named(run: Run, tmp_path: Path) -> None:
    scores = [1 + n % 9 for n in range(60)]
    usual = {name: [each + n % 2 for n, each in enumerate(scores)] for name in ("ann", "cy", "di")}
    upside = {name: [10 - each for each in scores] for name in ("bob", "eve")}
    _habits(run, tmp_path, {name: ("human", own) for name, own in {**usual, **upside}.items()})
    told = notes(run("agreement", "may.run", "--json").out, "reversed")
    assert [each.split(" orders ")[0] for each in told] == ["bob", "eve"]


def test_compare_takes_raters_as_reversed_only_if_clusters_leave_it_sure(run: Run, tmp_path: Path) -> None:
    rows = [each for at in range(36) for each in cases(ids=[f"t-{at}"], bot="xy"[at % 2], student=str(at // 12))]
    with judged_run(tmp_path / "may.run", rows=rows) as made:
        for name, scores in (("ann", (1, 5, 4)), ("bob", (5, 4, 1))):
            given = {row.id: Verdict({"score": Score(scores[at // 12])}) for at, row in enumerate(rows)}
            add(made, name, given, kind="human", rows=rows)
    asked = ("compare", tmp_path / "may.run", "--between", "bot", "--json")
    assert notes(run(*asked).out, "reversed") and not notes(run(*asked, "--cluster", "student").out, "reversed")


def test_cases_that_are_there_several_times_are_counted(run: Run, tmp_path: Path) -> None:
    first = cases()
    again = [Case(f"again-{row.id}", row.inputs, {}, row.row + 10) for row in first]
    judged_run(tmp_path / "may.run", rows=[*first, *again]).close()
    assert "Under tiny, 4 of 8 cases have the texts of another case" in run("summary", "may.run").words


def test_a_judge_that_was_stopped_is_told_of(run: Run, tmp_path: Path) -> None:
    with judged_run(tmp_path / "may.run") as made:
        facts = {"raters": [{"rater": "demo", "rubric": "tiny"}]}
        made.jobs.end(made.jobs.begin(["judge"], facts), "stopped", {})
        assert "demo was stopped before" in run("summary", "may.run").words
        made.jobs.end(made.jobs.begin(["judge"], facts), "done", {})
        assert "demo was stopped before" not in run("summary", "may.run").words
