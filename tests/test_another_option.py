"""A further option of `judge` is one field of `Plan` with its text: the command, the API and raters follow from it."""

import inspect
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer

from pathway_local.api.judging import judge
from pathway_local.cli.judge import app
from pathway_local.judges.registry import load_registry
from pathway_local.judging import plan, planned_rater
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.system.options import declared, flag

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


def test_each_field_is_an_option_of_the_command_and_of_the_api() -> None:
    [command] = typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    typed = {param.name: param for param in command.params}
    assert set(plan.OPTIONS) < set(typed) and set(plan.OPTIONS) < set(inspect.signature(judge).parameters)
    for name, (_, says) in declared(plan.Plan).items():
        assert flag(name) in typed[name].opts and typed[name].help.startswith(says.text[:-1])


def test_each_option_that_defines_a_rater_makes_another_one(
    tmp_path: Path, tiny_judge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_rater, "think_budget", lambda wanted, judge: int(wanted))  # the tiny judge never thinks
    monkeypatch.setattr(planned_rater, "chat_settings", lambda *given: {})
    assert set(plan.OF_RATER) == set(OTHER_RATERS)
    rubric, registry = load_rubric("pair-answer"), load_registry(None)

    def rater(**given: Any) -> tuple[str, Any]:
        read = plan.read_plan(tmp_path / "x.csv", tmp_path / "x.run", {"judge": [str(tiny_judge)]} | given)
        [found] = planned_rater.planned_raters(read, None, {rubric.name: rubric}, registry)
        return found.name, found.settings.spec()

    shutil.copytree(tiny_judge, tmp_path / "second")
    for name, value in (OTHER_RATERS | {"judge": [str(tmp_path / "second")]}).items():
        base = {"temperature": 0.7} if name == "samples" else {}
        assert rater(**base, **{name: value}) != rater(**base), name
