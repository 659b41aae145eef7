"""A random part of the verdicts is judged again under the rubric turned round; what flips is marked and found."""

from pathlib import Path

import faulty_judges
import pytest
from faulty_judges import RUBRIC, Judge, Script, ScriptedCache, store_facts
from typed_here import Run, notes, rows, typing_in

from pathway_local.errors import UsageError
from pathway_local.judging.job import Watcher, run_job
from pathway_local.judging.plan import Plan
from pathway_local.judging.tasks import is_drawn
from pathway_local.results.reading_list import ReadOptions, reading_lists
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.record import Record
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.scores.scores import Scores
from pathway_local.verdict import HELD, TURNED, Verdict

CASES = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_facts(tmp_path_factory.mktemp("double-check"), CASES)


def judge(folder: Path, run: Path, by: Judge, share: float) -> tuple[dict[str, Record], int]:
    """Judge all cases; return the records by case, and how many replies that took."""
    plan = Plan(
        folder / "cases.jsonl",
        run,
        rubric=(load_rubric(str(folder / "facts.prompty")),),
        judge=("script",),
        models=folder / "models.yaml",
        engine="scripted",
        double_check=share,
    )
    cache = ScriptedCache(lambda tokenizer: Script(tokenizer, by))
    run_job(plan, Watcher(), ("judge",), cache)
    with RunFile.read(run) as read:
        records = list(read.records())
    assert len(records) == CASES
    return {each.case_id: each for each in records}, len(cache.made.read) if cache.made else 0


def marks(record: Record) -> set[str]:
    assert isinstance(record.outcome, Verdict)
    return {*record.outcome.marks} & {HELD, TURNED}


def test_what_flips_is_marked_and_keeps_its_first_scores(folder: Path, tmp_path: Path) -> None:
    found, replies = judge(folder, tmp_path / "t.run", faulty_judges.likes_the_last_level, 0.5)
    checked = [each for each in found.values() if marks(each)]
    assert 15 < len(checked) < 45 and replies == CASES + len(checked)
    assert all(marks(each) == {TURNED} for each in checked)
    for each in found.values():
        assert isinstance(each.outcome, Verdict) and each.outcome.scores["score"].value == 3
        assert each.outcome.fields["reason"] == "so"
        assert each.tokens.generated > 0
    again, replies = judge(folder, tmp_path / "t.run", faulty_judges.likes_the_last_level, 0.5)
    assert replies == 0 and {name: each.outcome for name, each in again.items()} == {
        name: each.outcome for name, each in found.items()
    }
    more, replies = judge(folder, tmp_path / "t.run", faulty_judges.good, 1.0)
    assert replies == CASES - len(checked)  # the others, by a judge that the order does not move
    assert {name for name, each in more.items() if marks(each) == {TURNED}} == {each.case_id for each in checked}
    assert {name for name, each in more.items() if marks(each) == {HELD}} == {*found} - {
        each.case_id for each in checked
    }
    with RunFile.read(tmp_path / "t.run") as read:
        rubrics = list(rubrics_of(read).values())
        sheet = cases_of(folder / "cases.jsonl", rubrics, read)
        [listed] = reading_lists(Scores(read), rubrics, ReadOptions(by="flips", top=100), sheet)
    assert {each.case for each in listed.cases} == {each.case_id for each in checked}
    assert listed.cases[0].texts and listed.cases[0].said[0].scores[0].value == 3


def test_a_part_is_drawn_by_the_id_alone() -> None:
    few, many = ({str(at) for at in range(4000) if is_drawn(str(at), share)} for share in (0.05, 0.2))
    assert few < many and 140 < len(few) < 260 and 700 < len(many) < 900
    assert is_drawn("any", 1.0)


def test_a_rubric_that_lists_no_levels_is_refused_where_nothing_would_change(folder: Path, tmp_path: Path) -> None:
    text = RUBRIC.replace("5 = all\n4 = most\n3 = some\n2 = few\n1 = none\n", "From 1 to 5.\n")
    (tmp_path / "bare.prompty").write_text(text)
    plan = Plan(
        folder / "cases.jsonl",
        tmp_path / "t.run",
        rubric=(load_rubric(str(tmp_path / "bare.prompty")),),
        judge=("script",),
        models=folder / "models.yaml",
        engine="scripted",
        double_check=0.1,
    )
    with pytest.raises(UsageError, match="does not list its levels"):
        run_job(plan, Watcher(), ("judge",), ScriptedCache(lambda tokenizer: Script(tokenizer, faulty_judges.good)))
    assert not plan.run.exists()


def test_summary_gives_the_share_and_read_the_list(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(folder, tmp_path / "t.run", faulty_judges.likes_the_last_level, 1.0)
    typed: Run = typing_in(tmp_path, monkeypatch, capsys)
    said = typed("summary", "t.run")
    assert "60 of 60 double-checked verdicts flipped (100%, 95% interval 94% to 100%)" in said.words
    assert "marked double-check" not in said.words
    out = typed("summary", "t.run", "--json").out
    assert [(row["kind"], row["count"]) for row in rows(out, "marks")] == [(TURNED, 60)]
    assert notes(out, "double_checked_flips")
    written = typed("read", "t.run", "--cases", folder / "cases.jsonl", "--by", "flips", "--out", "read.html")
    assert written.code == 0 and "topic1x" in (tmp_path / "read.html").read_text()
    for share in ("5", "x%", "0", "-1%"):
        said = typed("judge", folder / "cases.jsonl", "-r", folder / "facts.prompty", "--double-check", share)
        assert said.code == 2 and "is not a share" in said.words
