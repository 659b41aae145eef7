"""Small things that stopped people who are no programmers, each with the file or the command that showed it."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from rated_run import IDS, TINY, add, cases, judged_run, said, scores_of
from typed_here import Run, typing_in

from pathway_local.case import BAD_ROW, DUPLICATE, BadRow
from pathway_local.errors import CasesError
from pathway_local.rater import Rater
from pathway_local.runs.purge import purge
from pathway_local.runs.run_cases import cases_of, remember
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.sheets.row import delimited_cell, spreadsheet_cell, without_guard
from pathway_local.verdict import Score, Verdict

GERMAN = "id;question;answer;Dauer\n" + "".join(
    f"{name};the question of {name};the answer of {name};{at},5\n" for at, name in enumerate(IDS)
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "my.run"


@pytest.fixture
def run(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    with RunFile.create(path) as made:
        verdict = Verdict({"score": Score(4, {4: 0.25, 5: 0.75})}, {"reason": "because"})
        made.set_setting("label:demo", "a demonstration judge")
        rows = [replace(case, metadata={"rater": "left", "rubric": "old"}) for case in cases()]
        add(made, "demo", dict.fromkeys(IDS, verdict), rows=rows)
    return typing_in(path.parent, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (GERMAN, "0,25"),
        (GERMAN.replace(",5", ""), "0,25"),  # no fraction in it: semicolons go with commas
        (GERMAN.replace(";", ",").replace(",5", ""), "0.25"),
    ],
)
def test_a_copy_has_the_sheet_s_decimal_mark(path: Path, run: Run, text: str, number: str) -> None:
    (path.parent / "cases.csv").write_text(text)
    assert run("export", path, "--onto", "cases.csv", "--out", "new.csv", "--columns", "score_p4").code == 0
    rows = (path.parent / "new.csv").read_text().splitlines()
    assert all(row.endswith(number) for row in rows[1:])


def test_a_csv_file_is_said_to_be_none_for_excel(path: Path, run: Run) -> None:
    assert "write --out verdicts.xlsx" in run("export", path, "--out", "verdicts.csv").err
    assert "Excel" not in run("export", path, "--out", "verdicts.jsonl").err


@pytest.mark.parametrize("text", ["-5", "+49", "-1,5"])
def test_a_number_is_no_formula(text: str) -> None:
    assert spreadsheet_cell(text) == delimited_cell(text) == text


def test_a_guarded_id_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = ("=a", "-b", "'c", "-5")
    judged_run(tmp_path / "my.run", rows=cases(ids=ids)).close()
    run = typing_in(tmp_path, monkeypatch, capsys)
    lines = [f"{spreadsheet_cell(name)},{score}" for score, name in zip((1, 2, 4, 5), ids, strict=True)]
    (tmp_path / "rated.csv").write_text("id,score\n" + "\n".join(lines) + "\n")
    assert run("import", "my.run", "rated.csv", "--kind", "human", "--rater", "ann").code == 0
    with RunFile.read(tmp_path / "my.run") as read:
        assert scores_of(read, "ann") == dict(zip(ids, (1, 2, 4, 5), strict=True))
    assert without_guard("'quoted'") == "'quoted'"


def test_a_rating_of_a_row_that_holds_no_case_refuses_the_file(path: Path, run: Run) -> None:
    with RunFile.open(path) as opened:
        (rater,) = (number for number, _ in opened.raters())
        for row, kind in ((5, DUPLICATE), (6, BAD_ROW), (7, BAD_ROW)):
            name = "s-6" if row == 6 else f"cases.csv line {row + 1}"
            bad = BadRow(name, row, "cases.csv", f"line {row + 1}", "the reason in words", kind=kind)
            opened.put(rater, bad.ref, bad.failure)
    sheet = path.parent / "rated.csv"
    sheet.write_text("id,score\ns-1,1\ns-2,2\ns-2,5\ns-6,4\ns-7,4\n")
    done = run("import", path, sheet, "--kind", "human", "--rater", "ann")
    assert done.code == 3, "a rating of an unknown case, or a second one of the same, refuses the file"
    assert "line 4: ann rated the same case in line 3" in done.err
    assert "line 5: its case was never judged" in done.err
    assert "line 6: its id matches no case" in done.err
    with RunFile.read(path) as read:
        assert [rater.name for _, rater in read.raters()] == ["demo"]


def test_an_error_of_an_import_is_told_once_with_what_to_do(path: Path, run: Run) -> None:
    sheet = path.parent / "rated.csv"
    sheet.write_text("id,score\ns-1,9\n")
    refused = run("import", path, sheet, "--kind", "human", "--rater", "ann").err
    assert refused.count("9 is off the scale") == 1 and "Fix these lines" in refused
    for score in (4, 5):
        sheet.write_text(f"id,score\ns-1,{score}\n")
        done = run("import", path, sheet, "--kind", "human", "--rater", "ann")
    assert done.err.count("another rating in the run") == 1
    assert "runs remove-rater" in done.err and "Fix these lines" not in done.err
    assert run("runs", "remove-rater", path, "ann", "--yes").code == 0
    assert run("import", path, sheet, "--kind", "human", "--rater", "ann").code == 0


def test_a_purged_run_says_so(path: Path, run: Run) -> None:
    (path.parent / "cases.csv").write_text(GERMAN)
    purge(path, "text", [], print)
    assert "was purged at" in run("export", path, "--onto", "cases.csv", "--out", "new.csv").err
    purge(path, "all", [], print)
    assert "they were purged at" in run("summary", path).out
    for onto in ((), ("--onto", "cases.csv")):
        refused = run("export", path, *onto, "--out", "none.csv")
        assert refused.code == 2 and "they were purged at" in refused.err


def test_columns_called_like_ours_are_groups_of_their_own(path: Path, run: Run) -> None:
    with RunFile.open(path) as opened:
        add(opened, "ann", said(1, 2), kind="human")
    for column, value in (("rater", "left"), ("rubric", "old")):
        shown = run("summary", path, "--by", column, "--min-group", 1).out
        assert value in shown and "demo" in shown
    assert '"group": "left"' in run("summary", path, "--by", "rater", "--min-group", 1, "--json").out


def test_figures_carry_the_label_of_a_demonstration_judge(path: Path, run: Run) -> None:
    with RunFile.open(path) as opened:
        for name in ("ann", "bob", "cy"):
            add(opened, name, said(1, 2, 4, 5), kind="human")
    shown = run("agreement", path, "--out", "figures.csv")
    assert "Warning: demo: a demonstration judge" in shown.words
    rows = (path.parent / "figures.csv").read_text().splitlines()
    assert rows[0].endswith(",caution")
    of_demo = [row for row in rows if ",demo," in row or ",all 4 raters," in row]
    assert of_demo and all(row.endswith("demo: a demonstration judge") for row in of_demo)
    assert {row.endswith(",") for row in rows if ",ann,bob," in row or ",the 3 people," in row} == {True}
    assert "demo: a demonstration judge" in run("agreement", path, "--json").out


def test_an_encoding_is_remembered_for_the_file_of_that_name(tmp_path: Path) -> None:
    sheet = tmp_path / "cases.csv"
    sheet.write_bytes("id,question,answer\ns-1,Kde?,Příště\n".encode("iso8859-2"))
    with RunFile.create(tmp_path / "my.run") as run:
        store_rubric(run, TINY)
        run.add_rater(Rater("demo", "judge", TINY.name, {}))
        given = cases_of(sheet, [TINY], run, encoding="iso8859-2")
        remember(run, given, {})
        (case,) = cases_of(sheet, [TINY], run)
        assert case.inputs["answer"] == "Příště"
        other = sheet.rename(tmp_path / "other.csv")
        assert cases_of(other, [TINY], run, encoding="latin-1").sheet.told == {"encoding": "latin-1"}
        with pytest.raises(CasesError, match="is not UTF-8"):
            cases_of(other, [TINY], run)
