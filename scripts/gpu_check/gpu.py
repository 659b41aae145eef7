"""Asks nvidia-smi about the GPUs."""

import shutil
import subprocess

_SECONDS = 20.0


def queried(*arguments: str) -> list[list[str]]:
    """Return the rows of an `nvidia-smi` query; empty without the tool, a driver or an answer."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, *arguments, "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True, text=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [[cell.strip() for cell in line.split(",")] for line in said.splitlines() if line.strip()]


def users() -> list[str]:
    """Describe the processes on all GPUs and their memory; a container may not see its own."""
    return [f"process {pid}: {used} MiB" for pid, used in queried("--query-compute-apps=pid,used_memory")]


def driver() -> str:
    """Return the driver's version; empty without one."""
    return next((row[0] for row in queried("--query-gpu=driver_version")), "")
