"""Imported ratings of people and hosted judges, long or wide, meet the right cases or are refused as a whole."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import openpyxl
import pytest
from rated_run import IDS, TINY, TWO, cases, judged_run, know_by_row, scores_of, write_lines

from pathway_local.errors import PathwayError, RaterChanged, RatingsError, RunFileError, UnknownName
from pathway_local.ratings.import_ratings import Imported, import_ratings
from pathway_local.ratings.rating_rows import Problem, RatingsFile
from pathway_local.ratings.samples import hand_out, store_handouts
from pathway_local.results.agreement import ScoreAgreement
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric
from pathway_local.runs.audit import check_content
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.scores.matrix import ratings_matrices
from pathway_local.scores.scores import Scores
from pathway_local.verdict import Verdict
from pathway_local.words.language import Language

SAY = Language("en")


Rows = Sequence[Sequence[object]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    with judged_run(tmp_path / "may.run") as run:
        yield run


@pytest.fixture
def two(tmp_path: Path) -> Iterator[RunFile]:
    with judged_run(tmp_path / "two.run", TWO) as run:
        yield run


def table(folder: Path, rows: Rows, name: str = "people.csv") -> Path:
    path = folder / name
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(list(row))  # type: ignore[union-attr]
        book.save(path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(rows)
    return path


def load(run: RunFile, path: Path, rater: str | None = None, kind: str = "human", **options: object) -> Imported:
    return import_ratings(run, RatingsFile(path, kind, rater, **options), ["import"])  # type: ignore[arg-type]


def refused(run: RunFile, path: Path, rater: str | None = "Ann", **options: object) -> PathwayError:
    """The error of an import that must leave the run as it was."""
    before = ([*run.records()], run.raters(), run.jobs.all())
    with pytest.raises(PathwayError) as caught:
        load(run, path, rater, **options)
    assert ([*run.records()], run.raters(), run.jobs.all()) == before
    return caught.value


def outcome(run: RunFile, rater: str, case: str) -> Verdict:
    found = next(record.outcome for record in run.records(rater) if record.case_id == case)
    assert isinstance(found, Verdict)
    return found


@pytest.mark.parametrize("name", ["people.csv", "people.tsv", "people.xlsx"])
def test_one_raters_sheet(run: RunFile, tmp_path: Path, name: str) -> None:
    rows = [["id", "score", "comment", "Reason"], ["s-2", 5, "fine", "it is"], ["s-1", "1", "", ""]]
    rows += [["s-4", "", "", ""], ["s-3", 3.0, "", ""]]
    found = load(run, table(tmp_path, rows, name), "Ann")
    assert scores_of(run, "Ann") == {"s-1": 1, "s-2": 5, "s-3": 3}
    assert outcome(run, "Ann", "s-2").fields == {"notes": "fine", "reason": "it is"}
    assert (found.rubric, found.blanks, found.raters[0].verdicts) == ("tiny", 1, 3)
    assert [rater.kind for _, rater in run.raters()] == ["judge", "human"]
    assert run.jobs.all()[-1].status == "done"


@pytest.mark.parametrize(("name", "hint"), [("a.csv", "import the file there with ids as text"), ("a.xlsx", "as text")])
def test_ids_that_lost_their_zeros_are_one_line(tmp_path: Path, name: str, hint: str) -> None:
    ids = [f"{number:04}" for number in range(71, 80)]
    path = table(tmp_path, [["id", "score"], *([int(each), 4] for each in ids)], name)
    with judged_run(tmp_path / "zeros.run", rows=cases(ids=ids)) as run, pytest.raises(RatingsError) as refused:
        load(run, path, "ann")
    assert len(refused.value.problems) == 1 and "would with leading zeros" in refused.value.problems[0]
    assert "and 6 more" in refused.value.problems[0] and hint in refused.value.hint


def test_a_long_sheet_names_its_raters(run: RunFile, tmp_path: Path) -> None:
    rows = [["case_id", "Evaluator", "Score"], ["s-1", "Ann", 1], ["s-1", "Bob", 2], ["s-2", "Ann", 5]]
    load(run, table(tmp_path, rows))
    items = [{"id": "s-3", "rater": "Ann", "score": 4}, {"id": "s-2", "rater": "Bob", "score": "Best", "note": "yes"}]
    load(run, write_lines(tmp_path / "people.jsonl", items))
    assert (scores_of(run, "Ann"), scores_of(run, "Bob")) == ({"s-1": 1, "s-2": 5, "s-3": 4}, {"s-1": 2, "s-2": 5})
    assert outcome(run, "Bob", "s-2").fields == {"notes": "yes"}


def test_of_a_sheet_with_a_column_for_each_rater_an_import_reads_one(run: RunFile, tmp_path: Path) -> None:
    rows = [["id", "Ann", "Bob", "Bob's words"], ["s-1", 1, 2, "weak"], ["s-2", "", 5, ""], ["s-3", 4, "", "unsure"]]
    path = table(tmp_path, rows)
    assert load(run, path, "committee/Ann", scores=["Ann"]).blanks == 1
    load(run, path, "committee/Bob", scores=["Bob"], comments=["Bob's words"])
    assert scores_of(run, "committee/Ann") == {"s-1": 1, "s-3": 4}
    assert scores_of(run, "committee/Bob") == {"s-1": 2, "s-2": 5}
    assert outcome(run, "committee/Bob", "s-1").fields == {"notes": "weak"}
    assert isinstance(refused(run, path, None, scores=["Ann"], comments=["Ann's words"]), UnknownName)
    unsure = outcome(run, "committee/Bob", "s-3")
    assert (unsure.scores, unsure.fields, unsure.marks) == ({}, {"notes": "unsure"}, ("no-score",))


def test_an_id_that_a_spreadsheet_would_run_is_found_with_and_without_its_apostrophe(tmp_path: Path) -> None:
    ids = ["=1+1", "@a", "'=kept"]
    with judged_run(tmp_path / "may.run", rows=cases(ids=ids)) as run:
        for rater, written in (("Ann", ids), ("Bob", ["'=1+1", "'@a", "'=kept"])):
            load(run, table(tmp_path, [["id", "score"], *([each, 4] for each in written)]), rater)
            assert scores_of(run, rater) == dict.fromkeys(ids, 4)


def test_several_scores(two: RunFile, tmp_path: Path) -> None:
    rows = [["id", "clear", "correct", "why"], ["s-1", 4, 5, "short"], ["s-2", 2, "", ""]]
    found = load(two, table(tmp_path, rows), "Ann", scores=["clear", "right=correct"])
    assert (scores_of(two, "Ann", "clear"), scores_of(two, "Ann", "right")) == ({"s-1": 4, "s-2": 2}, {"s-1": 5})
    assert outcome(two, "Ann", "s-1").fields == {"why": "short"}
    assert found.raters[0].verdicts == 2


def test_columns_are_never_guessed(run: RunFile, two: RunFile, tmp_path: Path) -> None:
    path = table(tmp_path, [["id", "Ann", "year"], ["s-1", 4, 1]])
    assert "no column called score" in str(refused(run, path))
    assert isinstance(refused(run, path, scores=["Bob"]), UnknownName)
    assert isinstance(refused(run, path, scores=["Ann"], id_column="nr"), UnknownName)
    unclear = table(tmp_path, [["id", "Ann", "Bob"], ["s-1", 4, 1]], "unclear.csv")
    assert "unclear which score" in str(refused(two, unclear, scores=["Ann", "Bob"]))
    assert "several columns are named" in str(refused(two, unclear, scores=["clear=Ann", "clear=Bob"]))
    nobody = table(tmp_path, [["id", "score"], ["s-1", 4]], "nobody.csv")
    assert "does not say who" in str(refused(run, nobody, None))


def test_everything_that_is_wrong_is_named_with_its_line(run: RunFile, tmp_path: Path) -> None:
    rows = [
        ["id", "score"], ["s-1", 4], ["s-9", 4], ["s-2", 6], ["s-3", "5.5"], ["s-1", 5], ["", 4], ["s-4", "secret one"],
    ]  # fmt: skip
    error = refused(run, table(tmp_path, rows))
    assert isinstance(error, RatingsError)
    assert error.problems == (
        "line 3: its id matches no case of the run",
        "line 4: score: 6 is off the scale 1 to 5",
        "line 5: score: 5.5 is off the scale 1 to 5",
        "line 6: Ann rated the same case in line 2",
        "line 7: it has no id",
        "line 8: score: this is not a score from 1 to 5; write can't say if it could not be judged",
    )
    assert "6 of its ratings are invalid" in str(error)
    assert error.exit_code == 3


def test_row_numbers_join_only_where_texts_confirm_them(tmp_path: Path) -> None:
    rows = cases(by_row=True)
    with judged_run(tmp_path / "rows.run", rows=rows) as run:
        know_by_row(run)
        bare = refused(run, table(tmp_path, [["id", "score"], ["1", 4]]))
        assert isinstance(bare, RatingsError)
        assert "row number" in bare.problems[0]
        header = ["question", "answer", "score"]
        sheet = [[*case.inputs.values(), int(case.id) - 1] for case in rows]
        load(run, table(tmp_path, [header, *sheet], "same.csv"), "Ann")
        assert scores_of(run, "Ann") == {"2": 1, "3": 2, "4": 3, "5": 4}
        moved = refused(run, table(tmp_path, [header, sheet[1], sheet[0]], "moved.csv"), "Bob")
        assert isinstance(moved, RatingsError) and len(moved.problems) == 2
        assert "its id is that of one case, its answer and question that of another" in moved.problems[0]
        named = [[case.id, *line] for case, line in zip(rows, sheet, strict=True)]
        load(run, table(tmp_path, [["id", *header], *reversed(named)], "named.csv"), "Cy")
        assert scores_of(run, "Cy") == scores_of(run, "Ann")


def test_a_rating_without_an_id_is_refused_where_cases_have_ids(run: RunFile, tmp_path: Path) -> None:
    [case, *_] = cases()
    error = refused(run, table(tmp_path, [[*case.inputs, "score"], [*case.inputs.values(), 4]]))
    assert isinstance(error, RatingsError) and error.problems == ("line 2: it has no id",)


def test_a_sheet_that_nobody_filled_is_refused(run: RunFile, tmp_path: Path) -> None:
    path = table(tmp_path, [["id", "score"], *([case, ""] for case in IDS)])
    assert str(refused(run, path)) == f"people.csv holds no rating: {len(IDS)} cells are empty"


def test_a_file_can_be_imported_again_but_not_changed(run: RunFile, tmp_path: Path) -> None:
    path = table(tmp_path, [["id", "score"], ["s-1", 4], ["s-2", 5]])
    load(run, path, "Ann")
    again = load(run, table(tmp_path, [["id", "score"], ["s-1", 4], ["s-3", 1]], "more.csv"), "Ann")
    assert (again.raters[0].unchanged, len(scores_of(run, "Ann"))) == (1, 3)
    error = refused(run, table(tmp_path, [["id", "score"], ["s-4", 1], ["s-1", 5]], "changed.csv"))
    assert isinstance(error, RatingsError)
    assert error.problems == ("line 3: Ann gave this case another rating in the run",)


def test_a_rater_of_another_kind_is_another_rater(run: RunFile, tmp_path: Path) -> None:
    path = table(tmp_path, [["id", "score"], ["s-1", 4]])
    load(run, path, "Ann")
    assert isinstance(refused(run, path, "Ann", kind="hosted"), RaterChanged)
    assert isinstance(refused(run, path, "demo"), RaterChanged)


def test_a_run_without_cases(tmp_path: Path) -> None:
    with RunFile.create(tmp_path / "empty.run") as empty:
        store_rubric(empty, TINY)
        assert "no cases yet" in str(refused(empty, table(tmp_path, [["id", "score"], ["s-1", 4]])))


def test_a_run_with_several_rubrics_needs_one_named(run: RunFile, tmp_path: Path) -> None:
    store_rubric(run, TWO)
    path = table(tmp_path, [["id", "score"], ["s-1", 4]])
    assert "several rubrics" in str(refused(run, path))
    load(run, path, "Ann", rubric="tiny")
    clear = table(tmp_path, [["id", "clear"], ["s-1", 4]], "clear.csv")
    unjudged = refused(run, clear, rubric="two")
    assert isinstance(unjudged, RatingsError)
    assert "never judged under this rubric" in unjudged.problems[0]


def test_a_failing_disk_leaves_nothing_half_imported(
    run: RunFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path, [["id", "score"], *([name, 4] for name in IDS)])
    before = ([*run.records()], run.raters(), run.jobs.all())
    put, calls = RunFile.put, 0

    def failing(*arguments: object, **options: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise RunFileError("no space is left")
        put(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(RunFile, "put", failing)
    with pytest.raises(RunFileError):
        load(run, path, "Ann")
    monkeypatch.undo()
    assert ([*run.records()], run.raters(), run.jobs.all()) == before
    load(run, path, "Ann")
    assert len(scores_of(run, "Ann")) == 4


def chat(custom_id: str, text: str, finish: str = "stop", **changes: object) -> dict[str, object]:
    message = {"role": "assistant", "content": text, "refusal": changes.pop("refusal", None)}
    body = {
        "model": "gpt-x-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 90, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 64}},
    }
    line = {"id": "batch_req_1", "custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None}
    return {**line, **changes}


def message(custom_id: str, text: str, stop: str = "end_turn", model: str = "claude-x") -> dict[str, object]:
    content = [{"type": "thinking", "thinking": "Score: 1"}, {"type": "text", "text": text}]
    usage = {"input_tokens": 10, "cache_read_input_tokens": 80, "output_tokens": 9}
    made = {"model": model, "content": content, "stop_reason": stop, "usage": usage}
    return {"custom_id": custom_id, "result": {"type": "succeeded", "message": made}}


def test_openai_results(run: RunFile, tmp_path: Path) -> None:
    lines = [
        chat("s-1", "Reason: good\nScore: 4"),
        chat("s-2", "**Reason:** poor\n\n**Score:** 2/5"),
        chat("s-3", "", refusal="I can't help with that."),
        chat("s-4", "", response={"status_code": 429, "body": {"error": {"code": "rate_limit_exceeded"}}}),
    ]
    found = load(run, write_lines(tmp_path / "out.jsonl", lines), "gpt", "hosted")
    assert scores_of(run, "gpt") == {"s-1": 4, "s-2": 2, "s-3": "refused", "s-4": "hosted-error"}
    assert found.raters[0].verdicts == 2
    spec = dict(run.raters()[-1][1].spec)
    assert (spec["service"], spec["model"]) == ("openai", "gpt-x-2026")
    late = write_lines(
        tmp_path / "late.jsonl", [chat("s-4", "Reason: ok\nScore: 5"), chat("s-1", "Reason: good\nScore: 4")]
    )
    assert load(run, late, "gpt", "hosted").raters[0].unchanged == 1
    assert scores_of(run, "gpt")["s-4"] == 5


def failed(custom_id: str) -> dict[str, object]:
    """A line of the file in which a service puts the requests that failed."""
    body = {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}
    return chat(custom_id, "", response={"status_code": 429, "body": body})


def test_one_number_that_can_not_be_kept_ends_no_import(tmp_path: Path) -> None:
    gold = load_rubric("gold-answer")
    good = {
        "completeness_score": 3, "completeness_reasoning": "Half.", "key_missing_info": [],
        "correctness_score": 5, "correctness_reasoning": "Right.", "factual_errors": [],
    }  # fmt: skip
    changes = {"s-1": {}, "s-2": {"key_missing_info": [float("nan")]}, "s-3": {"completeness_score": 10**400}}
    lines = [chat(name, json.dumps({**good, **change})) for name, change in changes.items()]
    with judged_run(tmp_path / "gold.run", gold) as run:
        found = load(run, write_lines(tmp_path / "out.jsonl", lines), "gpt", "hosted")
        unreadable = "unreadable-reply"
        assert scores_of(run, "gpt", "correctness_score") == {"s-1": 5, "s-2": unreadable, "s-3": unreadable}
        assert found.raters[0].failures == {unreadable: 2}


def test_a_file_of_failures_goes_with_the_results(run: RunFile, tmp_path: Path) -> None:
    lines = [failed("s-1"), failed("s-2")]
    alone = refused(run, write_lines(tmp_path / "errors.jsonl", lines), "gpt", kind="hosted")
    assert "holds failed requests alone" in str(alone) and "Append its lines to the file of results" in alone.hint
    results = write_lines(tmp_path / "out.jsonl", [chat("s-3", "Reason: good\nScore: 4"), *lines])
    load(run, results, "gpt", "hosted")
    assert scores_of(run, "gpt") == {"s-1": "hosted-error", "s-2": "hosted-error", "s-3": 4}
    [rater] = [rater for _, rater in run.raters() if rater.name == "gpt"]
    assert (rater.spec["service"], rater.spec["model"]) == ("openai", "gpt-x-2026")
    check_content(run.database)
    again = write_lines(tmp_path / "again.jsonl", [chat("s-1", "Reason: good\nScore: 5")])
    load(run, again, "gpt", "hosted")
    assert scores_of(run, "gpt")["s-1"] == 5
    other = write_lines(tmp_path / "other.jsonl", [message("s-4", "Reason: good\nScore: 5")])
    error = refused(run, other, "gpt", kind="hosted")
    assert isinstance(error, RaterChanged)
    assert 'model was "gpt-x-2026", now "claude-x"' in str(error)


@pytest.mark.parametrize("table_first", [True, False])
def test_verdicts_that_name_no_model_are_another_rater(run: RunFile, tmp_path: Path, table_first: bool) -> None:
    nameless = table(tmp_path, [["id", "score"], ["s-1", 4]])
    results = write_lines(tmp_path / "out.jsonl", [chat("s-3", "Reason: good\nScore: 4")])
    first, then = (nameless, results) if table_first else (results, nameless)
    load(run, first, "gpt", "hosted")
    assert isinstance(refused(run, then, "gpt", kind="hosted"), RaterChanged)


def test_results_without_custom_id_are_named_as_such(run: RunFile, tmp_path: Path) -> None:
    line = {name: each for name, each in chat("s-1", "Reason: good\nScore: 4").items() if name != "custom_id"}
    said = refused(run, write_lines(tmp_path / "out.jsonl", [line]), "gpt", kind="hosted")
    assert "without custom_id" in str(said) and "no column" not in str(said)


def test_results_that_can_not_be_one_raters(run: RunFile, tmp_path: Path) -> None:
    mixed = write_lines(
        tmp_path / "mixed.jsonl",
        [message("s-1", "Reason: a\nScore: 4"), message("s-2", "Reason: a\nScore: 4", model="other")],
    )
    several = str(refused(run, mixed, "c", kind="hosted"))
    assert "several models: claude-x (anthropic), other (anthropic)" in several
    text = write_lines(
        tmp_path / "text.jsonl", [message("s-1", "Reason: a\nScore: 4"), message("s-1", "", model="what they asked")]
    )
    assert "what they asked" not in str(refused(run, text, "t", kind="hosted"))
    assert "--kind hosted" in refused(run, mixed, "c").hint
    twice = write_lines(
        tmp_path / "twice.jsonl", [message("s-1", "Reason: a\nScore: 4"), message("s-1", "Reason: a\nScore: 2")]
    )
    error = refused(run, twice, "c", kind="hosted")
    assert isinstance(error, RatingsError) and error.problems == ("line 2: c rated the same case in line 1",)


def test_raw_replies_in_a_table(two: RunFile, tmp_path: Path) -> None:
    case = cases(TWO)[0]
    good = json.dumps({"fq_id": case.inputs["fq_id"], "clear": 4, "right": 5, "why": "so"})
    rows = [["id", "answer", "fq_id", "reply"], ["s-1", *(case.inputs[n] for n in ("answer", "fq_id")), good]]
    other = cases(TWO)[1]
    rows.append(["s-2", other.inputs["answer"], other.inputs["fq_id"], good])
    load(two, table(tmp_path, rows), "gpt", "hosted")
    assert scores_of(two, "gpt", "right") == {"s-1": 5, "s-2": 5}
    assert not outcome(two, "gpt", "s-1").marks


def test_handed_out_ids_bring_rubric_and_texts(two: RunFile, tmp_path: Path) -> None:
    store_rubric(two, TINY)
    handouts = [hand_out(two.key, TWO, case, "openai gpt") for case in cases(TWO)[:2]]
    store_handouts(two, two.jobs.begin(["x"], {}), handouts)
    replies = [{"fq_id": "the fq_id of s-1", "clear": 1, "right": 2, "why": "a"}] * 2
    lines = [chat(item.custom_id, json.dumps(reply)) for item, reply in zip(handouts, replies, strict=True)]
    found = load(two, write_lines(tmp_path / "out.jsonl", lines), "gpt", "hosted")
    assert (found.rubric, scores_of(two, "gpt", "right")) == ("two", {"s-1": 2, "s-2": 2})
    assert outcome(two, "gpt", "s-1").marks == ()
    assert "under two" in str(refused(two, tmp_path / "out.jsonl", "x", kind="hosted", rubric="tiny"))


def test_one_person_under_two_names_is_noticed_but_never_merged(run: RunFile, tmp_path: Path) -> None:
    load(run, table(tmp_path, [["id", "rater", "score"], ["s-1", "A b", 4], ["s-2", "Cy", 5]]), "committee")
    load(run, table(tmp_path, [["id", "score"], ["s-3", 2], ["s-1", 5]], "own.csv"), "a-B")
    found = ScoreAgreement(Scores(run), *ratings_matrices(run, TINY), AgreementOptions())
    (warned,) = map(SAY.note, found.warnings)
    assert warned.startswith("committee/A b and a-B count as two people, but their names look like one person's")
    assert {rater.name for rater in found.raters if rater.kind == "human"} == {"committee/A b", "committee/Cy", "a-B"}


def test_equal_scores_between_levels_are_noticed(tmp_path: Path) -> None:
    ids = [f"c-{number}" for number in range(10)]
    with judged_run(tmp_path / "may.run", rows=cases(ids=ids)) as run:
        rows = [["id", "score"], *([name, 4 + at / 16] for at, name in enumerate(ids))]
        for rater in ("Ann", "Bob"):
            load(run, table(tmp_path, rows), rater)
        found = ScoreAgreement(Scores(run), *ratings_matrices(run, TINY), AgreementOptions())
        assert [SAY.note(warned).partition(":")[0] for warned in found.warnings] == [
            "Ann and Bob gave the same scores to all 10 cases of both"
        ]


def test_problems_of_every_kind_of_file_are_told_in_its_order(run: RunFile, tmp_path: Path) -> None:
    """Places are lines, items, or rows that a spreadsheet numbers otherwise than the file's lines."""
    places = ["line 12", "item 3", "row 6 (line 7)"]
    assert [Problem(where, "x").place for where in places] == [12, 3, 7]
    path = tmp_path / "people.json"
    path.write_text(json.dumps([{"id": "s-1", "score": 9}, {"id": "nobody", "score": 2}]))
    error = refused(run, path)
    assert isinstance(error, RatingsError)
    assert [said.partition(":")[0] for said in error.problems] == ["item 1", "item 2"]


SAYS = """---
name: says
inputs: {answer: {type: string}}
outputs:
  layout: "Score: {score}"
  fields:
    score: {type: score, levels: {0: "Can't say", 1: Bad, 2: Good}, special: [0]}
---
user:
{{ answer }}
"""


@pytest.mark.parametrize("cell", ["Can't say", "can't say", "0 – Can't say"])
def test_a_level_that_is_called_like_that_is_a_score(tmp_path: Path, cell: str) -> None:
    with judged_run(tmp_path / "own.run", parse_rubric(SAYS, "says")) as run:
        load(run, table(tmp_path, [["id", "score"], ["s-1", cell]]), "Ann")
        assert scores_of(run, "Ann") == {"s-1": 0}
