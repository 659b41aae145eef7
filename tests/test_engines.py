"""Several engines side by side: the same outcomes as one, and none lost when an engine is slow, dies or can't load."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from engine_scripts import ONCE, POISON
from pydantic import JsonValue

from pathway_local.engines.engine import Fitted, LoadPlan, load_plan, parts_for
from pathway_local.engines.engines import Engines
from pathway_local.engines.supervised_engine import SupervisedEngine
from pathway_local.errors import EngineDied, EngineError, Stopped, UsageError
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.passes import EngineConfig, Pass, PassResult
from pathway_local.sealing.seal import Seal
from pathway_local.system.machine import GB, Device, Machine

Begin = Callable[..., Engines]


@pytest.fixture
def begin(scripts_found: None, notices: list[str]) -> Iterator[Begin]:
    """Starts scripted engines side by side, each with its own settings, and ends them."""
    begun: list[Engines] = []

    def hosts(
        *each: dict[str, object], window: int = 4, gpus: str = "", stopped: Callable[[], bool] = lambda: False
    ) -> Engines:
        made = []
        for at, settings in enumerate(each):
            given = {"script": "engine_scripts:answer", **settings}
            config = EngineConfig("", settings=given, gpus=gpus and f"{gpus}{at}")
            made.append(SupervisedEngine("scripted", config, hang_limit=60.0))
            made[-1].most = window
        begun.append(Engines(made, notices.append, stopped))
        return begun[-1]

    yield hosts
    for each in begun:
        each.close()


def _pass(number: int, *ids: int, after: str = "") -> Pass:
    return Pass(str(number), (number, *ids), None, 4, after=after)


def _all(engines: Engines, passes: list[Pass]) -> dict[str, PassResult]:
    for item in passes:
        engines.submit(item)
    found: dict[str, PassResult] = {}
    while results := engines.results():
        assert found.keys().isdisjoint(result.id for result in results)
        found |= {result.id: result for result in results}
    return found


def test_every_pass_comes_back_once_and_a_short_file_is_shared_out(begin: Begin) -> None:
    engines = begin(*[{"script": "engine_scripts:pid", "delay": 0.02}] * 4, window=256)
    assert engines.facts.device == "4 x none"
    found = _all(engines, [_pass(number) for number in range(100)])
    assert sorted(map(int, found)) == list(range(100))
    counts = Counter(result.ids for result in found.values())
    assert len(counts) == 4
    assert min(counts.values()) >= 10, "none took all before the others woke up"


@pytest.fixture
def soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines are given up after three deaths."""
    monkeypatch.setattr("pathway_local.engines.engines.DEATHS", 3)


@pytest.mark.usefixtures("soon_given_up")
def test_an_engine_that_always_dies_leaves_and_the_others_go_on(begin: Begin, notices: list[str]) -> None:
    found = _all(begin({"delay": 0.1}, {"script": "engine_scripts:die"}), [_pass(number) for number in range(40)])
    assert [result.finish for result in found.values()] == ["stop"] * 40, "the other engine has answered all of them"
    told = "engine 2 is given up: the engine died 3 times in a row without a result; engines left: 1"
    assert notices[0].startswith("engine 2: the engine died") and notices[-1] == told


@pytest.mark.usefixtures("soon_given_up")
def test_results_that_came_before_the_last_engine_left_are_handed_over(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines, came, receive = begin({}, {}, window=2), list[str](), SupervisedEngine.receive

    def watched(host: SupervisedEngine) -> list[PassResult]:
        results = receive(host)
        came.extend(result.id for result in results)
        return results

    monkeypatch.setattr(SupervisedEngine, "receive", watched)
    for number in range(100, 0, -1):
        engines.submit(_pass(number, *([POISON] if number <= 20 else [])))
    found: dict[str, PassResult] = {}
    with pytest.raises(EngineDied):
        while results := engines.results():
            found |= {result.id: result for result in results}
    judged = [result.id for result in found.values() if result.finish == "stop"]
    assert sorted(judged) == sorted(came)
    assert len(judged) > 75, "all but those that were in flight beside a poisonous one to the end"
    with pytest.raises(EngineDied):
        engines.results()


@pytest.mark.usefixtures("scripts_found")
def test_of_several_engines_the_weakest_seal_the_shortest_context_and_each_note_are_told() -> None:
    class _Unsealed(SupervisedEngine):
        def load(self, *given: Any) -> None:
            super().load(*given)
            self.seal = Seal(namespace=True, why="no filter")

    class _Noted(SupervisedEngine):
        def load(self, *given: Any) -> None:
            super().load(*given)
            assert self.facts
            self.facts = replace(self.facts, note="it is slow", max_model_len=700)

    engines = Engines([kind("scripted", EngineConfig("")) for kind in (_Noted, _Unsealed, _Noted)])
    engines.close()
    assert engines.seal == Seal(namespace=True, why="no filter")
    assert (engines.facts.note, engines.facts.max_model_len) == ("it is slow", 700)


def test_a_slow_engine_slows_nobody(begin: Begin) -> None:
    engines = begin({"script": "engine_scripts:pid", "delay": 0.5}, {"script": "engine_scripts:pid"})
    found = _all(engines, [_pass(number) for number in range(300)])
    counts = sorted([result.ids for result in found.values()].count(each) for each in {r.ids for r in found.values()})
    assert counts[0] < 50, "the slow one holds a window at a time, the fast one takes what waits"
    assert sum(counts) == 300


def test_a_pass_that_continues_goes_to_the_engine_that_has_its_prompt(begin: Begin) -> None:
    engines = begin({"script": "engine_scripts:pid"}, {"script": "engine_scripts:pid"})
    first = _all(engines, [_pass(number) for number in range(50)])
    later = _all(engines, [_pass(1000 + number, after=str(number)) for number in range(50)])
    assert [later[str(1000 + number)].ids for number in range(50)] == [first[str(number)].ids for number in range(50)]


def test_the_others_take_all_passes_of_an_engine_that_died_while_it_restarts(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = begin(*[{"script": "engine_scripts:pid_or_die", "delay": 0.02}] * 2, window=8)
    back = tmp_path / "may-restart"
    real = SupervisedEngine.load

    def load(host: SupervisedEngine, *given: Any) -> None:
        while host.facts and not back.exists():
            time.sleep(0.01)
        real(host, *given)

    monkeypatch.setattr(SupervisedEngine, "load", load)
    first = [_pass(number, *([ONCE] if number == 3 else [])) for number in range(60)]
    found = _all(engines, first)
    assert sorted(map(int, found)) == list(range(60)), "nothing waited for the engine that is not restarted yet"
    later = _all(engines, [_pass(100 + number, after=str(number)) for number in range(60)])
    assert len({result.ids for result in later.values()}) == 1, "its prefix cache is gone, so the other continues them"
    back.touch()


def test_an_engine_that_can_not_be_restarted_leaves_all_that_it_took_to_the_others(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    late: list[bool] = []
    engines = begin(*[{"script": "engine_scripts:pid", "delay": 0.02}] * 2, window=8, stopped=lambda: bool(late))
    first = _all(engines, [_pass(number) for number in range(40)])
    ids = first["0"].ids
    after = [name for name, result in first.items() if result.ids == ids][:4]

    def no_room(host: SupervisedEngine, *given: Any) -> None:
        raise EngineDied("the cluster has no room")

    monkeypatch.setattr(SupervisedEngine, "load", no_room)
    items = [_pass(100 + number, after=name) for number, name in enumerate(after)]
    os.kill(*ids, signal.SIGKILL)
    giving_up = Timer(20.0, late.append, (True,))
    giving_up.start()
    for item in items:
        engines.submit(item)
    found = _all(engines, [])
    giving_up.cancel()
    assert found.keys() == {item.id for item in items}
    assert ids not in {result.ids for result in found.values()}


def test_a_case_that_kills_engines_is_set_aside(begin: Begin) -> None:
    found = _all(begin({}, {}), [_pass(number, *([POISON] if number == 5 else [])) for number in range(40)])
    assert [name for name, result in found.items() if result.finish == "error"] == ["5"]
    assert len(found) == 40


def test_an_engine_that_does_not_load_ends_all(begin: Begin) -> None:
    began, before = time.monotonic(), _children()
    with pytest.raises(EngineError, match="can't be loaded"):
        begin({}, {"script": "engine_scripts:nowhere"})
    assert time.monotonic() - began < 60
    assert _children() == before


def test_a_stop_ends_loading_and_waiting(begin: Begin) -> None:
    before = _children()
    with pytest.raises(Stopped):
        begin({}, {}, stopped=lambda: True)
    stop: list[bool] = []
    engines = begin({"delay": 60}, {"delay": 60}, stopped=lambda: bool(stop))
    engines.submit(_pass(1))
    stop.append(True)
    with pytest.raises(Stopped):
        engines.results()
    engines.close()
    assert _children() == before


def test_each_engine_sees_its_own_gpus(begin: Begin) -> None:
    engines = begin(*[{"script": "engine_scripts:gpus", "delay": 0.02}] * 2, gpus="GPU-")
    found = _all(engines, [_pass(number) for number in range(60)])
    assert {bytes(result.ids).decode() for result in found.values()} == {"GPU-0", "GPU-1"}


CARDS = Machine(tuple(Device("card", 24 * GB, free * GB, f"GPU-{free}") for free in (24, 20, 22)), 64 * GB)
JUDGE = JudgeSpec(name="j", source="a/b", weights_gb=3, context=40960)


@pytest.fixture
def _gpu_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("engines.engine", "judges.placement"):
        monkeypatch.setattr(f"pathway_local.{module}.uses_gpu", lambda: True)


@pytest.mark.usefixtures("_gpu_engine")
@pytest.mark.parametrize(
    ("gpus", "parallel", "expected"),
    [
        ("all", 1, ["GPU-24", "GPU-20", "GPU-22"]),
        ("2", 1, ["GPU-24", "GPU-20"]),
        ("1", 1, ["GPU-24"]),
        ("all", 2, ["GPU-24,GPU-20"]),
        ("2", 2, ["GPU-24,GPU-20"]),
    ],
)
def test_gpus_are_shared_out_among_engines(gpus: str, parallel: int, expected: list[str]) -> None:
    parts = parts_for(gpus, JUDGE, CARDS, {"tensor_parallel_size": parallel})
    assert [",".join(gpu.id for gpu in part.gpus) for part in parts] == expected


@pytest.mark.usefixtures("_gpu_engine")
@pytest.mark.parametrize(("gpus", "parallel", "said"), [("4", 1, "this machine has 3"), ("3", 2, "takes 2 GPUs")])
def test_gpus_that_do_not_divide_are_refused(gpus: str, parallel: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parts_for(gpus, JUDGE, CARDS, {"tensor_parallel_size": parallel})


def test_a_number_of_gpus_is_for_a_machine_that_has_some() -> None:
    with pytest.raises(UsageError, match="finds no GPU"):
        parts_for("all", JUDGE, Machine((), 12 * GB), {})


class _Plans:
    """Plans by the first GPU of a part."""

    def fitted(self, judge: JudgeSpec, part: Machine, options: object, dtype: str, steps: float) -> Fitted:
        share = {"GPU-24": 0.9, "GPU-20": 0.77, "GPU-22": 0.85}[part.gpus[0].id]
        settings: dict[str, JsonValue] = {"gpu_memory_utilization": share, "enforce_eager": steps == 100}
        return settings, (part.gpus[0].id,)


@pytest.mark.usefixtures("_gpu_engine")
def test_all_engines_load_as_the_fullest_gpu_allows() -> None:
    found = load_plan("all", _Plans(), JUDGE, CARDS, {}, "auto", 300.0)  # type: ignore[arg-type]
    assert found == LoadPlan(
        {"gpu_memory_utilization": 0.77, "enforce_eager": True},
        ("3 engines side by side", "GPU-20"),
        ("GPU-24", "GPU-20", "GPU-22"),
    )


def _children() -> list[str]:
    """The engines' processes below this one."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has just ended
            for pid in (task / "children").read_text().split():
                if b"pathway_local.engines.child" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
    return found
