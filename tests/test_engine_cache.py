"""Jobs that follow each other in one process share what is loaded."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from benchmark.instant_engine import INSTANT, REPLY
from benchmark.made_cases import write_cases
from benchmark.own import measure_own
from pathway_local.engines.engine import WINDOW, LoadPlan
from pathway_local.engines.vllm import VLLM
from pathway_local.judging import preparation
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import run_job
from pathway_local.judging.plan import Plan
from pathway_local.judging.progress import Watcher
from pathway_local.passes import EngineConfig
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile


@pytest.fixture(autouse=True)
def _engines_find_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.fixture
def registry(tmp_path: Path, tiny_judge: Path, instant_reply: None) -> Path:
    entry = {"source": str(tiny_judge), "cpu": True}
    path = tmp_path / "models.yaml"
    path.write_text(json.dumps({"one": entry, "other": {**entry, "context": 4096}}))
    return path


def _judge(folder: Path, registry: Path, judge: str, seed: int, loaded: EngineCache) -> int:
    rubric = load_rubric("pathway-answer")
    cases = write_cases(folder / f"{seed}.csv", rubric.inputs, 5, seed)
    plan = Plan(cases, folder / f"{seed}.run", rubric=[rubric], judge=[judge], models=registry, engine=INSTANT.name)
    [tally] = run_job(plan, _Loadings(), ["test"], loaded)
    return tally.judged


class _Loadings(Watcher):
    told: ClassVar[list[str]] = []

    def loading(self, judge: str) -> None:
        self.told.append(judge)


def test_a_second_job_finds_the_engine_and_another_judge_ends_it(tmp_path: Path, registry: Path) -> None:
    _Loadings.told.clear()
    with EngineCache() as loaded:
        assert _judge(tmp_path, registry, "one", 1, loaded) == 5
        first = loaded._engine
        assert first is not None
        assert _judge(tmp_path, registry, "one", 2, loaded) == 5
        assert loaded._engine is first
        assert _judge(tmp_path, registry, "other", 3, loaded) == 5
        assert loaded._engine is not first
        assert first[1].hosts[0].pid is None
        assert _Loadings.told == ["one", "other"], "an engine that stays loaded is not loaded again"
    assert loaded._engine is None


def test_two_engines_give_the_verdicts_of_one(tmp_path: Path, registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rubric = load_rubric("pathway-answer")
    cases = write_cases(tmp_path / "many.csv", rubric.inputs, 400, 1)
    found = []
    for engines in (1, 2):
        seen = LoadPlan(gpus=("",) * engines)
        monkeypatch.setattr(preparation, "load_plan", lambda *_, seen=seen: seen)
        run = tmp_path / f"{engines}.run"
        plan = Plan(cases, run, rubric=[rubric], judge=["one"], models=registry, engine=INSTANT.name)
        [tally] = run_job(plan, Watcher(), ["test"])
        assert tally.judged == 400
        with RunFile.open(run) as stored:
            found.append(sorted(((each.case_id, each.outcome) for each in stored.records()), key=lambda pair: pair[0]))
            [job] = stored.jobs.all()
    assert found[0] == found[1]
    assert job.engines[0]["device"] == "2 x none"


def test_a_plan_is_made_while_no_engine_takes_memory(tmp_path: Path) -> None:
    def config(context: int) -> EngineConfig:
        return EngineConfig(str(tmp_path), max_model_len=context)

    def planned(context: int, estimate: Callable[[], LoadPlan]) -> tuple[str, ...]:
        return loaded.planned(("scripted", config(context), "auto", ""), estimate).notes

    with EngineCache() as loaded:
        assert planned(9000, lambda: LoadPlan(notes=("700",))) == ("700",)
        engine = loaded.engine("scripted", config(700), "auto", print, lambda: False)
        assert planned(9000, lambda: LoadPlan(notes=("5",))) == ("700",)
        assert loaded._engine and loaded._engine[1] is engine

        def estimate() -> LoadPlan:
            assert loaded._engine is None, "what it takes would be missing in the estimate"
            return LoadPlan(notes=("6",))

        assert planned(8000, estimate) == ("6",)


@pytest.mark.parametrize(("sequences", "window"), [(16, WINDOW), (1024, 2048)])
def test_twice_as_many_requests_wait_as_the_engine_takes(sequences: int, window: int) -> None:
    assert VLLM.window(EngineConfig("x", settings={"max_num_seqs": sequences})) == window


@pytest.mark.parametrize("detail", [pytest.param("full", marks=pytest.mark.soak), "score"])
def test_our_own_python_is_measured_with_every_case_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, detail: Detail
) -> None:
    for name in (REPLY, "TOKENIZERS_PARALLELISM"):  # it sets them, which must not outlast the test
        monkeypatch.setenv(name, "")
    found = measure_own(tmp_path, "tiny", 40, detail)
    assert 0 < found["tokenising seconds"] < found["processor seconds"]
