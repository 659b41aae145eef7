"""Why an engine did not start: the cause among all that was printed, and what to do, in the libraries' own words."""

import inspect
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pathway_local.engines.child import _cause
from pathway_local.engines.start_error import REMEDIES, start_error
from pathway_local.engines.vllm import VLLM
from pathway_local.engines.wire import Failed
from pathway_local.errors import EngineError, EngineMissing, OutOfMemory, WeightsMissing

WRAPPER = Failed(kind="RuntimeError", message="Engine core initialization failed. See root cause above. Failed core")
GIB = 1 << 30


def _traceback(*lines: str) -> str:
    return "\n".join(["Traceback (most recent call last):", '  File "core.py", line 9, in f', "    g()", *lines])


def _raised(call: Any, *arguments: Any) -> Exception:
    with pytest.raises(Exception) as raised:
        call(*arguments)
    return raised.value


def test_there_are_six_remedies_at_most() -> None:
    assert len(REMEDIES) <= 6


def test_memory_that_vllm_lacks_is_told_in_its_own_words() -> None:
    from vllm.v1.core import kv_cache_utils
    from vllm.v1.worker.utils import request_memory

    snapshot: Any = SimpleNamespace(free_memory=71 * GIB, total_memory=80 * GIB, device_="cuda:0")
    too_much: Any = SimpleNamespace(gpu_memory_utilization=0.9)
    error = start_error(VLLM, WRAPPER, _traceback(f"ValueError: {_raised(request_memory, snapshot, too_much)}"))
    assert isinstance(error, OutOfMemory)
    assert "71.0/80.0 GiB" in str(error) and "gpu_memory_utilization" in error.hint
    for words in ("No available memory for the cache blocks", "Cannot auto-fit max_model_len: not enough GPU memory"):
        assert words in inspect.getsource(kv_cache_utils)
        error = start_error(VLLM, _cause(ValueError(words)), "")
        assert isinstance(error, OutOfMemory)
        assert words in str(error) and "smaller judge" in error.hint


def test_a_model_that_vllm_does_not_know_is_told_in_its_own_words() -> None:
    from vllm import ModelRegistry

    error = start_error(VLLM, _cause(_raised(ModelRegistry._raise_for_unsupported, ["FooForCausalLM"])), "")
    assert isinstance(error, EngineMissing)
    assert "FooForCausalLM" in str(error) and "Update vLLM" in error.hint


NO_KERNEL = "CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors might be\n"
OLD_DRIVER = "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver"
ALLOCATION = (
    "CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.19 GiB of which 1.06 GiB is free."
)


@pytest.mark.parametrize(
    ("kind", "message", "expected", "said", "hint"),
    [
        ("ModuleNotFoundError", "No module named 'PIL'", EngineMissing, "'PIL'", "A part of the engine is missing"),
        ("ImportError", "libcuda.so.1: cannot open shared object file", EngineMissing, "libcuda", "finds no GPU"),
        ("AcceleratorError", NO_KERNEL, EngineMissing, "execution on the device", "finds no GPU that it can use"),
        ("RuntimeError", OLD_DRIVER, EngineMissing, "version 11040", "update the NVIDIA driver"),
        ("OutOfMemoryError", ALLOCATION, OutOfMemory, "1.06 GiB is free", "smaller judge"),
        ("OSError", "[Errno 12] Cannot allocate memory", OutOfMemory, "Cannot allocate memory", "smaller judge"),
        ("OSError", "[Errno 28] No space left on device", EngineError, "No space left", "Free space"),
        ("PermissionError", "[Errno 13] Permission denied: '/m/a'", EngineError, "denied", "no rights of root"),
        ("RuntimeError", "Could not find nvcc and default cuda_home='/usr'", EngineMissing, "nvcc", "CUDA_HOME"),
        ("SafetensorError", "Error while deserializing header", WeightsMissing, "deserializing", "copy its folder"),
    ],
)
def test_common_causes_have_a_hint(kind: str, message: str, expected: type, said: str, hint: str) -> None:
    """Also where only what was printed names the cause, as vLLM does whose core fails in a process of its own."""
    error = start_error(VLLM, Failed(kind=kind, message=message), "")
    assert (type(error), said in str(error), hint in error.hint) == (expected, True, True)
    if kind != "ModuleNotFoundError":
        error = start_error(VLLM, WRAPPER, _traceback(f"(EngineCore pid=7) {kind}: {message}"))
        assert (type(error), hint in error.hint) == (expected, True)
        assert message.splitlines()[0][-30:] in str(error)
    assert len(f"{error}{error.hint}".splitlines()) == 1


def test_any_other_cause_is_shown_with_the_last_lines_and_where_all_of_them_go(tmp_path: Path) -> None:
    error = start_error(VLLM, WRAPPER, _traceback("KeyError: 'rope'", "", "\x1b[31mred\x1b[0m\x07 bell"))
    assert type(error) is EngineError
    assert "KeyError: 'rope' | red bell" in str(error) and "--engine-log FILE" in error.hint
    assert "\x1b" not in str(error)
    assert str(tmp_path) in start_error(VLLM, Failed(kind="KeyError", message="'rope'"), "", log=tmp_path).hint


def test_an_engine_that_is_not_installed_is_told_by_its_name() -> None:
    error = start_error(VLLM, Failed(kind="ModuleNotFoundError", message="No module named 'vllm'"), "")
    assert "the engine vllm is not installed here" in str(error)
    assert "--engine transformers" in error.hint


def test_a_compiler_that_is_missing_is_told() -> None:
    from torch._inductor.exc import InvalidCxxCompiler

    error = start_error(VLLM, _cause(InvalidCxxCompiler()), "")
    assert "compiler" in str(error)
    assert "apt-get install build-essential" in error.hint


def test_a_judge_whose_files_went_after_it_was_checked_is_told(
    tiny_judge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    judge = shutil.copytree(tiny_judge, tmp_path / "judge")
    weights = judge / "model.safetensors"
    shutil.rmtree(judge)
    error = start_error(VLLM, _cause(_raised(weights.read_bytes)), "")
    assert "copy its folder again" in error.hint


def test_how_a_process_ended_is_told_if_it_said_nothing() -> None:
    error = start_error(VLLM, Failed(), "a warning", "killed by SIGKILL")
    assert str(error) == "the judge can't be loaded: its process ended: killed by SIGKILL"
    assert isinstance(error, OutOfMemory)
    error = start_error(VLLM, Failed(), "what was said last\n\n", "exit status 3")
    assert str(error) == "the judge can't be loaded: its process ended: exit status 3: what was said last"
    error = start_error(VLLM, Failed(error="WeightsMissing", message="m", hint="h"), "")
    assert (type(error), str(error), error.hint) == (WeightsMissing, "m", "h"), "our own errors cross as they are"
