import dataclasses

import pytest
from pydantic import JsonValue

from pathway_local.errors import RegistryError
from pathway_local.judges import engine_settings
from pathway_local.judges.engine_settings import EngineSettings, most_parallel, resolve
from pathway_local.judges.registry import load_registry
from pathway_local.system.machine import Device, Machine

NO_GPU = Machine((), 64 * 10**9)
CONFIG: dict[str, object] = {"num_attention_heads": 40, "num_key_value_heads": 8}


def _gpus(count: int) -> Machine:
    return Machine((Device("card", 24 * 10**9),) * count, 64 * 10**9)


@pytest.fixture
def _gpu_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_settings, "uses_gpu", lambda: True)


def test_settings_are_some_of_vllms_own() -> None:
    from vllm.engine.arg_utils import EngineArgs

    assert {field.name for field in dataclasses.fields(EngineArgs)} >= EngineSettings.__annotations__.keys()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_num_seqs", 8.5),
        ("max_num_seqs", True),
        ("gpu_memory_utilization", "0.9"),
        ("enforce_eager", 1),
        ("load_format", "pt"),
        ("limit_mm_per_prompt", 0),
        ("tensor_parallel_size", "two"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_before_the_engine_starts(name: str, value: JsonValue) -> None:
    with pytest.raises(RegistryError, match=f"'j': engine.{name} should be "):
        resolve({name: value}, NO_GPU, CONFIG, "j")


def test_values_of_the_right_kind_are_taken_as_they_are() -> None:
    given: dict[str, JsonValue] = {"gpu_memory_utilization": 1, "enforce_eager": True, "compilation_config": 3}
    assert resolve(given, NO_GPU, CONFIG, "j") == given
    for spec in load_registry():
        assert resolve(spec.engine, NO_GPU, CONFIG, spec.name) == spec.engine


@pytest.mark.parametrize("name", ["tensor_paralel_size", "max_model_len", "dtype", "worker_cls", "trust_remote_code"])
def test_a_wrong_name_is_told_with_those_that_are_allowed(name: str) -> None:
    with pytest.raises(RegistryError, match=f"'j': engine.{name} is not an allowed engine setting") as error:
        resolve({"max_num_seqs": 8, name: 1}, NO_GPU, CONFIG, "j")
    assert "Allowed are: block_size, " in error.value.hint and "context and dtype" in error.value.hint


@pytest.mark.usefixtures("_gpu_engine")
@pytest.mark.parametrize(("gpus", "chosen"), [(1, 1), (2, 2), (3, 2), (4, 4), (7, 4), (8, 8), (0, 1)])
def test_auto_takes_the_most_gpus_that_divide_the_heads(gpus: int, chosen: int) -> None:
    settings: dict[str, JsonValue] = {"tensor_parallel_size": "auto", "max_num_seqs": 8}
    assert resolve(settings, _gpus(gpus), CONFIG, "j") == {"tensor_parallel_size": chosen, "max_num_seqs": 8}
    assert settings["tensor_parallel_size"] == "auto"


def test_auto_is_one_where_the_engine_runs_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_settings, "uses_gpu", lambda: False)
    assert resolve({"tensor_parallel_size": "auto"}, _gpus(4), CONFIG, "j") == {"tensor_parallel_size": 1}


def test_heads_are_shared_out_or_repeated_equally() -> None:
    assert most_parallel(8, 32, 8) == 8
    assert most_parallel(8, 16, 2) == 8, "two key-value heads are repeated four times each"
    assert most_parallel(6, 24, 4) == 4, "of six GPUs, four heads can be neither divided nor repeated equally"
    assert most_parallel(8, 15, None) == 5
    assert most_parallel(8, None, None) == 1
