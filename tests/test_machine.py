import os
import stat
from pathlib import Path

import pytest

from pathway_local.errors import EngineError, EngineMissing, OutOfMemory
from pathway_local.judges import engine_settings, placement
from pathway_local.judges.engine_settings import computed_in
from pathway_local.judges.judge_spec import FOLDER, JudgeSpec
from pathway_local.judges.placement import Placement, check_fits_here
from pathway_local.system.machine import Device, Machine, this_machine

GB = 10**9
MIB = 1 << 20
TWO = """0, GPU-aaaa1111, 24564, 24000, NVIDIA GeForce RTX 4090
1, GPU-bbbb2222, 143771, 143000, NVIDIA H200
"""


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    folder = tmp_path / "proc"
    (folder / "self").mkdir(parents=True)
    (folder / "meminfo").write_text("MemTotal: 64000000 kB\nMemFree: 1 kB\nMemAvailable:   32000000 kB\n")
    return folder


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An nvidia-smi that says what the file beside it holds."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/answer\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "answer").write_text(TWO)
    return program


def _gpus(proc: Path) -> list[str]:
    return [gpu.name for gpu in this_machine(proc, proc / "none").gpus]


@pytest.mark.parametrize(
    ("answer", "gpu"),
    [
        (TWO.encode(), Device("NVIDIA GeForce RTX 4090", 24564 * MIB, 24000 * MIB, "GPU-aaaa1111")),
        (b"0, GPU-1, [N/A], [N/A], NVIDIA GB10\n", Device("NVIDIA GB10", None, None, "GPU-1")),
        (
            b"garbage\n\xff\xfe, x\n0, GPU-1, 81559, 81000, NVIDIA A100-SXM4, 80GB\n",
            Device("NVIDIA A100-SXM4, 80GB", 81559 * MIB, 81000 * MIB, "GPU-1"),
        ),
    ],
)
def test_gpus_come_with_their_memory_if_the_driver_tells_it(tool: Path, proc: Path, answer: bytes, gpu: Device) -> None:
    (tool.parents[1] / "answer").write_bytes(answer)
    assert this_machine(proc, proc / "none").gpus[0] == gpu


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        ("", []),
        ("-1", []),
        ("1", ["NVIDIA H200"]),
        ("1,0", ["NVIDIA H200", "NVIDIA GeForce RTX 4090"]),
        ("0,7,1", ["NVIDIA GeForce RTX 4090"]),
        ("GPU-bbbb", ["NVIDIA H200"]),
        ("MIG-cccc", ["a part of a GPU"]),
    ],
)
def test_only_visible_gpus_count(
    tool: Path, proc: Path, monkeypatch: pytest.MonkeyPatch, visible: str, names: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert _gpus(proc) == names


def test_free_memory_is_what_the_kernel_calls_available(proc: Path) -> None:
    assert this_machine(proc, proc / "none").free_memory == 32_000_000 * 1024


def test_a_control_group_bounds_the_free_memory(proc: Path, tmp_path: Path) -> None:
    (proc / "self/cgroup").write_text("0::/job/step\n")
    group = tmp_path / "cgroup" / "job"
    (group / "step").mkdir(parents=True)
    (group / "memory.max").write_text("8000000000\n")
    (group / "memory.current").write_text("3000000000\n")
    (group / "memory.stat").write_text("anon 1000000000\ninactive_file 2000000000\n")
    (group / "step" / "memory.max").write_text("max\n")
    assert this_machine(proc, tmp_path / "cgroup").free_memory == 7 * GB


def _spec(**keys: object) -> JudgeSpec:
    return JudgeSpec.model_validate({"name": "j", "source": "a/b", "context": 40960, **keys})


def _machine(*gb: float, used: float = 0, memory: float = 64) -> Machine:
    return Machine(tuple(Device("card", int(g * GB), int((g - used) * GB)) for g in gb), int(memory * GB))


@pytest.mark.parametrize(
    ("told", "bf16"),
    [
        ("flags\t\t: fpu avx avx2 avx512f\n", False),
        ("processor: 0\nflags\t\t: fpu avx512_bf16 avx2\n\nprocessor: 1\n", True),
        ("Features\t: fp asimd bf16\n", True),
        ("Features\t: fp asimd\n", False),
        ("features\t: esan3 zarch\n", True),
    ],
)
def test_a_processor_tells_whether_it_has_bfloat16(proc: Path, told: str, bf16: bool) -> None:
    (proc / "cpuinfo").write_text(told)
    assert this_machine(proc, proc / "none").bf16 is bf16


def test_without_bfloat16_a_processor_computes_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, fast = Machine((), 64 * GB, bf16=False), Machine((), 64 * GB)
    assert computed_in(_spec(), slow) == computed_in(_spec(precision="fp16"), slow) == "float32"
    assert computed_in(_spec(dtype="bfloat16"), slow) == "bfloat16"
    for kept in (_spec(precision="awq"), _spec(engine={"quantization": "fp8"})):
        assert computed_in(kept, slow) == "auto"
    assert computed_in(_spec(), fast) == "auto"
    with_gpu = Machine((Device("card", 24 * GB),), 64 * GB, bf16=False)
    for uses, dtype in ((True, "auto"), (False, "float32")):
        monkeypatch.setattr(engine_settings, "uses_gpu", lambda uses=uses: uses)
        assert computed_in(_spec(), with_gpu) == dtype


def test_what_is_stored_in_few_bits_is_not_made_float32() -> None:
    slow = Machine((), 8 * GB, bf16=False)
    with pytest.raises(OutOfMemory):
        check_fits_here(_spec(weights_gb=5, cpu=True), slow)
    assert check_fits_here(_spec(weights_gb=5, cpu=True, precision="awq", dtype="float32"), slow) == Placement(0)


@pytest.mark.usefixtures("gpu_engine")
def test_float32_takes_twice_the_memory() -> None:
    assert check_fits_here(_spec(weights_gb=8), _machine(16)).gpus == 1
    with pytest.raises(OutOfMemory, match=r"16\.0 GB of weights"):
        check_fits_here(_spec(weights_gb=8), _machine(16), dtype="float32")


@pytest.fixture
def gpu_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "uses_gpu", lambda: True)


def test_small_judges_and_those_that_say_so_run_without_a_gpu() -> None:
    for keys in ({"weights_gb": 2.9}, {"weights_gb": 16.4, "cpu": True}):
        assert check_fits_here(_spec(**keys), _machine()) == Placement(0)


REFUSED: list[tuple[dict[str, object], Machine, type[EngineError], str, str]] = [
    ({"weights_gb": 16.4}, _machine(), EngineMissing, "'j' needs a GPU of 21 GB, and this mach", "`j: {cpu: true}`"),
    ({"weights_gb": 2.9, "cpu": False}, _machine(), EngineMissing, "this machine has none", "judges list"),
    (
        {"weights_gb": 16.4, "source": "/models/x", "origin": FOLDER},
        _machine(),
        EngineMissing,
        "this machine has none",
        "`mine: {source: /models/x, cpu: true}`",
    ),
    ({"weights_gb": 1.4}, _machine(memory=2), OutOfMemory, "1.4 GB of weights, and 1.5 GB .* 2.0 GB of memory", ""),
    ({"weights_gb": 16.4}, _machine(16), OutOfMemory, "the engine takes 14.4 of 16.0 GB of GPU memory$", "judges list"),
    ({"weights_gb": 3}, _machine(24, used=22), OutOfMemory, "programs hold 22.0 GB .* takes 0.5 of 24.0 GB", ""),
    ({}, _machine(24, used=24), OutOfMemory, "other programs hold 24.0 GB .* takes 0.0 of 24.0 GB", ""),
]


@pytest.mark.parametrize(("keys", "machine", "error", "said", "hint"), REFUSED)
def test_a_judge_without_a_place_is_refused_with_the_arithmetic(
    keys: dict[str, object],
    machine: Machine,
    error: type[EngineError],
    said: str,
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placement, "uses_gpu", lambda: bool(machine.gpus))
    with pytest.raises(error, match=said) as raised:
        check_fits_here(_spec(**keys), machine)
    assert hint in raised.value.hint


def test_an_engine_built_for_the_processor_does_not_use_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "uses_gpu", lambda: False)
    with pytest.raises(EngineMissing, match="runs only on the processor") as error:
        check_fits_here(_spec(weights_gb=16.4), _machine(80))
    assert "./scripts/setup --gpu" in error.value.hint


@pytest.mark.usefixtures("gpu_engine")
def test_several_gpus_share_the_weights() -> None:
    spec = _spec(weights_gb=30, engine={"tensor_parallel_size": 2})
    assert check_fits_here(spec, _machine(24, 24, 24)).gpus == 2
    with pytest.raises(OutOfMemory):
        check_fits_here(spec, _machine(24, 24, 24), {"tensor_parallel_size": 1})
    with pytest.raises(EngineMissing, match="set to use 4 GPUs, and this machine has 3"):
        check_fits_here(spec, _machine(24, 24, 24), {"tensor_parallel_size": 4})


@pytest.mark.usefixtures("gpu_engine")
def test_a_share_or_a_cache_that_the_entry_sets_stays() -> None:
    spec, card = _spec(weights_gb=3), _machine(24, used=12)
    assert check_fits_here(spec, card, {"gpu_memory_utilization": 0.5}) == Placement(1)
    with pytest.raises(OutOfMemory, match=r"other programs hold 12.0 GB .* takes 2.4 of 24.0 GB"):
        check_fits_here(spec, card, {"gpu_memory_utilization": 0.1})
    assert check_fits_here(spec, _machine(24, used=23), {"kv_cache_memory_bytes": 10**8}) == Placement(1)


@pytest.mark.usefixtures("gpu_engine")
@pytest.mark.parametrize(
    ("gpus", "used", "share", "note"),
    [
        ((24,), 0.4, 0.9, "the engine takes 21.6 of 24.0 GB of GPU memory"),
        (
            (24,),
            12,
            0.43,
            "other programs hold 12.0 GB of GPU memory (nvidia-smi lists them): the engine takes 10.3",
        ),
        ((24, 24), 0, 0.9, "takes 21.6 of 24.0 GB of GPU memory on each GPU"),
    ],
)
def test_the_share_of_a_gpu_is_what_is_free_less_a_margin(
    gpus: tuple[int, ...], used: float, share: float, note: str
) -> None:
    found = check_fits_here(_spec(weights_gb=3, engine={"tensor_parallel_size": len(gpus)}), _machine(*gpus, used=used))
    assert found.share == share
    assert note in found.note


@pytest.mark.usefixtures("gpu_engine")
def test_what_is_not_known_is_not_held_against_a_judge() -> None:
    assert check_fits_here(JudgeSpec(name="j", source="a/b"), _machine(24)).gpus == 1
    assert check_fits_here(_spec(weights_gb=160), Machine((Device("GB10"),), 64 * GB)) == Placement(1)
