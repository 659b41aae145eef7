"""docs/json.md has every key that `--json` prints, and no other; see tests/json_page.py for how it is written."""

from pathlib import Path

import numpy as np
import pytest
from agreement_run import answers_run
from compared_run import compared_run
from handed_run import handed_run
from json_page import check_section, noting_tables
from rated_run import add, cases, judged_run, said, several_run, store_draw
from taught_run import rubric, taught, taught_run
from typed_here import Run, typing_in

from pathway_local.results.analyses import ANALYSES
from pathway_local.results.table import Column, Table
from pathway_local.verdict import Score, Verdict

BOTS = ("--between", "chatbot=v1,v2", "--pair-by", "question_id")
COMMANDS = {
    "summary": (
        ("small.run",),
        ("answers.run", "--by", "audience"),
        ("answers.run", "--cluster", "student"),
        ("drawn.run", "--weight", "peso"),
        ("pairs.run",),
    ),
    "agreement": (
        ("answers.run", "--by", "audience", "--cluster", "student"),
        ("small.run",),
        ("drawn.run",),
        ("taught.run", "--between", "plain,taught", "--against", "Ann"),
        ("answers.run", "--panel", "fitted", "--against", "committee", "--cluster", "student"),
    ),
    "plan": (
        ("answers.run", *BOTS, "--detect", "0.3"),
        ("answers.run", *BOTS, "--detect", "0.3", "--cluster", "student"),
        ("answers.run", "--against", "committee", "--half-width", "0.3"),
    ),
    "compare": (
        ("answers.run", *BOTS),
        ("answers.run", *BOTS, "--min-group", "1000"),
        ("answers.run", *BOTS, "--cluster", "student", "--rater", "committee"),
        ("several.run", "--between", "bot", "--cluster", "bot"),
        ("pairs.run", "--pairs", "bot_a,bot_b", "--min-group", "1"),
        ("pairs.run", "--pairs", "bot_a,bot_b", "--min-group", "1000"),
    ),
    "handover": (
        ("handed.run", "--against", "committee", "--error", "0.1"),
        ("rated.run", "--against", "committee", "--error", "0.1"),
    ),
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    answers_run(tmp_path / "answers.run")
    with judged_run(tmp_path / "small.run") as made:
        marked = {"s-1": Verdict({"score": Score(1)}, {"notes": "short"}, ("format:rest",))}
        add(made, "ann", said(1, 4, 3, 5) | marked, kind="human")
        add(made, "bob", said(0, 4), kind="human")
        add(made, "both", said(1, 4, 3, 5), kind="combined")
    ids = [f"s-{number}" for number in range(1, 25)]
    with judged_run(tmp_path / "drawn.run", rows=cases(ids=ids, peso="2")) as made:
        store_draw(made, cases(ids=ids), range(16))
        add(made, "demo", said(*[1, 4, 3, 5] * 6, ids=ids), rows=cases(ids=ids))
        add(made, "ann", said(*[1, 4, 3, 4] * 4, ids=ids[:16]), kind="human", rows=cases(ids=ids), sheet=True)
    several_run(tmp_path / "several.run", labelled=True)
    scores = np.arange(40) % 5 + 1.0
    taught_run(tmp_path / "taught.run", {"Ann": scores}, [(rubric(), scores[::-1]), (taught([]), scores)])
    compared_run(tmp_path / "pairs.run").close()
    handed_run(tmp_path / "handed.run")
    handed_run(tmp_path / "rated.run", later=True)
    return typing_in(tmp_path, monkeypatch, capsys)


def test_the_page_has_the_keys_that_are_printed_and_what_they_hold(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = noting_tables(monkeypatch)
    for command, every in COMMANDS.items():
        printed.clear()
        for options in every:
            said = run(*command.split(), *options, "--json")
            assert said.code == 0, said
        check_section(command, printed, of_scores=command == "agreement")
    assert {*ANALYSES} == {*COMMANDS}


def test_a_page_that_lacks_a_key_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WRITE_PAGES", raising=False)
    further = Table("plan", {"points": 1}, [Column("novel", "count")], [{"novel": 1}])
    with pytest.raises(AssertionError, match="MEANING"):
        check_section("plan", [further])
    with pytest.raises(AssertionError, match="is stale in plan"):
        check_section("plan", [Table("plan", {"points": 1}, [], [])])
