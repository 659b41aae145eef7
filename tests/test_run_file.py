"""The run file: what is put comes back, and one outcome is current for each case and rater."""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from sample_run import GOLD, RATER, VERDICT, case, new_run, stored

from pathway_local.case import BadRow, CaseRef, fingerprint, hash_by_input, text_hash
from pathway_local.errors import RaterChanged, RunFileError, UnknownName
from pathway_local.rater import Rater
from pathway_local.runs.database import IDS_PER_QUERY
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Score, Tokens, Value, Verdict


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "may.run"


@pytest.fixture
def run(path: Path) -> Iterator[RunFile]:
    run, _ = new_run(path)
    with run:
        yield run


def test_outcomes_come_back_in_the_order_of_the_cases_file(path: Path, run: RunFile) -> None:
    run.add_rubric("gold", "Compare.", GOLD)
    gold = run.add_rater(Rater("demo", "judge", "gold", {}))
    anna = run.add_rater(Rater("anna", "human", "grounded", {}))
    run.put(1, case("b", 2, hash="h2"), Failure("prompt-too-long", "9000 tokens, 8192 fit"), tokens=Tokens(9000))
    run.put(gold, case("a", 1, hash="h1"), Verdict({"score": Score(2)}))
    run.put(1, case("a", 1, hash="h1"), VERDICT, tokens=Tokens(800, 768, 90))
    run.put(anna, case("a", 1, hash="h1"), Verdict({"score": Score(3)}))
    run.close()
    with RunFile.read(path) as reader:
        found = list(reader.records())
        assert [(r.case_id, r.rater, r.rubric) for r in found] == [
            ("a", "demo", "grounded"),
            ("a", "demo", "gold"),
            ("a", "anna", "grounded"),
            ("b", "demo", "grounded"),
        ]
        assert found[0].outcome == VERDICT
        assert found[0].tokens == Tokens(800, 768, 90)
        assert (found[0].row, found[0].case_hash) == (1, "h1")
        assert found[1].outcome == Verdict({"score": Score(2)})
        assert found[3].outcome == Failure("prompt-too-long", "9000 tokens, 8192 fit")
        assert [r.rater for r in reader.records(rater="anna")] == ["anna"]
        assert [r.case_id for r in reader.records(rater="demo", rubric="grounded")] == ["a", "b"]
        with pytest.raises(UnknownName, match="no rater is called 'ana'"):
            reader.records(rater="ana")
        with pytest.raises(UnknownName, match="no rubric is called 'silver'"):
            reader.records(rubric="silver")


def test_probabilities_keep_seven_digits_and_the_mass_of_the_legal_values(run: RunFile) -> None:
    shares = {1: 1.23456789e-12, 2: 1 / 3, 5: 2 / 3}
    run.put(1, case("a"), Verdict({"score": Score(5, shares, 0.125)}))
    (record,) = run.records()
    assert isinstance(record.outcome, Verdict)
    score = record.outcome.scores["score"]
    assert score.probabilities == pytest.approx(shares, rel=1e-6, abs=0) and score.mass == 0.125
    assert '0.6666667},"mass"' in str(run._db.rows("SELECT scores FROM outcomes"))


def test_a_shell_can_query_the_scores(path: Path, run: RunFile) -> None:
    run.put(1, case("a"), VERDICT)
    run.close()
    query = "SELECT case_id, json_extract(scores, '$.score.value') FROM outcomes JOIN cases ON case_key = key"
    assert stored(path, query) == [("a", 4)]


def test_awkward_texts_are_stored(run: RunFile) -> None:
    odd = 'nul \0 quote " newline \n astral \U0001f600 line \u2028 lone '
    item = CaseRef(odd + "\ud83d", 1, metadata={odd + "\udfff": "\ud800" + odd}, hash="h")
    fields = {"text": odd + "\ud800", "list": [odd, {odd: None}]}
    run.put(1, item, Verdict({"score": Score(1)}, fields, (odd,)), keep=None)
    run.put(1, case("b", 2), Failure("unreadable-reply", odd + "\ud800"))
    with RunFile.read(run.path) as reader:
        first, second = reader.records()
    assert first.case_id == odd + "\ufffd"
    assert first.metadata == {odd + "\ufffd": "\ufffd" + odd}
    assert first.outcome == Verdict({"score": Score(1)}, {"text": odd + "\ufffd", "list": [odd, {odd: None}]}, (odd,))
    assert second.outcome == Failure("unreadable-reply", odd + "\ufffd")
    assert run.judged(1, [item.id, "b"]) == {item.id: "h"}


def test_a_number_that_is_not_finite_is_refused_and_leaves_no_trace(run: RunFile) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        run.put(1, case("a"), Verdict({"score": Score(4, {4: float("nan")})}))
    assert list(run.records()) == []


def test_only_the_metadata_that_was_named_reaches_the_disk(path: Path, run: RunFile) -> None:
    run.put(1, case("a", chatbot="v1", student="SECRET-1"), VERDICT, keep=["chatbot"])
    run.put(1, case("b", 2, chatbot="v2", student="SECRET-2"), VERDICT)
    on_disk = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"SECRET" not in on_disk
    assert [record.metadata for record in run.records()] == [{"chatbot": "v1"}, {}]


def test_metadata_and_rows_are_filled_in_without_judging_again(run: RunFile) -> None:
    run.put(1, case("a", 1, chatbot="v1", language="en"), VERDICT, keep=["chatbot"])
    run.keep_metadata(
        [case("a", 7, chatbot="v1", language="de"), case("new", 8, language="fr")], ["language", "absent"]
    )
    (record,) = run.records()
    assert (record.row, record.metadata, record.outcome) == (7, {"chatbot": "v1", "language": "de"}, VERDICT)


def test_judged_gives_the_hashes_of_verdicts_only(run: RunFile) -> None:
    other = run.add_rater(Rater("anna", "human", "grounded", {}))
    count = IDS_PER_QUERY + 10
    for number in range(count):
        run.put(1, case(f"c{number}", number, hash=f"h{number}"), VERDICT)
    run.put(1, case("failed", hash="hf"), Failure("engine", "it ended"))
    run.put(other, case("hers", hash="hh"), VERDICT)
    asked = [f"c{number}" for number in range(count)] + ["failed", "hers", "unknown"]
    assert run.judged(1, asked) == {f"c{number}": f"h{number}" for number in range(count)}
    assert run.judged(other, asked) == {"hers": "hh"}
    assert run.judged(1, []) == {}


def stored_outcomes(run: RunFile) -> list[tuple[object, ...]]:
    """Each outcome's hash and failure, and whether it is current."""
    now = "(case_key, rater_id, number) IN (SELECT case_key, rater_id, number FROM current)"
    return run._db.rows(f"SELECT case_hash, failure_kind, {now} FROM outcomes")


def test_one_outcome_is_current_and_a_verdict_on_other_texts_is_kept(run: RunFile) -> None:
    run.put(1, case("a", hash="h1"), Failure("engine", "it ended"))
    run.put(1, case("a", hash="h1"), VERDICT)
    assert stored_outcomes(run) == [("h1", None, 1)]
    changed = Verdict({"score": Score(1)})
    run.put(1, case("a", hash="h2"), changed)
    assert stored_outcomes(run) == [("h1", None, 0), ("h2", None, 1)]
    assert [record.outcome for record in run.records()] == [changed]
    assert run.judged(1, ["a"]) == {"a": "h2"}
    run.put(1, case("a", hash="h2"), VERDICT)
    assert [record.outcome for record in run.records()] == [VERDICT]
    run.put(1, case("a", hash="h2"), Failure("engine", "it ended"))
    assert stored_outcomes(run) == [("h1", None, 0), ("h2", None, 0), ("h2", "engine", 1)], "no failure wipes it out"
    assert run.judged(1, ["a"]) == {}


def test_what_a_bad_row_replaced_is_current_again_when_the_bad_row_is_forgotten(run: RunFile) -> None:
    run.put(1, case("a"), VERDICT)
    for name in ("a", "b"):
        bad = BadRow(name, 1, "x.csv", "line 2", "it is broken")
        run.put(1, bad.ref, bad.failure)
    elsewhere = BadRow("c", 1, "x.csv y.csv", "line 2", "it is broken")
    run.put(1, elsewhere.ref, elsewhere.failure)
    run.forget_bad_rows(1, "x.csv", ["b"])
    assert stored_outcomes(run) == [("h", None, 1), ("", "bad-row", 1), ("", "bad-row", 1)]
    assert {record.case_id for record in run.records()} == {"a", "b", "c"}


def test_the_same_rater_keeps_its_id_and_another_is_refused_with_what_differs(run: RunFile) -> None:
    run.put(1, case("a"), VERDICT)
    spec: dict[str, Value] = {"samples": 1, "rubric": "ab" * 32, "weights": {"a.safetensors": "cd" * 32}}
    assert run.add_rater(Rater("demo", "judge", "grounded", spec)) == 1
    other: dict[str, Value] = {
        "samples": 3,
        "rubric": "ab" * 32,
        "weights": {"a.safetensors": "ef" * 32},
        "precision": "bf16",
    }
    with pytest.raises(RaterChanged) as refused:
        run.add_rater(Rater("demo", "judge", "grounded", other))
    message = str(refused.value)
    for said in (
        'precision was absent, now "bf16"',
        "samples was 1, now 3",
        'weights.a.safetensors was "cdcdcd',
        "efefef",
    ):
        assert said in message
    assert "rubric was" not in message and "\n" not in message and refused.value.hint
    with pytest.raises(RaterChanged, match='kind of rater was "judge", now "human"'):
        run.add_rater(Rater("demo", "human", "grounded", spec))
    assert [(id, rater) for id, rater in run.raters()] == [(1, RATER)]
    with pytest.raises(UnknownName, match="no rubric is called 'gold'"):
        run.add_rater(Rater("demo", "judge", "gold", {}))


def test_a_rater_without_outcomes_may_change(run: RunFile) -> None:
    changed = Rater("demo", "judge", "grounded", {"samples": 5})
    id = run.add_rater(changed)
    assert run.raters() == [(id, changed)]


def test_a_rubric_is_kept_whole_and_may_not_change_under_verdicts(path: Path, run: RunFile) -> None:
    text = "Judge ü.\r\n\n  Indented \0 end"
    run.add_rubric("grounded", text, "{}")
    rater = run.add_rater(RATER)
    run.put(rater, case("a"), VERDICT)
    sha256 = run.add_rubric("grounded", text, "{}")
    with pytest.raises(RaterChanged, match=f"rubric 'grounded'.*{sha256[:12]}"):
        run.add_rubric("grounded", text + ".", "{}")
    with pytest.raises(RaterChanged, match=r"rubric 'grounded'.*this release reads the same text in another way"):
        run.add_rubric("grounded", text, '{"name": "grounded"}')
    run.close()
    with RunFile.read(path) as reader:
        assert reader.stored_rubrics() == {"grounded": (text, "{}")}


def test_jobs_and_settings_survive(path: Path, run: RunFile) -> None:
    first = run.jobs.begin(["judge", "cases.csv"], {"versions": {"vllm": "0.32.0"}, "inputs": [{"sha256": "ab"}]})
    run.jobs.end(first, "finished", {"judged": 2, "failed": 1})
    run.jobs.begin(["judge", "again"], {})
    run.set_setting("resume", {"cases": "cases.csv", "keep": ["chatbot"]})
    run.set_setting("resume", {"cases": "cases.csv", "keep": None})
    key = run.key
    run.close()
    with RunFile.read(path) as reader:
        done, cut = reader.jobs.all()
        assert (done.id, done.command, done.status) == (first, ("judge", "cases.csv"), "finished")
        assert done.counts == {"judged": 2, "failed": 1}
        assert done.facts == {"versions": {"vllm": "0.32.0"}, "inputs": [{"sha256": "ab"}]}
        assert done.ended and done.started.endswith("+00:00") and done.started <= done.ended
        assert (cut.ended, cut.status, cut.counts) == (None, None, None)
        assert reader.get_setting("resume") == {"cases": "cases.csv", "keep": None}
        assert reader.get_setting("unset") is None
        assert reader.key == key


def test_a_job_whose_facts_are_none_of_ours_has_no_judges(run: RunFile) -> None:
    raters = [{"rubric": "gold"}, {"rater": "demo"}, "x", {"rater": "demo", "rubric": "gold"}]
    run.jobs.begin([], {"raters": raters, "engines": 3})
    [job] = run.jobs.all()
    assert (job.judges, job.engines) == ([("demo", "gold")], [])


def test_each_run_has_a_key_of_its_own(tmp_path: Path) -> None:
    with RunFile.create(tmp_path / "a.run") as a, RunFile.create(tmp_path / "b.run") as b:
        assert len(a.key) == 32
        assert fingerprint(a.key, {"answer": "x"}) != fingerprint(b.key, {"answer": "x"})


def test_each_text_has_a_hash_that_a_spreadsheet_does_not_change() -> None:
    key = b"k" * 32
    first = fingerprint(key, {"question": "Who?\r\nWhen?", "answer": "=1 é"})
    rewritten = fingerprint(key, {"answer": "'=1 e\u0301", "question": " Who?_x000D_\nWhen?"})
    wanted = {"answer": text_hash(key, "=1 é"), "question": text_hash(key, "Who? When?")}
    assert first != rewritten and hash_by_input(first) == hash_by_input(rewritten) == wanted
    assert text_hash(key, "=2") != wanted["answer"] and hash_by_input("") == {}


def test_a_file_system_without_links_takes_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    new_run(tmp_path / "may.run")[0].close()
    with pytest.raises(RunFileError, match="exists already"):
        RunFile.create(tmp_path / "may.run")
    with RunFile.read(tmp_path / "may.run") as reader:
        assert len(reader.raters()) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["may.run"]


def test_an_interrupt_between_two_statements_undoes_both(
    path: Path, run: RunFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.put(1, case("a", hash="old"), VERDICT)
    run.put(1, case("b", 2), VERDICT)
    statement = run._db.execute_all

    def interrupted(query: str, rows: Sequence[Sequence[object]]) -> None:
        if "INSERT INTO outcomes" in query:
            raise KeyboardInterrupt
        statement(query, rows)

    monkeypatch.setattr(run._db, "execute_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.put(1, case("a", hash="new"), VERDICT)
    run.close()
    assert stored(path, "SELECT case_hash FROM outcomes ORDER BY case_key") == [("old",), ("h",)]


COUNT = "SELECT (SELECT count(*) FROM outcomes), (SELECT count(*) FROM raters)"


def test_others_see_all_of_what_is_written_together_or_nothing(path: Path, run: RunFile) -> None:
    run.put(1, case("before"), VERDICT)
    with run.together():
        second = run.add_rater(Rater("ann", "human", "grounded", {}))
        for number in range(20):
            run.put(second, case(f"c{number}", number), VERDICT)
        assert stored(path, COUNT) == [(1, 1)]
    assert stored(path, COUNT) == [(21, 2)]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, RunFileError])
def test_a_block_that_fails_is_undone_and_the_run_goes_on(path: Path, run: RunFile, error: type[BaseException]) -> None:
    with pytest.raises(error), run.together():
        run.add_rater(Rater("ann", "human", "grounded", {}))
        run.put(1, case("a"), VERDICT)
        raise error("stop")
    assert list(run.records()) == []
    run.put(1, case("b"), VERDICT)
    assert stored(path, COUNT) == [(1, 1)]
    with RunFile.read(path) as read:
        assert [record.case_id for record in read.records()] == ["b"]
