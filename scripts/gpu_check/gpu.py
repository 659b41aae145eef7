"""What the NVIDIA driver's own tool says of the GPU."""

import shutil
import subprocess

_SECONDS = 20.0
MIB = 1 << 20


def queried(*arguments: str) -> list[list[str]]:
    """The rows of an `nvidia-smi` query; none where there is no such tool, no driver or no answer."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, *arguments, "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True, text=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [[cell.strip() for cell in line.split(",")] for line in said.splitlines() if line.strip()]


def memory_used() -> int | None:
    """Bytes in use on all GPUs together; None where that can't be told."""
    rows = queried("--query-gpu=memory.used")
    numbers = [int(row[0]) for row in rows if row[0].isdecimal()]
    return sum(numbers) * MIB if rows and len(numbers) == len(rows) else None


def largest() -> int:
    """Bytes of the largest GPU; 0 without one."""
    rows = queried("--query-gpu=memory.total")
    return max((int(row[0]) * MIB for row in rows if row[0].isdecimal()), default=0)


def users() -> list[str]:
    """The processes that compute on a GPU, with their memory, in words; a container may not be shown its own."""
    return [f"process {pid}: {used} MiB" for pid, used in queried("--query-compute-apps=pid,used_memory")]


def driver() -> str:
    """The driver's version; empty without one."""
    return next((row[0] for row in queried("--query-gpu=driver_version")), "")
