"""A further option of `judge` is one field of `Plan`: the command, the API and the rules for raters follow from it."""

import inspect
import shutil
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import pytest
from typer.testing import CliRunner

from pathway_local.errors import RunFileError, UsageError
from pathway_local.judges.registry import load_registry
from pathway_local.judging import plan, planned_rater
from pathway_local.judging.plan import REPLY, Option
from pathway_local.rubrics.rubric_file import load_rubric

USERS = ("pathway_local.cli.judge", "pathway_local.api.judging")

OTHER_RATERS: dict[str, Any] = {
    "judge": ["qwen3-0.6b"],
    "rater": "anna",
    "engine": "transformers",
    "detail": "score",
    "samples": 2,
    "temperature": 0.5,
    "orders": "one",
    "seed": 5,
    "think": "9",
}
"""For each option that defines a rater a value that must make another one."""


@dataclass(frozen=True, slots=True)
class Louder(plan.Plan):
    """The options of `judge` and one more."""

    tone: Annotated[str, Option("TONE", "How loud the judge is.", REPLY, of_rater=True)] = "calm"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Louder]:
    """The plans that jobs are asked for, once the further option is declared."""
    plans: list[Louder] = []
    monkeypatch.setattr(plan, "Plan", Louder)
    monkeypatch.setattr(plan.options_of, "__defaults__", (Louder,))
    for name in USERS:
        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setattr(import_module(name), "run_job", lambda plan, *_: plans.append(plan) or [])
    monkeypatch.setattr(sys.modules[USERS[0]], "_report", lambda *_, **__: None)
    monkeypatch.setattr(sys.modules[USERS[0]], "_close_off", lambda seal: None)
    monkeypatch.chdir(tmp_path)
    return plans


def test_the_command_has_it_with_its_help_and_passes_it_on(asked: list[Louder]) -> None:
    app = sys.modules[USERS[0]].app
    said = CliRunner().invoke(app, ["--help"]).output
    assert "--tone TONE" in said and "How loud the judge is. [default: calm]" in " ".join(said.split())
    CliRunner().invoke(app, ["cases.csv", "--rubric", "groundedness", "--tone", "loud"], catch_exceptions=False)
    assert [each.tone for each in asked] == ["loud"]


def test_a_program_gives_it_by_the_same_name(asked: list[Louder], tmp_path: Path) -> None:
    judge = sys.modules[USERS[1]].judge
    assert "tone" in inspect.signature(judge).parameters
    for given in ({"tone": "loud"}, {}):
        with pytest.raises(RunFileError):
            judge([{"id": "1"}], "groundedness", run="a.run", progress=False, **given)
    assert [each.tone for each in asked] == ["loud", "calm"]
    (tmp_path / "a.run").touch()
    with pytest.raises(UsageError, match=r"^tone would define a new rater"):
        judge([{"id": "1"}], run="a.run", progress=False, tone="loud")


def test_each_option_that_defines_a_rater_makes_another_one(
    tmp_path: Path, tiny_judge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_rater, "think_budget", lambda wanted, judge: int(wanted))  # the tiny judge never thinks
    monkeypatch.setattr(planned_rater, "chat_settings", lambda *given: {})
    options = plan.options_of()
    assert {name for name, option in options.items() if option.of_rater} == set(OTHER_RATERS)
    rubric, registry = load_rubric("pair-answer"), load_registry(None)

    def rater(**given: Any) -> tuple[str, Any]:
        read = plan.read_plan(tmp_path / "x.csv", tmp_path / "x.run", {"judge": [str(tiny_judge)]} | given)
        [found] = planned_rater.planned_raters(read, None, {rubric.name: rubric}, registry)
        return found.name, found.settings.spec()

    shutil.copytree(tiny_judge, tmp_path / "second")
    for name, value in (OTHER_RATERS | {"judge": [str(tmp_path / "second")]}).items():
        base = {"temperature": 0.7} if name == "samples" else {}
        assert rater(**base, **{name: value}) != rater(**base), name
