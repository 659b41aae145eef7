"""The benchmark's own arithmetic and order; what it measures is for scripts/bench alone."""

import json
import os
import re
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from rich.console import Console
from typer.main import get_command

from benchmark.__main__ import app
from benchmark.compare import Found, Wanted, compare
from benchmark.made_cases import shortened
from benchmark.raw_process import processor_seconds
from benchmark.report import ratios, tables, told, write
from benchmark.stage import Stage
from benchmark.variants import ENGINES, Load, Measured, groups
from pathway_local.engines.vllm import engine_options
from pathway_local.errors import EngineError, UsageError
from pathway_local.passes import EngineConfig
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric

PERFORMANCE = Path(__file__).parents[1] / "docs" / "performance.md"
BASE = Measured(seconds=2.0, cpu=4.0, cases=10, prompt=1000, cached=800, generated=100)
JUDGE = Measured(seconds=4.0, cpu=5.0, cases=10, prompt=1000, cached=900, generated=150)


def wanted(variants: str, *, rounds: int = 2, alone: bool = True, minutes: float | None = None) -> Wanted:
    named = variants.split(",")
    return Wanted("tiny", 10, rounds, ["pathway-answer"], ["full", "score"], named, {}, "same", alone, minutes=minutes)


class FakeStage:
    """Measures without an engine: each measurement takes a minute of the clock; `broken` has engines that fail."""

    dtype = "float32"

    def __init__(self, *broken: str) -> None:
        self.now, self.broken = 0.0, broken
        self.asked: list[tuple[str, str, int, int]] = []
        self.events: list[str] = []
        self.loads: dict[str, Load] = {}

    def measure(self, variant: str, detail: str, count: int, seed: int) -> Measured:
        if ENGINES[variant] in self.broken:
            raise EngineError("it does not load")
        self.now += 60
        self.loads.setdefault(ENGINES[variant], Load(1.0, 70.0, {"max_num_seqs": 64}))
        self.asked.append((variant, detail, count, seed))
        self.events.append(variant)
        return BASE if variant == "constrained" else JUDGE

    def free(self) -> None:
        self.events.append("freed")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> tuple[FakeStage, Found, list[int]]:
    stage, found, saved = FakeStage("auto"), Found(), []
    monkeypatch.setattr("benchmark.compare.time", SimpleNamespace(monotonic=lambda: stage.now))
    return stage, found, saved


def run(stage: FakeStage, found: Found, saved: list[int], asked: Wanted) -> list[str]:
    notes: list[str] = []
    compare(asked, stage, found, notes.append, lambda: saved.append(sum(map(len, found.runs["full"].values()))))
    return notes


def test_on_a_gpu_variants_of_one_engine_are_measured_together_and_engines_one_after_the_other() -> None:
    named = ["constrained", "judge", "free", "judge without probabilities", "naive"]
    assert groups(named, alone=True) == [
        ["constrained", "free"],
        ["judge", "judge without probabilities"],
        ["naive"],
    ]
    assert groups(named, alone=False) == [named]


@pytest.mark.parametrize("named", ["free", "free,constrained", "judge,fast"])
def test_what_can_not_be_measured_is_refused(named: str) -> None:
    with pytest.raises(UsageError):
        groups(named.split(","), alone=True)


def test_an_engine_is_freed_before_the_next_and_figures_are_saved_after_every_round(
    measured: tuple[FakeStage, Found, list[int]],
) -> None:
    stage, found, saved = measured
    run(*measured, wanted("constrained,judge"))
    assert [name for name, *_ in stage.asked[:2]] == ["constrained"] * 2, "warmed up at each detail"
    assert stage.events == ["constrained"] * 6 + ["freed"] + ["judge"] * 6 + ["freed"]
    assert saved == [1, 2, 2, 3, 4, 4]
    assert all(len(runs) == 2 for each in found.runs.values() for runs in each.values())


def test_engines_get_the_same_cases_and_details_get_others(measured: tuple[FakeStage, Found, list[int]]) -> None:
    run(*measured, wanted("constrained,judge"))
    seeds = {
        (name, detail): [seed for *who, count, seed in measured[0].asked if who == [name, detail]]
        for name in ("constrained", "judge")
        for detail in ("full", "score")
    }
    assert seeds["constrained", "full"] == seeds["judge", "full"]
    assert not set(seeds["judge", "full"][1:]) & set(seeds["judge", "score"][1:])


def test_an_engine_that_fails_leaves_the_others_their_figures(measured: tuple[FakeStage, Found, list[int]]) -> None:
    stage, found, _ = measured
    notes = run(*measured, wanted("naive,constrained"))
    assert found.failures == {"naive": "it does not load"}
    assert "naive: it does not load" in notes
    assert len(found.runs["full"]["constrained"]) == 2
    assert stage.events[0] == "freed"


def test_no_round_begins_after_the_time_is_over_but_every_engine_has_its_share(
    measured: tuple[FakeStage, Found, list[int]],
) -> None:
    notes = run(*measured, wanted("constrained,judge", rounds=50, minutes=20))
    found = measured[1].runs["full"]
    # Each measurement takes a minute: two warm up and don't count, then a round has two. Each engine has ten minutes.
    assert [len(found[name]) for name in ("constrained", "judge")] == [6, 6]
    assert sum("--minutes" in note for note in notes) == 2


def test_loading_is_announced_and_takes_no_round_its_time(measured: tuple[FakeStage, Found, list[int]]) -> None:
    notes = run(*measured, wanted("constrained,judge", minutes=1))
    assert [note for note in notes if "loading" in note or "ready" in note] == [
        "loading and warming up: constrained",
        "ready after 120 s: constrained",
        "loading and warming up: judge",
        "ready after 120 s: judge",
    ]
    assert [len(runs) for runs in measured[1].runs["full"].values()] == [1, 1]


def test_ratios_are_of_rates_in_rounds_that_both_have() -> None:
    runs = {"constrained": [BASE, BASE], "judge": [JUDGE], "free": [replace(BASE, seconds=1.0)]}
    own = {"of constrained": [0.5], "of constrained, by processor": [0.8]}
    assert ratios(runs, "judge") == {"of free": [0.25], "of free, by processor": [0.8], **own}
    assert not any(ratios({"judge": [JUDGE]}, "judge").values())


def test_tables_show_what_was_measured_and_json_has_all_of_it(
    measured: tuple[FakeStage, Found, list[int]], tmp_path: Path
) -> None:
    stage, found, _ = measured
    asked = wanted("constrained,judge,naive")
    run(stage, found, [], asked)
    console = Console(width=250, record=True, file=(tmp_path / "shown").open("w"))
    for each in tables(asked, found):
        console.print(each)
    shown = console.export_text()
    assert re.search(r"judge +2\.5 \(2\.5–2\.5\) +38 +100 +90% +15\.0 +0\.5 \(0\.5–0\.5\) +0\.8 ", shown)
    assert "naive" not in shown
    path = tmp_path / "figures.json"
    path.write_text("an earlier run's")
    write(path, told(asked, found, {"gpus": ["one"]}))
    figures = json.loads(path.read_text())
    assert figures["found"]["runs"]["score"]["judge"] == [asdict(JUDGE)] * 2
    assert figures["found"]["failures"] == {"naive": "it does not load"}
    assert figures["ratios"]["full"]["judge"]["of constrained"] == [0.5, 0.5]
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("name", builtin_names())
def test_a_shortened_rubric_is_the_same_but_for_its_budgets(name: str, tmp_path: Path) -> None:
    whole, short = load_rubric(name), load_rubric(str(shortened(name, 150, tmp_path)))
    replies = [rubric.format.reply(dict.fromkeys(rubric.inputs, "x"), "full") for rubric in (whole, short)]
    assert short.name == whole.name and short.turns == whole.turns
    assert replies[1].form.reserve < replies[0].form.reserve


def test_the_processor_time_of_this_session_is_found() -> None:
    began = processor_seconds(os.getsid(0))
    assert began > 0
    assert processor_seconds(2**30) == 0


def test_settings_that_the_documentation_names_are_ones_that_a_judge_may_make(tiny_judge: Path) -> None:
    given = re.findall(r"--set (\"[^\"]+\"|[^\s`|]+)", PERFORMANCE.read_text())
    settings = dict(shlex.split(each)[0].split("=", 1) for each in given)
    assert {"max_num_seqs", "compilation_config", "kv_cache_dtype", "quantization"} <= settings.keys()
    read = {name: yaml.safe_load(value) for name, value in settings.items() if value != "N"}
    assert engine_options(EngineConfig(str(tiny_judge), settings=read), False).items() >= read.items()


def test_a_stage_knows_the_judge_that_it_made(tmp_path: Path) -> None:
    stage = Stage("tiny", tmp_path, ["pathway-answer"], 150, {"max_num_seqs": 127})
    entry = yaml.safe_load((tmp_path / "models.yaml").read_text())["bench"]
    assert entry["engine"] == {"load_format": "dummy", "max_num_seqs": 127}
    stage.free()


def test_the_command_can_be_built() -> None:
    assert "--variants" in {name for each in get_command(app).params for name in each.opts}
