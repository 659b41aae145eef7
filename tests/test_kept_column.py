"""Cases that lack a column of the run are taken as empty, and told; only a column that no case has is refused."""

from pathlib import Path

import pytest
from rated_run import add, cases, judged_run, said
from typed_here import Run, rows

from pathway_local.case import Case, CaseRef
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.verdict import Failure

IDS = [f"s-{number}" for number in range(24)]
COMMANDS = (
    ("summary", "--by", "bot"),
    ("agreement", "--by", "bot"),
    ("agreement", "--cluster", "bot"),
    ("compare", "--between", "bot=a,b", "--pair-by", "asked"),
)


@pytest.fixture
def may(tmp_path: Path) -> Path:
    """Two chatbots' answers to each of ten questions, four cases of which the run knows neither, and a bad row."""
    rows = [
        Case(case.id, case.inputs, {"bot": "ab"[at % 2], "asked": f"q{at // 2}"} if at < 20 else {}, case.row)
        for at, case in enumerate(cases(ids=IDS))
    ]
    with judged_run(tmp_path / "may.run", rows=rows) as made:
        add(made, "ann", said(*(1, 5, 4, 2) * 6, ids=IDS), kind="human", rows=rows)
        add(made, "demo", {"bad": Failure("bad-row", "it has no id")}, rows=[Case("bad", {}, row=25)])
    return tmp_path / "may.run"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_cases_without_the_column_are_taken_as_empty_and_told(run: Run, may: Path, command: tuple[str, ...]) -> None:
    name, *options = command
    found = run(name, may, *options, "--min-group", 1, "--json")
    assert found.code == 0, found.err
    assert "note: 4 cases have no bot in the run, which counts as empty: `pathway-local runs keep" in found.err


def test_the_empty_group_has_the_cases_without_the_column(run: Run, may: Path) -> None:
    groups = rows(run("summary", may, "--by", "bot", "--min-group", 1, "--json").out, "groups")
    sizes = {(group["rater"], group["group"]): group["cases"] for group in groups}
    assert sizes == {(rater, bot): 10 for rater in ("demo", "ann") for bot in "ab"} | {("demo", ""): 5, ("ann", ""): 4}
    errors = rows(run("agreement", may, "--by", "bot", "--min-group", 1, "--json").out, "group_errors")
    assert {row["group"]: row["cases"] for row in errors} == {"a": 10, "b": 10, "": 4}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_column_that_no_case_has_is_refused(run: Run, may: Path, command: tuple[str, ...]) -> None:
    name, *options = command
    found = run(name, may, *[option.replace("bot", "faculty") for option in options])
    assert (found.code, found.out) == (2, "")
    assert (
        "the run does not keep the column 'faculty' It keeps: bot, asked. Fill it in: `pathway-local runs keep"
        in found.words
    )


def test_the_column_that_is_kept_later_is_everyones(may: Path) -> None:
    with RunFile.open(may) as again:
        again.keep_metadata([CaseRef(name, at, metadata={"bot": ""}) for at, name in enumerate(IDS[20:], 21)], ["bot"])
        data = Scores(again)
        assert data.column("Bot") == "bot" and not data.notices


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_column_is_found_in_another_spelling(run: Run, may: Path, command: tuple[str, ...]) -> None:
    name, *options = command
    found = run(name, may, *[option.replace("bot", "Bot").replace("asked", "ASKED") for option in options], "--json")
    assert found.code == 0, found.err


@pytest.mark.parametrize("column", ["question", "Frage"])
def test_no_one_is_told_to_keep_an_input(run: Run, may: Path, column: str) -> None:
    found = run("summary", may, "--by", column)
    assert found.code == 2 and "is an input: a run keeps no texts" in found.words and "--keep" not in found.words
