"""Batch files for hosted judges hold the rubric's prompts and no case id, and replies return to the right cases."""

import csv
import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rated_run import TINY, TWO, cases, judged_run, scores_of, write_lines

from pathway_local.errors import CasesError, OutputExists
from pathway_local.ratings.cases_given import CasesGiven, Given
from pathway_local.ratings.hosted_requests import HostedRequests, strict_schema
from pathway_local.ratings.import_ratings import import_ratings
from pathway_local.ratings.rating_rows import RatingsFile
from pathway_local.ratings.sampling import SamplePlan, sample
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.audit import file_facts
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.verdict import Verdict


def write_cases(path: Path, rubric: Rubric, count: int = 12) -> Path:
    names = [f"student-{number}" for number in range(count)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *rubric.inputs, "audience"])
        for place, case in enumerate(cases(rubric, names)):
            writer.writerow([case.id, *case.inputs.values(), "staff" if place % 4 == 0 else "student"])
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that has both rubrics, with a cases file for each beside it."""
    write_cases(tmp_path / "tiny.csv", TINY)
    write_cases(tmp_path / "two.csv", TWO)
    with judged_run(tmp_path / "may.run") as run:
        store_rubric(run, TWO)
    return tmp_path / "may.run"


@contextmanager
def asking(given: Given, *more: Any) -> Iterator[HostedRequests]:
    with CasesGiven.open(given) as cases:
        yield HostedRequests(cases, *more)


def plan(
    run: Path, rubric: str = "tiny", service: Any = "openai", model: str = "gpt-4o", **options: Any
) -> tuple[Given, Any, str, Path]:
    given = Given(run, run.parent / f"{rubric}.csv", load_rubric, rubric)
    return given, service, model, run.parent / options.get("out", "requests.jsonl")


def write(run: Path, *arguments: Any, **options: Any) -> tuple[HostedRequests, list[dict[str, Any]]]:
    made = plan(run, *arguments, **options)
    with asking(*made, options.get("temperature")) as requests:
        requests.write(["hosted", "export"])
        lines = made[-1].read_text(encoding="utf-8").splitlines()
        return requests, [json.loads(line) for line in lines]


def test_openai_requests_hold_the_very_prompts_and_no_case_id(run: Path) -> None:
    leaving, lines = write(run)
    assert (leaving.cases, leaving.echoed) == (12, ())
    assert leaving.characters == sum(
        len(text) for case in cases(TINY, [f"student-{n}" for n in range(12)]) for text in case.inputs.values()
    )
    first = lines[0]
    assert (first["method"], first["url"]) == ("POST", "/v1/chat/completions")
    assert first["body"] == {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Judge the answer."},
            {"role": "user", "content": "<q>the question of student-0</q>\nthe answer of student-0"},
        ],
    }
    assert len({line["custom_id"] for line in lines}) == 12
    assert all(len(line["custom_id"]) == 24 for line in lines)
    assert stat.S_IMODE((run.parent / "requests.jsonl").stat().st_mode) == 0o600
    assert "student" not in json.dumps([{key: value for key, value in line.items() if key != "body"} for line in lines])
    assert "staff" not in (run.parent / "requests.jsonl").read_text()
    with RunFile.read(run) as read:
        job = read.jobs.all()[-1]
        assert job.counts == {"cases": 12, "characters": 580}
        said = job.fact("hosted_export")
        assert (said["service"], said["model"], said["cases"]) == ("openai", "gpt-4o", 12)
        assert job.facts["written"] == [file_facts(run.parent / "requests.jsonl", read.key)]


def test_azure_requests_name_a_deployment_at_azures_own_address(run: Path) -> None:
    _, lines = write(run, "two", "azure", "our-deployment")
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/chat/completions")}
    assert lines[0]["body"]["model"] == "our-deployment" and "temperature" not in lines[0]["body"]
    _, others = write(run, "two", out="openai.jsonl", temperature=0.0)
    assert others[0]["body"]["temperature"] == 0
    assert lines[0]["body"]["response_format"] == others[0]["body"]["response_format"]


def test_a_json_rubric_gets_the_services_strict_schema(run: Path) -> None:
    leaving, lines = write(run, "two")
    assert leaving.echoed == ("fq_id",)
    asked = lines[3]["body"]["response_format"]
    assert (asked["type"], asked["json_schema"]["strict"], asked["json_schema"]["name"]) == ("json_schema", True, "two")
    schema = asked["json_schema"]["schema"]
    assert schema["properties"]["fq_id"] == {"type": "string", "const": "the fq_id of student-3"}
    assert schema["properties"]["clear"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    assert schema["required"] == ["fq_id", "clear", "right", "why"]
    assert schema["additionalProperties"] is False


def test_anthropic_requests(run: Path) -> None:
    _, lines = write(run, "two", "anthropic", "claude-new")
    params = lines[0]["params"]
    assert params["output_config"]["format"]["type"] == "json_schema"
    assert params["max_tokens"] >= 4096
    assert params["messages"] == [{"role": "user", "content": "the fq_id of student-0 the answer of student-0"}]
    assert "system" not in params
    _, lines = write(run, "tiny", "anthropic", "claude-new", out="tiny.jsonl")
    params = lines[0]["params"]
    assert params["system"] == "Judge the answer."
    assert [message["role"] for message in params["messages"]] == ["user"]
    assert "output_config" not in params


def test_a_run_with_pseudonyms_keeps_the_map_by_them(tmp_path: Path) -> None:
    (tmp_path / "tiny.prompty").write_text(TINY.text)
    cases, key = write_cases(tmp_path / "tiny.csv", TINY), tmp_path / "key"
    given = Given(tmp_path / "new.run", cases, load_rubric, str(tmp_path / "tiny.prompty"), pseudonyms=key)
    with asking(given, "openai", "m", tmp_path / "out.jsonl") as requests:
        requests.write([])
    with RunFile.read(given.run) as read:
        kept = {name for (name,) in read.database.rows("SELECT case_id FROM handouts")}
    assert kept == {Pseudonyms.of_file(key).of(f"student-{number}") for number in range(12)}
    assert b"student-3" not in given.run.read_bytes()


def test_replies_find_back(run: Path) -> None:
    _, lines = write(run, "two", "anthropic")
    results: list[object] = []
    for place, line in enumerate(reversed(lines)):
        schema = line["params"]["output_config"]["format"]["schema"]
        echoed = schema["properties"]["fq_id"]["const"]
        reply = json.dumps({"fq_id": echoed, "clear": 1 + place % 5, "right": 2, "why": "so"})
        made = {"model": "m", "content": [{"type": "text", "text": reply}], "stop_reason": "end_turn"}
        results.append({"custom_id": line["custom_id"], "result": {"type": "succeeded", "message": made}})
    path = write_lines(run.parent / "out.jsonl", results)
    with RunFile.open(run) as opened:
        found = import_ratings(opened, RatingsFile(path, "hosted", "big"), ["import"])
        assert (found.rubric, found.raters[0].verdicts) == ("two", 12)
        assert scores_of(opened, "big", "clear") == {f"student-{11 - place}": 1 + place % 5 for place in range(12)}


def test_a_comparison_leaves_in_both_orders_and_comes_back_as_one_verdict(tmp_path: Path) -> None:
    """The judge prefers student-1's response A wherever it stands, else what stands first; student-3 lacks a line."""
    write_cases(tmp_path / "pair-answer.csv", load_rubric("pair-answer"), 5)
    leaving, lines = write(tmp_path / "new.run", "pair-answer")
    assert (leaving.cases, len(leaving.orders), len(lines)) == (5, 2, 10)
    assert len({line["custom_id"][:24] for line in lines}) == 10, "no id tells which requests belong together"
    results: list[object] = []
    for line in lines:
        asked = line["body"]["messages"][-1]["content"]
        first, second = asked.find("the response_a of"), asked.find("the response_b of")
        order = line["custom_id"][24:]
        assert (first < second) is (order == "ab")
        choice = order == "ab" if "student-1" in asked else True
        reply = f"**Comparison:**\nbecause\n\n**Verdict:** {'A' if choice else 'B'}"
        message = {"model": "m", "choices": [{"message": {"content": reply}, "finish_reason": "stop"}]}
        result = {"id": "b", "custom_id": line["custom_id"], "response": {"status_code": 200, "body": message}}
        results += [] if "student-3" in asked and order == "ba" else [result]
    path = write_lines(tmp_path / "out.jsonl", results[::-1])
    with RunFile.open(tmp_path / "new.run") as run:
        found = import_ratings(run, RatingsFile(path, "hosted", "big"), ["import"]).raters[0]
        assert (found.verdicts, dict(found.failures)) == (4, {"one-order": 1})
        kept = {record.case_id: record.outcome for record in run.records("big")}
    sure, placed = kept["student-1"], kept["student-0"]
    assert isinstance(sure, Verdict)
    assert (sure.scores["preference"].value, sure.marks) == (1, ())
    assert sure.fields == {
        "comparison": "because", "swapped.comparison": "because", "choice_ab": 1, "choice_ba": 1, "consistent": True,
    }  # fmt: skip
    assert isinstance(placed, Verdict)
    assert (placed.scores["preference"].value, placed.marks) == (0, ("flipped",))


def results(run: Path, name: str, lines: list[dict[str, Any]], answered: int) -> RatingsFile:
    """Results of the first requests, and expired ones of the others."""
    reply = {"model": "gpt-4o-2024-08-06", "choices": [{"message": {"content": "Reason: so\nScore: 4"}}]}
    made: list[object] = [
        {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": reply}}
        if place < answered
        else {"custom_id": line["custom_id"], "response": None, "error": {"code": "batch_expired"}}
        for place, line in enumerate(lines)
    ]
    return RatingsFile(write_lines(run.parent / name, made), "hosted", "gpt")


def test_requests_without_a_result_are_failures_until_one_is_imported(run: Path) -> None:
    _, lines = write(run)
    write(run, out="later.jsonl")  # the requests of another export are not missing here
    some, rest = results(run, "some.jsonl", lines[:5], 5), results(run, "rest.jsonl", lines[5:], 7)
    with RunFile.open(run) as opened:
        for _ in range(2):
            found = import_ratings(opened, some, ["import"])
            assert not found.complete and found.raters[0].failures == {"no-result": 7}
            assert any(note.startswith("7 of 12 requests have no result") for note in found.notices)
        assert [*scores_of(opened, "gpt").values()].count("no-result") == 7
        found = import_ratings(opened, rest, ["import"])
        assert found.complete and not any("no result" in note for note in found.notices)
        assert set(scores_of(opened, "gpt").values()) == {4}


def test_requests_without_a_result_are_told_where_a_file_holds_two_models(run: Path) -> None:
    _, lines = write(run)
    both = replace(results(run, "both.jsonl", lines[:5], 5), rater=None)
    both.path.write_text(both.path.read_text().replace("gpt-4o-2024-08-06", "gpt-4o-2024-11-20", 2))
    with RunFile.open(run) as opened:
        found = import_ratings(opened, both, ["import"])
        assert sorted(each.verdicts for each in found.raters) == [2, 3]
        assert any(note.startswith("7 of 12 requests have no result: the file holds") for note in found.notices)
        assert "no-result" not in scores_of(opened, found.raters[0].name).values()


def test_nothing_is_written_without_need(run: Path) -> None:
    before = run.read_bytes()
    with asking(*plan(run)) as requests:
        assert requests.cases == 12
    assert run.read_bytes() == before
    (run.parent / "requests.jsonl").write_text("mine")
    with pytest.raises(OutputExists), asking(*plan(run)):
        pass


def test_a_cases_file_that_changes_meanwhile(run: Path) -> None:
    with asking(*plan(run)) as requests:
        with (run.parent / "tiny.csv").open("a") as file:
            file.write("student-99,what,that,staff\n")
        with pytest.raises(CasesError, match="changed while"):
            requests.write([])
    assert not (run.parent / "requests.jsonl").exists()
    with RunFile.read(run) as read:
        assert read.database.rows("SELECT 1 FROM handouts") == []


def test_schemas_keep_to_what_every_service_takes() -> None:
    made = OutputFormat.load(
        {
            "layout": "json",
            "fields": {
                "verdict": {"type": "score", "levels": {0: "bad", 1: "good"}, "written": {0: "Fail", 1: "Pass"}},
                "part.sure": {"type": "boolean"},
                "part.list": {"type": "list", "items": 3},
            },
        }
    )
    schema = strict_schema(made, {})
    assert schema["properties"]["verdict"] == {"type": "string", "enum": ["Fail", "Pass"]}
    part = schema["properties"]["part"]
    assert part["required"] == ["sure", "list"]
    assert "maxItems" not in part["properties"]["list"]


def test_an_input_with_a_default_may_lack_its_column(tmp_path: Path) -> None:
    text = TINY.text.replace("answer: {type: string}", "answer: {type: string, default: none given}")
    (tmp_path / "lax.prompty").write_text(text.replace("name: tiny", "name: lax"))
    (tmp_path / "lax.csv").write_text("id,question\na,why\nb,how\n")
    given = Given(tmp_path / "lax.run", tmp_path / "lax.csv", load_rubric, str(tmp_path / "lax.prompty"))
    with asking(given, "openai", "m", tmp_path / "out.jsonl") as requests:
        requests.write([])
    assert "none given" in (tmp_path / "out.jsonl").read_text()
    sample(SamplePlan(Given(given.run, given.cases, load_rubric), 2, 1, tmp_path / "rate.xlsx"), [])
    (tmp_path / "people.csv").write_text("id,question,score\na,why,4\nb,how,5\n")
    with RunFile.open(given.run) as opened:
        import_ratings(opened, RatingsFile(tmp_path / "people.csv", "human", "Ann"), [])
        assert scores_of(opened, "Ann") == {"a": 4, "b": 5}
