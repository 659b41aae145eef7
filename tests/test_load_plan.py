"""How a judge is loaded: the memory of a GPU, whether a job is worth compiling for, and how jobs share an engine."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import JsonValue

from benchmark.instant_engine import INSTANT, REPLY
from benchmark.made_cases import write_cases
from benchmark.own import measure_own
from pathway_local.engines.engine import WINDOW, Fitted, LoadPlan
from pathway_local.engines.engines import Engines
from pathway_local.engines.vllm import GPU_SEQUENCES, GRAPH_STEPS, VLLM
from pathway_local.errors import EngineError
from pathway_local.judges import placement
from pathway_local.judges.judge_spec import Chat, JudgeSpec
from pathway_local.judges.registry import load_registry
from pathway_local.judging import preparation
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import keep_context, run_job
from pathway_local.judging.loop import LocalRater
from pathway_local.judging.plan import Plan
from pathway_local.judging.preparation import settings_here
from pathway_local.judging.progress import Watcher
from pathway_local.passes import EngineConfig
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.system.machine import GB, Device, Machine
from pathway_local.verdict import Failure

CARD = Machine((Device("card", 24 * GB, 24 * GB),), 64 * GB)


class _Listening(Watcher):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def notice(self, message: str) -> None:
        self.heard.append(message)

    def loading(self, judge: str) -> None:
        self.heard.append(f"loading {judge}")


@pytest.fixture(autouse=True)
def _engines_find_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.fixture
def judge(tiny_judge: Path, monkeypatch: pytest.MonkeyPatch) -> JudgeSpec:
    monkeypatch.setattr(placement, "uses_gpu", lambda: True)
    return JudgeSpec(name="j", source=str(tiny_judge), weights_gb=3, context=4096)


@pytest.mark.parametrize(("most", "steps"), [(None, 3), (None, GRAPH_STEPS - 1), (None, GRAPH_STEPS), (600, 1e6)])
def test_a_short_job_starts_without_compiling(judge: JudgeSpec, most: int | None, steps: float) -> None:
    found, (memory, graphs) = VLLM.fitted(judge, CARD, {"max_num_seqs": most} if most else {}, "auto", steps)
    own = {} if most else {"max_num_seqs": GPU_SEQUENCES}
    assert found == {"gpu_memory_utilization": 0.9, "enforce_eager": steps < GRAPH_STEPS, **own}
    assert memory == "the engine takes 21.6 of 24.0 GB of GPU memory"
    assert ("without compilation and CUDA graphs" in graphs) is (steps < GRAPH_STEPS)


@pytest.mark.parametrize(
    "options", [{"enforce_eager": False}, {"enforce_eager": True}, {"compilation_config": {"level": 0}}]
)
def test_what_the_entry_sets_stays(judge: JudgeSpec, options: dict[str, Any]) -> None:
    own = {**options, "gpu_memory_utilization": 0.5, "max_num_seqs": 512}
    assert VLLM.fitted(judge, CARD, own, "auto", 1) == ({}, ())


def test_on_a_processor_nothing_is_chosen(judge: JudgeSpec) -> None:
    found = VLLM.fitted(judge.model_copy(update={"cpu": True}), Machine((), 64 * GB), {}, "auto", 1)
    assert found == ({}, ())


def _plan(folder: Path, source: Path, cases: int, **contexts: int) -> Plan:
    """A job of so many cases for a judge of each context."""
    rubric, models = load_rubric("pathway-answer"), folder / "models.yaml"
    entries = {name: {"source": str(source), "cpu": True, "context": context} for name, context in contexts.items()}
    models.write_text(json.dumps(entries))
    path = write_cases(folder / "cases.csv", rubric.inputs, cases, 1)
    own = {"judge": [*contexts], "models": models, "engine": INSTANT.name}
    return Plan(path, folder / "a.run", rubric=[rubric], **own)  # type: ignore[arg-type]


def test_a_job_says_and_records_how_it_loads_the_judge(
    tmp_path: Path, tiny_judge: Path, instant_reply: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def fitted(
        judge: JudgeSpec, machine: Machine, options: Mapping[str, JsonValue], dtype: str, steps: float
    ) -> Fitted:
        asked.append(steps)
        return {"enforce_eager": True}, ("a short start",)

    monkeypatch.setattr(INSTANT, "fitted", fitted)
    plan, watcher = _plan(tmp_path, tiny_judge, 5, one=4096), _Listening()
    for detail in ("full", "score"):
        run_job(replace(plan, rater=f"one-{detail}", detail=detail), watcher, ["test"])
    assert watcher.heard.count("a short start") == 2
    with RunFile.open(plan.run) as stored:
        assert [[each["enforce_eager"] for each in job.engines] for job in stored.jobs.all()] == [[True], [True]]
    full, score = asked
    assert full is not None and score is not None
    assert 100 < full < 472, "five cases decode together, for as long as one"
    assert score < 5


def test_each_judge_of_a_command_goes_on_as_it_was_loaded(
    tmp_path: Path, tiny_judge: Path, instant_reply: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    eager = {4096: True, 8192: False}  # by the judges' contexts
    monkeypatch.setattr(INSTANT, "fitted", lambda judge, *_: ({"enforce_eager": eager[judge.context]}, ()))
    plan = _plan(tmp_path, tiny_judge, 3, one=4096, other=8192)
    run_job(plan, Watcher(), ["test"])
    with RunFile.read(plan.run) as stored:
        for judge in map(load_registry(plan.models).get, plan.judge):
            settings: Any = SimpleNamespace(options={})
            assert judge.context
            assert settings_here(stored, judge, settings) == {"enforce_eager": eager[judge.context]}


def test_a_context_that_is_shorter_than_the_judges_is_told_with_its_reason(tiny_judge: Path) -> None:
    known = JudgeSpec(name="j", source=str(tiny_judge), context=4096)
    for judge, context, told in (
        (known, 4096, ()),
        (known, 3000, ("the memory is enough for prompt and reply of 3,000 tokens together; j can take 4,096",)),
        (known.model_copy(update={"context": None}), 2048, ("the engine takes prompt and reply of 2,048 tokens",)),
    ):
        writer = PromptWriter(
            load_rubric("pathway-answer"), JudgeTokenizer(tiny_judge), Chat(), context=judge.most_tokens
        )
        watcher = _Listening()
        work: Any = SimpleNamespace(judge=judge, raters=[LocalRater(1, writer)])
        keep_context(work, context, watcher.notice)
        assert len(watcher.heard) == len(told)
        assert all(heard.startswith(said) for heard, said in zip(watcher.heard, told, strict=True))
        assert writer.context == context
    with pytest.raises(EngineError, match="context of 200 tokens is too short for the rubric pathway-answer"):
        keep_context(work, 200, watcher.notice)


def test_a_job_keeps_to_the_context_for_which_its_engine_has_memory(
    tmp_path: Path, tiny_judge: Path, instant_reply: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = EngineCache.engine

    def shorter(*given: Any) -> Engines:
        found = load(*given)
        found.facts = replace(found.facts, max_model_len=3000)
        return found

    monkeypatch.setattr(EngineCache, "engine", shorter)
    plan, watcher, cases = _plan(tmp_path, tiny_judge, 1, one=4096), _Listening(), tmp_path / "cases.jsonl"
    rows = [{**dict.fromkeys(plan.rubric[0].inputs, words), "id": words[:4]} for words in ("Long. " * 800, "Short.")]
    cases.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    run_job(replace(plan, cases=cases), watcher, ["test"])
    told = "the memory is enough for prompt and reply of 3,000 tokens together; one can take 4,096"
    assert watcher.heard.count(told) == 1
    with RunFile.read(plan.run) as stored:
        [failed] = (each for each in stored.records() if isinstance(each.outcome, Failure))
    assert failed.case_id == "Long" and "the judge's context is 3000" in failed.outcome.message


def test_a_second_job_finds_the_engine_and_another_judge_ends_it(
    tmp_path: Path, tiny_judge: Path, instant_reply: None
) -> None:
    plan, watcher, engines = _plan(tmp_path, tiny_judge, 5, one=4096, other=8192), _Listening(), list[Engines]()
    with EngineCache() as loaded:
        for number, judge in enumerate(("one", "one", "other")):
            own = replace(plan, judge=[judge], run=tmp_path / f"{number}.run")
            assert run_job(own, watcher, ["test"], loaded)[0].judged == 5
            assert loaded._engine is not None
            engines.append(loaded._engine[1])
        assert engines[0] is engines[1] is not engines[2] and engines[0].hosts[0].pid is None
    assert loaded._engine is None
    told = [said for said in watcher.heard if said.startswith("loading")]
    assert told == ["loading one", "loading other"], "an engine that stays loaded is not loaded again"


def test_two_engines_give_the_verdicts_of_one(
    tmp_path: Path, tiny_judge: Path, instant_reply: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, found = _plan(tmp_path, tiny_judge, 400, one=4096), []
    for engines in (1, 2):
        monkeypatch.setattr(preparation, "load_plan", lambda *_, seen=engines: LoadPlan(gpus=("",) * seen))
        own = replace(plan, run=tmp_path / f"{engines}.run")
        assert run_job(own, Watcher(), ["test"])[0].judged == 400
        with RunFile.open(own.run) as stored:
            found.append({each.case_id: each.outcome for each in stored.records()})
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
