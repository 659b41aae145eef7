"""A drill: a further engine is one file, `another_engine`, and one line that lists it; the command does the rest."""

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest
from another_engine import Another, AnotherWithoutLibrary
from reply_script import JUDGE
from test_floors import modules
from typed import HERE, RUBRIC
from typed_here import Run, typing_in

from pathway_local.engines import engine_list
from pathway_local.engines.engine import EngineKind
from pathway_local.runs.run_file import RunFile

CASES = 12


@pytest.fixture
def run(tmp_path: Path, tiny_judge: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    entry = {"source": str(tiny_judge), "cpu": True, "dtype": "float32", "engine": {"beads": 7}}
    (tmp_path / "models.yaml").write_text(json.dumps({"mine": entry}))
    (tmp_path / "small.prompty").write_text(RUBRIC)
    rows = [{"id": f"case-{number}", "question": "What?", "answer": f"It is {number}."} for number in range(CASES)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("PYTHONPATH", f"{HERE}{os.pathsep}{HERE.parent}")
    monkeypatch.setenv(JUDGE, str(tiny_judge))
    return typing_in(tmp_path, monkeypatch, capsys)


JUDGING = ("judge", "cases.jsonl", "-r", "small.prompty", "-j", "mine", "--models", "models.yaml", "--run", "x.run")


def _listed(monkeypatch: pytest.MonkeyPatch, engine: EngineKind) -> None:
    monkeypatch.setattr(engine_list, "ENGINES", [*engine_list.ENGINES, engine])


def test_a_further_engine_judges_once_it_is_listed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = run(*JUDGING, "--engine", "another")
    assert refused.code == 2
    assert "another" in refused.words
    assert not (tmp_path / "x.run").exists()
    _listed(monkeypatch, Another())
    done = run(*JUDGING, "--engine", "another")
    assert done.code == 0, done.err
    assert "another 3.1 on an abacus, sealed: namespace+filter+files" in done.words
    with RunFile.read(tmp_path / "x.run") as read:
        [(_, rater)] = read.raters()
        [job] = read.jobs.all()
    assert rater.spec["engine"] == "another"
    assert rater.spec["options"] == {"beads": 7}
    facts: Any = job.facts
    assert facts["engines"][0]["engine"] == "another"
    assert facts["packages"]["pytest"]
    again = run(*JUDGING, "--engine", "another")
    assert again.code == 0, again.err


def test_what_is_missing_is_told_by_its_name(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _listed(monkeypatch, AnotherWithoutLibrary())
    missing = run(*JUDGING, "--engine", "another")
    assert missing.code == 5
    assert "the engine another is not installed here" in missing.words
    assert "Install the abacus." in missing.words


def test_auto_takes_a_further_engine_only_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_list, "ENGINES", [Another(), *engine_list.ENGINES])
    assert engine_list.engine_kind("auto").name == "vllm"
    monkeypatch.setattr(Another, "libraries", ("json",))
    assert engine_list.engine_kind("auto").name == "another"


def test_nothing_is_decided_by_comparing_an_engines_name() -> None:
    names = {engine.name for engine in engine_list.ENGINES}
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
                sides = {each.value for each in (node.left, *node.comparators) if isinstance(each, ast.Constant)}
                assert not sides & names, f"{module} line {node.lineno}: ask the engine's own object"
