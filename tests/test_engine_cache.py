"""Jobs that follow each other in one process share what is loaded, and only one judges at a time."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest
from reply_script import JUDGE, SECONDS
from typed import Desk

import pathway_local as pl
from benchmark.instant_engine import INSTANT, REPLY
from benchmark.made_cases import write_cases
from benchmark.own import measure_own
from pathway_local.engines.engine import WINDOW, LoadPlan
from pathway_local.engines.engines import Engines
from pathway_local.engines.vllm import VLLM
from pathway_local.judging import preparation
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import run_job
from pathway_local.judging.plan import Plan
from pathway_local.judging.progress import Watcher
from pathway_local.passes import EngineConfig, Pass
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Value


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


Judged = dict[str, dict[str, Value]]
Judge = Callable[[str, range, pl.Engine], Judged]


@pytest.fixture
def judge(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Judges some cases into the run of a name and returns its rows by case; a reply follows from its case's texts."""
    for name in ("PYTHONPATH", JUDGE):
        monkeypatch.setenv(name, desk.environment[name])

    def judged(name: str, numbers: range, engine: pl.Engine) -> Judged:
        cases = [{"id": f"{i}", "question": f"What is {i}?", "answer": f"It is {i}."} for i in numbers]
        run = pl.judge(
            cases,
            desk.work / "small.prompty",
            judge="scripted",
            models=desk.work / "models.yaml",
            run=desk.work / f"{name}.run",
            engine=engine,
            progress=False,
        )
        return {str(row["case"]): row for row in run.verdicts}

    return judged


@pytest.fixture
def engine() -> Iterator[pl.Engine]:
    with pl.Engine("scripted") as engine:
        yield engine


def _said(found: Judged) -> list[list[Value]]:
    return [[row[name] for name in ("reason", "score", "score_p1", "failure")] for row in found.values()]


def test_no_two_passes_of_an_engine_share_an_id(
    judge: Judge, engine: pl.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []
    submit = Engines.submit

    def noted(host: Engines, item: Pass) -> None:
        ids.append(item.id)
        submit(host, item)

    monkeypatch.setattr(Engines, "submit", noted)
    for name in ("one", "two"):
        judge(name, range(3), engine)
    assert len(set(ids)) == len(ids) >= 12


def test_a_second_call_is_refused_and_the_first_goes_on(
    judge: Judge, engine: pl.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS, "0.02")  # or the first call would have ended
    alone = judge("alone", range(20), engine)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(judge, "first", range(20), engine)
        while not engine.cache._turn.locked() and not first.done():
            time.sleep(0.001)
        for call in (lambda: judge("second", range(2), engine), engine.close):
            with pytest.raises(pl.UsageError, match="a call that has not returned"):
                call()
        assert _said(first.result()) == _said(alone)
    engine.close()
    assert engine.cache._engine is None
    assert len(judge("again", range(2), engine)) == 2, "it is loaded again"


def test_a_forked_process_is_refused_and_leaves_the_engine_to_its_parent(judge: Judge, engine: pl.Engine) -> None:
    judge("before", range(2), engine)
    loaded = engine.cache._engine
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            judge("inherited", range(2), engine)
        except pl.UsageError as error:
            os.write(writer, f"{error} {error.hint}".encode())
        engine.close()
        os._exit(0)
    os.close(writer)
    assert os.waitpid(child, 0)[1] == 0
    with os.fdopen(reader) as said:
        assert "for the process that made it" in said.read()
    assert len(judge("after", range(2), engine)) == 2
    assert engine.cache._engine is loaded and loaded is not None


def test_a_call_that_fails_gives_its_turn_back(judge: Judge, engine: pl.Engine, desk: Desk) -> None:
    with pytest.raises(pl.PathwayError):
        pl.judge(desk.work / "none.csv", "pathway-answer", run=desk.work / "none.run", engine=engine)
    assert len(judge("after", range(2), engine)) == 2
