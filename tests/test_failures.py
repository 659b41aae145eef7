"""Why an engine did not start: the cause among all that was printed, and what to do, in the libraries' own words."""

import inspect
import logging
import shutil
import traceback
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pathway_local.engines.child import _cause
from pathway_local.engines.host import described, last_exception, start_error, tells_nothing
from pathway_local.engines.vllm import VLLM
from pathway_local.engines.wire import Failed
from pathway_local.errors import EngineError, EngineMissing, EngineUnexplained, OutOfMemory, WeightsMissing

WRAPPER = Failed(kind="RuntimeError", message="Engine core initialization failed. See root cause above. Failed core")
GIB = 1 << 30


def _traceback(*lines: str) -> str:
    return "\n".join(["Traceback (most recent call last):", '  File "core.py", line 9, in f', "    g()", *lines])


def _raised(call: Any, *arguments: Any) -> Exception:
    with pytest.raises(Exception) as raised:
        call(*arguments)
    return raised.value


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("", ""),
        ("nothing but words\nError: no traceback", ""),
        (_traceback("ModuleNotFoundError: No module named 'a'"), "ModuleNotFoundError: No module named 'a'"),
        (
            _traceback("torch.OutOfMemoryError: CUDA out of memory"),
            "OutOfMemoryError: CUDA out of memory",
        ),
        (_traceback("AssertionError", "note: later"), "AssertionError"),
        (_traceback("ImportError: ", "", "It needs libx.", "more"), "ImportError: It needs libx."),
        (
            _traceback(
                "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
                "  Value error, no such dtype [type=value_error, input_value=ArgsKwargs((), {'a': 1})]",
            ),
            "ValidationError: Value error, no such dtype",
        ),
        (
            _traceback(
                "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:",
                "InvalidCxxCompiler: No working C++ compiler found",
            ),
            "BackendCompilerFailed: InvalidCxxCompiler: No working C++ compiler found",
        ),
        (
            "\n".join(
                [
                    _traceback("ValueError: the cause"),
                    "\nThe above exception was the direct cause of the following exception:\n",
                    _traceback("RuntimeError: Engine core initialization failed. See root cause above."),
                ]
            ),
            "ValueError: the cause",
        ),
        (
            "\n".join(
                [
                    _traceback("ValueError: the cause"),
                    "Exception ignored in: <function D.__del__ at 0x7f>",
                    _traceback("AttributeError: 'D' object has no attribute 'x'"),
                ]
            ),
            "ValueError: the cause",
        ),
        (
            "\n".join(
                [
                    "Traceback (most recent call last):",
                    "Traceback (most recent call last):",
                    '  File "core.py", line 9, in f',
                    "a warning of another process",
                    "KeyError: 'a'",
                    "KeyError: 'b'",
                ]
            ),
            "KeyError: 'b'",
        ),
        (_traceback("ValueError: \x1b[31mred\x1b[0m\x07 bell"), "ValueError: red  bell"),
    ],
)
def test_the_last_exception_that_tells_a_cause_is_found(printed: str, expected: str) -> None:
    assert last_exception(printed) == expected
    colored = "\x1b[1;36m(EngineCore_DP0 pid=7)\x1b[0;0m ERROR 11-22 10:00:00 [v1/engine/core.py:99] "
    for prefix in ("(Worker_TP1 pid=123) ", "ERROR 11-22 13:14:15 [core.py:99] ", colored):
        assert last_exception("".join(prefix + line + "\n" for line in printed.split("\n"))) == expected


def test_vllms_own_log_is_read(capfd: pytest.CaptureFixture[str]) -> None:
    from vllm.logger import DEFAULT_LOGGING_CONFIG, _VllmLogRecordFactory
    from vllm.logging_utils import NewLineFormatter

    formatter = NewLineFormatter(*map(DEFAULT_LOGGING_CONFIG["formatters"]["vllm"].get, ("format", "datefmt")))
    try:
        raise ModuleNotFoundError("No module named 'torchvision'")
    except ModuleNotFoundError as error:
        made = _VllmLogRecordFactory(logging.LogRecord)
        trace = (type(error), error, error.__traceback__)
        record = made("vllm", logging.ERROR, "core.py", 99, "EngineCore failed to start.", (), trace)
    printed = formatter.format(record)
    assert all("pid=" in line for line in printed.splitlines())
    assert last_exception(printed) == "ModuleNotFoundError: No module named 'torchvision'"
    error = start_error(VLLM, WRAPPER, printed)
    assert isinstance(error, EngineMissing)
    assert str(error) == "the judge can't be loaded: ModuleNotFoundError: No module named 'torchvision'"
    assert "A part of the engine is missing" in error.hint


def test_vllms_wrappers_tell_nothing() -> None:
    from vllm.config import device
    from vllm.model_executor.models import registry
    from vllm.v1.engine import exceptions, utils
    from vllm.v1.executor import multiproc_executor

    ours, theirs = Pipe()
    theirs.close()
    error = _raised(multiproc_executor.WorkerProc.wait_for_ready, [SimpleNamespace(ready_pipe=ours)])
    assert tells_nothing(described(type(error).__name__, str(error)))
    assert tells_nothing(described("EngineDeadError", str(exceptions.EngineDeadError())))
    for module, words in (
        (utils, "Engine core initialization failed. "),
        (utils, "Frontend process failed during engine core initialization. "),
        (multiproc_executor, "Worker failed with error '{result}'"),
        (registry, "to be inspected. Please check the logs"),
        (registry, "Error raised in subprocess:"),
        (device, "Failed to infer device type"),
    ):
        assert words in inspect.getsource(module)
        assert tells_nothing(described("RuntimeError", words))


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
        assert words in str(error) and "leave no memory for a case" in error.hint


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
        (
            "ModuleNotFoundError",
            "No module named 'PIL'",
            EngineMissing,
            "No module named 'PIL'",
            "A part of the engine is missing",
        ),
        ("ImportError", "libcuda.so.1: cannot open shared object file", EngineMissing, "libcuda", "needs a GPU"),
        ("AcceleratorError", NO_KERNEL, EngineMissing, "execution on the device", "no kernels for this GPU"),
        ("RuntimeError", OLD_DRIVER, EngineMissing, "version 11040", "update the NVIDIA driver"),
        ("OutOfMemoryError", ALLOCATION, OutOfMemory, "1.06 GiB is free", "smaller judge"),
        ("OSError", "[Errno 12] Cannot allocate memory", OutOfMemory, "Cannot allocate memory", "smaller judge"),
        ("OSError", "[Errno 28] No space left on device", EngineError, "No space left", "XDG_CACHE_HOME"),
        ("PermissionError", "[Errno 13] Permission denied: '/h/.cache/a'", EngineError, "denied", "XDG_CACHE_HOME"),
        ("PermissionError", "[Errno 13] Permission denied: '/models/a'", EngineUnexplained, "denied", "--engine-log"),
        ("RuntimeError", "Could not find nvcc and default cuda_home='/usr'", EngineMissing, "nvcc", "CUDA_HOME"),
        ("SafetensorError", "Error while deserializing header", WeightsMissing, "deserializing", "copy them again"),
        ("KeyError", "'rope'", EngineUnexplained, "KeyError: 'rope'", "--engine-log FILE"),
    ],
)
def test_common_causes_have_a_hint(kind: str, message: str, expected: type, said: str, hint: str) -> None:
    failed = Failed(kind=kind, message=message)
    for error in (start_error(VLLM, failed, ""), start_error(VLLM, WRAPPER, _traceback(f"{kind}: {message}"))):
        assert said in str(error)
        assert hint in error.hint
        assert len(f"{error}{error.hint}".splitlines()) == 1
        assert type(error) is expected


def test_an_engine_that_is_not_installed_is_told_by_its_name() -> None:
    error = start_error(VLLM, Failed(kind="ModuleNotFoundError", message="No module named 'vllm'"), "")
    assert "the engine vllm is not installed here" in str(error)
    assert "--engine transformers" in error.hint


def test_a_compiler_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.exc import InvalidCxxCompiler
    from triton.runtime import build

    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.delenv("CC", raising=False)
    for raised in (InvalidCxxCompiler(), _raised(build._find_compiler.__wrapped__, "c")):
        error = start_error(VLLM, _cause(raised), "")
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
    assert "put them back" in error.hint


def test_a_device_that_is_not_found_has_its_cause_among_what_was_printed() -> None:
    failed = Failed(kind="RuntimeError", message="Failed to infer device type, please set `VLLM_LOGGING_LEVEL=DEBUG`")
    assert "finds none" in start_error(VLLM, failed, "").hint
    assert "too old" in start_error(VLLM, failed, f"x.py:9: UserWarning: CUDA initialization: {OLD_DRIVER}").hint


def test_a_cause_behind_another_is_found_where_the_last_tells_nothing() -> None:
    try:
        try:
            raise KeyError("rope")
        except KeyError as cause:
            raise RuntimeError(WRAPPER.message) from cause
    except RuntimeError as error:
        printed = traceback.format_exc()
        assert "KeyError: 'rope'" in str(start_error(VLLM, _cause(error), printed))


@pytest.mark.parametrize(
    ("name", "usual"),
    [
        ("SIGBUS", "/dev/shm"),
        ("SIGILL", "instruction that this processor lacks"),
        ("SIGSEGV", "fault in a library"),
        ("SIGUSR1", "Another program"),
    ],
)
def test_a_signal_has_a_hint_at_what_usually_sends_it(name: str, usual: str) -> None:
    error = start_error(VLLM, Failed(), "", f"killed by {name}")
    assert type(error) is EngineUnexplained and usual in error.hint


def test_a_process_that_was_killed_ran_out_of_memory_as_a_rule() -> None:
    error = start_error(VLLM, Failed(), "a warning", "killed by SIGKILL")
    assert str(error) == "the judge can't be loaded: its process was killed by SIGKILL"
    assert isinstance(error, OutOfMemory)
    error = start_error(VLLM, Failed(), "what was said last\n\n", "exit status 3")
    assert str(error) == "the judge can't be loaded: what was said last"
    error = start_error(VLLM, Failed(), "", "exit status 3")
    assert str(error) == "the judge can't be loaded: its process ended with exit status 3"
    error = start_error(VLLM, Failed(error="WeightsMissing", message="m", hint="h"), "")
    assert (type(error), str(error), error.hint) == (WeightsMissing, "m", "h"), "our own errors cross as they are"
