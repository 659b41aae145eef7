"""The engine for tests is strict: whoever mixes up who asked what finds out."""

import time

import pytest
from scripted_engine import ScriptedEngine, load

from pathway_local.errors import EngineError
from pathway_local.passes import EngineConfig, Pass, PassResult


def _pass(name: str, *ids: int, most: int = 2) -> Pass:
    return Pass(name, ids, None, most)


def test_it_echoes_each_prompt_so_that_a_mix_up_shows() -> None:
    engine = ScriptedEngine()
    engine.submit(_pass("a", 1, 2, 3))
    engine.submit(_pass("b", 4, 5, 6))
    assert {result.id: result.ids for result in engine.results()} == {"a": (2, 3), "b": (5, 6)}
    assert engine.results() == []


def test_it_raises_when_its_script_runs_out() -> None:
    engine = ScriptedEngine([[7]])
    engine.submit(_pass("a", 1))
    assert engine.results()[0].ids == (7,)
    engine.submit(_pass("b", 1))
    with pytest.raises(EngineError, match="no reply left for pass 'b'"):
        engine.results()


def test_a_reply_to_another_pass_is_refused() -> None:
    engine = ScriptedEngine(lambda item: PassResult("other"))
    engine.submit(_pass("a", 1))
    with pytest.raises(EngineError, match="'a' with a reply to 'other'"):
        engine.results()


def test_a_reply_without_id_is_completed() -> None:
    engine = ScriptedEngine(lambda item: PassResult("", finish="length", logprobs=({3: -0.5},)))
    engine.submit(_pass("a", 1))
    assert engine.results() == [PassResult("a", finish="length", logprobs=({3: -0.5},))]


def test_shuffled_it_gives_everything_once_in_another_order() -> None:
    engine = ScriptedEngine(shuffle=1)
    names = [str(number) for number in range(50)]
    for name in names:
        engine.submit(_pass(name, int(name)))
    came = []
    while some := engine.results():
        came += [result.id for result in some]
        assert all(result.ids == (int(result.id),) for result in some)
    assert came != names
    assert sorted(came) == sorted(names)


def test_it_can_take_its_time() -> None:
    engine = ScriptedEngine(delay=0.05)
    engine.submit(_pass("a", 1))
    engine.submit(_pass("b", 1))
    begun = time.monotonic()
    assert [result.id for result in engine.results()] == ["a"]
    assert time.monotonic() - begun >= 0.05


def test_a_configuration_names_its_script() -> None:
    engine = load(EngineConfig("", max_model_len=77, settings={"script": "engine_scripts:answer", "shuffle": 3}))
    engine.submit(_pass("a", 1, 2, 3))
    assert engine.results()[0].ids == (3, 2, 1)
    assert engine.facts.max_model_len == 77
