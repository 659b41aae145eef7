"""The benchmark's own arithmetic and order, and one round of it; what it measures is for scripts/bench alone."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import typer
import yaml
from shared_vllm import engine_of
from typer.testing import CliRunner

from benchmark import stage
from benchmark.__main__ import bench, compare, row
from benchmark.made_cases import shortened
from benchmark.stage import Measured, Stage, Variant
from pathway_local.engines.engines import Engines
from pathway_local.engines.vllm import engine_options
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.passes import EngineConfig
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric

PERFORMANCE = Path(__file__).parents[1] / "docs" / "performance.md"
BASE = Measured(seconds=2.0, cpu=4.0, cases=10, prompt=1000, cached=800, generated=100)
JUDGE = Measured(seconds=4.0, cpu=5.0, cases=10, prompt=1000, cached=900, generated=150)


class FakeStage(Stage):
    """Measures without an engine."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, int]] = []

    def measure(self, variant: Variant, count: int, seed: int) -> Measured:
        self.asked.append((variant, count, seed))
        return JUDGE if variant == "judge" else BASE

    def free(self) -> None:
        self.asked.append(("freed", 0, 0))


@pytest.mark.parametrize("given", ["--detail=much", "--variant=fast", "--shape=large", "--rubric=none"])
def test_the_command_refuses_what_it_does_not_know(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    app = typer.Typer()
    app.command()(bench)
    assert CliRunner().invoke(app, [given]).exit_code == 2


def test_on_a_gpu_an_engine_is_freed_before_the_next_and_figures_are_saved_after_every_round() -> None:
    fake, saved, asked = FakeStage(), list[int](), [Variant.JUDGE, Variant.FREE]
    runs = compare(fake, asked, 10, 2, 60, alone=True, save=lambda runs: saved.append(sum(map(len, runs.values()))))
    names = [name for name, *_ in fake.asked]
    assert names == [*["constrained", "free"] * 3, "freed", *["judge"] * 3, "freed"], "the first of each warms up"
    assert saved == [2, 4, 5, 6] and {name: len(each) for name, each in runs.items()} == dict.fromkeys(Variant, 2)
    seeds = {name: [seed for each, _, seed in fake.asked if each == name] for name in Variant}
    assert seeds["constrained"] == seeds["judge"] == seeds["free"], "all engines get the same cases"


def test_on_a_processor_variants_take_turns_and_no_round_begins_after_the_time() -> None:
    fake = FakeStage()
    runs = compare(fake, [*Variant], 10, 3, -1, alone=False)
    assert [name for name, *_ in fake.asked] == [*Variant, *Variant, "freed"]
    assert {name: len(each) for name, each in runs.items()} == dict.fromkeys(Variant, 1)


def test_ratios_are_of_rates_in_rounds_that_both_have() -> None:
    judge, fast = Variant.JUDGE, replace(BASE, seconds=1.0)
    runs = {Variant.CONSTRAINED: [BASE, BASE], judge: [JUDGE], Variant.FREE: [fast]}
    same = ["0.8 (0.8–0.8)"]
    shown = ["judge", "2.5 (2.5–2.5)", "100", "90%", "15.0", "0.25 (0.25–0.25)", *same, "0.5 (0.5–0.5)", *same]
    assert row(judge, runs) == shown
    assert row(judge, {judge: [JUDGE]})[-4:] == [""] * 4


@pytest.mark.parametrize("name", builtin_names())
def test_a_shortened_rubric_is_the_same_but_for_its_budgets(name: str, tmp_path: Path) -> None:
    whole, short = load_rubric(name), load_rubric(str(shortened(name, 150, tmp_path)))
    replies = [rubric.format.reply(dict.fromkeys(rubric.inputs, "x"), "full") for rubric in (whole, short)]
    assert short.name == whole.name and short.turns == whole.turns
    assert replies[1].form.reserve < replies[0].form.reserve


def test_settings_that_the_documentation_names_are_ones_that_a_judge_may_make(tiny_judge: Path) -> None:
    given = re.findall(r"--set (\"[^\"]+\"|[^\s`|]+)", PERFORMANCE.read_text())
    settings = dict(shlex.split(each)[0].split("=", 1) for each in given)
    assert {"max_num_seqs", "compilation_config", "kv_cache_dtype", "quantization"} <= settings.keys()
    read = {name: yaml.safe_load(value) for name, value in settings.items() if value != "N"}
    assert engine_options(EngineConfig(str(tiny_judge), settings=read), False).items() >= read.items()


def test_judge_is_measured_with_the_real_engine(
    tmp_path: Path, tiny_judge: Path, vllm_host: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed plan, watcher or message of an engine can't break the benchmark unseen."""
    monkeypatch.setattr(stage, "make_judge", lambda *_: tiny_judge)
    monkeypatch.setattr(EngineCache, "engine", engine_of(vllm_host))
    measured = Stage("tiny", tmp_path, "pathway-answer", "score", {}).measure(Variant.JUDGE, 2, 0)
    assert measured.generated > 0 and measured.cpu > 0


@pytest.mark.soak
def test_one_round_of_all_variants_with_an_engine_of_its_own(tmp_path: Path) -> None:
    runs = compare(
        Stage("tiny", tmp_path, "pathway-answer", "score", {"max_num_seqs": 8}), [*Variant], 2, 1, 60, alone=True
    )
    assert [(each.generated > 0, each.cpu > 0) for [each] in runs.values()] == [(True, True)] * 3
