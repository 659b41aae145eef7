import dataclasses

import pytest
from pydantic import JsonValue

from pathway_local.engines.vllm import VLLM
from pathway_local.errors import RegistryError
from pathway_local.judges.engine_settings import EngineSettings, check_settings
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.registry import load_registry


def judge(**engine: JsonValue) -> JudgeSpec:
    return JudgeSpec(name="j", source="a/b", engine=engine)


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
        ("tensor_parallel_size", "auto"),
        ("tensor_parallel_size", 0),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_before_the_engine_starts(name: str, value: JsonValue) -> None:
    with pytest.raises(RegistryError, match=f"'j': engine.{name} (must|should) be "):
        check_settings(judge(**{name: value}))


def test_values_of_the_right_kind_are_taken_as_they_are() -> None:
    given: dict[str, JsonValue] = {"gpu_memory_utilization": 1, "enforce_eager": True, "compilation_config": 3}
    for spec in (judge(**given), *load_registry()):
        assert VLLM.options(spec) == spec.engine


@pytest.mark.parametrize("name", ["tensor_paralel_size", "max_model_len", "dtype", "worker_cls", "logits_processors"])
def test_a_wrong_name_is_told_with_those_that_are_allowed(name: str) -> None:
    with pytest.raises(RegistryError, match=f"'j': engine.{name} is not an allowed engine setting") as error:
        check_settings(judge(max_num_seqs=8, **{name: True}))
    assert "Allowed are: block_size, " in error.value.hint and "context and dtype" in error.value.hint
