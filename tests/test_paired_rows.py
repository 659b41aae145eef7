"""Files with a row for each answer, read two rows at a time: `--pair-by`."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest
from typed_here import Run, typing_in

from pathway_local.case import BadRow, Case, fingerprint
from pathway_local.errors import CasesError, UsageError
from pathway_local.judges.registry import load_registry
from pathway_local.judging.plan import Plan
from pathway_local.judging.planned_rater import planned_raters
from pathway_local.rater import Rater
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_cases import Limit, cases_of, remember
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.verdict import Score, Verdict

VERDICTS = {"1": Verdict({"preference": Score(1)}), "2": Verdict({"preference": Score(-1)})}
HEAD = ("qid", "Frage", "Antwort", "bot", "lang")


def file(tmp_path: Path, *rows: Sequence[str], head: Sequence[str] = HEAD) -> Path:
    with (tmp_path / "rows.csv").open("w", newline="") as target:
        csv.writer(target).writerows([head, *rows])
    return tmp_path / "rows.csv"


def paired(path: Path) -> CasesFile:
    return cases_of(path, [load_rubric("pair-answer")], None, pair_by="QID")


def test_the_two_rows_of_a_question_are_one_case_wherever_they_stand(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        ("1", "When?", "At nine.", "v1", "en"), ("2", "Where?", "There.", "v1", "en"),
        ("2", "Where?", "Here.", "v2", "en"), (), ("1", "When?", "Never.", "v2", "en"),
    )  # fmt: skip
    cases = paired(path)
    assert (cases.id_column, cases.inputs["response_b"]) == ("qid", "Antwort_b")
    second, first = (each for each in cases if isinstance(each, Case))
    assert first.inputs == {"question": "When?", "response_a": "At nine.", "response_b": "Never."}
    assert (first.id, second.id, second.inputs["response_a"]) == ("1", "2", "There.")
    assert (first.metadata["bot_a"], first.metadata["bot_b"], first.metadata["lang"]) == ("v1", "v2", "en")
    assert not any("there." in text.lower() or "when" in text.lower() for text in first.metadata.values())
    assert all(not name.startswith(("Antwort", "Frage")) for name in cases.metadata), "texts are no metadata"
    assert cases.count() in (2, 3)


def test_rows_that_make_no_pair_are_named(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        ("1", "When?", "At nine.", "v1", "en"), ("1", "When?", "Never.", "v2", "en"),
        ("1", "When?", "Once.", "v3", "en"),
        ("2", "Where?", "There.", "v1", "en"), ("", "Who?", "Me.", "v1", "en"),
        ("3", "Why?", "So.", "v1", "en"), ("3", "Why not?", "No.", "v2", "en"),
    )  # fmt: skip
    bad = {each.place: each.reason for each in paired(path) if isinstance(each, BadRow)}
    assert bad == {
        "line 4": "two rows before it have the same qid", "line 5": "no second row has its qid",
        "line 6": "it has no qid", "line 8": "its Frage holds different texts in the two rows",
    }  # fmt: skip


def test_counts_and_places_are_those_of_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, *((str(i % 3), "When?", f"At {i}.", "v1", "en") for i in range(6)), ("9", "x", "y", "z", "w"))
    found = list(paired(path))
    assert [each.row for each in found] == [5, 6, 7, 8], "a pair has the number of its second row"
    assert str(Limit(path.name, 2, len(found), 0)) == "a random 2 of the 4 cases of rows.csv (--limit, seed 0)"


def test_a_file_that_is_joined_already_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, ("1", "x", "y", "z"), head=("qid", "question", "answer", "answer_a"))
    with pytest.raises(CasesError, match="has a column answer_a, which joined rows need"):
        paired(path)


def test_a_run_remembers_how_its_rows_were_joined(tmp_path: Path) -> None:
    path = file(tmp_path, ("1", "When?", "At nine.", "v1", "en"), ("1", "When?", "Never.", "v2", "en"))
    rubric = load_rubric("pair-answer")
    with RunFile.create(tmp_path / "p.run") as made:
        remember(made, cases_of(path, [rubric], made, pair_by="qid"), {})
        store_rubric(made, rubric)
        assert cases_of(path, [rubric], made).pair_by == "qid"


def test_both_rows_of_a_pair_get_its_verdict_and_their_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Run = typing_in(tmp_path, monkeypatch, capsys)
    path = file(
        tmp_path,
        ("1", "When?", "At nine.", "v1", "en"), ("2", "Where?", "There.", "v1", "en"), (),
        ("3", "Who?", "Me.", "v1", "en"), ("2", "Where?", "Here.", "v2", "en"), ("1", "When?", "Never.", "v2", "en"),
        ("1", "When?", "Once.", "v3", "en"),
    )  # fmt: skip
    rubric = load_rubric("pair-answer")
    with RunFile.create(tmp_path / "p.run") as made:
        cases = paired(path)
        remember(made, cases, {})
        store_rubric(made, rubric)
        rater = made.add_rater(Rater("judge", "judge", rubric.name, {}))
        for each in cases:
            if isinstance(each, BadRow):
                made.put(rater, each.ref, each.failure)
            else:
                made.put(rater, each.ref(fingerprint(made.key, rubric.texts_of(each))), VERDICTS[each.id])
    assert (
        run("export", "p.run", "--onto", path.name, "--out", "new.csv", "--columns", "preference,failure_message").code
        == 0
    )
    with (tmp_path / "new.csv").open(newline="") as source:
        rows = [row for row in csv.reader(source) if row]
    assert rows[0] == [*HEAD, "side", "pair-answer.preference", "pair-answer.failure_message"]
    assert [tuple(row[2:3] + row[5:7]) for row in rows[1:]] == [
        ("At nine.", "A", "1"), ("There.", "A", "-1"), ("Me.", "", ""), ("Here.", "B", "-1"), ("Never.", "B", "1"),
        ("Once.", "", ""),
    ]  # fmt: skip
    said = [row[7].partition(": ")[2] for row in rows[1:]]
    assert said == ["", "", "no second row has its qid", "", "", "two rows before it have the same qid"]


@pytest.mark.parametrize(
    ("rubric", "options", "said"),
    [
        ("groundedness", {"pair_by": "qid"}, "--pair-by is for rubrics that compare"),
        ("pair-answer", {"pair_by": "qid", "id": "id"}, "its column has the ids"),
    ],
)
def test_wrong_uses_are_refused(tmp_path: Path, rubric: str, options: dict[str, str], said: str) -> None:
    plan = Plan(tmp_path / "x.csv", tmp_path / "x.run", **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=said):
        planned_raters(plan, None, {rubric: load_rubric(rubric)}, load_registry(None))
